/* Damaged dtans matrices: whatever a few bytes do to a good matrix, validate answers, and what it lets pass can be decoded and
 * multiplied. Built two ways: with -fsanitize=fuzzer (libFuzzer's main), or with FUZZ_MAIN, which runs a fixed number of
 * pseudo-random inputs in `make check`. */
#include "format.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 70, COLS = 90, MATRICES = 8 };

static const struct {
  macko_variant variant;
  macko_values values;
  int kind; /* of values: 0 few, 1 any bits, 2 one */
} cases[MATRICES] = {{MACKO_VARIANT_PAPER, MACKO_VALUES_AUTO, 0}, {MACKO_VARIANT_SPLIT, MACKO_VALUES_CODED, 0},
                     {MACKO_VARIANT_JOINT, MACKO_VALUES_AUTO, 0}, {MACKO_VARIANT_SPLIT, MACKO_VALUES_RAW, 1},
                     {MACKO_VARIANT_SPLIT, MACKO_VALUES_DICT, 0}, {MACKO_VARIANT_SPLIT, MACKO_VALUES_AUTO, 2},
                     {MACKO_VARIANT_PAPER, MACKO_VALUES_AUTO, 1}, {MACKO_VARIANT_JOINT, MACKO_VALUES_AUTO, 1}};

static uint64_t next_draw(uint64_t *state)
{
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/* A good matrix of the case. */
static macko_matrix *make(int c)
{
  int64_t row_ptr[ROWS + 1] = {0}, cols[ROWS * 20];
  double values[ROWS * 20];
  int64_t n = 0;
  uint64_t state = (uint64_t)c + 1;
  macko_options o;
  macko_matrix *m = NULL;
  for (int i = 0; i < ROWS; i++) {
    for (int64_t j = 0; j < COLS && n < (i + 1) * 20; j++) {
      if (next_draw(&state) % 6) continue;
      cols[n] = j;
      values[n++] = cases[c].kind == 0 ? (double)(next_draw(&state) % 4) : cases[c].kind == 1 ? (double)next_draw(&state) / 3 : 1;
    }
    row_ptr[i + 1] = n;
  }
  macko_csr a = {.nrows = ROWS, .ncols = COLS, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_options_init(&o);
  o.format = MACKO_FORMAT_DTANS, o.variant = cases[c].variant, o.values = cases[c].values;
  if (macko_encode(&a, &o, &m, NULL)) abort();
  return m;
}

/* Each four bytes of data: a section (or the parameters), a place in it, and what changes there. Done twice it is undone. */
static void damage(macko_matrix *m, const uint8_t *data, size_t size)
{
  macko_info info;
  macko_get_info(m, &info);
  for (; size >= 4; data += 4, size -= 4) {
    const macko_section params = {.data = m->plan.params, .bytes = sizeof m->plan.params}, *s = &params;
    if (data[0] % (info.nsections + 1)) s = macko_get_section(m, data[0] % (info.nsections + 1) - 1);
    if (s->bytes) ((uint8_t *)s->data)[(data[1] | data[2] << 8) % s->bytes] ^= data[3];
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const macko_matrix *m)
{
  int64_t row_ptr[ROWS + 1], cols[ROWS * 20];
  double values[ROWS * 20], x[COLS] = {0}, y[COLS];
  macko_error err;
  if (macko_decode(m, row_ptr, cols, values, &err)) abort();
  for (int64_t p = 0; p < m->nnz; p++)
    if (cols[p] < 0 || cols[p] >= COLS) abort();
  if (macko_multiply(m, MACKO_OP_N, MACKO_F64, 1, 1, x, COLS, 0, y, COLS, &err)) abort();
  if (macko_multiply(m, MACKO_OP_T, MACKO_F64, 1, 1, x, COLS, 0, y, COLS, &err)) abort();
}

/* First byte: the matrix. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static macko_matrix *good[MATRICES];
  macko_error err;
  if (size < 1) return 0;
  macko_matrix **m = &good[data[0] % MATRICES];
  if (!*m) *m = make(data[0] % MATRICES);
  damage(*m, data + 1, size - 1);
  macko_status s = macko_validate(*m, &err);
  if (s && s != MACKO_CORRUPT) abort();
  if (!s) use(*m);
  damage(*m, data + 1, size - 1);
  if (macko_validate(*m, &err)) abort();
  return 0;
}

#ifdef FUZZ_MAIN
int main(int argc, char **argv)
{
  uint64_t state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
  for (long runs = argc > 1 ? atol(argv[1]) : 2000; runs > 0; runs--) {
    uint8_t data[33];
    size_t size = 5 + 4 * (next_draw(&state) % 8 * (next_draw(&state) % 2));
    for (size_t i = 0; i < size; i++) data[i] = (uint8_t)next_draw(&state);
    LLVMFuzzerTestOneInput(data, size);
  }
  return 0;
}
#endif
