#include "matrices.h"
#include "half_value.h"
#include "../assertions.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const test_kind test_kinds[TEST_COMBINATIONS] = {
  {0, MACKO_F64}, {1, MACKO_F64}, {2, MACKO_F64}, {3, MACKO_F64}, {0, MACKO_F32}, {2, MACKO_F32}, {3, MACKO_F32},
  {0, MACKO_F16}, {2, MACKO_F16}, {0, MACKO_BF16}, {2, MACKO_BF16}, {4, MACKO_F64}, {4, MACKO_F32}, {4, MACKO_BF16}};

const int test_widths[TEST_WIDTHS] = {0, 1, 2, 4, 8, 16};

#define MACKO_OPTION(field, LIST, usual, reader, help) static const int field##_choices[] = {
#define MACKO_CHOICE(LIST, symbol, name, text) MACKO_##LIST##_##symbol,
#define MACKO_NUMBER(LIST, number, name, text) number,
#define MACKO_OPTION_END(field, LIST) };
#include "options.def"

int test_options(int64_t n, macko_options *options)
{
  macko_options_init(options);
#define PICK(field, type) \
  options->field = (type)field##_choices[n % (int64_t)(sizeof field##_choices / sizeof *field##_choices)], \
  n /= (int64_t)(sizeof field##_choices / sizeof *field##_choices);
#define MACKO_OPTION(field, LIST, usual, reader, help) PICK(field, macko_##field)
#define MACKO_NUMBER_OPTION(field, LIST, usual, reader, help) PICK(field, int)
#include "options.def"
#undef PICK
  return n == 0;
}

static uint64_t state;

void test_seed(uint64_t seed)
{
  state = seed * 2 + 1;
}

uint64_t test_draw(void)
{
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}

/* ---- patterns ---- */

typedef struct {
  test_matrix *a;
  int64_t row, count, room;
} builder;

static void add(builder *b, int64_t col)
{
  if (col < 0 || col >= b->a->ncols) return;
  if (b->count == b->room) b->a->cols = realloc(b->a->cols, (size_t)(b->room = 2 * b->room + 64) * 8);
  b->a->cols[b->count++] = col;
}

static void random_row(builder *b, double density)
{
  for (int64_t j = 0; j < b->a->ncols; j++)
    if ((double)test_draw() < density * 2147483648.0) add(b, j);
}

static void stencil_row(builder *b, int64_t i, int64_t n, int dims, int wide)
{
  int64_t at[3] = {i % n, i / n % n, i / n / n};
  for (int dz = dims == 3 ? -1 : 0; dz <= (dims == 3); dz++)
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++) {
        if (!wide && (dx != 0) + (dy != 0) + (dz != 0) > 1) continue;
        if (at[0] + dx < 0 || at[0] + dx >= n || at[1] + dy < 0 || at[1] + dy >= n) continue;
        if (dims == 3 && (at[2] + dz < 0 || at[2] + dz >= n)) continue;
        add(b, i + dx + n * dy + n * n * dz);
      }
}

static void blocks_row(builder *b, int64_t i)
{
  for (int64_t node = i / 3 - 11; node <= i / 3 + 11; node += 11)
    for (int d = 0; d < 3; d++) add(b, 3 * node + d);
}

static void power_law_row(builder *b, int64_t i)
{
  int64_t degree = 1 + 400 / (1 + (i * 37) % 400), col = (int64_t)(test_draw() % 9);
  for (int64_t k = 0; k < degree; k++, col += 1 + (int64_t)(test_draw() % 40)) add(b, col);
}

static void long_gap_row(builder *b, int64_t i)
{
  for (int64_t col = i * 97; col < b->a->ncols; col += test_draw() % 5 ? 1 + (int64_t)(test_draw() % 300) : 70001) add(b, col);
}

