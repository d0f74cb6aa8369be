/* Any sizes, rows, columns and options through predict, encode and refresh. What is refused has a sentence; what is encoded is of
 * the predicted size, is valid, decodes and multiplies to what format csr makes of the same input, and takes new values. Sums are
 * exact, as values and vectors have few bits. Built two ways, as fuzz_sections.c is. */
#include "core/format.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* LARGE: bytes beyond which nothing is encoded. Layout paper fills a gap of many columns with as many zeros, and gigabytes of them
 * show nothing that megabytes do not. */
enum { HEAD = 10, MOST = 1 << 12, LARGE = 1 << 24 };

/* What each option can be, with one number that is in no list. */
#define MACKO_OPTION(field, LIST, usual, reader, help) static const int field##_choices[] = {
#define MACKO_CHOICE(LIST, symbol, name, text) MACKO_##LIST##_##symbol,
#define MACKO_NUMBER(LIST, number, name, text) number,
#define MACKO_OPTION_END(field, LIST) 77};
#include "options.def"

static const double few[] = {1, -2.5, 0, 3, -0.0, 0.5, 100, -7};
/* 1, -2.5 ... as bits of f16 and of bf16 */
static const uint16_t few_halves[2][8] = {{0x3c00, 0xc100, 0, 0x4200, 0x8000, 0x3800, 0x5640, 0xc700},
                                          {0x3f80, 0xc020, 0, 0x4040, 0x8000, 0x3f00, 0x42c8, 0xc0e0}};

typedef struct {
  macko_csr csr;
  macko_options options;
  int64_t row_ptr[257], cols[MOST];
  int32_t row_ptr32[257], cols32[MOST];
  uint64_t values[MOST];
  const uint8_t *codes; /* two bytes an entry, values in the second */
  int64_t count, piece_rows;
} input;

/* Value number i of the entry p, in the matrix's type. */
static void put_value(input *in, int64_t p, int i)
{
  macko_type type = in->csr.value_type;
  float single = (float)few[i & 7];
  if (type == MACKO_F64) memcpy((double *)in->values + p, &few[i & 7], 8);
  else if (type == MACKO_F32) memcpy((float *)in->values + p, &single, 4);
  else ((uint16_t *)in->values)[p] = few_halves[type == MACKO_BF16][i & 7];
}

/* First byte of an entry: the step from the column before it (so that some fall out of the matrix, and some twice on one place),
 * and whether rows end before it, one or two. */
static void read_entries(input *in, const uint8_t *data, size_t size, int scale)
{
  int64_t col = in->csr.index_base, nrows = in->csr.nrows, row = 0;
  int64_t p = 0, most = (int64_t)(size / 2) < MOST ? (int64_t)(size / 2) : MOST;
  in->codes = data;
  in->row_ptr[0] = in->csr.index_base;
  for (; p < most; p++) {
    for (int end = data[2 * p] >> 6; end > 0 && row < nrows; end -= 2)
      in->row_ptr[++row] = p + in->csr.index_base, col = in->csr.index_base + (end > 2 ? row : 0);
    if (row == nrows) break;
    col += (int64_t)(data[2 * p] & 63) << ((data[2 * p + 1] & 8) ? scale : 0);
    in->cols[p] = col;
    col += (data[2 * p + 1] & 16) == 0;
    put_value(in, p, data[2 * p + 1] & 7);
  }
  in->count = p;
  while (row < nrows) in->row_ptr[++row] = in->count + in->csr.index_base;
}

/* Those options whose bit is set are no defaults; most of what all of them can be together is refused. */
static void read_options(macko_options *o, unsigned given, uint32_t which)
{
  macko_options_init(o);
#define PICK(field, type) \
  if (given & 1) o->field = (type)field##_choices[which % (sizeof field##_choices / sizeof *field##_choices)]; \
  given >>= 1, which /= sizeof field##_choices / sizeof *field##_choices;
#define MACKO_OPTION(field, LIST, usual, reader, help) PICK(field, macko_##field)
#define MACKO_NUMBER_OPTION(field, LIST, usual, reader, help) PICK(field, int)
#include "options.def"
#undef PICK
  if (o->prefer == MACKO_PREFER_MEASURED) o->prefer = MACKO_PREFER_TIME; /* which is predicted, and the same every time */
}

