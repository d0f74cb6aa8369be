/* Encoding from device memory gives the host's bytes: every pattern, layout and codec, index types, damage, refresh. */
#include "cuda_common.h"
#include "macko_cuda.h"
#include "matrices.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUDA(call) ck_assert_msg((call) == cudaSuccess, "%s", cudaGetErrorString(cudaGetLastError()))

/* ---- the same csr on the host and on the device ---- */

typedef struct {
  macko_csr host, device;
  void *row_ptr, *cols;
} both;

static void *indices(const int64_t *from, int64_t count, macko_type type, int base)
{
  void *to = malloc((size_t)count * 8 + 8);
  for (int64_t i = 0; i < count; i++)
    if (type == MACKO_I64) ((int64_t *)to)[i] = from[i] + base;
    else ((int32_t *)to)[i] = (int32_t)(from[i] + base);
  return to;
}

static void *to_device(const void *from, size_t bytes)
{
  void *to = NULL;
  CUDA(cudaMalloc(&to, bytes + 1));
  CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
  return to;
}

/* Kind 0 .. 3: 64- or 32-bit columns, counted from 0 or 1; row starts the other way round. */
static both open_both(const test_matrix *a, int kind)
{
  macko_csr c = test_view(a);
  int64_t nnz = a->row_ptr[a->nrows];
  c.index_base = kind / 2, c.col_type = kind % 2 ? MACKO_I32 : MACKO_I64, c.row_ptr_type = kind % 2 ? MACKO_I64 : MACKO_I32;
  both b = {c, c, indices(a->row_ptr, a->nrows + 1, c.row_ptr_type, c.index_base),
            indices(a->cols, nnz, c.col_type, c.index_base)};
  b.host.row_ptr = b.row_ptr, b.host.cols = b.cols;
  b.device.row_ptr = to_device(b.row_ptr, (size_t)((a->nrows + 1) * macko_type_bytes(c.row_ptr_type)));
  b.device.cols = to_device(b.cols, (size_t)(nnz * macko_type_bytes(c.col_type)));
  b.device.values = to_device(a->values, (size_t)(nnz * macko_type_bytes(a->type)));
  return b;
}

static void send_values(const test_matrix *a, const both *b)
{
  CUDA(cudaMemcpy((void *)b->device.values, a->values, (size_t)(a->row_ptr[a->nrows] * macko_type_bytes(a->type)),
                  cudaMemcpyHostToDevice));
}

static void close_both(both *b)
{
  cudaFree((void *)b->device.row_ptr), cudaFree((void *)b->device.cols), cudaFree((void *)b->device.values);
  free(b->row_ptr), free(b->cols);
}

/* ---- comparing ---- */

static void compare_info(const macko_info *want, const macko_info *got, const char *what)
{
  ck_assert_msg(want->format == got->format && want->layout == got->layout && want->values == got->values &&
                    want->stored_type == got->stored_type && want->value_type == got->value_type &&
                    want->delta_bits == got->delta_bits && want->lossy == got->lossy && want->nrows == got->nrows &&
                    want->ncols == got->ncols && want->nnz == got->nnz && want->bytes == got->bytes &&
                    want->csr_bytes == got->csr_bytes && want->nsections == got->nsections,
                "%s: %s %s %s (%ld bytes), the host has %s %s %s (%ld bytes)", what, macko_format_name(got->format),
                macko_layout_name(got->layout), macko_values_name(got->values), (long)got->bytes, macko_format_name(want->format),
                macko_layout_name(want->layout), macko_values_name(want->values), (long)want->bytes);
  ck_assert_msg(!strcmp(want->reason, got->reason), "%s: \"%s\", the host says \"%s\"", what, got->reason, want->reason);
}

