#include "both.h"

#include "core/format.h"
#include "../assertions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the same csr on the host and on the device ---- */

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

both open_both(const test_matrix *a, int kind)
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

void send_values(const test_matrix *a, const both *b)
{
  CUDA(cudaMemcpy((void *)b->device.values, a->values, (size_t)(a->row_ptr[a->nrows] * macko_type_bytes(a->type)),
                  cudaMemcpyHostToDevice));
}

void close_both(both *b)
{
  cudaFree((void *)b->device.row_ptr), cudaFree((void *)b->device.cols), cudaFree((void *)b->device.values);
  free(b->row_ptr), free(b->cols);
}

/* ---- comparing ---- */

/* This is about products on a CPU, for which a csr that is in GPU memory is not looked at. */
static const char only_on_a_cpu[] = "; columns are read once for rows that share them";

static void compare_info(const macko_info *want, const macko_info *got, const char *what)
{
  ck_assert_msg(want->format == got->format && want->layout == got->layout && want->values == got->values &&
                    want->stored_type == got->stored_type && want->value_type == got->value_type &&
                    want->gap_bits == got->gap_bits && want->lossy == got->lossy && want->nrows == got->nrows &&
                    want->ncols == got->ncols && want->nnz == got->nnz && want->bytes == got->bytes &&
                    want->csr_bytes == got->csr_bytes && want->nsections == got->nsections,
                "%s: %s %s %s (%ld bytes), the host has %s %s %s (%ld bytes)", what, macko_format_name(got->format),
                macko_layout_name(got->layout), macko_values_name(got->values), (long)got->bytes, macko_format_name(want->format),
                macko_layout_name(want->layout), macko_values_name(want->values), (long)want->bytes);
  const size_t alike = strlen(got->reason);
  const char *more = want->reason + (strlen(want->reason) >= alike ? alike : 0);
  const int same = !strncmp(want->reason, got->reason, alike) && (!*more || !strcmp(more, only_on_a_cpu));
  ck_assert_msg(same, "%s: \"%s\", the host says \"%s\"", what, got->reason, want->reason);
}

void compare_matrices(const macko_matrix *want, const macko_device_matrix *d, const char *what)
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
  ck_assert_msg(got->pattern == want->pattern, "%s: the number of the pattern differs", what);
  macko_destroy(&got);
}

/* nrows x ncols: op(A). */
static void multiply(const macko_device_matrix *d, macko_op op, int64_t nrows, int64_t ncols, double *y, const char *what)
{
  double *x = malloc((size_t)ncols * 8 + 8), *on_device;
  macko_error err = {0};
  for (int64_t j = 0; j < ncols; j++) x[j] = 1 + (double)(j % 17) / 8;
  CUDA(cudaMalloc((void **)&on_device, (size_t)(nrows + ncols) * 8 + 8));
  CUDA(cudaMemcpy(on_device, x, (size_t)ncols * 8, cudaMemcpyHostToDevice));
  macko_status s =
      macko_device_multiply(d, op, MACKO_F64, 1, 1, on_device, ncols, 0, on_device + ncols, nrows, NULL, &err);
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
  ck_assert_msg(!macko_device_upload(m, NULL, &uploaded, &err), "%s: %s", what, err.text);
  multiply(uploaded, MACKO_OP_N, info.nrows, info.ncols, want, what);
  multiply(d, MACKO_OP_N, info.nrows, info.ncols, got, what);
  ck_assert_msg(!memcmp(want, got, (size_t)info.nrows * 8), "%s: products differ", what);
  ck_assert_int_eq(macko_device_bytes(uploaded), macko_device_bytes(d));
  macko_device_destroy(&uploaded);
  free(want), free(got);
}

void compare_transposes(const macko_matrix *m, const macko_device_matrix *d, const char *what)
{
  macko_info info;
  macko_device_matrix *uploaded = NULL;
  macko_error err = {0};
  macko_get_info(m, &info);
  double *want = calloc((size_t)info.ncols + 1, 8), *got = calloc((size_t)info.ncols + 1, 8);
  ck_assert_msg(!macko_device_upload(m, NULL, &uploaded, &err), "%s: %s", what, err.text);
  ck_assert_msg(!macko_device_add_transpose(uploaded, m, NULL, &err), "%s: %s", what, err.text);
  multiply(uploaded, MACKO_OP_T, info.ncols, info.nrows, want, what);
  multiply(d, MACKO_OP_T, info.ncols, info.nrows, got, what);
  ck_assert_msg(!memcmp(want, got, (size_t)info.ncols * 8), "%s: products with the transpose differ", what);
  ck_assert_int_eq(macko_device_bytes(uploaded), macko_device_bytes(d));
  macko_device_destroy(&uploaded);
  free(want), free(got);
}