static const struct {
  const char *name;
  int64_t nrows, ncols;
} patterns[TEST_PATTERNS] = {
    {"0 x 0", 0, 0}, {"0 x 5", 0, 5}, {"5 x 0", 5, 0}, {"1 x 40", 1, 40}, {"40 x 1", 40, 1}, {"sparse random", 33, 65},
    {"dense random", 100, 90}, {"mostly empty rows", 64, 300}, {"5-point", 400, 400}, {"27-point", 343, 343},
    {"3 x 3 blocks", 300, 300}, {"power law", 500, 20000}, {"dense row among short ones", 70, 2000}, {"long gaps", 30, 80000},
    {"identity", 96, 96}, {"band off the diagonal", 200, 1000}, {"rows of many lengths", 4200, 50}, {"no entries", 50, 50}};

static void pattern_row(builder *b, int pattern, int64_t i)
{
  switch (pattern) {
  case 3: case 5: random_row(b, 0.2); break;
  case 4: case 6: random_row(b, 0.6); break;
  case 7: if (i % 5 == 2) random_row(b, 0.02); break;
  case 8: stencil_row(b, i, 20, 2, 0); break;
  case 9: stencil_row(b, i, 7, 3, 1); break;
  case 10: blocks_row(b, i); break;
  case 11: power_law_row(b, i); break;
  case 12: if (i == 17) random_row(b, 1); else add(b, i), add(b, i + 3); break;
  case 13: long_gap_row(b, i); break;
  case 14: add(b, i); break;
  case 15: for (int d = 0; d < 6; d++) add(b, 2 * i + 300 + d * d); break;
  case 16: for (int64_t k = 0; k < (i * 7919) % 23; k++) add(b, 2 * k + i % 3); break;
  default: break;
  }
}

/* ---- values ---- */

/* Small integers are exact in every type: 0, 1, ... 8 as f16 and bf16 bits. */
static const uint16_t f16_integers[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4800};
static const uint16_t bf16_integers[] = {0, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0, 0x40e0, 0x4100};

static void put(test_matrix *a, int64_t row, int64_t p, int kind)
{
  /* The same along diagonals, but in one row of 96. */
  uint64_t r = kind == 4 ? (uint64_t)(a->cols[p] - row + 9000 + (row % 96 == 50)) : test_draw();
  int integer = (int)(kind == 1 ? r % 3 : r % 9), negative = integer && kind != 4 && test_draw() % 2;
  if (a->type == MACKO_F64) {
    double v = kind == 0 ? ldexp((double)test_draw() * 0x1p22 + (double)r, -50 + (int)(r % 7)) * (r % 2 ? 1 : -1)
               : kind == 3 ? (double)((float)test_draw() / 1024) : negative ? -integer : integer;
    if (kind == 1 && integer == 2) v = 1.0 / 3;
    if (kind == 0 && r % 11 == 0) v = r % 3 ? 0.0 : -0.0;
    if (kind == 0 && r % 13 == 0) v = DBL_MIN / 8;
    ((double *)a->values)[p] = a->exact[p] = v;
  } else if (a->type == MACKO_F32) {
    float v = kind == 0 ? ldexpf((float)test_draw(), -30 + (int)(r % 5))
              : kind == 3 ? (float)(test_draw() % 4096) / 16 : (float)integer;
    if (kind == 0 && r % 11 == 0) v = r % 3 ? 0.0f : -0.0f;
    ((float *)a->values)[p] = negative ? -v : v;
    a->exact[p] = negative ? -v : v;
  } else {
    uint16_t bits = a->type == MACKO_F16 ? f16_integers[integer] : bf16_integers[integer];
    if (kind == 0) bits = a->type == MACKO_F16 ? (uint16_t)(r % 0x5000) : (uint16_t)(0x3000 + r % 0x1000);
    if (kind == 0 && r % 11 == 0) bits = 0;
    if (negative) bits |= 0x8000;
    ((uint16_t *)a->values)[p] = bits;
    a->exact[p] = test_half_value(a->type, bits);
  }
}