static void read_input(input *in, const uint8_t *data, size_t size)
{
  macko_csr *a = &in->csr;
  read_options(&in->options, data[1], (uint32_t)data[0] << 9 | (uint32_t)data[2] << 1 | (data[3] >> 4 & 1));
  *a = (macko_csr){.nrows = data[4], .ncols = (int64_t)data[5] << (data[6] % 33), .value_type = (macko_type)(data[3] % 4),
                   .index_base = data[3] / 4 % 2, .values = in->values};
  in->piece_rows = 1 + data[7] % 64;
  read_entries(in, data + HEAD, size - HEAD, data[6] % 33);
  if (data[8] & 1 && a->nrows) in->row_ptr[data[9] % a->nrows] ^= data[8] >> 1; /* not the last: it says how long arrays are */
  if (data[8] & 2 && in->count) in->cols[data[9] % in->count] = -(int64_t)data[8];
  for (int64_t i = 0; i <= a->nrows; i++) in->row_ptr32[i] = (int32_t)in->row_ptr[i];
  for (int64_t p = 0; p < in->count; p++) in->cols32[p] = (int32_t)in->cols[p];
  int wide = data[3] / 8 % 2 || a->ncols > INT32_MAX;
  a->row_ptr_type = a->col_type = wide ? MACKO_I64 : MACKO_I32;
  a->row_ptr = wide ? (void *)in->row_ptr : (void *)in->row_ptr32, a->cols = wide ? (void *)in->cols : (void *)in->cols32;
}

static void require(int truth)
{
  if (!truth) abort();
}

static void *room(int64_t bytes)
{
  void *memory = calloc(1, bytes > 0 ? (size_t)bytes : 1);
  require(memory != NULL);
  return memory;
}

static void same_product(const macko_matrix *m, const macko_matrix *plain, macko_op op)
{
  int64_t nx = op == MACKO_OP_N ? m->ncols : m->nrows, ny = op == MACKO_OP_N ? m->nrows : m->ncols, k = 3;
  double *x = room(8 * k * nx), *y = room(8 * k * ny), *z = room(8 * k * ny);
  for (int64_t i = 0; i < k * nx; i++) x[i] = (double)(i % 7 - 3);
  for (int one = 0; one < 2; one++) {
    require(!macko_multiply(m, op, MACKO_F64, one ? 1 : k, 2, x, nx, 0, y, ny, NULL));
    require(!macko_multiply(plain, op, MACKO_F64, one ? 1 : k, 2, x, nx, 0, z, ny, NULL));
    for (int64_t i = 0; i < (one ? 1 : k) * ny; i++) require(y[i] == z[i]);
  }
  free(x), free(y), free(z);
}

static void same_matrix(const macko_matrix *m, const macko_matrix *plain)
{
  int64_t size = macko_type_bytes(m->value_type), n = plain->nnz, *row_ptr = room(16 * (m->nrows + 1)), *cols = room(16 * n);
  char *values = room(2 * size * n);
  macko_info info;
  macko_get_info(m, &info);
  require(!macko_validate(m, NULL) && m->nnz == n);
  require(!macko_decode(m, row_ptr, cols, values, NULL));
  require(!macko_decode(plain, row_ptr + m->nrows + 1, cols + n, values + size * n, NULL));
  require(!memcmp(row_ptr, row_ptr + m->nrows + 1, 8 * (size_t)(m->nrows + 1)) && !memcmp(cols, cols + n, 8 * (size_t)n));
  require(info.lossy || !memcmp(values, values + size * n, (size_t)(size * n)));
  free(row_ptr), free(cols), free(values);
  if (info.lossy || m->ncols > 1 << 16) return;
  same_product(m, plain, MACKO_OP_N);
  same_product(m, plain, MACKO_OP_T);
}

