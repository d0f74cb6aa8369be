/* Reads every matrix of a catalogue of real ones, and encodes the larger ones, where there is one: CATALOGUE.tsv and NAME.mtx.gz
 * in the folder MACKO_MATRICES, or in shared/matrices beside the source tree. Skipped without. */
#include "readers.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>

enum { SKIPPED = 77 };

static char folder[400];

static FILE *open_catalogue(void)
{
  char path[600];
  if (getenv("MACKO_MATRICES")) snprintf(folder, sizeof folder, "%s", getenv("MACKO_MATRICES"));
  else snprintf(folder, sizeof folder, "%s/../shared/matrices", getenv("srcdir") ? getenv("srcdir") : ".");
  snprintf(path, sizeof path, "%s/CATALOGUE.tsv", folder);
  return fopen(path, "r");
}

START_TEST(sizes_are_those_of_the_catalogue)
{
  char row[4000], name[100], path[600];
  int count = 0;
  FILE *catalogue = open_catalogue();
  ck_assert(fgets(row, sizeof row, catalogue) != NULL);
  for (; fgets(row, sizeof row, catalogue); count++) {
    long long nrows, ncols, stored, nnz;
    macko_csr c;
    macko_file_info info;
    macko_error err = {0};
    ck_assert(sscanf(row, "%99s %lld %lld %lld %lld", name, &nrows, &ncols, &stored, &nnz) == 5);
    snprintf(path, sizeof path, "%s/%s.mtx.gz", folder, name);
    ck_assert_msg(!macko_read(path, NULL, &c, &info, &err), "%s", err.text);
    test_check_csr(&c);
    ck_assert_msg(c.nrows == nrows && c.ncols == ncols && info.stored_entries == stored && test_nnz(&c) == nnz, "%s", name);
    macko_free_csr(&c);
  }
  ck_assert_int_gt(count, 0);
  fclose(catalogue);
}
END_TEST

/* ---- sizes of format dtans ---- */

static int64_t row_length(const macko_csr *c, int64_t i)
{
  const char *p = c->row_ptr;
  if (c->row_ptr_type == MACKO_I64) return ((const int64_t *)(const void *)p)[i + 1] - ((const int64_t *)(const void *)p)[i];
  return ((const int32_t *)(const void *)p)[i + 1] - ((const int32_t *)(const void *)p)[i];
}

/* The smallest of CSR, COO and SELL (slices of 32 rows) with indices of 32 bits. */
static int64_t smallest_plain(const macko_csr *c, int64_t nnz)
{
  int64_t value = macko_type_bytes(c->value_type), sell = 4, longest = 0;
  for (int64_t i = 0; i < c->nrows; i++) {
    if (row_length(c, i) > longest) longest = row_length(c, i);
    if (i % 32 < 31 && i + 1 < c->nrows) continue;
    sell += 4 + 32 * longest * (4 + value);
    longest = 0;
  }
  int64_t csr = 4 * (c->nrows + 1) + nnz * (4 + value), coo = nnz * (8 + value), least = csr < coo ? csr : coo;
  return sell < least ? sell : least;
}

static void check_sizes(const macko_csr *c, int64_t nnz, const char *name)
{
  static const char *const preferences[] = {"memory", "time"};
  for (int i = 0; i < 2; i++) {
    macko_options o;
    macko_matrix *m = NULL;
    macko_info predicted, info;
    macko_error err = {0};
    macko_options_init(&o);
    ck_assert(!macko_options_set(&o, "format", "dtans", &err) && !macko_options_set(&o, "prefer", preferences[i], &err) &&
              !macko_options_set(&o, "target", "gpu", &err));
    ck_assert_msg(!macko_predict(c, &o, &predicted, &err), "%s: %s", name, err.text);
    ck_assert_msg(!macko_encode(c, &o, &m, &err), "%s: %s", name, err.text);
    macko_get_info(m, &info);
    ck_assert_msg(info.bytes < smallest_plain(c, nnz), "%s, %s values: %lld bytes, plain %lld; %s", name,
                  macko_type_name(c->value_type), (long long)info.bytes, (long long)smallest_plain(c, nnz), info.reason);
    ck_assert_msg(100 * llabs(predicted.bytes - info.bytes) <= info.bytes, "%s: %lld bytes predicted, %lld written; %s", name,
                  (long long)predicted.bytes, (long long)info.bytes, info.reason);
    macko_destroy(&m);
  }
}