/* Section for section: name, type, size and bytes. */
static void compare_matrices(const macko_matrix *want, const macko_device_matrix *d, const char *what)
{
  macko_matrix *got = NULL;
  macko_error err = {0};
  macko_info wanted, have;
  macko_get_info(want, &wanted);
  macko_device_get_info(d, &have);
  compare_info(&wanted, &have, what);
  ck_assert_msg(!macko_device_fetch(d, NULL, &got, &err), "%s: %s", what, err.text);
  macko_get_info(got, &have);
  compare_info(&wanted, &have, what);
  for (int64_t i = 0; i < wanted.nsections; i++) {
    const macko_section *a = macko_get_section(want, i), *b = macko_get_section(got, i);
    ck_assert_msg(!strcmp(a->name, b->name) && a->type == b->type && a->bytes == b->bytes,
                  "%s: section %s of %ld bytes, on the host %s of %ld", what, b->name, (long)b->bytes, a->name, (long)a->bytes);
    for (int64_t at = 0; at < a->bytes; at++)
      if (((const char *)a->data)[at] != ((const char *)b->data)[at])
        ck_abort_msg("%s: byte %ld of %ld of section %s differs; %s", what, (long)at, (long)a->bytes, a->name, wanted.reason);
  }
  ck_assert_msg(!macko_validate(got, &err), "%s: %s", what, err.text);
  macko_destroy(&got);
}

static void multiply(const macko_device_matrix *d, int64_t nrows, int64_t ncols, double *y, const char *what)
{
  double *x = malloc((size_t)ncols * 8 + 8), *on_device;
  macko_error err = {0};
  for (int64_t j = 0; j < ncols; j++) x[j] = 1 + (double)(j % 17) / 8;
  CUDA(cudaMalloc((void **)&on_device, (size_t)(nrows + ncols) * 8 + 8));
  CUDA(cudaMemcpy(on_device, x, (size_t)ncols * 8, cudaMemcpyHostToDevice));
  macko_status s =
      macko_device_multiply(d, MACKO_OP_N, MACKO_F64, 1, 1, on_device, ncols, 0, on_device + ncols, nrows, NULL, &err);
  ck_assert_msg(!s, "%s: %s", what, err.text);
  CUDA(cudaMemcpy(y, on_device + ncols, (size_t)nrows * 8, cudaMemcpyDeviceToHost));
  cudaFree(on_device), free(x);
}

/* What kernels prepare beside the sections must be there too. */
static void compare_products(const macko_matrix *m, const macko_device_matrix *d, const char *what)
{
  macko_info info;
  macko_device_matrix *uploaded = NULL;
  macko_error err = {0};
  macko_get_info(m, &info);
  double *want = calloc((size_t)info.nrows + 1, 8), *got = calloc((size_t)info.nrows + 1, 8);
  ck_assert_msg(!macko_to_device(m, NULL, &uploaded, &err), "%s: %s", what, err.text);
  multiply(uploaded, info.nrows, info.ncols, want, what);
  multiply(d, info.nrows, info.ncols, got, what);
  ck_assert_msg(!memcmp(want, got, (size_t)info.nrows * 8), "%s: products differ", what);
  ck_assert_int_eq(macko_device_bytes(uploaded), macko_device_bytes(d));
  macko_device_destroy(&uploaded);
  free(want), free(got);
}

static void describe(const test_matrix *a, const macko_options *o, char *what, size_t room)
{
  snprintf(what, room, "%s, %s values, format %s, layout %s, %d bits, values %s, %s, prefer %s", a->name,
           macko_type_name(a->type), macko_format_name(o->format), macko_layout_name(o->layout), o->delta_bits,
           macko_values_name(o->values), macko_target_name(o->target), macko_prefer_name(o->prefer));
}

static void encode_both(const test_matrix *a, const both *b, const macko_options *o)
{
  macko_matrix *m = NULL;
  macko_device_matrix *d = NULL;
  macko_error err = {0}, device_err = {0};
  char what[300];
  describe(a, o, what, sizeof what);
  macko_status s = macko_encode(&b->host, o, &m, &err), t = macko_encode_on_device(&b->device, o, NULL, &d, &device_err);
  ck_assert_msg(s == t, "%s: %s (%s), on the host %s (%s)", what, macko_status_text(t), device_err.text, macko_status_text(s),
                err.text);
  ck_assert_msg(!s || !strcmp(err.text, device_err.text), "%s: \"%s\", on the host \"%s\"", what, device_err.text, err.text);
  ck_assert(!s || !d);
  if (!s) compare_matrices(m, d, what), compare_products(m, d, what);
  macko_device_destroy(&d);
  macko_destroy(&m);
}

