/* Between the parts of the suite of macko-bench. */
#ifndef TEST_BENCH_H
#define TEST_BENCH_H

#include "bench/bench.h"
#include "bench/generate.h"
#include "../lib/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline int64_t nonzeros(const macko_csr *a)
{
  return ((const int32_t *)a->row_ptr)[a->nrows];
}

/* The matrix of that name, which is there. */
static inline macko_csr made(const char *name)
{
  macko_csr a = {0};
  macko_error err = {0};
  ck_assert_msg(!bench_matrix(name, &a, &err), "%s", err.text);
  return a;
}

/* bench_matrices.c, bench_check.c, bench_tables.c */
TCase *test_bench_matrices(void);
TCase *test_bench_check(void);
TCase *test_bench_tables(void);

#endif