void test_fill(test_matrix *a, int values)
{
  for (int64_t i = 0; i < a->nrows; i++)
    for (int64_t p = a->row_ptr[i]; p < a->row_ptr[i + 1]; p++) put(a, i, p, values);
}

test_matrix test_make(int pattern, int values, macko_type type)
{
  test_matrix a = {patterns[pattern].name, patterns[pattern].nrows, patterns[pattern].ncols, NULL, NULL, type, NULL, NULL};
  builder b = {&a, 0, 0, 0};
  test_seed((uint64_t)(pattern * 10 + values));
  a.row_ptr = calloc((size_t)a.nrows + 1, 8);
  a.cols = malloc(8);
  for (int64_t i = 0; i < a.nrows; i++) {
    pattern_row(&b, pattern, i);
    a.row_ptr[i + 1] = b.count;
  }
  a.values = malloc((size_t)b.count * 8 + 8);
  a.exact = malloc((size_t)b.count * 8 + 8);
  test_fill(&a, values);
  return a;
}

void test_free(test_matrix *a)
{
  free(a->row_ptr), free(a->cols), free(a->values), free(a->exact);
}

macko_csr test_view(const test_matrix *a)
{
  return (macko_csr){.nrows = a->nrows, .ncols = a->ncols, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                     .value_type = a->type, .row_ptr = a->row_ptr, .cols = a->cols, .values = a->values};
}

/* ---- checks ---- */

