/* A product Y = A X for format slide on host and device, and every element of it against the host's sum in long double, within what
 * rounding may do. */
#include "matmul_product.h"
#include "core/convert.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

macko_error err;

/* ---- numbers ---- */

static uint64_t state;

static double draw(void)
{
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(int32_t)(state >> 32) * 0x1p-31;
}

static void put(macko_type type, void *array, int64_t i, double v)
{
  if (type == MACKO_F64) ((double *)array)[i] = v;
  else macko_put_bits(type, array, i, macko_convert(MACKO_F64, type, &v, 0));
}

/* What rounding once to a type may change a number by, as a share of it. */
static double unit(macko_type type)
{
  return type == MACKO_F64 ? 0x1p-53 : type == MACKO_F32 ? 0x1p-24 : type == MACKO_F16 ? 0x1p-11 : 0x1p-8;
}

/* The same below the range of normal numbers, in all. */
static double least(macko_type type)
{
  return type == MACKO_F64 ? 0x1p-1074 : type == MACKO_F16 ? 0x1p-25 : 0x1p-134;
}

/* ---- a product on host and device ---- */

static double random_of(const problem *p)
{
  if (p->values == MACKO_VALUES_DICT) return floor(draw() * 8) * 0.3;
  return p->whole ? rint(draw() * p->whole) : draw();
}

/* A matrix as the problem has it; every 7th row is empty. */
macko_csr make_matrix(const problem *p)
{
  macko_csr dense = {.nrows = p->nrows, .ncols = p->ncols, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32,
                     .value_type = p->value_type}, pruned;
  int32_t *row_ptr = malloc((size_t)(p->nrows + 1) * 4), *cols = malloc((size_t)(p->nrows * p->ncols + 1) * 4), count = 0;
  void *values = malloc((size_t)(p->nrows * p->ncols + 1) * 8);
  row_ptr[0] = 0;
  for (int32_t i = 0; i < p->nrows; i++) {
    for (int32_t j = 0; j < p->ncols && i % 7 != 6; j++) {
      if (!p->z && draw() > 2.0 / p->l - 1) continue;
      cols[count] = j;
      put(p->value_type, values, count++, random_of(p) * (p->magnitude ? p->magnitude : 1));
    }
    row_ptr[i + 1] = count;
  }
  dense.row_ptr = row_ptr, dense.cols = cols, dense.values = values;
  if (!p->z) return dense;
  OK(macko_prune(&dense, p->z, p->l, &pruned, &err));
  macko_free_csr(&dense);
  return pruned;
}

static void *copied(const void *from, size_t bytes)
{
  void *to;
  CUDA(cudaMalloc(&to, bytes + 1));
  CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
  return to;
}

/* Everything but the product; ldx and ldy leave gaps. */
fixture open_fixture(problem p)
{
  fixture f = {.p = p, .ldx = p.ncols + 3, .ldy = p.nrows + 5};
  macko_options o;
  macko_matmul_options mo;
  state = 12345 + (uint64_t)p.nrows * 31 + (uint64_t)p.n;
  f.a = make_matrix(&p);
  macko_options_init(&o);
  o.format = MACKO_FORMAT_SLIDE, o.values = p.values, o.target = MACKO_TARGET_GPU;
  OK(macko_encode(&f.a, &o, &f.m, &err));
  OK(macko_device_upload(f.m, NULL, &f.d, &err));
  f.x = calloc((size_t)(f.ldx * p.n + 1), 8), f.y = calloc((size_t)(f.ldy * p.n + 1), 8);
  f.bias = calloc((size_t)p.nrows + 1, sizeof *f.bias);
  for (int64_t i = 0; i < f.ldx * p.n; i++) put(p.x_type, f.x, i, i % f.ldx >= p.ncols ? NAN : random_of(&p));
  for (int64_t j = 0; j < p.n && p.exact; j++) put(p.x_type, f.x, j * f.ldx + j % p.ncols, 127);
  for (int64_t i = 0; i < f.ldy * p.n; i++) put(p.y_type, f.y, i, -77);
  for (int64_t i = 0; i < p.nrows; i++) f.bias[i] = p.bias ? (float)random_of(&p) : 0;
  f.device_x = copied(f.x, (size_t)(f.ldx * p.n) * (size_t)macko_type_bytes(p.x_type));
  f.device_y = copied(f.y, (size_t)(f.ldy * p.n) * (size_t)macko_type_bytes(p.y_type));
  f.device_bias = copied(f.bias, (size_t)p.nrows * sizeof *f.bias);
  CUDA(cudaStreamCreate(&f.stream));
  macko_matmul_options_init(&mo);
  mo.path = p.path, mo.operands = p.operands, mo.x_type = p.x_type, mo.y_type = p.y_type, mo.library = getenv("MACKO_CUSPARSELT");
  OK(macko_matmul_open(f.d, &mo, f.stream, &f.matmul, &err));
  OK(macko_matmul_plan(f.matmul, p.n, p.algorithm ? p.algorithm : -1, f.stream, &err));
  macko_matmul_get_info(f.matmul, p.n, &f.info);
  ck_assert(f.info.work_bytes >= 0 && f.info.nrows == p.nrows && f.info.ncols == p.ncols && strlen(f.info.reason) > 10);
  CUDA(cudaMalloc(&f.work, (size_t)f.info.work_bytes + 256));
  CUDA(cudaMemset(f.work, 0xff, (size_t)f.info.work_bytes)); /* NaN */
  return f;
}

