/* CSR-dtANS: what its planner keeps, and how it predicts the bytes of a stream. */
#ifndef MACKO_DTANS_PREDICT_H
#define MACKO_DTANS_PREDICT_H

#include "dtans/dtans.h"

enum {
  MACKO_DTANS_TRIED = 1 << 16, /* entries that a forward pass reads to compare a choice with others */
  MACKO_DTANS_SAMPLE = 1 << 17 /* and to predict what is chosen */
};

/* What a planner keeps between predictions. */
typedef struct {
  macko_dtans_input *in;
  macko_dtans_slice slice;    /* the one measured last, for its room */
  int64_t *blocks;            /* entries before each 32 rows, the fewest of a slice, and of all */
  int64_t nrows, nnz, sample; /* sample: MACKO_DTANS_TRIED or _SAMPLE */
  macko_type value_type;
  struct {
    int64_t rows, full, returned;
    int domains, short_tail;
  } full; /* what full_size found last; rows: 0 before */
  int64_t escaped; /* the larger number of escapes, of gaps or of values, that SPLIT would have */
  int64_t tried, escapes; /* those of stream 0 in the plan made last, and in the one that is kept */
} macko_dtans_planner;

/* Opens a planner for rows that must stay; macko_dtans_close_planner frees what it holds. Errors: OUT_OF_MEMORY. */
macko_status macko_dtans_open_planner(macko_dtans_input *in, macko_dtans_planner *p, macko_error *err);
void macko_dtans_close_planner(macko_dtans_planner *p);

/* Predicts the bytes of a stream with its tables and slice starts, within 1 %. The coder has its tables. Errors: those of the
 * rows, and OUT_OF_MEMORY. */
macko_status macko_dtans_predict(macko_dtans_planner *p, const int64_t *params, macko_dtans_coder *c, int64_t *bytes,
                                 macko_error *err);

#endif
