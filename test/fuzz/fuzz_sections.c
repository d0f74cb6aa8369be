/* Damaged matrices of one format: whatever is done to the sections, sizes and plan of a good matrix, validate answers, and what it
 * lets pass can be decoded and multiplied. Built two ways: with -fsanitize=fuzzer (libFuzzer's main) for the format FUZZ_FORMAT
 * (CSR, ...), or with FUZZ_MAIN, which runs a fixed number of pseudo-random inputs of every format in `make check`. */
#include "core/format.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef FUZZ_MAIN
static macko_format fuzzed;
#else
#define PASTE(a, b) a##b
#define FORMAT_NAMED(name) PASTE(MACKO_FORMAT_, name)
static const macko_format fuzzed = FORMAT_NAMED(FUZZ_FORMAT);
#endif

enum { ROWS = 70, COLS = 90, MOST_IN_ROW = 30, STEP = 1000, LEAP = 65536, LARGE = 1 << 20 };

/* Columns: random ones; the same spread, so that there are gaps of 9 and of 17 bits; some diagonals; blocks of 3 x 3, whose rows
 * have columns side by side; blocks of 2 x 2 that lack entries; nearly all
 * of the first ones. Kinds of values: few, any bits, one, small integers. */
enum { NEAR, FAR, DIAGONALS, BLOCKS, HOLES, FULL };
typedef struct {
  macko_format format;
  macko_layout layout;
  int gap_bits;
  macko_variant variant;
  macko_values values;
  macko_type type;
  int kind, columns;
} fuzz_case;

