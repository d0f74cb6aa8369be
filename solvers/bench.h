/* Between the parts of macko-bench: what is measured, and the parts that measure. */
#ifndef BENCH_H
#define BENCH_H

#include "macko.h"

/* One way to multiply by one matrix. Times in microseconds, medians of repeats. */
typedef struct {
  char matrix[96], name[48], detail[256];
  int peer;                      /* 1: not ours, what ratios are taken against */
  int64_t nrows, ncols, nnz, bytes; /* bytes of the matrix in that form */
  int64_t moved;                 /* matrix, x once, y once */
  double flushed, warm;          /* caches emptied before each multiply; not */
  double encode, upload;         /* seconds; 0 for peers */
  double difference;             /* |y - y_csr| / |y_csr| in the 2-norm */
} bench_result;

typedef struct {
  bench_result *all;
  int count, room;
} bench_table;

/* Room for one more, zeroed; NULL without memory. */
bench_result *bench_add(bench_table *table);

typedef struct {
  int repeats;
  const char *encodings; /* comma-separated, see bench_encoding; NULL: a choice that suits the matrix */
  double copy;           /* ceiling of the machine in bytes a second, filled in by the part that measures */
  char machine[384];
} bench_settings;

/* Encoding of a name "auto", "csr", "slice", "row", "paper" or "dtans", with the value codec after a dot: "slice.raw", "auto.f32".
 * Errors: INVALID_ARGUMENT. */
macko_status bench_encoding(const char *name, macko_options *options, macko_error *err);

/* The vector type that goes with a matrix: its own values' type. */
#define BENCH_VECTOR(csr) ((csr)->value_type)

/* Measures on the current GPU; rows are added to *table. Errors: of the library and of CUDA. */
macko_status bench_gpu(const char *name, const macko_csr *csr, bench_settings *settings, bench_table *table, macko_error *err);

/* Fills settings->copy and settings->machine; UNSUPPORTED without a GPU. */
macko_status bench_gpu_open(bench_settings *settings, macko_error *err);

#endif
