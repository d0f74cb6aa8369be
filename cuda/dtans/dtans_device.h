/* What a matrix of format dtans has on the device besides its sections: tables as the kernel looks them up. */
#ifndef MACKO_DTANS_DEVICE_H
#define MACKO_DTANS_DEVICE_H

#include "core/device.h"
#include "dtans/dtans_step.h"

#ifdef __cplusplus
extern "C" {
#endif

/* This says how nonzeros come out of streams. */
typedef enum {
  MACKO_DTANS_JOINT,  /* one stream, one table of pairs */
  MACKO_DTANS_BESIDE, /* a stream of gaps; values all the same or in section values */
  MACKO_DTANS_SPLIT,  /* a stream of gaps and one of values */
  MACKO_DTANS_PAPER   /* one stream of gaps and values in turn */
} macko_dtans_kind;

/* This is what the digits of slots are like. */
typedef enum {
  MACKO_DTANS_ANY,    /* multiplicities are any numbers */
  MACKO_DTANS_POWERS, /* all are powers of two, each symbol's slots are aligned to their number, and no more than 256 symbols have
                         at least 1 << shift slots each: id = 8 bits at slot >> shift. Else 16 bits a slot. */
  MACKO_DTANS_EQUAL   /* all are 256: id = slot >> 8 without a table, and words 0 and 1 of a segment are the digits of the one
                         before */
} macko_dtans_digits;

/* One symbol. code says how a kernel takes the digit of one of its slots, and whether it is the escape:
 *   POWERS: log2 of the multiplicity in bits 0-4, bit 16 set for the escape: codes can be added up
 *   ANY:    the first slot in bits 0-12, the multiplicity in bits 16-26, bit 31 set for the escape
 *   EQUAL:  nothing */
typedef struct {
  double value;
  uint32_t gap, code; /* the column gap; how digits are taken */
} macko_dtans_entry;

enum {
  MACKO_DTANS_CODE_ESCAPE = 1 << 16,
  MACKO_DTANS_CODE_LOG2 = 63,
  MACKO_DTANS_EQUAL_SYMBOLS = 16 /* entries of such a table; those of nobody are symbol 0 */
};

/* This is one table: which symbol a slot belongs to, and the symbols. Slots of nobody belong to symbol 0, whose digits they
 * then have: such slots occur behind the end of a lane only. */
typedef struct {
  int symbols, escape;  /* how many entries; which of them is the escape, -1 if none is */
  int64_t ids, entries; /* where they begin in memory, in bytes */
} macko_dtans_device_table;

/* This is what a matrix of format dtans owns on the device (d->own). */
typedef struct {
  macko_dtans_kind kind;
  macko_dtans_digits digits;
  /* groups: words of a segment that digits may give, 2 or 3; rows: of a lane; relative: first gaps count from the diagonal;
   * shift: of POWERS */
  int groups, rows, relative, tables, shift;
  int64_t longest; /* entries of the longest row */
  double value; /* of all nonzeros, where they have one value and none is stored */
  macko_dtans_device_table table[MACKO_DTANS_DOMAINS];
  char *image;  /* the tables on the host, which a copy may still be reading */
  void *memory; /* the same on the device */
  int64_t bytes; /* of either */
} macko_dtans_device;

/* Gives the number of bytes that the ids of one table take. */
static inline int64_t macko_dtans_id_bytes(const macko_dtans_device *own)
{
  switch (own->digits) {
  case MACKO_DTANS_EQUAL: return 0;
  case MACKO_DTANS_POWERS: return MACKO_DTANS_SLOTS >> own->shift;
  default: return 2 * MACKO_DTANS_SLOTS;
  }
}

/* Sets *own from a valid matrix on the host and makes the image of its tables, own->image, which is freed with free. Errors:
 * OUT_OF_MEMORY, LIMIT (a lane of more entries than fit 31 bits). */
macko_status macko_dtans_open_device(const macko_matrix *host, macko_dtans_device *own, macko_error *err);

/* These are slots of the table of functions of format dtans on the device (core/device.h). */
macko_status macko_dtans_device_prepare(macko_device_matrix *d, const macko_matrix *host, cudaStream_t stream, macko_error *err);
macko_status macko_dtans_device_multiply(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream,
                                         macko_error *err);
void macko_dtans_device_destroy(macko_device_matrix *d);

#ifdef __cplusplus
}
#endif
#endif
