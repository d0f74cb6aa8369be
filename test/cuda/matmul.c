/* Y = A X for format slide: the kernel for any GPU, sparse tensor cores with operands of 16 and 8 bits, and what is refused. */
#include "matmul_product.h"
#include "core/convert.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the kernel for any GPU ---- */

static const struct { int z, l; } patterns[] = {{2, 4}, {4, 6}, {6, 8}, {14, 16}, {1, 2}, {0, 1}, {0, 20}};
enum { PATTERNS = sizeof patterns / sizeof *patterns };
static const int64_t counts[] = {1, 7, 32, 33, 130};
static const macko_type types[] = {MACKO_F64, MACKO_F32, MACKO_F16, MACKO_BF16};

START_TEST(patterns_of_all_types)
{
  for (int v = 0; v < 4; v++)
    for (int x = 0; x < 4; x++)
      for (int n = 0; n < 5; n++)
        run((problem){.nrows = 37, .ncols = 100, .n = counts[n], .z = patterns[_i].z, .l = patterns[_i].l, .value_type = types[v],
                      .x_type = types[x], .y_type = types[(v + x + n) % 4], .bias = n % 2, .path = MACKO_MATMUL_KERNEL});
}
END_TEST

START_TEST(codecs)
{
  static const macko_values codecs[] = {MACKO_VALUES_RAW, MACKO_VALUES_NARROW, MACKO_VALUES_DICT};
  for (int c = 0; c < 3; c++)
    for (int v = 0; v < 4; v++)
      run((problem){.nrows = 50, .ncols = 96, .n = 40, .z = patterns[_i].z, .l = patterns[_i].l, .value_type = types[v],
                    .x_type = MACKO_F32, .y_type = MACKO_F32, .values = codecs[c], .whole = c == 1 ? 100 : 0,
                    .path = MACKO_MATMUL_KERNEL});
}
END_TEST

/* Rows of more cells than a warp takes at once, tiles of Y that end inside, sizes of one. */
START_TEST(sizes)
{
  static const int64_t sizes[][3] = {{1, 1, 1}, {1, 5000, 1}, {300, 1, 200}, {129, 4100, 65}, {16, 8, 128}, {17, 2000, 257}};
  for (int i = 0; i < 6; i++)
    run((problem){.nrows = sizes[i][0], .ncols = sizes[i][1], .n = sizes[i][2], .z = patterns[_i].z, .l = patterns[_i].l,
                  .value_type = MACKO_F16, .x_type = MACKO_F16, .y_type = MACKO_F16, .path = MACKO_MATMUL_KERNEL});
}
END_TEST

/* A slot without an entry multiplies nothing: Inf and NaN reach the rows that have an entry there, and no other. */
START_TEST(infinite_x_stays_where_it_is)
{
  fixture f = open_fixture((problem){.nrows = 64, .ncols = 64, .n = 3, .z = 0, .l = 20, .value_type = MACKO_F32, .x_type = MACKO_F32,
                                     .y_type = MACKO_F32, .path = MACKO_MATMUL_KERNEL});
  float *x = f.x;
  x[10] = INFINITY, x[f.ldx + 33] = NAN;
  CUDA(cudaMemcpy(f.device_x, x, (size_t)(f.ldx * 3) * 4, cudaMemcpyHostToDevice));
  OK(multiply(&f));
  fetch_y(&f);
  for (int64_t i = 0; i < 64; i++)
    for (int64_t j = 0; j < 3; j++) {
      int meets = 0;
      for (int64_t e = ((const int32_t *)f.a.row_ptr)[i]; e < ((const int32_t *)f.a.row_ptr)[i + 1]; e++)
        meets |= ((const int32_t *)f.a.cols)[e] == (j == 0 ? 10 : j == 1 ? 33 : -1);
      const float y = ((const float *)f.y)[j * f.ldy + i];
      ck_assert_msg(meets ? y - y != 0 : y - y == 0, "row %d, column %d: %g", (int)i, (int)j, (double)y);
    }
  close_fixture(&f);
}
END_TEST

static void check_graph(macko_matmul_path path)
{
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  fixture f = open_fixture((problem){.nrows = 100, .ncols = 80, .n = 50, .z = 6, .l = 8, .value_type = MACKO_F16, .x_type = MACKO_F16,
                                     .y_type = MACKO_F16, .path = path});
  OK(multiply(&f));
  CUDA(cudaStreamSynchronize(f.stream));
  CUDA(cudaStreamBeginCapture(f.stream, cudaStreamCaptureModeGlobal));
  OK(multiply(&f));
  CUDA(cudaStreamEndCapture(f.stream, &graph));
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  CUDA(cudaMemcpy(f.device_y, f.y, y_bytes(&f), cudaMemcpyHostToDevice));
  CUDA(cudaGraphLaunch(exec, f.stream));
  fetch_y(&f);
  check_all(&f);
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));
  close_fixture(&f);
}

