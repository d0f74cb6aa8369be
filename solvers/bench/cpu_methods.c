/* macko-bench on the CPU: the methods that are compared: the loop that everybody would write, ours, and peers. */
#include "bench/cpu.h"

#include <stdlib.h>
#include <string.h>

enum { PREPARATIONS = 9 }; /* the most that a preparation is repeated */

int64_t bench_csr_bytes(const macko_csr *a)
{
  int64_t nnz = ((const int32_t *)a->row_ptr)[a->nrows];
  return 4 * (a->nrows + 1) + nnz * (4 + macko_type_bytes(a->value_type));
}

/* Vectors have the type in which products of such values are summed: f64 with f64, else f32. */
macko_type bench_vector_type(const macko_csr *a)
{
  return a->value_type == MACKO_F64 ? MACKO_F64 : MACKO_F32;
}

/* ---- the loop that everybody would write, in as many threads as macko's ---- */

/* Define the element of a row, and y = A x for 32-bit indices, with nothing done to help the compiler. One thread does not enter a
 * parallel region, which takes longer than the product of a small matrix. */
#ifdef _OPENMP
#include <omp.h>
#define IN_THREADS(type) \
  if (omp_get_max_threads() > 1) { \
    _Pragma("omp parallel for") for (int64_t i = 0; i < a->nrows; i++) y[i] = row_##type(a, x, i); \
    return; \
  }
#else
#define IN_THREADS(type)
#endif
#define LOOP(type) \
  static inline type row_##type(const macko_csr *a, const type *x, int64_t i) \
  { \
    const int32_t *row_ptr = a->row_ptr, *cols = a->cols; \
    const type *values = a->values; \
    type sum = 0; \
    for (int32_t p = row_ptr[i]; p < row_ptr[i + 1]; p++) sum += values[p] * x[cols[p]]; \
    return sum; \
  } \
  static void loop_##type(const macko_csr *a, const type *x, type *y) \
  { \
    IN_THREADS(type) \
    for (int64_t i = 0; i < a->nrows; i++) y[i] = row_##type(a, x, i); \
  }
LOOP(double)
LOOP(float)

static void multiply_loop(const macko_csr *a, const void *x, void *y)
{
  if (a->value_type == MACKO_F64) loop_double(a, x, y);
  else loop_float(a, x, y);
}

/* Multiplies k vectors one after another, as a program without a function for several would. */
static macko_status run_loop(const bench_method *m, int k, const void *x, void *y, macko_error *err)
{
  const macko_csr *a = m->own;
  const int64_t size = macko_type_bytes(a->value_type);
  (void)err;
  for (int j = 0; j < k; j++) multiply_loop(a, (const char *)x + j * a->ncols * size, (char *)y + j * a->nrows * size);
  return MACKO_OK;
}

/* The matrix is the caller's: there is nothing to free. */
static void close_loop(bench_method *m)
{
  m->own = NULL;
}

/* 16-bit floats are left out, because a loop would have to convert them at every entry. */
static macko_status open_loop(const macko_csr *a, bench_method *m, macko_error *err)
{
  *m = (bench_method){.run = run_loop, .close = close_loop, .own = (void *)a, .bytes = bench_csr_bytes(a), .peer = 1,
                      .name = "csr-loop"};
  if (a->value_type == MACKO_F64 || a->value_type == MACKO_F32) return MACKO_OK;
  return bench_refuse(err, MACKO_UNSUPPORTED, m->name, "f64 and f32 only");
}

/* ---- ours ---- */

/* A matrix of ours, and what a product with it needs to be told. */
typedef struct {
  macko_matrix *matrix;
  macko_type vector;    /* the type of x and y */
  int64_t nrows, ncols;
} ours;

/* Vectors follow each other, so their distance is their length. */
static macko_status run_ours(const bench_method *m, int k, const void *x, void *y, macko_error *err)
{
  const ours *o = m->own;
  return macko_multiply(o->matrix, MACKO_OP_N, o->vector, k, 1, x, o->ncols, 0, y, o->nrows, err);
}

/* own is NULL if there was no memory for it. */
static void close_ours(bench_method *m)
{
  ours *o = m->own;
  if (o) macko_destroy(&o->matrix);
  free(o);
  m->own = NULL;
}

/* Times planning, encoding and refreshing, and leaves the matrix encoded in *o. They are medians of a few, because each is long:
 * three at least, and more up to a second. The first ones may be given memory that nobody had before, which takes longer. */