void close_fixture(fixture *f)
{
  macko_matmul_close(&f->matmul);
  ck_assert_ptr_null(f->matmul);
  macko_device_destroy(&f->d);
  macko_destroy(&f->m);
  macko_free_csr(&f->a);
  free(f->x), free(f->y), free(f->bias);
  CUDA(cudaFree(f->device_x));
  CUDA(cudaFree(f->device_y));
  CUDA(cudaFree(f->device_bias));
  CUDA(cudaFree(f->work));
  CUDA(cudaStreamDestroy(f->stream));
}

macko_status multiply(const fixture *f)
{
  return macko_device_matmul(f->matmul, f->p.n, f->device_x, f->ldx, f->p.bias ? f->device_bias : NULL, f->device_y, f->ldy,
                             f->work, f->info.work_bytes, f->stream, &err);
}

size_t y_bytes(const fixture *f)
{
  return (size_t)(f->ldy * f->p.n) * (size_t)macko_type_bytes(f->p.y_type);
}

void fetch_y(fixture *f)
{
  CUDA(cudaStreamSynchronize(f->stream));
  CUDA(cudaMemcpy(f->y, f->device_y, y_bytes(f), cudaMemcpyDeviceToHost));
}

/* ---- what is right ---- */

/* The largest magnitude of a row of A, or of a column of X. */
static double largest_of_row(const macko_csr *a, int64_t i)
{
  double most = 0;
  for (int64_t p = ((const int32_t *)a->row_ptr)[i]; p < ((const int32_t *)a->row_ptr)[i + 1]; p++)
    most = fmax(most, fabs(macko_float_at(a->value_type, a->values, p)));
  return most;
}

static double largest_of_column(const fixture *f, int64_t j)
{
  double most = 0;
  for (int64_t i = 0; i < f->p.ncols; i++) most = fmax(most, fabs(macko_float_at(f->p.x_type, f->x, j * f->ldx + i)));
  return most;
}

/* What operands of a number of at most that magnitude may be off by: half a step of the scale for integers; for e4m3 half of the
 * last of its 4 bits, or of its smallest step; both more by what the inverse of a scale is off. Then what rounding to f16 or bf16
 * may do, where the number is not of that type. */
static double off_by(macko_operands operands, double number, double largest)
{
  switch (operands) {
  case MACKO_OPERANDS_I8: return fmax(largest / 127, 0x1p-126) * (0.5 + 127 * 0x1p-22);
  case MACKO_OPERANDS_E4M3: return fmax(fabs(number) * 0x1p-4, fmax(largest / 448, 0x1p-126) * 0x1p-10) * (1 + 0x1p-16);
  case MACKO_OPERANDS_F16: return fabs(number) * 0x1p-11 + 0x1p-25;
  case MACKO_OPERANDS_BF16: return fabs(number) * 0x1p-8;
  default: return 0;
  }
}

/* Sums: of the kernel as those of a CPU. Tensor cores cut off instead of rounding, and align what they add together to the largest,
 * which keeps 22 bits or more; with e4m3 on sm_90 13 bits. */