/* ---- the tests ---- */

static const struct {
  int values;
  macko_type type;
} values_of[] = {{0, MACKO_F64}, {1, MACKO_F64},  {2, MACKO_F64},  {3, MACKO_F64}, {4, MACKO_F64},
                 {0, MACKO_F32}, {2, MACKO_F32},  {3, MACKO_F32},  {4, MACKO_F32}, {0, MACKO_F16},
                 {2, MACKO_F16}, {0, MACKO_BF16}, {2, MACKO_BF16}, {4, MACKO_BF16}};
enum { KINDS = sizeof values_of / sizeof *values_of };

static void automatic(const test_matrix *a, const both *b)
{
  macko_options o;
  macko_options_init(&o);
  for (int target = MACKO_TARGET_CPU; target <= MACKO_TARGET_GPU; target++)
    for (int prefer = MACKO_PREFER_TIME; prefer <= MACKO_PREFER_MEMORY; prefer++) {
      o.target = (macko_target)target, o.prefer = (macko_prefer)prefer;
      encode_both(a, b, &o);
    }
}

static void asked_for(const test_matrix *a, const both *b)
{
  static const int widths[] = {0, 1, 4, 16};
  macko_options o;
  macko_options_init(&o);
  for (int f = 0; f < MACKO_FORMAT_AUTO; f++)
    for (int values = MACKO_VALUES_AUTO; values <= MACKO_VALUES_BF16; values++)
      for (int layout = MACKO_LAYOUT_AUTO; layout <= MACKO_LAYOUT_PAPER; layout++)
        for (int w = 0; w < (layout == MACKO_LAYOUT_ROW ? 4 : 1); w++) {
          if (f != MACKO_FORMAT_MACKO && layout) continue;
          if (f == MACKO_FORMAT_DTANS && values) continue;
          o.format = (macko_format)f, o.values = (macko_values)values, o.layout = (macko_layout)layout, o.delta_bits = widths[w];
          encode_both(a, b, &o);
        }
}

START_TEST(bytes_are_the_hosts)
{
  int pattern = _i % TEST_PATTERNS, kind = _i / TEST_PATTERNS;
  test_matrix a = test_make(pattern, values_of[kind].values, values_of[kind].type);
  both b = open_both(&a, _i % 4);
  automatic(&a, &b);
  asked_for(&a, &b);
  close_both(&b);
  test_free(&a);
}
END_TEST

/* Several windows, blocks and long rows, in sizes that no small pattern has. */
static test_matrix many_rows(int shape)
{
  enum { ROWS = 20000, EDGE = 100 };
  test_matrix a = {.name = "many rows", .nrows = ROWS, .ncols = ROWS, .type = MACKO_F64, .row_ptr = calloc(ROWS + 1, 8)};
  int64_t room = 1 << 20, count = 0;
  a.cols = malloc((size_t)room * 8);
  test_seed(5);
  for (int64_t i = 0; i < ROWS; i++) {
    static const int64_t offsets[] = {-EDGE, -1, 0, 1, EDGE};
    int64_t length = shape == 0       ? 5
                     : shape == 1     ? (int64_t)(test_draw() % 40)
                     : i % 5000 == 77 ? 9000
                                      : (int64_t)(test_draw() % 5);
    int64_t col = shape == 1 ? (int64_t)(test_draw() % 100) : 0;
    for (int64_t k = 0; k < length; k++) {
      if (shape == 0) col = i + offsets[k];
      else col += 1 + (int64_t)(test_draw() % (length > 100 ? 2 : test_draw() % 50 ? 30 : 9000));
      if (col >= 0 && col < ROWS && count < room) a.cols[count++] = col;
    }
    a.row_ptr[i + 1] = count;
  }
  a.values = malloc((size_t)count * 8 + 8), a.exact = malloc((size_t)count * 8 + 8);
  return a;
}