START_TEST(a_graph_captures_the_product)
{
  check_graph(MACKO_MATMUL_KERNEL);
}
END_TEST

START_TEST(a_graph_captures_the_product_of_tensor_cores)
{
  check_graph(MACKO_MATMUL_TENSOR);
}
END_TEST

/* ---- sparse tensor cores ---- */

/* Those that hold to a pattern, as sparse tensor cores need. Loops go through them twice, the second time for dense ones. */
enum { WINDOWS = 4 };
static macko_matmul_path path_of(int i)
{
  return i < WINDOWS ? MACKO_MATMUL_TENSOR : MACKO_MATMUL_DENSE;
}

START_TEST(tensor_cores_of_16_bits)
{
  for (int t = 2; t < 4; t++)
    for (int n = 0; n < 5; n++)
      run((problem){.nrows = 37, .ncols = 100, .n = counts[n], .z = patterns[_i % WINDOWS].z, .l = patterns[_i % WINDOWS].l, .value_type = types[t],
                    .x_type = types[t], .y_type = types[t], .bias = n % 2, .path = path_of(_i)});
}
END_TEST

/* Sizes that need no padding, of which Y is written without a copy where columns follow each other; rounded X; long columns. */
START_TEST(tensor_cores_of_other_sizes)
{
  run((problem){.nrows = 256, .ncols = 512, .n = 64, .z = patterns[_i % WINDOWS].z, .l = patterns[_i % WINDOWS].l, .value_type = MACKO_BF16,
                .x_type = MACKO_BF16, .y_type = MACKO_BF16, .path = path_of(_i)});
  run((problem){.nrows = 100, .ncols = 3001, .n = 50, .z = patterns[_i % WINDOWS].z, .l = patterns[_i % WINDOWS].l, .value_type = MACKO_F32,
                .x_type = MACKO_F32, .y_type = MACKO_F16, .operands = MACKO_OPERANDS_F16, .path = path_of(_i)});
  run((problem){.nrows = 1, .ncols = 1, .n = 1, .z = patterns[_i % WINDOWS].z, .l = patterns[_i % WINDOWS].l, .value_type = MACKO_F16,
                .x_type = MACKO_F16, .y_type = MACKO_F16, .path = path_of(_i)});
}
END_TEST

/* X and Y without gaps, at multiples of 32 rows and columns: the library reads X where nothing is repeated, and writes Y. */
START_TEST(tensor_cores_read_x_and_write_y)
{
  fixture f = open_fixture((problem){.nrows = 128, .ncols = 192, .n = 32, .z = patterns[_i % WINDOWS].z, .l = patterns[_i % WINDOWS].l,
                                     .value_type = MACKO_F16, .x_type = MACKO_F16, .y_type = MACKO_F16, .path = path_of(_i)});
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
  problem p = {.nrows = 200, .ncols = 600, .n = 96, .z = 6, .l = 8, .value_type = MACKO_F16, .x_type = MACKO_F16, .y_type = MACKO_F16,
               .path = (macko_matmul_path)_i};
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
  ck_assert_msg(strstr(err.text, _i == MACKO_MATMUL_DENSE ? "is none of path dense" : "is none of path tensor") != NULL, "%s", err.text);
  close_fixture(&f);
  close_fixture(&g);
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
      run((problem){.nrows = 96, .ncols = lengths[i], .n = 20, .z = patterns[_i % WINDOWS].z, .l = patterns[_i % WINDOWS].l, .value_type = MACKO_BF16,
                    .x_type = MACKO_F16, .y_type = MACKO_F32, .path = path_of(_i), .operands = (macko_operands)o});
}
END_TEST