static double sum_unit(const fixture *f)
{
  if (f->info.path != MACKO_MATMUL_KERNEL) return f->p.operands == MACKO_OPERANDS_E4M3 ? 0x1p-13 : 0x1p-22;
  return f->p.x_type == MACKO_F64 || f->p.value_type == MACKO_F64 ? 0x1p-53 : 0x1p-24;
}

static void check_element(const fixture *f, int64_t i, int64_t j, double largest_a, double largest_x)
{
  const int32_t *row_ptr = f->a.row_ptr, *cols = f->a.cols;
  const int rounds = f->info.path != MACKO_MATMUL_KERNEL;
  /* Values that are operands of 8 bits as they are keep their bits. */
  const int kept = f->p.whole && (f->p.operands == MACKO_OPERANDS_I8 || (f->p.operands == MACKO_OPERANDS_E4M3 && f->p.whole <= 16));
  long double sum = f->bias[i], size = fabsf(f->bias[i]), off = 0;
  for (int64_t e = row_ptr[i]; e < row_ptr[i + 1]; e++) {
    const double v = macko_float_at(f->a.value_type, f->a.values, e), x = macko_float_at(f->p.x_type, f->x, j * f->ldx + cols[e]);
    const double dv = rounds && !kept ? off_by(f->p.operands, v, largest_a) : 0,
                 dx = rounds ? off_by(f->p.operands, x, largest_x) : 0;
    sum += (long double)v * x, size += fabsl((long double)v * x) + dv * fabs(x) + dx * fabs(v) + dv * dx;
    off += dv * fabs(x) + dx * fabs(v) + dv * dx;
  }
  const int of_8_bits = f->p.operands == MACKO_OPERANDS_I8 || f->p.operands == MACKO_OPERANDS_E4M3;
  const double terms = (row_ptr[i + 1] - row_ptr[i] + 4) * sum_unit(f), u = unit(f->p.y_type),
               y = macko_float_at(f->p.y_type, f->y, j * f->ldy + i);
  /* Sums that tensor cores give in 16 bits are rounded before the bias is added, and after; of 8 bits they are where Y has 16. */
  if (rounds && f->p.bias && !of_8_bits) off += u * (fabsl(sum - f->bias[i]) + terms / (1 - terms) * size) + least(f->p.y_type);
  if (rounds && of_8_bits && f->p.y_type != MACKO_F32)
    off += (f->p.operands == MACKO_OPERANDS_I8 ? 0x1p-11 : 0x1p-8) * (fabsl(sum - f->bias[i]) + off + terms / (1 - terms) * size);
  const long double bound = (off + terms / (1 - terms) * size) * (1 + u) + u * fabsl(sum) + least(f->p.y_type);
  if (f->p.exact && rounds) ck_assert_msg(y == (double)sum, "row %d, column %d: %g, not %g", (int)i, (int)j, y, (double)sum);
  ck_assert_msg(fabsl(y - sum) <= bound, "row %d, column %d: %g, not %g, off by %g of %g (%s)", (int)i, (int)j, y, (double)sum,
                (double)fabsl(y - sum), (double)bound, f->info.reason);
}

void check_all(const fixture *f)
{
  double *largest_a = malloc((size_t)(f->p.nrows + 1) * sizeof *largest_a);
  for (int64_t i = 0; i < f->p.nrows; i++) largest_a[i] = largest_of_row(&f->a, i);
  for (int64_t j = 0; j < f->p.n; j++) {
    const double largest_x = largest_of_column(f, j);
    for (int64_t i = 0; i < f->p.nrows; i++) check_element(f, i, j, largest_a[i], largest_x);
    for (int64_t i = f->p.nrows; i < f->ldy; i++) ck_assert(macko_float_at(f->p.y_type, f->y, j * f->ldy + i) == -77);
  }
  free(largest_a);
}

/* The product checked, and twice the same bits. */
void run(problem p)
{
  fixture f = open_fixture(p);
  void *again = malloc(y_bytes(&f) + 1);
  OK(multiply(&f));
  fetch_y(&f);
  check_all(&f);
  memcpy(again, f.y, y_bytes(&f));
  OK(multiply(&f));
  fetch_y(&f);
  ck_assert_msg(!memcmp(again, f.y, y_bytes(&f)), "another result the second time");
  free(again);
  close_fixture(&f);
}
