/* Of the suite cuda_conformance: rows that share their columns, as the unknowns of a node do. */
#include "conformance.h"
#include "core/cost.h"
#include "macko/params.h"
#include "macko/slice_blocks.h"

#include <stdlib.h>

/* Nodes of g rows and w columns, each coupled with 1 to 20 of them; of the entries so many percent are missing. */
typedef struct {
  int g, w, missing;
} coupling;

/* Blocks of which every lane loads an element of x and passes it on, those that are too low for it, or higher than wide, and such
 * with masks. Their rows end at different steps. */
static const coupling couplings[] = {{1, 1, 0}, {2, 2, 0}, {3, 3, 0}, {4, 4, 0}, {5, 5, 0}, {6, 6, 0}, {7, 7, 0}, {8, 8, 0},
                                     {1, 2, 0}, {2, 3, 0}, {3, 2, 0}, {5, 4, 0}, {8, 3, 0}, {2, 2, 25}, {3, 3, 25}, {4, 4, 25},
                                     {5, 5, 25}, {6, 6, 25}, {8, 8, 25}};

enum { COUPLINGS = sizeof couplings / sizeof *couplings, NODES = 300 };

/* Gives the matrix of a coupling of so many nodes, whose last column is missing if entries are, so that a run reaches beyond it. */
static test_matrix make(const coupling *c, int64_t nodes)
{
  const int64_t rows = nodes * c->g, cols = nodes * c->w - (c->missing > 0), room = rows * 20 * c->w + 1, apart = nodes / 12;
  test_matrix a = {"coupled unknowns", rows, cols, calloc((size_t)rows + 1, 8), malloc((size_t)room * 8), MACKO_F64,
                   malloc((size_t)room * 8), malloc((size_t)room * 8)};
  int64_t count = 0;
  for (int64_t node = 0; node < nodes; node++) {
    int64_t with[20];
    int n = 0;
    for (int64_t at = (int64_t)test_draw() % (2 * apart); at < nodes && n < 1 + node % 20; at += 1 + (int64_t)test_draw() % apart)
      with[n++] = at;
    for (int r = 0; r < c->g; a.row_ptr[node * c->g + ++r] = count)
      for (int64_t k = 0; k < (int64_t)n * c->w; k++) {
        const int64_t col = with[k / c->w] * c->w + k % c->w;
        if (col < cols && (int)(test_draw() % 100) >= c->missing) a.cols[count++] = col;
      }
  }
  return a;
}

/* Products with the matrix by values of the first kinds of all, each by codecs from first to last. */
static void with_kinds(test_matrix *a, macko_options *o, macko_values first, macko_values last)
{
  for (int kind = 0; kind < 6; kind++) {
    a->type = test_kinds[kind].type;
    test_fill(a, test_kinds[kind].values);
    test_products *p = test_products_make(a);
    for (int values = (int)first; values <= (int)last; values++) o->values = (macko_values)values, with_options(a, p, o);
    test_products_free(p);
  }
}

START_TEST(unknowns_of_nodes)
{
  const coupling *c = couplings + _i % COUPLINGS;
  test_seed((uint64_t)_i);
  test_matrix a = make(c, NODES);
  macko_options o;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_ECCSR, o.target = MACKO_TARGET_GPU;
  with_kinds(&a, &o, MACKO_VALUES_RAW, MACKO_VALUES_DICT);
  test_free(&a);
}
END_TEST

/* Nodes so far from each other that several vectors go side by side: runs of one column, which slices take, too, and of more, and
 * slices that one warp takes or several share. Values that are as long as those of vectors, and shorter ones, of 16 bits too. */
static const struct {
  coupling c;
  int nodes, shared; /* slices are */
} anywhere[] = {{{1, 1, 0}, 110000, 0}, {{1, 1, 0}, 20000, 1}, {{2, 2, 0}, 30000, 0}, {{3, 3, 0}, 30000, 0}, {{2, 2, 25}, 30000, 0},
                {{3, 3, 25}, 30000, 0}};

/* Says whether several warps share a slice of m. */
static int has_shared_slices(const macko_matrix *m)
{
  const int64_t slices = (m->nrows + MACKO_SLICE_ROWS - 1) / MACKO_SLICE_ROWS;
  return macko_slice_split(slices, macko_params_of(&m->plan)->slice.value_units[2]) > 1;
}

START_TEST(nodes_anywhere)
{
  const int of_slices = anywhere[_i].c.g == 1;
  static const int kinds[] = {0, 1, 2, 4, 7, 9};
  test_seed((uint64_t)_i);
  test_matrix a = make(&anywhere[_i].c, anywhere[_i].nodes);
  macko_options o;
  macko_options_init(&o);
  o.target = MACKO_TARGET_GPU;
  for (int kind = 0; kind < (int)(sizeof kinds / sizeof *kinds); kind++) {
    a.type = test_kinds[kinds[kind]].type;
    test_fill(&a, test_kinds[kinds[kind]].values);
    test_products *p = test_products_make(&a);
    for (int slices = 0; slices <= of_slices; slices++) {
      const macko_csr csr = test_view(&a);
      macko_matrix *m = NULL;
      o.format = slices ? MACKO_FORMAT_MACKO : MACKO_FORMAT_ECCSR, o.layout = slices ? MACKO_LAYOUT_SLICE : MACKO_LAYOUT_AUTO;
      o.values = MACKO_VALUES_AUTO;
      ck_assert_int_eq(macko_encode(&csr, &o, &m, NULL), MACKO_OK);
      ck_assert_double_gt(macko_sectors_of_entry(m), slices ? 0.5 : 0.1);
      if (slices) ck_assert_int_eq(has_shared_slices(m), anywhere[_i].shared);
      macko_destroy(&m);
      for (int values = MACKO_VALUES_RAW; values <= MACKO_VALUES_DICT; values++)
        o.values = (macko_values)values, with_options(&a, p, &o);
    }
    test_products_free(p);
  }
  test_free(&a);
}
END_TEST

/* Pairs of rows, all but every hundredth of which are short, and so many that not all slices run at once: warps share the slices of
 * the long ones only. */
START_TEST(long_rows_among_many)
{
  enum { PAIRS = 80000, LONG = 60 };
  test_seed(1);
  test_matrix a = {"pairs of rows", 2 * PAIRS, 2 * PAIRS, calloc(2 * PAIRS + 1, 8), malloc(PAIRS * 16 * 8), MACKO_F64,
                   malloc(PAIRS * 16 * 8), malloc(PAIRS * 16 * 8)};
  int64_t count = 0;
  for (int64_t row = 0; row < a.nrows; a.row_ptr[++row] = count) {
    const int64_t pair = row / 2, n = pair % 100 ? 2 : LONG, apart = PAIRS / n;
    for (int64_t k = 0; k < n; k++) {
      const int64_t with = k * apart + pair % apart;
      a.cols[count++] = 2 * with, a.cols[count++] = 2 * with + 1;
    }
  }
  macko_options o;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_ECCSR, o.target = MACKO_TARGET_GPU;
  with_kinds(&a, &o, MACKO_VALUES_AUTO, MACKO_VALUES_AUTO);
  test_free(&a);
}
END_TEST

void add_coupled_cases(Suite *suite)
{
  tcase_add_loop_test(add_case(suite, "anywhere", 0), nodes_anywhere, 0, (int)(sizeof anywhere / sizeof *anywhere));
  tcase_add_loop_test(add_case(suite, "coupled", 0), unknowns_of_nodes, 0, COUPLINGS);
  tcase_add_test(add_case(suite, "pairs", 0), long_rows_among_many);
}
