/* Every allocation of the library fails in turn, alone or with all after it: each function must then say OUT_OF_MEMORY with a
 * sentence, lose nothing, and leave an old matrix as it was; only a product may do without, if it is the same bit for bit. The
 * program is linked with the static library and -Wl,--wrap, so that the library's calls of malloc, and only those of this program
 * besides, come here. */
#include "failing_malloc.h"
#include "matrices.h"
#include "readers.h"
#include "suite.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- one operation under every failure ---- */

/* What the operations work on. */
typedef struct {
  macko_csr a, other, unsorted; /* other: new values for the same pattern */
  macko_options options;
  macko_matrix *m;
  uint64_t product; /* the hash of what multiply gives while no allocation fails */
  char path[300];
} subject;

typedef macko_status operation(subject *s, macko_error *err);

/* Words of eight bytes at a time, as all of a matrix is hashed after every failure. */
static uint64_t hash(const void *bytes, size_t count, uint64_t h)
{
  size_t i = 0;
  for (uint64_t word; i + sizeof word <= count; i += sizeof word) {
    memcpy(&word, (const char *)bytes + i, sizeof word);
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
  }
  for (; i < count; i++) h = (h ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
  return h;
}

/* All that a caller can see of a matrix, addresses of its sections included. */
static uint64_t fingerprint(const macko_matrix *m)
{
  macko_info info;
  const macko_section *s;
  uint64_t h = 0xcbf29ce484222325u;
  if (!m) return 0;
  macko_get_info(m, &info);
  h = hash(&info.bytes, sizeof info.bytes, hash(info.reason, strlen(info.reason), h));
  for (int64_t i = 0; (s = macko_get_section(m, i)); i++)
    h = hash(s->data, (size_t)s->bytes, hash(&s->data, sizeof s->data, hash(s->name, strlen(s->name), h)));
  return h;
}

enum { MOST = 1 << 16, VECTOR = 5 * 80000 };
static int64_t row_ptr[MOST], cols[MOST];
static double values[MOST], x[VECTOR], y[VECTOR];

static operation multiply;

static int64_t longest_vector(const subject *s)
{
  return s->a.nrows > s->a.ncols ? s->a.nrows : s->a.ncols;
}

static uint64_t hash_of_product(const subject *s)
{
  return hash(y, (size_t)(5 * longest_vector(s)) * sizeof *y, 0xcbf29ce484222325u);
}

static int failures; /* that were tried, over all operations */

/* Ends when no allocation fails, with the status `at_last`; in mode 0 one allocation fails, in mode 1 all after it too. */
static void sweep(operation *run, subject *s, int modes, macko_status at_last, const char *what)
{
  uint64_t before = fingerprint(s->m);
  for (int after = 0; after < modes; after++)
    for (long n = 0;; n++) {
      macko_error err = {0};
      long balance = heap.live;
      heap.calls = 0, heap.fails_at = n, heap.fails_after = after, heap.shrinking = heap.needed = 0;
      macko_status status = run(s, &err);
      heap.fails_at = -1;
      if (heap.calls <= n) { /* n allocations are enough */
        ck_assert_msg(status == at_last, "%s: status %d, %s", what, (int)status, err.text);
        before = fingerprint(s->m);
        break;
      }
      failures++;
      if (status == MACKO_OK) before = fingerprint(s->m); /* a refresh that did without */
      if (status == at_last && heap.shrinking && !heap.needed) continue;
      if (status == at_last && run == multiply && hash_of_product(s) == s->product) continue;
      ck_assert_msg(status == MACKO_OUT_OF_MEMORY, "%s, allocation %ld fails: status %d, %s", what, n, (int)status, err.text);
      ck_assert_msg(err.status == status && strstr(err.text, "memory"), "%s, allocation %ld fails: \"%s\"", what, n, err.text);
      ck_assert_msg(heap.live == balance, "%s, allocation %ld fails: %ld allocations are lost", what, n, heap.live - balance);
      ck_assert_msg(fingerprint(s->m) == before, "%s, allocation %ld fails: the matrix has changed", what, n);
    }
}

/* ---- the operations ---- */

static macko_status encode_and_drop(const macko_csr *a, subject *s, macko_error *err)
{
  macko_matrix *m = NULL;
  macko_status status = macko_encode(a, &s->options, &m, err);
  if (status && m) abort();
  macko_destroy(&m);
  return status;
}

static macko_status encode(subject *s, macko_error *err)
{
  return encode_and_drop(&s->a, s, err);
}

static macko_status encode_unsorted(subject *s, macko_error *err)
{
  return encode_and_drop(&s->unsorted, s, err);
}

static macko_status predict(subject *s, macko_error *err)
{
  macko_info info;
  return macko_predict(&s->a, &s->options, &info, err);
}

static macko_status give_rows(void *context, int64_t first, int64_t count, macko_csr *piece, macko_error *err)
{
  const macko_csr *a = context;
  const int64_t *starts = a->row_ptr; /* test_view has 64-bit indices */
  (void)err;
  *piece = *a;
  piece->nrows = count, piece->row_ptr = row_ptr, piece->cols = (const int64_t *)a->cols + starts[first];
  piece->values = (const char *)a->values + starts[first] * macko_type_bytes(a->value_type);
  for (int64_t i = 0; i <= count; i++) row_ptr[i] = starts[first + i] - starts[first];
  return MACKO_OK;
}

static macko_status encode_rows(subject *s, macko_error *err)
{
  macko_matrix *m = NULL;
  macko_row_source rows = {.nrows = s->a.nrows, .ncols = s->a.ncols, .value_type = s->a.value_type,
                           .piece_rows = s->a.nrows / 2 + 1, .rows = give_rows, .context = &s->a};
  macko_status status = macko_encode_rows(&rows, &s->options, &m, err);
  if (status && m) abort();
  macko_destroy(&m);
  return status;
}

static macko_status copy(subject *s, macko_error *err)
{
  macko_matrix *m = NULL;
  macko_status status = macko_copy(s->m, &m, err);
  if (status && m) abort();
  macko_destroy(&m);
  return status;
}

static macko_status prune(subject *s, macko_error *err)
{
  macko_csr pruned = {0};
  macko_status status = macko_prune(&s->unsorted, 2, 4, &pruned, err);
  if (status && pruned.cols) abort();
  macko_free_csr(&pruned);
  return status;
}

/* There and back: the last one must leave the matrix refreshed. */
static macko_status refresh(subject *s, macko_error *err)
{
  return macko_refresh(s->m, &s->other, err);
}

static macko_status refresh_back(subject *s, macko_error *err)
{
  return macko_refresh(s->m, &s->a, err);
}

static macko_status decode(subject *s, macko_error *err)
{
  return macko_decode(s->m, row_ptr, cols, values, err);
}

static macko_status decode_values(subject *s, macko_error *err)
{
  return macko_decode(s->m, NULL, NULL, values, err);
}

static macko_status validate(subject *s, macko_error *err)
{
  return macko_validate(s->m, err);
}

static macko_status multiply(subject *s, macko_error *err)
{
  const int64_t longest = longest_vector(s);
  for (int64_t i = 0; i < 5 * longest; i++) y[i] = 0;
  macko_status status = macko_multiply(s->m, MACKO_OP_N, MACKO_F64, 5, 2, x, longest, 0.5, y, longest, err);
  if (!status) status = macko_multiply(s->m, MACKO_OP_T, MACKO_F32, 1, 2, x, longest, 0, y, longest, err);
  return status ? status : macko_multiply(s->m, MACKO_OP_T, MACKO_F64, 5, 1, x, longest, 1, y, longest, err);
}

static macko_status read_file(subject *s, macko_error *err)
{
  macko_csr a = {0};
  macko_status status = macko_read(s->path, NULL, &a, NULL, err);
  if (status && a.row_ptr) abort();
  macko_free_csr(&a);
  return status;
}

static macko_status write_file(subject *s, macko_error *err)
{
  return macko_write_matrix_market(s->path, &s->unsorted, err);
}

#if HAVE_ZLIB && HAVE_JANSSON
static macko_status save(subject *s, macko_error *err)
{
  return macko_save(test_path("saved.macko"), s->m, NULL, err);
}

/* What was saved last. */
static macko_status load(subject *s, macko_error *err)
{
  macko_matrix *m = NULL;
  (void)s;
  macko_status status = macko_load(test_path("saved.macko"), &m, NULL, err);
  if (status && m) abort();
  macko_destroy(&m);
  return status;
}
#endif

/* ---- the tests ---- */

static const struct {
  const char *name;
  operation *run;
} operations[] = {{"encode", encode}, {"encode unsorted", encode_unsorted},
                  {"predict", predict}, {"encode from rows", encode_rows}, {"copy", copy}, {"decode", decode},
                  {"decode values", decode_values}, {"validate", validate}, {"multiply", multiply}, {"refresh", refresh},
                  {"refresh back", refresh_back}, {"prune", prune},
#if HAVE_ZLIB && HAVE_JANSSON
                  {"save", save}, {"load", load},
#endif
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* The same matrix with the entries of each row in falling order. */
static macko_csr reversed(const test_matrix *a)
{
  int64_t nnz = a->row_ptr[a->nrows], *turned = malloc((size_t)nnz * 8 + 8), size = macko_type_bytes(a->type);
  char *moved = malloc((size_t)nnz * 8 + 8);
  for (int64_t i = 0; i < a->nrows; i++)
    for (int64_t p = a->row_ptr[i], q = a->row_ptr[i + 1] - 1; p < a->row_ptr[i + 1]; p++, q--) {
      turned[q] = a->cols[p];
      memcpy(moved + q * size, (const char *)a->values + p * size, (size_t)size);
    }
  macko_csr c = test_view(a);
  c.cols = turned, c.values = moved;
  return c;
}

static void with_options(subject *s, const char *matrix)
{
  char what[200];
  macko_error err = {0};
  macko_status status = macko_encode(&s->a, &s->options, &s->m, &err);
  if (status == MACKO_UNSUPPORTED) return; /* documented, and held to by the suite conformance */
  ck_assert_msg(!status, "%s: %s", matrix, err.text);
  /* The codec that was asked for may not hold the new values. */
  macko_status refreshed = encode_and_drop(&s->other, s, &err);
  ck_assert_msg(!refreshed || refreshed == MACKO_UNSUPPORTED, "%s: %s", matrix, err.text);
  ck_assert_int_eq(multiply(s, &err), MACKO_OK);
  s->product = hash_of_product(s);
  for (int i = 0; i < OPERATIONS; i++) {
    snprintf(what, sizeof what, "%s of %s as %s %s %s, values %s", operations[i].name, matrix,
             macko_format_name(s->options.format), macko_layout_name(s->options.layout), macko_variant_name(s->options.variant),
             macko_values_name(s->options.values));
    sweep(operations[i].run, s, s->options.values == MACKO_VALUES_AUTO ? 2 : 1,
          operations[i].run == refresh ? refreshed : MACKO_OK, what);
  }
  macko_destroy(&s->m);
}

/* Small patterns with every choice of values; larger ones, of many lengths, a dense row, long gaps, with the automatic one. The
 * kinds of values make refresh change the codec. */
static const struct {
  int pattern, values, refreshed, most_values;
} inputs[] = {{5, 1, 0, MACKO_VALUES_CODED}, {7, 2, 1, MACKO_VALUES_CODED}, {12, 0, 2, MACKO_VALUES_AUTO},
              {13, 1, 3, MACKO_VALUES_AUTO}, {16, 2, 1, MACKO_VALUES_AUTO}};
enum { INPUTS = sizeof inputs / sizeof *inputs };

START_TEST(the_library_survives)
{
  long balance = heap.live;
  test_matrix a = test_make(inputs[_i].pattern, inputs[_i].values, MACKO_F64);
  test_matrix b = test_make(inputs[_i].pattern, inputs[_i].values, MACKO_F64);
  test_seed(3), test_fill(&b, inputs[_i].refreshed);
  subject s = {.a = test_view(&a), .other = test_view(&b), .unsorted = reversed(&a)};
  macko_options_init(&s.options);
  for (int i = 0; i < VECTOR; i++) x[i] = 1 + i % 7 * 0.125;
  failures = 0;
  for (int f = 0; f <= MACKO_FORMAT_AUTO; f++)
    for (int v = MACKO_VALUES_AUTO; v <= inputs[_i].most_values; v++) {
      s.options.format = (macko_format)f, s.options.values = (macko_values)v;
      int layouts = f == MACKO_FORMAT_MACKO ? MACKO_LAYOUT_PAPER : 0;
      int variants = f == MACKO_FORMAT_DTANS || f == MACKO_FORMAT_ECCSR ? MACKO_VARIANT_SHARED : 0;
      for (int l = 0; l <= layouts; l++)
        for (int w = 0; w <= variants; w++) {
          s.options.layout = (macko_layout)l, s.options.variant = (macko_variant)w;
          with_options(&s, a.name);
        }
    }
  ck_assert_int_gt(failures, 200);
  printf("%s: %d failures\n", a.name, failures);
  free((void *)s.unsorted.cols), free((void *)s.unsorted.values);
  test_free(&a), test_free(&b);
  ck_assert_msg(heap.live == balance, "%ld allocations are left", heap.live - balance);
}
END_TEST

/* The first slice's block is larger than the room that blocks have at first, so that a failure to make more must leave it out. */
START_TEST(blocks_that_outgrow_their_room_survive)
{
  enum { ROWS = 64, ENTRIES = 1000, GAP = 16 };
  static int64_t starts[ROWS + 1], places[ROWS * ENTRIES];
  static double ones[ROWS * ENTRIES];
  subject s = {.a = {.nrows = ROWS, .ncols = GAP * ENTRIES, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                     .value_type = MACKO_F64, .row_ptr = starts, .cols = places, .values = ones}};
  for (int64_t p = 0; p < ROWS * ENTRIES; p++) places[p] = p % ENTRIES * GAP + p * p % (GAP - 1), ones[p] = 1;
  for (int64_t i = 0; i <= ROWS; i++) starts[i] = i * ENTRIES;
  macko_options_init(&s.options);
  s.options.format = MACKO_FORMAT_MACKO, s.options.layout = MACKO_LAYOUT_SLICE;
  failures = 0;
  sweep(predict, &s, 2, MACKO_OK, "predict large blocks");
  sweep(encode, &s, 2, MACKO_OK, "encode large blocks");
  sweep(encode_rows, &s, 2, MACKO_OK, "encode large blocks from rows");
  ck_assert_int_gt(failures, 30);
}
END_TEST

/* A matrix that is large enough to be estimated by a sample. */
START_TEST(estimates_survive)
{
  enum { ROWS = 2100, ENTRIES = 10 };
  static int64_t starts[ROWS + 1], places[ROWS * ENTRIES];
  static double ones[ROWS * ENTRIES];
  macko_info info;
  subject s = {.a = {.nrows = ROWS, .ncols = 40, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = MACKO_F64,
                     .row_ptr = starts, .cols = places, .values = ones}};
  for (int64_t p = 0; p < ROWS * ENTRIES; p++) places[p] = p % ENTRIES * 3 + p / ENTRIES % 3, ones[p] = 1;
  for (int64_t i = 0; i <= ROWS; i++) starts[i] = i * ENTRIES;
  macko_options_init(&s.options);
  s.options.format = MACKO_FORMAT_ECCSR, s.options.variant = MACKO_VARIANT_SHARED;
  failures = 0;
  ck_assert(!macko_predict(&s.a, &s.options, &info, NULL) && strstr(info.reason, "by a sample"));
  sweep(predict, &s, 2, MACKO_OK, "estimate");
  ck_assert_int_gt(failures, 30);
}
END_TEST

static const char *const files[] = {"data/small.mtx.gz", "data/small.tar.gz", "data/plain.tar", "data/two-members.mtx.gz",
                                    "fuzz/corpus/matrix_market/symmetric", "fuzz/corpus/matrix_market/array",
                                    "golden/macko/slices.mtx", "fuzz/corpus/harwell_boeing/real",
                                    "fuzz/corpus/harwell_boeing/groups"};
enum { FILES = sizeof files / sizeof *files };

/* The corpus of the Harwell-Boeing fuzzer lacks the title. */
static const char *with_title(const char *path)
{
  char text[10000] = "A title\n";
  FILE *file = fopen(path, "r");
  ck_assert_msg(file != NULL, "%s cannot be opened", path);
  size_t title = strlen(text), rest = fread(text + title, 1, sizeof text - title, file);
  fclose(file);
  return test_write("titled.rb", text, title + rest);
}

START_TEST(readers_survive)
{
  subject s = {0};
  const char *srcdir = getenv("srcdir");
  if (strstr(files[_i], "gz") && !HAVE_ZLIB) return;
  if (strstr(files[_i], "tar") && !HAVE_LIBARCHIVE) return;
  snprintf(s.path, sizeof s.path, "%s/test/%s", srcdir ? srcdir : ".", files[_i]);
  if (strstr(files[_i], "boeing")) snprintf(s.path, sizeof s.path, "%s", with_title(s.path));
  failures = 0;
  sweep(read_file, &s, 2, MACKO_OK, files[_i]);
  ck_assert_int_gt(failures, 5);
}
END_TEST

START_TEST(the_writer_survives)
{
  test_matrix a = test_make(8, 3, MACKO_F64);
  subject s = {.a = test_view(&a), .unsorted = reversed(&a)};
  snprintf(s.path, sizeof s.path, "%s", test_path("written.mtx"));
  failures = 0;
  sweep(write_file, &s, 2, MACKO_OK, "write");
  ck_assert_int_gt(failures, 3);
  unlink(s.path);
  free((void *)s.unsorted.cols), free((void *)s.unsorted.values);
  test_free(&a);
}
END_TEST

/* With the shared library its calls of malloc do not come here, and nothing could fail. */
static int library_is_wrapped(void)
{
  static const int32_t starts[] = {0};
  macko_csr empty = {.row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .row_ptr = starts};
  macko_matrix *m = NULL;
  heap.calls = 0;
  macko_status status = macko_encode(&empty, NULL, &m, NULL);
  macko_destroy(&m);
  return !status && heap.calls > 0;
}

int main(void)
{
  if (!library_is_wrapped()) {
    printf("SKIP: no static library (--disable-static)\n");
    return 77;
  }
  test_make_folder();
  Suite *suite = suite_create("allocation");
  TCase *t = tcase_create("failures");
  tcase_set_timeout(t, 600);
  tcase_add_loop_test(t, the_library_survives, 0, INPUTS);
  tcase_add_test(t, blocks_that_outgrow_their_room_survive);
  tcase_add_test(t, estimates_survive);
  tcase_add_loop_test(t, readers_survive, 0, FILES);
  tcase_add_test(t, the_writer_survives);
  suite_add_tcase(suite, t);
  int status = test_run(suite);
  test_remove_folder();
  return status;
}
