/* A matrix for tests of predictions, and what is predicted of it. */
#include "scattered.h"

#include <stdlib.h>

scattered scattered_make(int sectors)
{
  scattered a = {malloc((ROWS + 1) * sizeof *a.row_ptr), malloc(ROWS * LENGTH * sizeof *a.cols),
                 malloc(ROWS * LENGTH * sizeof *a.values)};
  const int shared = LENGTH / sectors; /* entries of a sector */
  for (int64_t i = 0; i <= ROWS; i++) a.row_ptr[i] = i * LENGTH;
  for (int64_t i = 0; i < ROWS; i++)
    for (int e = 0; e < LENGTH; e++) {
      a.cols[i * LENGTH + e] = (int32_t)(4 * ((i + e / shared * (ROWS / LENGTH)) % ROWS) + e % shared);
      a.values[i * LENGTH + e] = 1 / (1.0 + (double)(i * LENGTH + e));
    }
  return a;
}

void scattered_free(scattered *a)
{
  free(a->row_ptr), free(a->cols), free(a->values);
}

macko_csr scattered_view(const scattered *a)
{
  return (macko_csr){.nrows = ROWS, .ncols = COLS, .row_ptr_type = MACKO_I64, .col_type = MACKO_I32, .value_type = MACKO_F64,
                     .row_ptr = a->row_ptr, .cols = a->cols, .values = a->values};
}

macko_info scattered_predict(const macko_csr *c, macko_format format, macko_target target)
{
  macko_options o;
  macko_info info;
  macko_error err = {0};
  macko_options_init(&o);
  o.format = format, o.target = target;
  ck_assert_msg(!macko_predict(c, &o, &info, &err), "%s", err.text);
  return info;
}

double scattered_seconds(const scattered *a, macko_format format, macko_target target, double *csr)
{
  const macko_csr c = scattered_view(a);
  const macko_info info = scattered_predict(&c, format, target);
  *csr = info.csr_seconds;
  return info.seconds;
}

macko_options gpu_options(int slices)
{
  macko_options o;
  macko_options_init(&o);
  o.target = MACKO_TARGET_GPU;
  if (slices) o.format = MACKO_FORMAT_MACKO, o.layout = MACKO_LAYOUT_SLICE;
  return o;
}

uint64_t by_chance(int64_t i)
{
  const uint64_t mixed = (uint64_t)i * 0x9e3779b97f4a7c15u;
  return (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u;
}
