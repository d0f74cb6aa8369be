/* What products with one matrix write besides y: sums of parts of rows, and counters of these. */
#ifndef MACKO_WORK_SPACE_H
#define MACKO_WORK_SPACE_H

#include "core/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The streams that multiply first keep a space each for good, whose use is in the order of that stream. A product on any other
 * stream, or one that a graph captures, whose replays may be on any stream, takes a space of its own from a pool, in the order of
 * its stream: of a graph it becomes a part. */
typedef struct macko_work_space macko_work_space;

/* What a product has of it. */
typedef struct {
  void *memory;
  int kept; /* by its stream */
} macko_work_loan;

/* bytes of device memory for a product, the first `zeroed` of which are 0 when it gets them; it leaves 0 there. NULL for 0 bytes.
 * Errors: OUT_OF_MEMORY, DEVICE. */
macko_status macko_work_space_new(int64_t bytes, int64_t zeroed, cudaStream_t stream, macko_work_space **space, macko_error *err);

/* A product that wants the memory is started between these two, on the stream and by the thread of the first; after MACKO_OK the
 * second must follow. space may be NULL: so is the memory then. Errors: OUT_OF_MEMORY, UNSUPPORTED (a device without pools),
 * DEVICE. */
macko_status macko_work_space_take(macko_work_space *space, cudaStream_t stream, macko_work_loan *loan, macko_error *err);
macko_status macko_work_space_give_back(macko_work_space *space, cudaStream_t stream, const macko_work_loan *loan,
                                        macko_error *err);

/* While nothing runs; NULL is allowed. */
void macko_work_space_free(macko_work_space *space);

#ifdef __cplusplus
}
#endif
#endif
