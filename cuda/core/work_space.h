/* What products with one matrix write besides y: sums of parts of rows, and counters of these. */
#ifndef MACKO_WORK_SPACE_H
#define MACKO_WORK_SPACE_H

#include "core/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* This is device memory that products with one matrix write besides y. The streams that multiply first keep a space each for
 * good, which their products use one after the other, in the order of that stream. A product on any other stream, or one that a
 * graph captures and whose replays may be on any stream, takes a space of its own from a pool, in the order of its stream; in a
 * graph, taking and giving back become nodes. */
typedef struct macko_work_space macko_work_space;

/* This is what one product has of it, between taking and giving back. */
typedef struct {
  void *memory; /* device memory of as many bytes as the space has; NULL where there is no space */
  int kept;     /* 1: its stream keeps it, and the space is locked; 0: it came from the pool */
} macko_work_loan;

/* Makes a space of so many bytes of device memory a product. The first `zeroed` of them are 0 when a product gets them, and it
 * must leave 0 there, so that no product has to clear them. *space is NULL for 0 bytes. Errors: OUT_OF_MEMORY, DEVICE. */
macko_status macko_work_space_new(int64_t bytes, int64_t zeroed, cudaStream_t stream, macko_work_space **space, macko_error *err);

/* The same of which nobody has memory before a product takes it: for what few programs do. Nothing is zeroed. Errors:
 * OUT_OF_MEMORY. */
macko_status macko_work_space_later(int64_t bytes, macko_work_space **space, macko_error *err);

/* A product that wants the memory is started between these two calls, both on its stream and by one thread. After MACKO_OK from
 * the first the second must follow, because a lock may be held in between. space may be NULL, and the memory is NULL then.
 * Errors: OUT_OF_MEMORY, UNSUPPORTED (a device without memory pools), DEVICE. */
macko_status macko_work_space_take(macko_work_space *space, cudaStream_t stream, macko_work_loan *loan, macko_error *err);
macko_status macko_work_space_give_back(macko_work_space *space, cudaStream_t stream, const macko_work_loan *loan,
                                        macko_error *err);

/* Frees the space and all that streams keep of it; no product may be running. NULL is allowed. */
void macko_work_space_free(macko_work_space *space);

#ifdef __cplusplus
}
#endif
#endif