START_TEST(many_rows_too)
{
  test_matrix a = many_rows(_i);
  for (int kind = 0; kind < TEST_VALUES; kind++) {
    test_fill(&a, kind);
    both b = open_both(&a, kind % 4);
    automatic(&a, &b);
    if (kind < 2) asked_for(&a, &b);
    close_both(&b);
  }
  test_free(&a);
}
END_TEST

/* Few rows of thousands of entries, which several warps look at: random gaps; the same columns in every row, behind rows that are
 * a stencil; empty rows and long gaps between them. */
static test_matrix few_rows(int shape, macko_type type)
{
  enum { ROWS = 100, COLS = 6000 };
  test_matrix a = {.name = "few rows", .nrows = ROWS, .ncols = COLS, .type = type, .row_ptr = calloc(ROWS + 1, 8)};
  int64_t count = 0;
  a.cols = malloc((size_t)(ROWS * COLS) * 8);
  test_seed(7);
  for (int64_t i = 0; i < ROWS; i++) {
    int stencil = shape == 1 && i < 32, empty = shape == 2 && i % 10 == 3;
    int64_t length = stencil ? 3 : empty ? 0 : COLS, col = stencil || shape == 1 ? i : 0;
    for (int64_t k = 0; k < length && col < COLS; k++) {
      a.cols[count++] = col;
      if (shape == 1) col += stencil ? 1 : 1 + k % 4;
      else col += 1 + (int64_t)(test_draw() % 3) + (shape == 2 && test_draw() % 50 == 0 ? (int64_t)(test_draw() % 400) : 0);
    }
    a.row_ptr[i + 1] = count;
  }
  a.values = malloc((size_t)count * 8 + 8), a.exact = malloc((size_t)count * 8 + 8);
  return a;
}

START_TEST(few_rows_too)
{
  test_matrix a = few_rows(_i % 3, _i < 3 ? MACKO_F64 : MACKO_F16);
  for (int kind = 0; kind < TEST_VALUES; kind += 2) {
    test_fill(&a, kind);
    both b = open_both(&a, kind % 4);
    automatic(&a, &b);
    if (kind == 0) asked_for(&a, &b);
    close_both(&b);
  }
  test_free(&a);
}
END_TEST

/* Bits that conversions could lose: NaN of all kinds, the pattern of all ones, infinities, denormals, both zeros. */
START_TEST(every_bit_of_a_value)
{
  static const uint64_t bits[] = {
    0x7ff8000000000000, 0xfff8000000000000, 0x7ff8000020000000, 0x7ff4000000000000, 0x7ff8000000000001, 0xffffffffffffffff,
    0x7ff0000000000000, 0xfff0000000000000, 0, 0x8000000000000000, 1, 0x3ff0000000000000, 0x36a0000000000000, 0x47efffffe0000000,
    0x7fefffffffffffff, 0x40effc0000000000, 0x3e70000000000000};
  static const uint32_t bits_f32[] = {0x7fc00000, 0xffc00000, 0x7fc02000, 0x7fa00000, 0x7fc00001, 0xffffffff,
                                      0x7f800000, 0xff800000, 0,          0x80000000, 1,          0x3f800000,
                                      0x7f7fffff, 0x477fe000, 0x33800000, 0x38800000, 0x7fc10000};
  enum { COUNT = sizeof bits / sizeof *bits };
  for (int single = 0; single < 2; single++) {
    test_matrix a = test_make(8, 0, single ? MACKO_F32 : MACKO_F64);
    int64_t nnz = a.row_ptr[a.nrows];
    /* First one pattern and 1 only, then all. */
    for (int use = 0; use <= COUNT; use++) {
      for (int64_t p = 0; p < nnz; p++) {
        int which = use == COUNT ? (int)(p * 7 % COUNT) : p % 3 ? use : 11;
        if (single) ((uint32_t *)a.values)[p] = bits_f32[which];
        else ((uint64_t *)a.values)[p] = bits[which];
      }
      both b = open_both(&a, use % 4);
      automatic(&a, &b);
      if (use == COUNT || use == 2) asked_for(&a, &b);
      close_both(&b);
    }
    test_free(&a);
  }
}
END_TEST