static void describe(const test_matrix *a, const macko_options *o, char *what, size_t room)
{
  snprintf(what, room, "%s, %s values, format %s, layout %s, %d bits, values %s, %s, prefer %s", a->name,
           macko_type_name(a->type), macko_format_name(o->format), macko_layout_name(o->layout), o->gap_bits,
           macko_values_name(o->values), macko_target_name(o->target), macko_prefer_name(o->prefer));
}

void encode_both(const test_matrix *a, const both *b, const macko_options *o)
{
  macko_matrix *m = NULL;
  macko_device_matrix *d = NULL;
  macko_error err = {0}, device_err = {0};
  char what[300];
  describe(a, o, what, sizeof what);
  macko_status s = macko_encode(&b->host, o, &m, &err), t = macko_device_encode(&b->device, o, NULL, &d, &device_err);
  ck_assert_msg(s == t, "%s: %s (%s), on the host %s (%s)", what, macko_status_text(t), device_err.text, macko_status_text(s),
                err.text);
  ck_assert_msg(!s || !strcmp(err.text, device_err.text), "%s: \"%s\", on the host \"%s\"", what, device_err.text, err.text);
  ck_assert(!s || !d);
  if (!s) compare_matrices(m, d, what), compare_products(m, d, what);
  macko_device_destroy(&d);
  macko_destroy(&m);
}

/* ---- more matrices, new values ---- */

test_matrix many_rows(int shape)
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

/* Of such a matrix. */
typedef struct {
  int unknowns;      /* rows that follow each other; 0: 1 to 11, and some without entries */
  int holes;         /* unknowns r and j are not coupled where r + j is a multiple of it; 0: all are */
  int64_t apart;     /* groups of columns from one that is coupled to the next, at most */
  int64_t columns;   /* groups */
  int long_every;    /* groups, one of which has long rows; 0: none has */
} coupling;

test_matrix coupled_rows(int shape)
{
  enum { ROWS = 8000, MOST = 11 };
  static const coupling couplings[COUPLED] = {{3, 0, 40, 4000, 0},    {3, 3, 40, 4000, 0},       {0, 0, 9, 4000, 400},
                                              {2, 2, 300, 100000, 0}, {4, 5, 70000, 9000000, 0}, {5, 0, 3, 4000, 100},
                                              {8, 7, 20, 4000, 300},  {1, 0, 2, 4000, 0}};
  const coupling c = couplings[shape];
  const int width = c.unknowns ? c.unknowns : 2;
  test_matrix a = {.name = "coupled rows", .type = MACKO_F64, .row_ptr = calloc(ROWS + MOST + 1, 8), .ncols = c.columns * width};
  int64_t count = 0, room = 1 << 22;
  a.cols = malloc((size_t)room * 8);
  test_seed((uint64_t)shape + 11);
  for (int group = 0; a.nrows < ROWS; group++) {
    const int rows = c.unknowns ? c.unknowns : 1 + (int)(test_draw() % MOST), empty = !c.unknowns && test_draw() % 9 == 0;
    const int64_t length = empty ? 0 : c.long_every && group % c.long_every == 50 ? 300 : 5 + (int64_t)(test_draw() % 16);
    int64_t starts[300], first = (int64_t)(test_draw() % (uint64_t)(c.columns / 2)), n = 0;
    for (; n < length && first < c.columns; first += 1 + (int64_t)(test_draw() % (uint64_t)c.apart)) starts[n++] = first;
    for (int r = 0; r < rows; r++) {
      for (int64_t k = 0; k < n; k++)
        for (int j = 0; j < width; j++)
          if ((!c.holes || (r + j) % c.holes) && count < room) a.cols[count++] = starts[k] * width + j;
      a.row_ptr[++a.nrows] = count;
    }
  }
  a.values = malloc((size_t)count * 8 + 8), a.exact = malloc((size_t)count * 8 + 8);
  return a;
}

void refresh_both(const test_matrix *a, const macko_options *o)
{
  macko_matrix *m = NULL;
  macko_device_matrix *d = NULL;
  macko_error err = {0};
  char what[300];
  both b = open_both(a, 1);
  describe(a, o, what, sizeof what);
  if (!macko_encode(&b.host, o, &m, NULL)) {
    ck_assert_msg(!macko_device_encode(&b.device, o, NULL, &d, &err), "%s: %s", what, err.text);
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

void refresh_variant(const test_matrix *a, macko_variant variant, macko_values values)
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