/* Pieces of rows, from the middle of what a format keeps together on, whose neighbours must stay as they are. */
static void check_decode_rows(const test_matrix *a, const macko_matrix *m, const char *what)
{
  const int64_t size = macko_type_bytes(a->type), most = a->row_ptr[a->nrows] + 2, steps[] = {a->nrows, 1 + a->nrows / 3, 37};
  int64_t *cols = malloc((size_t)most * 8);
  char *values = malloc((size_t)most * 8);
  macko_error err = {0};
  for (int k = 0; k < 3; k++)
    for (int64_t first = 0; first <= a->nrows; first += steps[k] + 1) {
      int64_t count = steps[k] < a->nrows - first ? steps[k] : a->nrows - first, begin = a->row_ptr[first];
      int64_t n = a->row_ptr[first + count] - begin;
      memset(cols, 0x55, (size_t)(n + 1) * 8), memset(values, 0x55, (size_t)((n + 1) * size));
      ck_assert_msg(!macko_decode_rows(m, a->row_ptr, first, count, cols, values, &err), "%s, %s: %s", a->name, what, err.text);
      ck_assert_msg(!memcmp(cols, a->cols + begin, (size_t)n * 8), "%s, %s: columns of %ld rows from %ld", a->name, what,
                    (long)count, (long)first);
      ck_assert_msg(!memcmp(values, (char *)a->values + begin * size, (size_t)(n * size)), "%s, %s: values of %ld rows from %ld",
                    a->name, what, (long)count, (long)first);
      ck_assert_msg(cols[n] == 0x5555555555555555 && values[n * size] == 0x55, "%s, %s: more than %ld rows from %ld", a->name, what,
                    (long)count, (long)first);
    }
  ck_assert_int_eq(macko_decode_rows(m, a->row_ptr, a->nrows, 1, cols, NULL, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_int_eq(macko_decode_rows(m, a->row_ptr, -1, 1, cols, NULL, NULL), MACKO_INVALID_ARGUMENT);
  ck_assert_int_eq(macko_decode_rows(m, NULL, 0, 0, cols, NULL, NULL), MACKO_INVALID_ARGUMENT);
  free(cols), free(values);
}

void test_check_decode(const test_matrix *a, const macko_matrix *m, const char *what)
{
  int64_t nnz = a->row_ptr[a->nrows], size = macko_type_bytes(a->type);
  int64_t *row_ptr = malloc((size_t)(a->nrows + 1) * 8), *cols = malloc((size_t)nnz * 8 + 8);
  char *values = malloc((size_t)nnz * 8 + 8);
  macko_error err = {0};
  ck_assert_msg(!macko_decode(m, row_ptr, cols, values, &err), "%s, %s: %s", a->name, what, err.text);
  ck_assert_msg(!memcmp(row_ptr, a->row_ptr, (size_t)(a->nrows + 1) * 8), "%s, %s: row_ptr differs", a->name, what);
  for (int64_t p = 0; p < nnz; p++) {
    if (cols[p] != a->cols[p])
      ck_abort_msg("%s, %s: column %ld of entry %ld, not %ld", a->name, what, (long)cols[p], (long)p, (long)a->cols[p]);
    if (memcmp(values + p * size, (char *)a->values + p * size, (size_t)size))
      ck_abort_msg("%s, %s: bits of value %ld differ", a->name, what, (long)p);
  }
  memset(cols, 0, (size_t)nnz * 8);
  macko_decode(m, NULL, cols, NULL, NULL);
  ck_assert_msg(!memcmp(cols, a->cols, (size_t)nnz * 8), "%s, %s: columns alone differ", a->name, what);
  check_decode_rows(a, m, what);
  free(row_ptr), free(cols), free(values);
}

enum { PRODUCTS = 16, MOST = 6 };

typedef struct {
  macko_op op;
  macko_type type;
  int64_t nx, ny, k;
  double alpha, beta;
  void *x, *y0;
  long double *ref, *bound; /* k vectors of ny */
} product;

struct test_products {
  const char *name;
  product all[PRODUCTS];
};

/* Between two vectors lie PAD elements that belong to the caller. */
enum { PAD = 3 };

static double get(macko_type type, const void *v, int64_t i)
{
  return type == MACKO_F64 ? ((const double *)v)[i] : (double)((const float *)v)[i];
}

static void set(macko_type type, void *v, int64_t i, double value)
{
  if (type == MACKO_F64) ((double *)v)[i] = value;
  else ((float *)v)[i] = (float)value;
}

static void *make_vectors(macko_type type, int64_t count, int nan)
{
  void *v = malloc((size_t)count * 8 + 8);
  for (int64_t i = 0; i < count; i++) set(type, v, i, nan ? NAN : (double)test_draw() / 1e9 - 1);
  return v;
}

/* bound = gamma(terms + 3) (|alpha| |op(A)| |x| + |beta| |y0|) + underflow, the reference in long double. */
static void find_reference(const test_matrix *a, product *p, int64_t j)
{
  long double unit = p->type == MACKO_F64 ? DBL_EPSILON / 2 : FLT_EPSILON / 2, tiny = p->type == MACKO_F64 ? DBL_MIN : FLT_MIN;
  long double *ref = p->ref + j * p->ny, *size = p->bound + j * p->ny;
  int64_t *terms = calloc((size_t)p->ny + 1, sizeof *terms), x = j * (p->nx + PAD), y = j * (p->ny + PAD);
  for (int64_t i = 0; i < p->ny; i++) {
    ref[i] = p->beta == 0 ? 0 : (long double)p->beta * get(p->type, p->y0, y + i);
    size[i] = fabsl(ref[i]);
  }
  for (int64_t r = 0; r < a->nrows && p->alpha != 0; r++)
    for (int64_t q = a->row_ptr[r]; q < a->row_ptr[r + 1]; q++) {
      int64_t to = p->op == MACKO_OP_N ? r : a->cols[q], from = p->op == MACKO_OP_N ? a->cols[q] : r;
      long double t = (long double)p->alpha * a->exact[q] * get(p->type, p->x, x + from);
      ref[to] += t, size[to] += fabsl(t), terms[to]++;
    }
  for (int64_t i = 0; i < p->ny; i++) {
    long double nu = (long double)(terms[i] + 3) * unit;
    size[i] = nu / (1 - nu) * size[i] + (long double)(terms[i] + 3) * tiny;
  }
  free(terms);
}

static void make_product(const test_matrix *a, product *p, int number)
{
  static const struct {
    int64_t k;
    double alpha, beta;
  } kinds[] = {{1, 1, 0}, {1, 1, 1}, {MOST, -0.75, 0.3}, {2, 0, 2}};
  int kind = number / 4;
  *p = (product){.op = number % 2 ? MACKO_OP_T : MACKO_OP_N, .type = number / 2 % 2 ? MACKO_F32 : MACKO_F64, .k = kinds[kind].k,
                 .alpha = kinds[kind].alpha, .beta = kinds[kind].beta};
  p->nx = p->op == MACKO_OP_N ? a->ncols : a->nrows, p->ny = p->op == MACKO_OP_N ? a->nrows : a->ncols;
  p->x = make_vectors(p->type, (p->nx + PAD) * p->k, 0);
  p->y0 = make_vectors(p->type, (p->ny + PAD) * p->k, p->beta == 0);
  if (kind == 1 && p->nx > 2) set(p->type, p->x, p->nx / 2, INFINITY), set(p->type, p->x, p->nx - 1, NAN);
  p->ref = calloc((size_t)(p->ny * p->k) + 1, sizeof *p->ref);
  p->bound = calloc((size_t)(p->ny * p->k) + 1, sizeof *p->bound);
  for (int64_t j = 0; j < p->k; j++) find_reference(a, p, j);
}

test_products *test_products_make(const test_matrix *a)
{
  test_products *t = calloc(1, sizeof *t);
  t->name = a->name;
  for (int i = 0; i < PRODUCTS; i++) make_product(a, &t->all[i], i);
  return t;
}

void test_products_free(test_products *t)
{
  for (int i = 0; i < PRODUCTS; i++) free(t->all[i].x), free(t->all[i].y0), free(t->all[i].ref), free(t->all[i].bound);
  free(t);
}

/* Comparisons per element are plain: a passing ck_assert costs a system call. */
static void compare(const test_products *t, const product *p, const void *y, const char *what)
{
  for (int64_t j = 0; j < p->k; j++)
    for (int64_t i = 0; i < p->ny; i++) {
      long double ref = p->ref[j * p->ny + i], got = get(p->type, y, j * (p->ny + PAD) + i);
      int right = isnan(ref) ? isnan(got) : isinf(ref) ? got == ref : fabsl(got - ref) <= p->bound[j * p->ny + i];
      if (!right)
        ck_abort_msg("%s, %s, op %d, %s, vector %ld of %ld: element %ld is %.17Lg, not %.17Lg", t->name, what, (int)p->op,
                     macko_type_name(p->type), (long)j, (long)p->k, (long)i, got, ref);
    }
}

void test_check_products_by(const test_products *t, test_multiply multiply, const void *matrix, const char *what)
{
  for (int i = 0; i < PRODUCTS; i++) {
    const product *p = &t->all[i];
    size_t bytes = (size_t)((p->ny + PAD) * p->k * macko_type_bytes(p->type));
    void *y = memcpy(malloc(bytes + 8), p->y0, bytes), *again = memcpy(malloc(bytes + 8), p->y0, bytes);
    test_product q = {p->op, p->type, p->k, p->alpha, p->beta, p->x, p->nx + PAD, y, p->ny + PAD};
    macko_error err = {0};
    for (int run = 0; run < 2; run++, q.y = again)
      if (multiply(matrix, &q, &err)) ck_abort_msg("%s, %s: %s", t->name, what, err.text);
    if (memcmp(y, again, bytes)) ck_abort_msg("%s, %s: a second run gives other bits", t->name, what);
    compare(t, p, y, what);
    free(y), free(again);
  }
}

static macko_status multiply_on_host(const void *matrix, const test_product *q, macko_error *err)
{
  return macko_multiply(matrix, q->op, q->type, q->k, q->alpha, q->x, q->ldx, q->beta, q->y, q->ldy, err);
}

void test_check_products(const test_products *t, const macko_matrix *m, const char *what)
{
  test_check_products_by(t, multiply_on_host, m, what);
}
