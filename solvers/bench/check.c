/* macko-bench: the vectors of all products, and whether a product is right, element by element. */
#include "bench/bench.h"
#include "core/half.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* 16-bit floats are exact in f32, and f32 in f64. */
double bench_get(macko_type type, const void *v, int64_t i)
{
  if (type == MACKO_F64) return ((const double *)v)[i];
  if (type == MACKO_F32) return ((const float *)v)[i];
  return type == MACKO_F16 ? macko_f16_to_f32(((const uint16_t *)v)[i]) : macko_bf16_to_f32(((const uint16_t *)v)[i]);
}

/* A value for 16 bits is rounded twice, to f32 first. */
void bench_put(macko_type type, void *v, int64_t i, double value)
{
  if (type == MACKO_F64) ((double *)v)[i] = value;
  else if (type == MACKO_F32) ((float *)v)[i] = (float)value;
  else ((uint16_t *)v)[i] = type == MACKO_F16 ? macko_f32_to_f16((float)value) : macko_f32_to_bf16((float)value);
}

/* A linear congruential generator is enough for vectors; its upper bits are the random ones. 24 of them are exact in f32. */
void bench_fill(macko_type type, void *v, int64_t n)
{
  uint64_t state = 1;
  for (int64_t i = 0; i < n; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    bench_put(type, v, i, (double)(state >> 40) * 0x1p-23 - 1);
  }
}

/* Gives the factor of vector j. Powers of two change no digit, so that one long product says what all k of them should be; they
 * stay small where a type ends early. */
static double factor(macko_type type, int64_t j)
{
  return ldexp(1, (int)(j % (macko_type_bytes(type) > 2 ? 31 : 4)));
}

/* Each vector is a multiple of the first one. */
void bench_fill_vectors(macko_type type, void *v, int64_t n, int64_t k)
{
  bench_fill(type, v, n);
  for (int64_t j = 1; j < k; j++)
    for (int64_t i = 0; i < n; i++) bench_put(type, v, j * n + i, factor(type, j) * bench_get(type, v, i));
}

/* It is half of the distance from 1 to the next number of the type. */
double bench_unit(macko_type type)
{
  return type == MACKO_F64 ? DBL_EPSILON / 2 : type == MACKO_F32 ? FLT_EPSILON / 2 : type == MACKO_F16 ? 0x1p-11 : 0x1p-8;
}

/* Sums are in long double, so that their own rounding is far below what is allowed to any product. */
macko_status bench_reference_open(const macko_csr *a, macko_type type, const void *x, bench_reference *r, macko_error *err)
{
  const int32_t *row_ptr = a->row_ptr, *cols = a->cols;
  double *numbers = malloc((size_t)a->ncols * sizeof *numbers + 1);
  *r = (bench_reference){.type = type, .nrows = a->nrows, .row_ptr = row_ptr};
  r->sum = malloc((size_t)a->nrows * sizeof *r->sum + 1), r->size = malloc((size_t)a->nrows * sizeof *r->size + 1);
  if (!numbers || !r->sum || !r->size) {
    free(numbers), bench_reference_close(r);
    return bench_fail(err, MACKO_OUT_OF_MEMORY, "no memory for the product that others are compared with");
  }
  for (int64_t j = 0; j < a->ncols; j++) numbers[j] = bench_get(type, x, j);
  for (int64_t i = 0; i < a->nrows; i++) {
    /* The sum of sizes bounds what rounding can do to the sum itself. */
    long double sum = 0, size = 0;
    for (int64_t p = row_ptr[i]; p < row_ptr[i + 1]; p++) {
      long double product = (long double)bench_get(a->value_type, a->values, p) * numbers[cols[p]];
      sum += product, size += fabsl(product);
    }
    r->sum[i] = sum, r->size[i] = (double)size;
  }
  free(numbers);
  return MACKO_OK;
}

/* May be called for an empty one. */
void bench_reference_close(bench_reference *r)
{
  free(r->sum), free(r->size);
  *r = (bench_reference){0};
}

/* Returns what y_i may be off by. A sum of n products rounded in any order is off by at most gamma(n) times the sum of their
 * sizes; three more roundings are allowed for what kernels do besides. Numbers too small for the type are allowed for at the
 * end. */
static long double bound(const bench_reference *r, int64_t i, double rounding)
{
  int wide = r->type == MACKO_F64, half = r->type == MACKO_F16 || r->type == MACKO_BF16;
  long double nu = (long double)(r->row_ptr[i + 1] - r->row_ptr[i] + 3) * bench_unit(wide ? MACKO_F64 : MACKO_F32);
  long double most = (nu / (1 - nu) + rounding) * r->size[i];
  /* Of the last rounding; f16 has numbers only down to 2^-24. */
  if (half) most += bench_unit(r->type) * (fabsl(r->sum[i]) + most) + (r->type == MACKO_F16 ? 0x1p-25L : 0);
  return most + (wide ? DBL_MIN : FLT_MIN);
}

/* Where A x is not finite, y has to be the same infinity, or a NaN too. All comparisons are written so that a NaN in y fails
 * them. */
macko_status bench_check(const bench_reference *r, const void *y, double rounding, double *difference, macko_error *err)
{
  long double apart = 0, size = 0, worst = 1;
  int64_t row = -1;
  for (int64_t i = 0; i < r->nrows; i++) {
    long double sum = r->sum[i], off = bench_get(r->type, y, i) - sum, most;
    /* These are for *difference; the verdict goes by each element. */
    apart += off * off, size += sum * sum;
    if (!isfinite(sum)) {
      double got = bench_get(r->type, y, i);
      if (isnan(sum) ? !isnan(got) : got != sum) row = i, worst = INFINITY;
    } else if (most = bound(r, i, rounding), !(fabsl(off) <= worst * most))
      row = i, worst = isnan(off) ? INFINITY : fabsl(off) / most;
  }
  *difference = (double)(size > 0 ? sqrtl(apart / size) : sqrtl(apart));
  if (row < 0) return MACKO_OK;
  return bench_fail(err, MACKO_CORRUPT, "row %lld is %.9g instead of %.9Lg, off by %.3Lg times what rounding explains",
                    (long long)row, bench_get(r->type, y, row), r->sum[row], worst);
}

/* What is left of a vector without its factor is what the first one should be. */
macko_status bench_check_vectors(const bench_reference *r, void *y, int64_t k, double rounding, double *difference,
                                 macko_error *err)
{
  macko_status s = MACKO_OK;
  *difference = 0;
  for (int64_t j = 0; j < k && !s; j++) {
    void *of_vector = (char *)y + j * r->nrows * macko_type_bytes(r->type);
    const double scale = factor(r->type, j);
    double off;
    for (int64_t i = 0; i < r->nrows && j; i++)
      bench_put(r->type, of_vector, i, bench_get(r->type, of_vector, i) / scale);
    s = bench_check(r, of_vector, rounding, &off, err);
    if (!(off <= *difference)) *difference = off;
  }
  return s;
}
