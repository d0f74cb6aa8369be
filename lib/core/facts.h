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
  /* Values that differ in their bits, or -1 beyond `limit`, at most MACKO_DICT_LIMIT. */
  macko_status (*distinct)(void *context, int64_t limit, int64_t *count, macko_error *err);
  void *context;
} macko_value_facts;

/* What is known of the values of a csr in host memory. */
typedef struct {
  unsigned asked, misfits;  /* bit t: whether one misfits type t is known; and one does */
  int64_t limit, distinct;  /* as many differ, or -1 for more than the limit; limit 0: not known */
} macko_known_values;

/* Of a csr in host memory, what planning found that encoding takes: one pointer a format, whose table says how it is freed. */
struct macko_findings {
  const macko_csr *csr;
  struct macko_rows *rows; /* where rows come from if *csr has sizes and types only; NULL: it is there as a whole */
  int handed_on; /* encoding follows; else what takes memory is not kept */
  int lent; /* the arrays of *csr outlive the matrix that is made, which may use them as its own */
  macko_known_values values;
  void *own[MACKO_FORMAT_AUTO];
};

/* Frees what format number i has found. */
void macko_forget(macko_findings *found, int i);

struct macko_facts {
  const macko_csr *csr; /* sizes and types; the arrays may be out of the host's reach */
  int64_t nnz;
  macko_value_facts values;
  void *context;
  const void *of_format[MACKO_FORMAT_AUTO]; /* what each format asks besides: a table of its own, whose functions take context */
};

/* Those of a csr in host memory or of rows that come in pieces, checked and sorted, with *found as context; of their values alone,
 * each found once. */
macko_facts macko_host_facts(macko_findings *found);
macko_value_facts macko_facts_of_values(macko_findings *found);

/* Facts about the values of rows, each found by one pass over them; *r must stay. Errors: OUT_OF_MEMORY, those of macko_get_rows. */
macko_value_facts macko_facts_of_rows(struct macko_rows *r);

/* A matrix with its plan, and no sections yet. libmacko_cuda asks for it, too. Errors: as macko_encode. */
macko_status macko_plan_matrix(const macko_facts *f, const macko_options *options, macko_matrix **matrix, macko_error *err);

#endif