static macko_status time_preparation(const macko_csr *a, const macko_options *options, ours *o, bench_method *m, macko_error *err)
{
  double plan[PREPARATIONS], encode[PREPARATIONS], refresh[PREPARATIONS], start = bench_now(), enough = start + 1;
  macko_info info;
  macko_status s = MACKO_OK;
  int n = 0;
  for (int i = 0; !s && i < PREPARATIONS && (i < 3 || start < enough); i++, n++) {
    start = bench_now();
    s = macko_predict(a, options, &info, err);
    plan[i] = bench_now() - start;
    macko_destroy(&o->matrix);
    start = bench_now();
    if (!s) s = macko_encode(a, options, &o->matrix, err);
    encode[i] = bench_now() - start;
    start = bench_now();
    if (!s) s = macko_refresh(o->matrix, a, err);
    refresh[i] = bench_now() - start;
  }
  if (s) return s;
  m->plan = bench_median(plan, n), m->encode = bench_median(encode, n), m->refresh = bench_median(refresh, n);
  return MACKO_OK;
}

/* Encodes the matrix by the encoding of that name, for products on a CPU. A failure leaves what there is to be closed in *m. */
static macko_status open_ours(const char *name, const macko_csr *a, bench_method *m, macko_error *err)
{
  macko_options options;
  macko_info info;
  ours *o = calloc(1, sizeof *o);
  *m = (bench_method){.run = run_ours, .close = close_ours, .own = o};
  snprintf(m->name, sizeof m->name, "%s", name);
  *err = (macko_error){0};
  if (!o) return bench_refuse(err, MACKO_OUT_OF_MEMORY, name, "no memory");
  *o = (ours){.vector = bench_vector_type(a), .nrows = a->nrows, .ncols = a->ncols};
  macko_status s = bench_encoding(name, MACKO_TARGET_CPU, &options, err);
  if (!s) s = time_preparation(a, &options, o, m, err);
  if (s) return macko_error_place(err, err->row, err->col, 1), s; /* as in the files that people look at */
  macko_get_info(o->matrix, &info);
  m->bytes = info.bytes, m->predicted = 1e6 * info.seconds, m->rounding = info.lossy ? bench_unit(info.stored_type) : 0;
  bench_name_form(&info, m->format, m->layout, m->values);
  snprintf(m->detail, sizeof m->detail, "%s", info.reason);
  return MACKO_OK;
}

/* ---- all methods of one matrix ---- */

/* Counts the method that was opened at methods[*count], or closes it and says why it is left out. That oneMKL is not there is
 * said only once. */
static void keep(bench_method *methods, int *count, const char *matrix, macko_status s, const macko_error *err)
{
  static int said; /* that a library is not there, which no other matrix changes */
  int absent = s && !strcmp(methods[*count].name, "mkl") && strstr(err->text, "--mkl");
  if (!s) ++*count;
  else {
    if (absent && !said) fprintf(stderr, "mkl left out: %s\n", err->text);
    else if (!absent) fprintf(stderr, "%s: %s left out: %s\n", matrix, methods[*count].name, err->text);
    said |= absent;
    if (methods[*count].close) methods[*count].close(&methods[*count]);
  }
}

/* Where one cannot be opened the others are compared all the same. */
int bench_open_methods(const char *matrix, const macko_csr *a, const bench_settings *settings, bench_method *methods)
{
  char names[512], *save = NULL;
  int count = 0;
  macko_error err = {0};
  /* strtok_r writes into the list, so that it works on a copy. */
  snprintf(names, sizeof names, "%s", settings->encodings);
  keep(methods, &count, matrix, open_loop(a, &methods[count], &err), &err);
  /* Each method is opened where the last one that was kept ends. */
  for (int i = 0; i < BENCH_PETSC; i++)
    keep(methods, &count, matrix, bench_open_petsc(i, settings->vectors, a, &methods[count], &err), &err);
  keep(methods, &count, matrix, bench_open_mkl(settings->mkl, settings->vectors, a, &methods[count], &err), &err);
  for (char *name = strtok_r(names, ",", &save); name && count < BENCH_METHODS; name = strtok_r(NULL, ",", &save))
    keep(methods, &count, matrix, open_ours(name, a, &methods[count], &err), &err);
  return count;
}