/* Unsorted rows and duplicates are encoded as the host does; damage is refused with its sentence. */
START_TEST(rows_that_kernels_do_not_read)
{
  static const char *const damages[] = {"unsorted",      "duplicate",           "column too large",    "negative column",
                                        "row_ptr falls", "row_ptr starts late", "row_ptr ends below 0"};
  macko_options o;
  macko_options_init(&o);
  o.target = MACKO_TARGET_GPU;
  test_matrix a = test_make(8, 1, MACKO_F64);
  int64_t last = a.nrows, at = a.row_ptr[50];
  switch (_i) {
  case 0: a.cols[at] = a.cols[at + 1], a.cols[at + 1]--; break;
  case 1: a.cols[at] = a.cols[at + 1]; break;
  case 2: a.cols[at] = a.ncols; break;
  case 3: a.cols[at] = -1; break;
  case 4: a.row_ptr[50] = a.row_ptr[60]; break;
  case 5: a.row_ptr[0] = 1; break;
  default: a.row_ptr[last] = -4;
  }
  int64_t end = a.row_ptr[last];
  a.name = damages[_i];
  if (end < 0) a.row_ptr[last] = 0; /* the arrays have that many entries */
  both b = open_both(&a, 0);
  if (end < 0) {
    ((int32_t *)b.row_ptr)[last] = (int32_t)end;
    CUDA(cudaMemcpy((void *)b.device.row_ptr, b.row_ptr, (size_t)(last + 1) * 4, cudaMemcpyHostToDevice));
  }
  encode_both(&a, &b, &o);
  close_both(&b);
  test_free(&a);
}
END_TEST

static void refresh_both(const test_matrix *a, const macko_options *o)
{
  macko_matrix *m = NULL;
  macko_device_matrix *d = NULL;
  macko_error err = {0};
  char what[300];
  both b = open_both(a, 1);
  describe(a, o, what, sizeof what);
  if (!macko_encode(&b.host, o, &m, NULL)) {
    ck_assert_msg(!macko_encode_on_device(&b.device, o, NULL, &d, &err), "%s: %s", what, err.text);
    for (int step = 0; step < 2 * TEST_VALUES; step++) {
      test_seed((uint64_t)step), test_fill((test_matrix *)a, step % TEST_VALUES);
      send_values(a, &b);
      macko_status s = macko_refresh(m, &b.host, &err);
      ck_assert_int_eq(s, macko_device_refresh_csr(d, &b.device, NULL, NULL, &err));
      if (s) continue; /* a codec that was asked for cannot hold these values: the old ones stay */
      compare_matrices(m, d, what);
      compare_products(m, d, what);
    }
  }
  macko_device_destroy(&d);
  macko_destroy(&m);
  close_both(&b);
}

START_TEST(refresh_gives_the_hosts_bytes)
{
  macko_options o;
  test_matrix a = _i < TEST_PATTERNS ? test_make(_i, 4, MACKO_F64) : many_rows(_i - TEST_PATTERNS);
  macko_options_init(&o);
  for (int f = 0; f <= MACKO_FORMAT_AUTO; f++)
    for (int layout = MACKO_LAYOUT_AUTO; layout <= MACKO_LAYOUT_PAPER; layout++)
      for (int values = MACKO_VALUES_AUTO; values <= MACKO_VALUES_JOINT; values++) {
        if (f != MACKO_FORMAT_MACKO && (layout || values)) continue;
        o.format = (macko_format)f, o.layout = (macko_layout)layout, o.values = (macko_values)values, o.target = MACKO_TARGET_GPU;
        test_fill(&a, 4);
        refresh_both(&a, &o);
      }
  o.prefer = MACKO_PREFER_MEMORY, o.values = MACKO_VALUES_AUTO; /* joint codes, which go by the pattern as well */
  for (int f = MACKO_FORMAT_MACKO; f <= MACKO_FORMAT_AUTO; f += MACKO_FORMAT_AUTO - MACKO_FORMAT_MACKO) {
    o.format = (macko_format)f, o.layout = MACKO_LAYOUT_SLICE;
    test_fill(&a, 1);
    refresh_both(&a, &o);
  }
  o.layout = MACKO_LAYOUT_AUTO; /* format dtans, where it takes the fewest bytes */
  test_fill(&a, 0);
  refresh_both(&a, &o);
  test_free(&a);
}
END_TEST

