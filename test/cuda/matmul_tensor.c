/* Y = A X for format slide on sparse tensor cores, with operands of 16 and of 8 bits, and on dense ones. */
#include "matmul.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- operands of 16 bits ---- */

START_TEST(tensor_cores_of_16_bits)
{
  for (int t = 2; t < 4; t++)
    for (int n = 0; n < 5; n++)
      run((problem){.nrows = 37, .ncols = 100, .n = counts[n], .z = patterns[_i % WINDOWS].z, .l = patterns[_i % WINDOWS].l,
                    .value_type = types[t], .x_type = types[t], .y_type = types[t], .bias = n % 2, .path = path_of(_i)});
}
END_TEST

/* Sizes that need no padding, of which Y is written without a copy where columns follow each other; rounded X; long columns. */
START_TEST(tensor_cores_of_other_sizes)
{
  run((problem){.nrows = 256, .ncols = 512, .n = 64, .z = patterns[_i % WINDOWS].z, .l = patterns[_i % WINDOWS].l,
                .value_type = MACKO_BF16, .x_type = MACKO_BF16, .y_type = MACKO_BF16, .path = path_of(_i)});
  run((problem){.nrows = 100, .ncols = 3001, .n = 50, .z = patterns[_i % WINDOWS].z, .l = patterns[_i % WINDOWS].l,
                .value_type = MACKO_F32, .x_type = MACKO_F32, .y_type = MACKO_F16, .operands = MACKO_OPERANDS_F16,
                .path = path_of(_i)});
  run((problem){.nrows = 1, .ncols = 1, .n = 1, .z = patterns[_i % WINDOWS].z, .l = patterns[_i % WINDOWS].l,
                .value_type = MACKO_F16, .x_type = MACKO_F16, .y_type = MACKO_F16, .path = path_of(_i)});
}
END_TEST

/* X and Y without gaps, at multiples of 32 rows and columns: the library reads X where nothing is repeated, and writes Y. */
START_TEST(tensor_cores_read_x_and_write_y)
{
  fixture f = open_fixture((problem){.nrows = 128, .ncols = 192, .n = 32, .z = patterns[_i % WINDOWS].z,
                                     .l = patterns[_i % WINDOWS].l, .value_type = MACKO_F16, .x_type = MACKO_F16,
                                     .y_type = MACKO_F16, .path = path_of(_i)});
  f.ldy = f.p.nrows;
  for (int64_t j = 0; j < f.p.n; j++) memmove((uint16_t *)f.x + j * f.p.ncols, (uint16_t *)f.x + j * f.ldx, (size_t)f.p.ncols * 2);
  f.ldx = f.p.ncols;
  CUDA(cudaMemcpy(f.device_x, f.x, (size_t)(f.ldx * f.p.n) * 2, cudaMemcpyHostToDevice));
  OK(multiply(&f));
  fetch_y(&f);
  check_all(&f);
  close_fixture(&f);
}
END_TEST