/* ANY: of a format that has no cases of its own. */
#define ANY(type, kind, columns) {MACKO_FORMAT_AUTO, 0, 0, 0, MACKO_VALUES_AUTO, type, kind, columns}
#define ROW(bits, values, type, kind, columns) \
  {MACKO_FORMAT_MACKO, MACKO_LAYOUT_ROW, bits, 0, MACKO_VALUES_##values, type, kind, columns}
#define SLICE(values, type, kind, columns) \
  {MACKO_FORMAT_MACKO, MACKO_LAYOUT_SLICE, 0, 0, MACKO_VALUES_##values, type, kind, columns}
#define PAPER(bits, type, kind) {MACKO_FORMAT_MACKO, MACKO_LAYOUT_PAPER, bits, 0, MACKO_VALUES_AUTO, type, kind, NEAR}
#define DTANS(variant, values, type, kind) \
  {MACKO_FORMAT_DTANS, 0, 0, MACKO_VARIANT_##variant, MACKO_VALUES_##values, type, kind, NEAR}

#define SLIDE(values, type, kind, columns) {MACKO_FORMAT_SLIDE, 0, 0, 0, MACKO_VALUES_##values, type, kind, columns}
#define SHARED(variant, bits, values, type, kind, columns) \
  {MACKO_FORMAT_ECCSR, 0, bits, MACKO_VARIANT_##variant, MACKO_VALUES_##values, type, kind, columns}
#define ECCSR(values, type, kind, columns) {MACKO_FORMAT_ECCSR, 0, 0, 0, MACKO_VALUES_##values, type, kind, columns}

static const fuzz_case all_cases[] = {
    ANY(MACKO_F64, 0, NEAR), ANY(MACKO_F32, 1, NEAR), ANY(MACKO_F16, 1, NEAR), ANY(MACKO_BF16, 1, NEAR), ANY(MACKO_F64, 0, FAR),
    ROW(1, RAW, MACKO_F64, 1, NEAR), ROW(2, DICT, MACKO_F64, 0, NEAR), ROW(4, NARROW, MACKO_F64, 3, NEAR),
    ROW(8, F32, MACKO_F64, 1, FAR), ROW(16, F16, MACKO_F32, 1, FAR), ROW(4, DICT, MACKO_F64, 1, NEAR),
    ROW(0, BF16, MACKO_F64, 1, NEAR), ROW(0, RAW, MACKO_F16, 1, NEAR), SLICE(RAW, MACKO_F64, 1, NEAR),
    SLICE(DICT, MACKO_F64, 0, NEAR), SLICE(NARROW, MACKO_F64, 3, NEAR), SLICE(F32, MACKO_F64, 1, FAR),
    SLICE(DICT, MACKO_F32, 1, NEAR), SLICE(BF16, MACKO_F32, 1, NEAR), SLICE(RAW, MACKO_F16, 2, FAR),
    SLICE(PAIRS, MACKO_F64, 0, NEAR), SLICE(PAIRS, MACKO_F32, 2, FAR), SLICE(PAIRS, MACKO_BF16, 3, FAR),
    SLICE(RAW, MACKO_F64, 2, DIAGONALS), SLICE(AUTO, MACKO_F32, 2, DIAGONALS), SLICE(RAW, MACKO_BF16, 2, DIAGONALS),
    SLICE(RAW, MACKO_F64, 1, DIAGONALS), SLICE(DICT, MACKO_F64, 0, DIAGONALS), SLICE(NARROW, MACKO_F64, 3, DIAGONALS),
    SLICE(F32, MACKO_F64, 1, DIAGONALS), SLICE(PAIRS, MACKO_F64, 0, DIAGONALS), SLICE(RAW, MACKO_F64, 1, BLOCKS),
    SLICE(DICT, MACKO_F64, 1, BLOCKS), SLICE(BF16, MACKO_F32, 1, BLOCKS), PAPER(1, MACKO_F64, 1), PAPER(2, MACKO_F32, 0),
    PAPER(4, MACKO_F64, 0), PAPER(8, MACKO_BF16, 1), DTANS(PAPER, AUTO, MACKO_F64, 0), DTANS(SPLIT, CODED, MACKO_F64, 0),
    DTANS(JOINT, AUTO, MACKO_F64, 0), DTANS(SPLIT, RAW, MACKO_F64, 1), DTANS(SPLIT, DICT, MACKO_F64, 0),
    DTANS(SPLIT, AUTO, MACKO_F64, 2), DTANS(PAPER, AUTO, MACKO_F32, 1), DTANS(JOINT, AUTO, MACKO_F16, 1),
    DTANS(SPLIT, CODED, MACKO_F32, 1), ECCSR(RAW, MACKO_F64, 1, BLOCKS), ECCSR(RAW, MACKO_F64, 1, HOLES),
    ECCSR(DICT, MACKO_F64, 0, HOLES), ECCSR(NARROW, MACKO_F64, 3, BLOCKS), ECCSR(F32, MACKO_F64, 1, FAR),
    ECCSR(RAW, MACKO_F16, 1, NEAR), ECCSR(DICT, MACKO_F32, 0, BLOCKS), ECCSR(RAW, MACKO_F32, 1, DIAGONALS),
    ECCSR(BF16, MACKO_F64, 1, HOLES), SHARED(PAPER, 4, RAW, MACKO_F64, 1, NEAR),
    SHARED(SHARED, 4, DICT, MACKO_F64, 0, FAR), SHARED(SHARED, 8, RAW, MACKO_F16, 1, FULL),
    SHARED(SHARED, 16, NARROW, MACKO_F64, 3, FAR), SHARED(PAPER, 0, F32, MACKO_F64, 1, BLOCKS),
    SHARED(SHARED, 0, RAW, MACKO_F32, 1, FULL), SLIDE(RAW, MACKO_F64, 1, NEAR), SLIDE(RAW, MACKO_F16, 1, FAR),
    SLIDE(DICT, MACKO_F64, 0, DIAGONALS), SLIDE(NARROW, MACKO_F32, 3, BLOCKS), SLIDE(F32, MACKO_F64, 1, FULL),
    SLIDE(RAW, MACKO_BF16, 1, FULL), SLIDE(RAW, MACKO_F64, 1, HOLES)};
enum { ALL_CASES = sizeof all_cases / sizeof *all_cases };

static uint64_t next_draw(uint64_t *state)
{
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static void draw_value(const fuzz_case *c, void *values, int64_t p, uint64_t *state)
{
  static const double few[] = {1, 0, -2.5, 3}, integers[] = {-7, 0, 5, 100};
  double number = c->kind == 3 ? integers[next_draw(state) % 4] : c->kind == 2 ? 1 : few[next_draw(state) % 4];
  uint64_t bits;
  float single = (float)number;
  uint32_t short_bits;
  memcpy(&bits, &number, 8);
  memcpy(&short_bits, &single, 4);
  if (c->type != MACKO_F64) bits = short_bits;
  if (c->type == MACKO_F16 || c->type == MACKO_BF16) bits = short_bits >> 16;
  if (c->kind == 1) bits = next_draw(state) << 33 ^ next_draw(state) << 2 ^ next_draw(state);
  memcpy((char *)values + p * macko_type_bytes(c->type), &bits, (size_t)macko_type_bytes(c->type));
}

/* Columns of row i, rising, at most MOST_IN_ROW of them: how many there are. */
static int draw_columns(const fuzz_case *c, int i, int64_t *cols, uint64_t *state)
{
  static const int diagonals[] = {-9, -1, 0, 1, 9}, in_block[] = {0, 1, 2, 30, 31, 32}, in_pair[] = {0, 1, 30, 31};
  int n = 0;
  for (int k = 0; c->columns == DIAGONALS && k < 5; k++)
    if (i + diagonals[k] >= 0) cols[n++] = i + diagonals[k];
  for (int k = 0; c->columns == BLOCKS && k < 6; k++) cols[n++] = i / 3 * 3 + in_block[k];
  for (int k = 0; c->columns == HOLES && k < 4; k++)
    if ((i * 3 + k) % 5) cols[n++] = i / 2 * 2 + in_pair[k];
  for (int64_t j = 0; c->columns == FULL && j < COLS && n < MOST_IN_ROW; j++)
    if (next_draw(state) % 25) cols[n++] = j;
  for (int64_t j = 0; c->columns <= FAR && j < COLS && n < MOST_IN_ROW; j++) {
    if (next_draw(state) % 6) continue;
    cols[n++] = c->columns == NEAR || j < 40 ? j : 40 + (j - 40) * STEP + (j == COLS - 1) * LEAP;
  }
  return n;
}

static macko_matrix *make(const fuzz_case *c)
{
  int64_t row_ptr[ROWS + 1] = {0}, cols[ROWS * MOST_IN_ROW], n = 0;
  double values[ROWS * MOST_IN_ROW];
  uint64_t state = (uint64_t)(c - all_cases) + 1;
  macko_options o;
  macko_matrix *m = NULL;
  for (int i = 0; i < ROWS; i++) {
    row_ptr[i + 1] = n + draw_columns(c, i, cols + n, &state);
    for (; n < row_ptr[i + 1]; n++) draw_value(c, values, n, &state);
  }
  macko_csr a = {.nrows = ROWS, .ncols = c->columns == FAR ? 40 + (COLS - 40) * STEP + LEAP : c->columns >= BLOCKS ? 102 : COLS,
                 .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = c->type, .row_ptr = row_ptr, .cols = cols,
                 .values = values};
  int64_t ncols = a.ncols;
  if (c->format == MACKO_FORMAT_AUTO && c->columns == FAR) a.ncols = (int64_t)INT32_MAX + 2;
  macko_options_init(&o);
  o.format = fuzzed, o.layout = c->layout, o.gap_bits = c->gap_bits, o.variant = c->variant, o.values = c->values;
  o.overflow = MACKO_OVERFLOW_ALLOW;
  macko_status s = macko_encode(&a, &o, &m, NULL);
  if (s == MACKO_LIMIT) a.ncols = ncols, s = macko_encode(&a, &o, &m, NULL);
  if (s) abort();
  return m;
}

/* A section gets another length, in memory of just that length. */
static void resize(macko_section *s, int64_t bytes)
{
  void *data = realloc(s->data, bytes ? (size_t)bytes : 1);
  if (!data) abort();
  if (bytes > s->bytes) memset((char *)data + s->bytes, 0, (size_t)(bytes - s->bytes));
  s->data = data, s->bytes = bytes;
}

/* Each four bytes of data are one damage: where (plan, sizes, or a section), the place in it, and the bits that change there. The
 * highest bit of the place asks for a change of the section's length or type instead. */
static void damage(macko_matrix *m, const uint8_t *data, size_t size)
{
  for (; size >= 4; data += 4, size -= 4) {
    int where = data[0] % (m->nsections + 3), place = data[1] | (data[2] & 0x7f) << 8;
    if (where == 0) ((uint8_t *)&m->plan)[(size_t)place % offsetof(macko_plan, reason)] ^= data[3];
    else if (where == 1) ((uint8_t *)&m->nrows)[place % 24] ^= data[3];
    else if (where == 2) m->value_type = (macko_type)(m->value_type ^ (data[3] & 15));
    else if (data[2] & 0x40) resize(&m->sections[where - 3], place & 0x3fff);
    else if (data[2] & 0x80) m->sections[where - 3].type = (macko_type)(data[3] % 12);
    else if (m->sections[where - 3].bytes)
      ((uint8_t *)m->sections[where - 3].data)[place % m->sections[where - 3].bytes] ^= data[3];
  }
}

static void *room(int64_t bytes)
{
  void *memory = malloc(bytes > 0 ? (size_t)bytes : 1);
  if (!memory) abort();
  return memory;
}

/* Products of which the kernels are not the same, one an input: numbers of vectors, types, and what the result had before. */
static const struct {
  int k;
  macko_type vectors;
  double alpha, beta;
  int apart; /* elements between vectors */
} products[] = {{1, MACKO_F64, 1, 0, 0}, {5, MACKO_F64, 1, 0, 0}, {1, MACKO_F32, 1, 0, 0}, {4, MACKO_F64, 2, 0.5, 3},
                {1, MACKO_F64, 2, 1, 0}, {8, MACKO_F32, 1, 0, 1}, {2, MACKO_F32, -1, 2, 0}, {19, MACKO_F64, 1, 1, 2}};
enum { PRODUCTS = sizeof products / sizeof *products };

/* Vectors in memory of just their length; not for sizes that only the damage made big, which are valid nevertheless. */
static void multiply(const macko_matrix *m, int which)
{
  macko_error err;
  macko_type type = products[which].vectors;
  int64_t k = m->ncols < 1000 ? products[which].k : 1, apart = products[which].apart;
  double alpha = products[which].alpha, beta = products[which].beta;
  if (m->ncols > 1 << 18 || m->nrows > LARGE) return;
  int64_t ldx = m->ncols + apart, ldy = m->nrows + apart, size = macko_type_bytes(type);
  void *x = room(size * (ldx * k - apart)), *y = room(size * (ldy * k - apart));
  memset(x, 0, (size_t)(size * (ldx * k - apart)));
  memset(y, 0, (size_t)(size * (ldy * k - apart)));
  if (macko_multiply(m, MACKO_OP_N, type, k, alpha, x, ldx, beta, y, ldy, &err)) abort();
  if (macko_multiply(m, MACKO_OP_T, type, k, alpha, y, ldy, beta, x, ldx, &err)) abort();
  free(x), free(y);
}

/* Rows beyond LARGE are what damage to the size alone made, where a format has no section for rows; they are not written out. */
static void use(const macko_matrix *m, int which)
{
  macko_error err;
  int64_t *row_ptr = m->nrows > LARGE ? NULL : room(8 * (m->nrows + 1)), *cols = room(8 * m->nnz);
  void *values = room(macko_type_bytes(m->value_type) * m->nnz);
  if (macko_decode(m, row_ptr, cols, values, &err)) abort();
  if (row_ptr && (row_ptr[0] != 0 || row_ptr[m->nrows] != m->nnz)) abort();
  for (int64_t i = 0; row_ptr && i < m->nrows; i++)
    for (int64_t p = row_ptr[i]; p < row_ptr[i + 1]; p++)
      if (cols[p] < 0 || cols[p] >= m->ncols || (p > row_ptr[i] && cols[p] <= cols[p - 1])) abort();
  free(row_ptr), free(cols), free(values);
  multiply(m, which);
}

/* The cases of a format are side by side: the first of them and their number. */
static int cases_of(macko_format format, int *first)
{
  int count = 0;
  for (*first = 0; *first < ALL_CASES && all_cases[*first].format != format;) ++*first;
  while (*first + count < ALL_CASES && all_cases[*first + count].format == format) count++;
  return count ? count : cases_of(MACKO_FORMAT_AUTO, first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* First byte: the matrix and the product. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static macko_matrix *good[MACKO_FORMAT_AUTO][ALL_CASES];
  macko_matrix *m = NULL;
  macko_error err = {0};
  int first, count = cases_of(fuzzed, &first);
  if (size < 1) return 0;
  int c = first + data[0] % count;
  if (!good[fuzzed][c]) good[fuzzed][c] = make(&all_cases[c]);
  if (macko_copy(good[fuzzed][c], &m, &err)) abort();
  damage(m, data + 1, size - 1);
  macko_status s = macko_validate(m, &err);
  if (s && (s != MACKO_CORRUPT || !err.text[0])) abort();
  if (!s && macko_prepare(m, &err)) abort();
  if (!s) use(m, data[0] / count % PRODUCTS);
  macko_destroy(&m);
  return 0;
}

#ifdef FUZZ_MAIN
int main(int argc, char **argv)
{
  const long runs = argc > 1 ? atol(argv[1]) : 2000;
  for (int f = 0; f < MACKO_FORMAT_AUTO; f++) {
    uint64_t state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    fuzzed = (macko_format)f;
    for (long run = 0; run < runs; run++) {
      uint8_t data[33];
      size_t size = 5 + 4 * (next_draw(&state) % 8 * (next_draw(&state) % 2));
      for (size_t i = 0; i < size; i++) data[i] = (uint8_t)next_draw(&state);
      LLVMFuzzerTestOneInput(data, size);
    }
  }
  return 0;
}
#endif