START_TEST(refresh_refuses_other_rows)
{
  macko_error err = {0}, host_err = {0};
  macko_matrix *m = NULL;
  macko_device_matrix *d = NULL;
  macko_options o;
  test_matrix a = test_make(8, _i % TEST_VALUES, MACKO_F64);
  both b = open_both(&a, 0);
  macko_options_init(&o);
  if (_i >= TEST_VALUES) o.format = MACKO_FORMAT_DTANS, o.target = MACKO_TARGET_GPU;
  ck_assert_msg(!macko_encode_on_device(&b.device, &o, NULL, &d, &err), "%s", err.text);
  ck_assert(!macko_encode(&b.host, &o, &m, NULL));
  close_both(&b);
  a.row_ptr[7]--;
  b = open_both(&a, 0);
  ck_assert_int_eq(macko_refresh(m, &b.host, &host_err), MACKO_INVALID_MATRIX);
  ck_assert_int_eq(macko_device_refresh_csr(d, &b.device, NULL, NULL, &err), MACKO_INVALID_MATRIX);
  ck_assert_str_eq(err.text, host_err.text);
  b.device.nrows--;
  ck_assert_int_eq(macko_device_refresh_csr(d, &b.device, NULL, NULL, &err), MACKO_INVALID_MATRIX);
  compare_matrices(m, d, "refused");
  close_both(&b);
  macko_device_destroy(&d);
  macko_destroy(&m);
  test_free(&a);
}
END_TEST

/* ---- format dtans: every variant, and values beside gaps ---- */

static void dtans_variants(const test_matrix *a, const both *b)
{
  macko_options o;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_DTANS;
  for (int variant = MACKO_VARIANT_AUTO; variant <= MACKO_VARIANT_PAPER; variant++)
    for (int memory = 0; memory < 2; memory++) {
      o.variant = (macko_variant)variant, o.target = memory ? MACKO_TARGET_CPU : MACKO_TARGET_GPU;
      o.prefer = memory ? MACKO_PREFER_MEMORY : MACKO_PREFER_TIME;
      encode_both(a, b, &o);
    }
  o.variant = MACKO_VARIANT_SPLIT;
  for (int values = MACKO_VALUES_AUTO; values <= MACKO_VALUES_BF16; values++) {
    o.values = (macko_values)values;
    encode_both(a, b, &o);
  }
}

START_TEST(dtans_bytes_are_the_hosts)
{
  static const int kinds[] = {0, 3, 4, 5, 7, 9, 11};
  int kind = kinds[_i / TEST_PATTERNS];
  test_matrix a = test_make(_i % TEST_PATTERNS, values_of[kind].values, values_of[kind].type);
  both b = open_both(&a, _i % 4);
  dtans_variants(&a, &b);
  close_both(&b);
  test_free(&a);
}
END_TEST

/* Also more different symbols than are counted, some of them frequent. */
START_TEST(dtans_of_many_rows)
{
  test_matrix a = many_rows(_i / (TEST_VALUES + 1));
  int kind = _i % (TEST_VALUES + 1), mixed = kind == TEST_VALUES;
  test_fill(&a, mixed ? 0 : kind);
  int64_t nnz = a.row_ptr[a.nrows];
  for (int64_t p = 0; p < nnz && mixed; p++) ((double *)a.values)[p] = p % 3 ? 1 + (double)p : (double)(test_draw() % 300);
  both b = open_both(&a, _i % 4);
  dtans_variants(&a, &b);
  close_both(&b);
  test_free(&a);
}
END_TEST