START_TEST(integers_are_exact)
{
  for (int t = 1; t < 4; t++)
    run((problem){.nrows = 150, .ncols = 500, .n = 70, .z = patterns[_i % WINDOWS].z, .l = patterns[_i % WINDOWS].l, .value_type = MACKO_F16,
                  .x_type = types[t], .y_type = MACKO_F32, .whole = 100, .exact = 1, .bias = 1, .path = path_of(_i),
                  .operands = MACKO_OPERANDS_I8});
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

/* ---- which of them, and why ---- */

/* cuBLASLt comes with the CUDA Toolkit, so that this runs where cuSPARSELt is not there. */
START_TEST(dense_tensor_cores_alone)
{
  for (int o = MACKO_OPERANDS_EXACT; o < MACKO_OPERANDS_COUNT; o++)
    run((problem){.nrows = 37, .ncols = 100, .n = 33, .z = patterns[_i % WINDOWS].z, .l = patterns[_i % WINDOWS].l,
                  .value_type = MACKO_BF16, .x_type = MACKO_BF16, .y_type = o == MACKO_OPERANDS_F16 ? MACKO_F16 : MACKO_BF16,
                  .path = MACKO_MATMUL_DENSE, .operands = (macko_operands)o});
  run((problem){.nrows = 300, .ncols = 200, .n = 40, .l = 3, .value_type = MACKO_F16, .x_type = MACKO_F16, .y_type = MACKO_F16,
                .path = MACKO_MATMUL_DENSE}); /* with entries beside the windows */
}
END_TEST

START_TEST(the_kernel_multiplies_and_says_why)
{
  static const struct { problem p; const char *reason; } all[] = {
    {{.nrows = 40, .ncols = 64, .n = 3, .z = 2, .l = 4, .value_type = MACKO_F32, .x_type = MACKO_F16, .y_type = MACKO_F16},
     "values are f32 and X is f16"},
    {{.nrows = 40, .ncols = 64, .n = 3, .z = 2, .l = 4, .value_type = MACKO_F16, .x_type = MACKO_F64, .y_type = MACKO_F64,
      .operands = MACKO_OPERANDS_I8}, "vectors of f64"},
    {{.nrows = 40, .ncols = 64, .n = 3, .z = 2, .l = 4, .value_type = MACKO_F16, .x_type = MACKO_F16, .y_type = MACKO_F32},
     "tensor cores give f16 from operands f16, not f32"}};
  fixture f = open_fixture(all[_i].p);
  macko_matmul_options o;
  macko_matmul *other = NULL;
  ck_assert_msg(f.info.path == MACKO_MATMUL_KERNEL && f.info.lifted == 0 && f.info.algorithm == -1, "%s", f.info.reason);
  ck_assert_msg(!strncmp(f.info.reason, "the kernel for any GPU: ", 24) && strstr(f.info.reason, all[_i].reason), "%s", f.info.reason);
  OK(multiply(&f));
  fetch_y(&f);
  check_all(&f);
  macko_matmul_options_init(&o);
  o.path = MACKO_MATMUL_TENSOR, o.operands = f.p.operands, o.x_type = f.p.x_type, o.y_type = f.p.y_type;
  ck_assert_int_eq(macko_matmul_open(f.d, &o, f.stream, &other, &err), MACKO_UNSUPPORTED);
  ck_assert_msg(!strncmp(err.text, "no sparse tensor cores: ", 24) && strstr(err.text, all[_i].reason), "%s", err.text);
  ck_assert_ptr_null(other);
  close_fixture(&f);
}
END_TEST

/* Sparse tensor cores cannot take entries beside the windows: the faster of the others does, and both times are named. */
START_TEST(entries_beside_the_windows)
{
  fixture f = open_fixture((problem){.nrows = 40, .ncols = 64, .n = 3, .l = 1, .value_type = MACKO_F16, .x_type = MACKO_F16,
                                     .y_type = MACKO_F16});
  ck_assert_msg(f.info.path != MACKO_MATMUL_TENSOR && strstr(f.info.reason, "beside the windows"), "%s", f.info.reason);
  ck_assert_msg(strstr(f.info.reason, "; 32 columns take us: dense ") && strstr(f.info.reason, ", the kernel "), "%s", f.info.reason);
  OK(multiply(&f));
  fetch_y(&f);
  check_all(&f);
  close_fixture(&f);
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

/* Problems drawn at random, by every way that takes them: 60, or as many as MACKO_FUZZ_SECONDS have time for. */
static int below(uint64_t *seed, int count)
{
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (int)((*seed >> 33) % (uint64_t)count);
}

static problem random_problem(uint64_t seed)
{
  const int z = below(&seed, PATTERNS);
  problem p = {.nrows = 1 + below(&seed, 300), .ncols = 1 + below(&seed, 900), .n = 1 + below(&seed, 200), .z = patterns[z].z,
               .l = patterns[z].l, .value_type = types[below(&seed, 4)], .x_type = types[below(&seed, 4)],
               .y_type = types[below(&seed, 4)], .values = below(&seed, 3) ? MACKO_VALUES_AUTO : MACKO_VALUES_RAW,
               .whole = below(&seed, 2) * 4, .bias = below(&seed, 2)};
  p.operands = (macko_operands)below(&seed, MACKO_OPERANDS_COUNT);
  return p;
}

START_TEST(random_products)
{
  const char *seconds = getenv("MACKO_FUZZ_SECONDS");
  const time_t end = time(NULL) + (seconds ? atoi(seconds) : 0);
  for (uint64_t seed = 1; seed <= 60 || time(NULL) < end; seed++) {
    problem p = random_problem(seed * 0x9e3779b97f4a7c15u);
    fprintf(stderr, "problem %llu: %lld x %lld x %lld, %d:%d, types %d %d %d, operands %d\n", (unsigned long long)seed, (long long)p.nrows,
            (long long)p.ncols, (long long)p.n, p.z, p.l, (int)p.value_type, (int)p.x_type, (int)p.y_type, (int)p.operands);
    run(p);
  }
}
END_TEST

START_TEST(a_library_that_is_not_there_is_named)
{
  fixture f = open_fixture((problem){.nrows = 40, .ncols = 64, .n = 3, .z = 2, .l = 4, .value_type = MACKO_F16, .x_type = MACKO_F16,
                                     .y_type = MACKO_F16, .path = MACKO_MATMUL_KERNEL});
  macko_matmul_options o;
  macko_matmul_info info;
  macko_matmul *other = NULL;
  macko_matmul_options_init(&o);
  o.library = "/nowhere/libcusparseLt.so.0";
  OK(macko_matmul_open(f.d, &o, f.stream, &other, &err));
  macko_matmul_get_info(other, 3, &info);
  ck_assert_int_eq(info.path, MACKO_MATMUL_KERNEL);
  ck_assert_int_eq(info.work_bytes, -1);
  ck_assert_msg(strstr(info.reason, "cuSPARSELt cannot be opened: /nowhere") != NULL, "%s", info.reason);
  macko_matmul_close(&other);
  o.path = MACKO_MATMUL_TENSOR;
  ck_assert_int_eq(macko_matmul_open(f.d, &o, f.stream, &other, &err), MACKO_UNSUPPORTED);
  close_fixture(&f);
}
END_TEST

/* Its products are checked when they are planned: with the default path another form multiplies, with path TENSOR none does. */
START_TEST(a_library_that_multiplies_wrong_is_passed_over)
{
  fixture f = open_fixture((problem){.nrows = 40, .ncols = 64, .n = 3, .z = 2, .l = 4, .value_type = MACKO_F16, .x_type = MACKO_F16,
                                     .y_type = MACKO_F16, .path = MACKO_MATMUL_KERNEL});
  macko_matmul_options o;
  macko_matmul_info info;
  macko_matmul *other = NULL;
  macko_matmul_options_init(&o);
  o.library = "test/cuda/wrong_sparselt.so";
  OK(macko_matmul_open(f.d, &o, f.stream, &other, &err));
  OK(macko_matmul_plan(other, 3, -1, f.stream, &err));
  macko_matmul_get_info(other, 3, &info);
  ck_assert_msg(info.path != MACKO_MATMUL_TENSOR && strstr(info.reason, "cuSPARSELt 0.10.0 multiplies wrong here: a sum over column "),
                "%s", info.reason);
  macko_matmul_close(&other);
  o.path = MACKO_MATMUL_TENSOR;
  OK(macko_matmul_open(f.d, &o, f.stream, &other, &err));
  ck_assert_int_eq(macko_matmul_plan(other, 3, -1, f.stream, &err), MACKO_UNSUPPORTED);
  ck_assert_msg(strstr(err.text, "multiplies wrong here") != NULL, "%s", err.text);
  macko_matmul_close(&other);
  close_fixture(&f);
}
END_TEST

/* Matrices whose products would overflow f16 or vanish in it, of integers alone, of one row, and with Inf are planned like others. */
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

/* ---- what is refused ---- */

START_TEST(wrong_arguments_are_named)
{
  fixture f = open_fixture((problem){.nrows = 40, .ncols = 64, .n = 3, .z = 2, .l = 4, .value_type = MACKO_F16, .x_type = MACKO_F16,
                                     .y_type = MACKO_F16, .path = MACKO_MATMUL_KERNEL});
  macko_matmul *other = NULL;
  macko_matmul_options o;
  const struct { int64_t n, ldx, ldy, work_bytes, shift; const char *sentence; } bad[] = {
    {33, 64, 40, f.info.work_bytes, 0, "a product of 33 columns is not planned: macko_matmul_plan"},
    {-1, 64, 40, f.info.work_bytes, 0, "a product of -1 columns is not planned: macko_matmul_plan"},
    {3, 63, 40, f.info.work_bytes, 0, "ldx 63 and ldy 40 must be at least 64 and 40"},
    {3, 64, 40, f.info.work_bytes - 1, 0, "a product of 3 columns needs 4096 bytes of work, not 4095"},
    {3, 64, 40, f.info.work_bytes, 2, "work must begin at a multiple of 256 bytes"}};
  for (int i = 0; i < 5; i++) {
    ck_assert_int_eq(macko_device_matmul(f.matmul, bad[i].n, f.device_x, bad[i].ldx, NULL, f.device_y, bad[i].ldy,
                                         (char *)f.work + bad[i].shift, bad[i].work_bytes, NULL, &err), MACKO_INVALID_ARGUMENT);
    ck_assert_str_eq(err.text, bad[i].sentence);
  }
  OK(macko_device_matmul(f.matmul, 0, NULL, 64, NULL, NULL, 40, NULL, 0, NULL, &err));
  ck_assert_int_eq(macko_matmul_plan(f.matmul, 0, -1, NULL, &err), MACKO_INVALID_ARGUMENT);
  macko_matmul_options_init(&o);
  o.x_type = MACKO_I32;
  ck_assert_int_eq(macko_matmul_open(f.d, &o, NULL, &other, &err), MACKO_INVALID_ARGUMENT);
  macko_matmul_options_init(&o);
  o.operands = (macko_operands)77;
  ck_assert_int_eq(macko_matmul_open(f.d, &o, NULL, &other, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_str_eq(err.text, "operands are 77, none of exact, f16, bf16, i8 and e4m3");
  ck_assert_ptr_null(other);
  close_fixture(&f);
}
END_TEST

START_TEST(another_format_is_refused)
{
  const problem p = {.nrows = 40, .ncols = 64, .n = 3, .z = 2, .l = 4, .value_type = MACKO_F16};
  macko_matmul *matmul = NULL;
  macko_matrix *m;
  macko_device_matrix *d;
  macko_options o;
  macko_csr a = make_matrix(&p);
  macko_options_init(&o);
  o.format = MACKO_FORMAT_CSR;
  OK(macko_encode(&a, &o, &m, &err));
  OK(macko_device_upload(m, NULL, &d, &err));
  ck_assert_int_eq(macko_matmul_open(d, NULL, NULL, &matmul, &err), MACKO_UNSUPPORTED);
  ck_assert_str_eq(err.text, "format csr has no product with many columns: encode to slide, or use macko_device_multiply");
  CUDA(cudaDeviceSynchronize());
  macko_device_destroy(&d);
  macko_destroy(&m);
  macko_free_csr(&a);
}
END_TEST

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

static void add_tensor_cases(Suite *s)
{
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

static Suite *suite(void)
{
  Suite *s = suite_create("matmul");
  TCase *kernel = add_case(s, "kernel", 0), *graph = add_case(s, "graph", 0), *errors = add_case(s, "errors", 0);
  tcase_add_loop_test(kernel, patterns_of_all_types, 0, PATTERNS);
  tcase_add_loop_test(kernel, codecs, 0, PATTERNS);
  tcase_add_loop_test(kernel, sizes, 0, PATTERNS);
  tcase_add_test(kernel, infinite_x_stays_where_it_is);
  tcase_add_test(graph, a_graph_captures_the_product);
  tcase_add_test(errors, wrong_arguments_are_named);
  tcase_add_test(errors, another_format_is_refused);
  tcase_add_loop_test(errors, the_kernel_multiplies_and_says_why, 0, 3);
  tcase_add_test(errors, a_library_that_is_not_there_is_named);
  tcase_add_test(errors, a_library_that_multiplies_wrong_is_passed_over);
  tcase_add_test(errors, entries_beside_the_windows);
  tcase_add_test(add_case(s, "random", 0), random_products);
  tcase_add_loop_test(errors, dense_tensor_cores_alone, WINDOWS, 2 * WINDOWS);
  if (has_tensor_cores()) add_tensor_cases(s);
  return s;
}

int main(void)
{
  return run_cuda_suite(suite);
}
