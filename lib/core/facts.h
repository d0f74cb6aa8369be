/* What planning asks of a matrix: counts that depend on its entries. lib/ counts in host memory, libmacko_cuda in device memory;
 * what is chosen by them, and the words for it, come from the same code. */
#ifndef MACKO_FACTS_H
#define MACKO_FACTS_H

#include "core/format.h"

/* About the values. Asked only for what a choice depends on. */
typedef struct {
  macko_type value_type;
  /* Whether a value does not come back with the same bits from that type. */
  macko_status (*misfit)(void *context, macko_type to, int *found, macko_error *err);
  /* Distinct bit patterns, or -1 beyond MACKO_DICT_LIMIT. */
  macko_status (*distinct)(void *context, int64_t *count, macko_error *err);
  void *context;
} macko_value_facts;

/* About the slices of layout slice, in the order of rows or sorted by length. */
typedef struct {
  int64_t window, block_words, order_bytes;
  int64_t units[4]; /* of the value stream, for elements of 1, 2, 4 and 8 bytes */
  int64_t stencils, streamed; /* slices that are stencils; entries in the others */
  int64_t longest;            /* steps of the longest slice */
  int64_t stencil, uniform, run, listed, walked, paired, run_paired; /* slots by how their columns are found (cost.h) */
  int wide_pairs;             /* a gap of a pair has more than 16 bits */
  int64_t pairs;              /* of gap and value, under MACKO_PAIRS; -1: more than MACKO_PAIR_LIMIT, and nothing else is known */
} macko_slice_facts;

/* What slices may be besides lists and gaps of their own: stencils, and, instead of gaps, pairs (lib/macko/layout_bits.h). */
enum { MACKO_STENCILS = 1, MACKO_PAIRS = 2 };

/* About layout slice by a sample: nanoseconds for the columns without what their bytes take, and slots of values. */
typedef struct {
  double columns, slots;
} macko_slice_estimate;

/* About the rows of layout row. */
typedef struct {
  int64_t by_log[33];       /* gaps between neighbours in a row, by their binary logarithm */
  int64_t low[3], high[3];  /* distance of first columns from the reference of each base mode; low > high where there is none */
} macko_row_facts;

struct macko_facts {
  const macko_csr *csr; /* sizes and types; the arrays may be out of the host's reach */
  int64_t nnz;
  macko_value_facts values;
  macko_status (*slices)(void *context, int sorted, int kinds, macko_slice_facts *facts, macko_error *err);
  /* With rows in their order and sorted; 0 where the sample is empty. NULL: looking at all is as cheap. */
  int (*sample)(void *context, const macko_options *options, macko_slice_estimate estimates[2]);
  macko_status (*rows)(void *context, macko_row_facts *facts, macko_error *err);
  void *context;
  /* plan of format dtans, which counts symbols in its own way; NULL: the arrays of csr are at hand. */
  macko_status (*plan_dtans)(void *context, const macko_options *options, macko_plan *plan, macko_error *err);
};

/* Those of a csr in host memory, checked and sorted. */
macko_facts macko_host_facts(const macko_csr *a);
macko_status macko_host_slices(void *csr, int sorted, int kinds, macko_slice_facts *facts, macko_error *err);
int macko_host_sample(void *csr, const macko_options *options, macko_slice_estimate estimates[2]);
macko_status macko_host_rows(void *csr, macko_row_facts *facts, macko_error *err);

/* ---- what libmacko_cuda asks of libmacko; exported, but no part of its interface ---- */

/* A matrix with its plan, and no sections yet. Errors: as macko_encode. */
macko_status macko_plan_matrix(const macko_facts *f, const macko_options *options, macko_matrix **matrix, macko_error *err);

/* The plan of a matrix of format csr or macko, layout slice or row, after new values that leave its pattern as it is. */
macko_status macko_plan_values(const macko_facts *f, const macko_matrix *m, macko_plan *plan, macko_error *err);

/* *plan, that of m, for so many pairs of a gap and a value more. */
void macko_add_pairs(const macko_matrix *m, int64_t more, macko_plan *plan);

#endif