static void refresh_variant(const test_matrix *a, macko_variant variant, macko_values values)
{
  macko_options o;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_DTANS, o.variant = variant, o.values = values;
  for (int memory = 0; memory < 2; memory++) {
    o.target = memory ? MACKO_TARGET_CPU : MACKO_TARGET_GPU;
    test_fill((test_matrix *)a, 4);
    refresh_both(a, &o);
  }
}

START_TEST(dtans_takes_new_values)
{
  static const macko_values values[] = {MACKO_VALUES_RAW, MACKO_VALUES_NARROW, MACKO_VALUES_DICT, MACKO_VALUES_CODED};
  test_matrix a = _i < TEST_PATTERNS ? test_make(_i, 4, MACKO_F64) : many_rows(_i - TEST_PATTERNS);
  for (int variant = MACKO_VARIANT_AUTO; variant <= MACKO_VARIANT_PAPER; variant++)
    refresh_variant(&a, (macko_variant)variant, MACKO_VALUES_AUTO);
  for (int i = 0; i < 4; i++) refresh_variant(&a, MACKO_VARIANT_SPLIT, values[i]);
  test_free(&a);
}
END_TEST

START_TEST(a_few_dtans)
{
  static const int patterns[] = {5, 8, 11};
  test_matrix a = test_make(patterns[_i % 3], _i / 3, MACKO_F64);
  both b = open_both(&a, _i % 4);
  dtans_variants(&a, &b);
  close_both(&b);
  refresh_variant(&a, (macko_variant)(_i % 4), MACKO_VALUES_AUTO);
  test_free(&a);
}
END_TEST

/* What a memory checker can get through. */
enum { FEW = 10 };
START_TEST(a_few)
{
  static const int patterns[] = {5, 8, 11, 12, 13};
  test_matrix a = test_make(patterns[_i % 5], _i / 5 * 4, MACKO_F64);
  both b = open_both(&a, _i % 4);
  macko_options o;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_MACKO;
  for (int layout = MACKO_LAYOUT_ROW; layout <= MACKO_LAYOUT_SLICE; layout++)
    for (int values = MACKO_VALUES_RAW; values <= MACKO_VALUES_JOINT; values++) {
      o.layout = (macko_layout)layout, o.values = (macko_values)values;
      encode_both(&a, &b, &o);
    }
  close_both(&b);
  o.values = MACKO_VALUES_AUTO;
  refresh_both(&a, &o);
  test_free(&a);
}
END_TEST

static Suite *encode_suite(void)
{
  Suite *suite = suite_create("cuda_encode");
  TCase *all = add_case(suite, "all", 0), *dtans = add_case(suite, "dtans", 0);
  tcase_add_loop_test(all, bytes_are_the_hosts, 0, TEST_PATTERNS * KINDS);
  tcase_add_loop_test(all, many_rows_too, 0, 3);
  tcase_add_loop_test(all, few_rows_too, 0, 6);
  tcase_add_test(all, every_bit_of_a_value);
  tcase_add_loop_test(all, rows_that_kernels_do_not_read, 0, 7);
  tcase_add_loop_test(all, refresh_gives_the_hosts_bytes, 0, TEST_PATTERNS + 3);
  tcase_add_loop_test(all, refresh_refuses_other_rows, 0, 2 * TEST_VALUES);
  tcase_add_loop_test(dtans, dtans_bytes_are_the_hosts, 0, 7 * TEST_PATTERNS);
  tcase_add_loop_test(dtans, dtans_of_many_rows, 0, 3 * (TEST_VALUES + 1));
  tcase_add_loop_test(add_case(suite, "dtans_refresh", 0), dtans_takes_new_values, 0, TEST_PATTERNS + 3);
  tcase_add_loop_test(add_case(suite, "few_dtans", 0), a_few_dtans, 0, 6);
  for (int part = 0; part < FEW; part++) /* one matrix each, because a checker takes long */
    tcase_add_loop_test(add_case(suite, "few", part + 1), a_few, part, part + 1);
  return suite;
}

int main(void)
{
  return run_cuda_suite(encode_suite);
}