START_TEST(an_algorithm_that_is_named_gives_the_same_bits)
{
  problem p = {.nrows = 200, .ncols = 600, .n = 96, .z = 6, .l = 8, .value_type = MACKO_F16, .x_type = MACKO_F16,
               .y_type = MACKO_F16, .path = (macko_matmul_path)_i};
  fixture f = open_fixture(p);
  OK(multiply(&f));
  fetch_y(&f);
  p.algorithm = f.info.algorithm;
  fixture g = open_fixture(p);
  ck_assert(p.algorithm > 0 && g.info.algorithm == p.algorithm && g.info.work_bytes == f.info.work_bytes);
  OK(multiply(&g));
  fetch_y(&g);
  ck_assert(!memcmp(f.y, g.y, y_bytes(&f)));
  /* One of the other library is refused. */
  ck_assert_int_eq(macko_matmul_plan(g.matmul, 500, p.algorithm ^ (int64_t)1 << 40, NULL, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_msg(strstr(err.text, _i == MACKO_MATMUL_DENSE ? "is none of path dense" : "is none of path tensor") != NULL, "%s",
                err.text);
  close_fixture(&f);
  close_fixture(&g);
}
END_TEST

/* All forms are timed, the reason has their times, and the algorithm that it names gives the same bits another time. */
START_TEST(the_fastest_form_multiplies)
{
  for (int o = MACKO_OPERANDS_EXACT; o < MACKO_OPERANDS_COUNT; o++)
    for (int64_t n = 1; n < 300; n += 256) {
      problem p = {.nrows = 300, .ncols = 400, .n = n, .z = 6, .l = 8, .value_type = MACKO_BF16, .x_type = MACKO_BF16,
                   .y_type = o == MACKO_OPERANDS_F16 ? MACKO_F16 : MACKO_BF16, .operands = (macko_operands)o};
      fixture f = open_fixture(p);
      ck_assert_msg(strstr(f.info.reason, "columns take us: ") != NULL, "%s", f.info.reason);
      OK(multiply(&f));
      fetch_y(&f);
      check_all(&f);
      p.algorithm = f.info.algorithm;
      if (f.info.path != MACKO_MATMUL_KERNEL) {
        fixture g = open_fixture(p);
        ck_assert_msg(g.info.path == f.info.path && !strstr(g.info.reason, "columns take us: "), "%s", g.info.reason);
        OK(multiply(&g));
        fetch_y(&g);
        ck_assert(!memcmp(f.y, g.y, y_bytes(&f)));
        close_fixture(&g);
      }
      close_fixture(&f);
    }
}
END_TEST

START_TEST(a_graph_captures_the_product_of_tensor_cores)
{
  check_graph(MACKO_MATMUL_TENSOR);
}
END_TEST

/* Matrices whose products would overflow f16 or vanish in it, of integers alone, of one row, and with Inf are planned like
 * others. */
START_TEST(matrices_of_all_magnitudes_can_be_checked)
{
  static const double magnitudes[] = {6e4, 6e-6, 1, INFINITY};
  for (int i = 0; i < 4; i++)
    for (int t = 2; t < 4; t++)
      for (int64_t rows = 1; rows < 3000; rows += 2400) {
        const problem p = {.nrows = rows, .ncols = 1000, .n = 33, .z = patterns[_i % WINDOWS].z, .l = patterns[_i % WINDOWS].l,
                           .value_type = types[t], .x_type = types[t], .y_type = types[t], .path = path_of(_i),
                           .magnitude = magnitudes[i]};
        fixture f = open_fixture(p);
        close_fixture(&f);
      }
}
END_TEST

/* ---- operands of 8 bits ---- */

START_TEST(operands_of_8_bits)
{
  for (int o = MACKO_OPERANDS_I8; o <= MACKO_OPERANDS_E4M3; o++)
    for (int x = 1; x < 4; x++)
      for (int n = 0; n < 5; n++)
        run((problem){.nrows = 37, .ncols = 100, .n = counts[n], .z = patterns[_i % WINDOWS].z, .l = patterns[_i % WINDOWS].l,
                      .value_type = types[(x + n) % 4], .x_type = types[x], .y_type = types[1 + (x + n) % 3], .bias = n % 2,
                      .path = path_of(_i), .operands = (macko_operands)o});
}
END_TEST

/* Columns that a block of threads keeps, and longer ones. */
START_TEST(columns_of_other_lengths)
{
  static const int64_t lengths[] = {64, 1999, 30001};
  for (int i = 0; i < 3; i++)
    for (int o = MACKO_OPERANDS_I8; o <= (i < 2 ? MACKO_OPERANDS_E4M3 : MACKO_OPERANDS_I8); o++)
      run((problem){.nrows = 96, .ncols = lengths[i], .n = 20, .z = patterns[_i % WINDOWS].z, .l = patterns[_i % WINDOWS].l,
                    .value_type = MACKO_BF16, .x_type = MACKO_F16, .y_type = MACKO_F32, .path = path_of(_i),
                    .operands = (macko_operands)o});
}
END_TEST

START_TEST(integers_are_exact)
{
  for (int t = 1; t < 4; t++)
    run((problem){.nrows = 150, .ncols = 500, .n = 70, .z = patterns[_i % WINDOWS].z, .l = patterns[_i % WINDOWS].l,
                  .value_type = MACKO_F16, .x_type = types[t], .y_type = MACKO_F32, .whole = 100, .exact = 1, .bias = 1,
                  .path = path_of(_i), .operands = MACKO_OPERANDS_I8});
}
END_TEST

/* Weights that have 8 bits already are not rounded again, whatever the largest of a row is. */
START_TEST(operands_of_8_bits_are_kept)
{
  for (int o = MACKO_OPERANDS_I8; o <= MACKO_OPERANDS_E4M3; o++)
    run((problem){.nrows = 150, .ncols = 500, .n = 70, .z = patterns[_i % WINDOWS].z, .l = patterns[_i % WINDOWS].l,
                  .value_type = MACKO_F16, .x_type = MACKO_BF16, .y_type = MACKO_F32, .whole = 13, .path = path_of(_i),
                  .operands = (macko_operands)o});
}
END_TEST

/* A column of X that has NaN or Inf gives NaN, and the others what they would. */
START_TEST(a_column_that_is_no_number_gives_nan)
{
  fixture f = open_fixture((problem){.nrows = 64, .ncols = 64, .n = 3, .z = 6, .l = 8, .value_type = MACKO_F32, .x_type = MACKO_F32,
                                     .y_type = MACKO_F32, .path = MACKO_MATMUL_TENSOR, .operands = (macko_operands)_i});
  float *x = f.x;
  x[10] = INFINITY, x[f.ldx + 33] = NAN;
  CUDA(cudaMemcpy(f.device_x, x, (size_t)(f.ldx * 3) * 4, cudaMemcpyHostToDevice));
  OK(multiply(&f));
  fetch_y(&f);
  for (int64_t j = 0; j < 3; j++)
    for (int64_t i = 0; i < 64; i++) {
      const float y = ((const float *)f.y)[j * f.ldy + i];
      ck_assert_msg(j < 2 ? y != y : y - y == 0, "row %d, column %d: %g", (int)i, (int)j, (double)y);
    }
  close_fixture(&f);
}
END_TEST

/* Scales of numbers that are no normal ones. */
START_TEST(tiny_columns)
{
  fixture f = open_fixture((problem){.nrows = 64, .ncols = 64, .n = 3, .z = 6, .l = 8, .value_type = MACKO_F32, .x_type = MACKO_F32,
                                     .y_type = MACKO_F32, .path = MACKO_MATMUL_TENSOR, .operands = (macko_operands)_i});
  float *x = f.x;
  for (int64_t i = 0; i < f.ldx * 3; i++) x[i] *= 0x1p-130f;
  CUDA(cudaMemcpy(f.device_x, x, (size_t)(f.ldx * 3) * 4, cudaMemcpyHostToDevice));
  OK(multiply(&f));
  fetch_y(&f);
  check_all(&f);
  close_fixture(&f);
}
END_TEST

/* ---- the cases ---- */

/* Whether tensor cores can multiply here; says why not. No test yet, so that nothing can be asserted. */
static int has_tensor_cores(void)
{
  const int32_t row_ptr[] = {0, 1}, col = 0;
  const uint16_t one = 0x3f80;
  const macko_csr a = {.nrows = 1, .ncols = 1, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_BF16,
                       .row_ptr = row_ptr, .cols = &col, .values = &one};
  macko_matrix *m = NULL;
  macko_device_matrix *d = NULL;
  macko_matmul *matmul = NULL;
  macko_options o;
  macko_matmul_options mo;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_SLIDE;
  macko_matmul_options_init(&mo);
  mo.path = MACKO_MATMUL_TENSOR, mo.x_type = mo.y_type = MACKO_BF16, mo.library = getenv("MACKO_CUSPARSELT");
  const int has = !macko_encode(&a, &o, &m, &err) && !macko_device_upload(m, NULL, &d, &err) &&
                  !macko_matmul_open(d, &mo, NULL, &matmul, &err);
  if (!has) fprintf(stderr, "left out, cases tensor and quantised: %s\n", err.text);
  macko_matmul_close(&matmul);
  macko_device_destroy(&d);
  macko_destroy(&m);
  return has;
}

void add_tensor_cases(Suite *s)
{
  if (!has_tensor_cores()) return;
  TCase *tensor = add_case(s, "tensor", 0), *quantised = add_case(s, "quantised", 0);
  tcase_add_loop_test(tensor, tensor_cores_of_16_bits, 0, 2 * WINDOWS);
  tcase_add_loop_test(tensor, tensor_cores_of_other_sizes, 0, 2 * WINDOWS);
  tcase_add_loop_test(tensor, tensor_cores_read_x_and_write_y, 0, 2 * WINDOWS);
  tcase_add_loop_test(tensor, an_algorithm_that_is_named_gives_the_same_bits, MACKO_MATMUL_TENSOR, MACKO_MATMUL_PATHS);
  tcase_add_test(tensor, the_fastest_form_multiplies);
  tcase_add_test(tensor, a_graph_captures_the_product_of_tensor_cores);
  tcase_add_loop_test(tensor, matrices_of_all_magnitudes_can_be_checked, 0, 2 * WINDOWS);
  tcase_add_loop_test(quantised, operands_of_8_bits, 0, 2 * WINDOWS);
  tcase_add_loop_test(quantised, columns_of_other_lengths, 0, 2 * WINDOWS);
  tcase_add_loop_test(quantised, operands_of_8_bits_are_kept, 0, 2 * WINDOWS);
  tcase_add_loop_test(quantised, integers_are_exact, 0, 2 * WINDOWS);
  tcase_add_loop_test(quantised, a_column_that_is_no_number_gives_nan, MACKO_OPERANDS_I8, MACKO_OPERANDS_COUNT);
  tcase_add_loop_test(quantised, tiny_columns, MACKO_OPERANDS_I8, MACKO_OPERANDS_COUNT);
}
