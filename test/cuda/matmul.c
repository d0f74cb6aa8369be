/* Y = A X for format slide: the kernel for any GPU, graphs, and products drawn at random. */
#include "matmul.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- the kernel for any GPU ---- */

const struct pattern patterns[PATTERNS] = {{2, 4}, {4, 6}, {6, 8}, {14, 16}, {1, 2}, {0, 1}, {0, 20}};
const int64_t counts[COUNTS] = {1, 7, 32, 33, 130};
const macko_type types[TYPES] = {MACKO_F64, MACKO_F32, MACKO_F16, MACKO_BF16};

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
  fixture f = open_fixture((problem){.nrows = 64, .ncols = 64, .n = 3, .z = 0, .l = 20, .value_type = MACKO_F32,
                                     .x_type = MACKO_F32, .y_type = MACKO_F32, .path = MACKO_MATMUL_KERNEL});
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

/* ---- graphs ---- */

void check_graph(macko_matmul_path path)
{
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  fixture f = open_fixture((problem){.nrows = 100, .ncols = 80, .n = 50, .z = 6, .l = 8, .value_type = MACKO_F16,
                                     .x_type = MACKO_F16, .y_type = MACKO_F16, .path = path});
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

/* ---- at random ---- */

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
    fprintf(stderr, "problem %llu: %lld x %lld x %lld, %d:%d, types %d %d %d, operands %d\n", (unsigned long long)seed,
            (long long)p.nrows, (long long)p.ncols, (long long)p.n, p.z, p.l, (int)p.value_type, (int)p.x_type, (int)p.y_type,
            (int)p.operands);
    run(p);
  }
}
END_TEST

static Suite *suite(void)
{
  Suite *s = suite_create("matmul");
  TCase *kernel = add_case(s, "kernel", 0), *graph = add_case(s, "graph", 0);
  tcase_add_loop_test(kernel, patterns_of_all_types, 0, PATTERNS);
  tcase_add_loop_test(kernel, codecs, 0, PATTERNS);
  tcase_add_loop_test(kernel, sizes, 0, PATTERNS);
  tcase_add_test(kernel, infinite_x_stays_where_it_is);
  tcase_add_test(graph, a_graph_captures_the_product);
  add_refusals(s);
  tcase_add_test(add_case(s, "random", 0), random_products);
  add_tensor_cases(s);
  return s;
}

int main(void)
{
  return run_cuda_suite(suite);
}