/* A macko_row_source of the input; its columns are of the whole, its row pointers begin where the piece does. */
static macko_status give_rows(void *context, int64_t first, int64_t count, macko_csr *piece, macko_error *err)
{
  static int64_t starts[257];
  const input *in = context;
  const macko_csr *a = &in->csr;
  int64_t begin = macko_csr_row(a, first), size = macko_type_bytes(a->col_type);
  (void)err;
  *piece = *a;
  piece->nrows = count, piece->row_ptr = starts, piece->row_ptr_type = MACKO_I64;
  piece->cols = (const char *)a->cols + begin * size;
  piece->values = (const char *)a->values + begin * macko_type_bytes(a->value_type);
  for (int64_t i = 0; i <= count; i++) starts[i] = macko_csr_row(a, first + i) - begin + a->index_base;
  return MACKO_OK;
}

static void same_from_rows(input *in, const macko_matrix *m)
{
  macko_row_source rows = {.nrows = in->csr.nrows, .ncols = in->csr.ncols, .value_type = in->csr.value_type,
                           .piece_rows = in->piece_rows, .rows = give_rows, .context = in};
  macko_matrix *other = NULL;
  require(!macko_encode_rows(&rows, &in->options, &other, NULL) && other->nsections == m->nsections);
  for (int i = 0; i < m->nsections; i++)
    require(m->sections[i].bytes == other->sections[i].bytes &&
            !memcmp(m->sections[i].data, other->sections[i].data, (size_t)m->sections[i].bytes));
  macko_destroy(&other);
}

/* Other values for the same pattern: all the same, or the old ones in another order. */
static void refresh(input *in, macko_matrix *m, macko_matrix *plain)
{
  macko_error err = {0};
  for (int64_t p = 0; p < in->count; p++) put_value(in, p, in->piece_rows % 3 ? in->codes[2 * p + 1] + in->piece_rows : 0);
  require(!macko_refresh(plain, &in->csr, &err));
  macko_status s = macko_refresh(m, &in->csr, &err);
  require(!s || (s == MACKO_UNSUPPORTED && err.text[0]));
  if (!s) same_matrix(m, plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static input in;
  macko_matrix *m = NULL, *plain = NULL;
  macko_error err = {0}, refusal = {0};
  macko_info info;
  if (size < HEAD) return 0;
  read_input(&in, data, size);
  macko_status predicted = macko_predict(&in.csr, &in.options, &info, &refusal);
  if (!predicted && info.bytes > LARGE) return 0;
  macko_status s = macko_encode(&in.csr, &in.options, &m, &err);
  require(!s == !predicted && !s == (m != NULL) && (!s || (err.text[0] && refusal.text[0])));
  if (s) return 0;
  int64_t bytes = info.bytes;
  macko_get_info(m, &info);
  require(info.format == MACKO_FORMAT_DTANS || info.bytes == bytes);
  macko_options csr = {.format = MACKO_FORMAT_CSR};
  require(!macko_encode(&in.csr, &csr, &plain, &err));
  same_matrix(m, plain);
  same_from_rows(&in, m);
  refresh(&in, m, plain);
  macko_destroy(&m);
  macko_destroy(&plain);
  return 0;
}

#ifdef FUZZ_MAIN
int main(int argc, char **argv)
{
  uint64_t state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
  for (long runs = argc > 1 ? atol(argv[1]) : 3000; runs > 0; runs--) {
    uint8_t data[HEAD + 600];
    size_t size = HEAD + (size_t)(state >> 40) % 600;
    for (size_t i = 0; i < size; i++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      data[i] = (uint8_t)(state >> 33);
    }
    data[1] &= (uint8_t)(runs % 5 ? state >> 50 : 0xff), data[8] &= (uint8_t)(runs % 8 ? 0xfc : 0xff); /* mostly sound */
    data[5] |= 0x80;
    LLVMFuzzerTestOneInput(data, size);
  }
  return 0;
}
#endif