/* By memory automatic choice takes what takes the fewest bytes; those of dtans it knows within 1 %. */
static void check_automatic(const macko_csr *c, const char *name)
{
  macko_options o;
  macko_matrix *m = NULL;
  macko_info chosen, info;
  macko_error err = {0};
  macko_options_init(&o);
  o.prefer = MACKO_PREFER_MEMORY;
  ck_assert_msg(!macko_encode(c, &o, &m, &err), "%s: %s", name, err.text);
  macko_get_info(m, &chosen);
  for (int f = 0; f < MACKO_FORMAT_AUTO; f++) {
    o.format = (macko_format)f;
    ck_assert_msg(!macko_predict(c, &o, &info, &err), "%s: %s", name, err.text);
    ck_assert_msg(100 * chosen.bytes <= 101 * info.bytes, "%s: auto takes %lld bytes, %s %lld; %s", name, (long long)chosen.bytes,
                  macko_format_name(o.format), (long long)info.bytes, chosen.reason);
  }
  macko_destroy(&m);
}

/* The same matrix with values rounded to f32. */
static void check_as_f32(const macko_csr *c, int64_t nnz, const char *name)
{
  macko_csr single = *c;
  float *values = malloc((size_t)nnz * sizeof *values + 1);
  ck_assert(values != NULL && c->value_type == MACKO_F64);
  for (int64_t p = 0; p < nnz; p++) values[p] = (float)((const double *)c->values)[p];
  single.value_type = MACKO_F32, single.values = values;
  check_sizes(&single, nnz, name);
  free(values);
}

/* Every matrix of more than 2^15 entries and 10 a row is smaller than in any plain format, and its size is known beforehand. */
START_TEST(dtans_is_smaller)
{
  char row[4000], name[100], path[600];
  int count = 0;
  FILE *catalogue = open_catalogue();
  ck_assert(fgets(row, sizeof row, catalogue) != NULL);
  while (fgets(row, sizeof row, catalogue)) {
    long long nrows, ncols, stored, nnz;
    macko_csr c;
    macko_error err = {0};
    ck_assert(sscanf(row, "%99s %lld %lld %lld %lld", name, &nrows, &ncols, &stored, &nnz) == 5);
    if (nnz <= 1 << 15 || nnz <= 10 * nrows) continue;
    snprintf(path, sizeof path, "%s/%s.mtx.gz", folder, name);
    ck_assert_msg(!macko_read(path, NULL, &c, NULL, &err), "%s", err.text);
    check_sizes(&c, nnz, name);
    check_automatic(&c, name);
    check_as_f32(&c, nnz, name);
    macko_free_csr(&c);
    count++;
  }
  ck_assert_int_gt(count, 0);
  fclose(catalogue);
}
END_TEST

int main(void)
{
  FILE *catalogue = open_catalogue();
  if (!HAVE_ZLIB || !catalogue) {
    printf("SKIPPED: %s\n", HAVE_ZLIB ? "no CATALOGUE.tsv in MACKO_MATRICES" : "this build lacks zlib");
    return SKIPPED;
  }
  fclose(catalogue);
  Suite *suite = suite_create("real_matrices");
  TCase *t = tcase_create("catalogue");
  tcase_set_timeout(t, 300);
  tcase_add_test(t, sizes_are_those_of_the_catalogue);
  tcase_add_test(t, dtans_is_smaller);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
