/* Golden files: compressed matrices as text, and whether one is the matrix that it was made of. */
#include "golden.h"
#include "core/half.h"
#include "suite.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the matrices ---- */

static uint64_t bits_of(macko_type type, double value)
{
  uint64_t bits;
  uint32_t single = macko_bits_from_float((float)value);
  memcpy(&bits, &value, 8);
  if (type == MACKO_F32) return single;
  return type == MACKO_F64 ? bits : type == MACKO_F16 ? macko_f32_to_f16((float)value) : macko_f32_to_bf16((float)value);
}

/* FOLDER/NAME.mtx with values of that type, in which they are exact. */
macko_csr test_golden_matrix(const char *folder, const char *matrix, macko_type type)
{
  char path[600];
  macko_csr a;
  macko_error err;
  snprintf(path, sizeof path, "%s/%s.mtx", folder, matrix);
  ck_assert_msg(!macko_read(path, NULL, &a, NULL, &err), "%s", err.text);
  int64_t size = macko_type_bytes(type);
  for (int64_t p = 0; p < macko_csr_nnz(&a); p++) { /* in place: no type is wider */
    uint64_t bits = bits_of(type, ((const double *)a.values)[p]);
    memcpy((char *)a.values + p * size, &bits, (size_t)size);
  }
  a.value_type = type;
  return a;
}

/* ---- the text form ---- */

void test_write_golden(const macko_matrix *m, int parameters, FILE *out)
{
  const macko_section *s;
  const macko_plan *plan = &m->plan;
  fprintf(out, "%s %s %" PRId64 " %" PRId64 " %" PRId64, macko_format_name(m->format),
          plan->layout ? macko_layout_name(plan->layout) : macko_variant_name(plan->variant), m->nrows, m->ncols, m->nnz);
  fprintf(out, " %s %s %s %d\nparameters", macko_type_name(m->value_type), macko_values_name(m->plan.values),
          macko_type_name(m->plan.stored_type), m->plan.gap_bits);
  for (int i = 0; i < parameters; i++) fprintf(out, " %" PRId64, m->plan.params[i]);
  for (int64_t i = 0; (s = macko_get_section(m, i)); i++) {
    int64_t size = macko_type_bytes(s->type);
    fprintf(out, "\n%s %s %" PRId64, s->name, macko_type_name(s->type), s->bytes / size);
    for (int64_t at = 0; at < s->bytes; at += size) {
      uint64_t element = 0;
      memcpy(&element, (const char *)s->data + at, (size_t)size);
      fprintf(out, " %" PRIx64, element);
    }
  }
  fprintf(out, "\n");
}

static const char *format_name(int i) { return macko_format_name((macko_format)i); }
static const char *layout_name(int i) { return macko_layout_name((macko_layout)i); }
static const char *variant_name(int i) { return macko_variant_name((macko_variant)i); }
static const char *values_name(int i) { return macko_values_name((macko_values)i); }
static const char *type_name(int i) { return macko_type_name((macko_type)i); }

static int number_of(const char *name, const char *(*list)(int))
{
  int i = 0;
  while (list(i) && strcmp(list(i), name)) i++;
  ck_assert_msg(list(i) != NULL, "'%s' is in no list", name);
  return i;
}

static const char *section_name(const macko_matrix *m, const char *name)
{
  const char *const *known = m->ops->section_names;
  while (*known && strcmp(*known, name)) known++;
  ck_assert_msg(*known != NULL, "format %s has no section %s", macko_format_name(m->format), name);
  return *known;
}

static macko_section load_section(const macko_matrix *m, const char *name, FILE *in)
{
  char type[10];
  int64_t count;
  ck_assert_int_eq(fscanf(in, "%9s %" SCNd64, type, &count), 2);
  macko_section s = {.name = section_name(m, name), .type = (macko_type)number_of(type, type_name)};
  int64_t size = macko_type_bytes(s.type);
  s.bytes = count * size;
  s.data = calloc((size_t)count + 1, (size_t)size);
  for (int64_t i = 0; i < count; i++) {
    uint64_t element;
    ck_assert_int_eq(fscanf(in, "%" SCNx64, &element), 1);
    ck_assert_msg(size == 8 || element >> 8 * size == 0, "%" PRIx64 " in section %s is more than %s", element, name, type);
    memcpy((char *)s.data + i * size, &element, (size_t)size);
  }
  return s;
}

/* In the place of a small matrix that encode made; nothing of that one is left. */
static macko_matrix *shell(macko_format format)
{
  static const int32_t row_ptr[] = {0, 0};
  const macko_csr tiny = {.nrows = 1, .ncols = 1, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .row_ptr = row_ptr};
  macko_options o;
  macko_matrix *m = NULL;
  macko_options_init(&o);
  o.format = format;
  ck_assert(!macko_encode(&tiny, &o, &m, NULL));
  while (m->nsections) free(m->sections[--m->nsections].data);
  memset(&m->plan, 0, sizeof m->plan);
  return m;
}

macko_matrix *test_read_golden(FILE *in)
{
  char format[20], layout[20], type[10], codec[10], stored[10], name[20];
  ck_assert_int_eq(fscanf(in, " %19s", format), 1);
  macko_matrix *m = shell((macko_format)number_of(format, format_name));
  macko_plan *plan = &m->plan;
  ck_assert_int_eq(fscanf(in, " %19s %" SCNd64 " %" SCNd64 " %" SCNd64 " %9s %9s %9s %d parameters", layout, &m->nrows,
                          &m->ncols, &m->nnz, type, codec, stored, &plan->gap_bits), 8);
  if (!strcmp(format, "macko")) plan->layout = (macko_layout)number_of(layout, layout_name);
  else plan->variant = (macko_variant)number_of(layout, variant_name); /* of formats without layouts */
  m->value_type = (macko_type)number_of(type, type_name);
  plan->values = (macko_values)number_of(codec, values_name);
  plan->stored_type = (macko_type)number_of(stored, type_name);
  for (int i = 0; i < MACKO_MAX_PARAMS && fscanf(in, "%" SCNd64, &plan->params[i]) == 1; i++) continue;
  while (fscanf(in, "%19s", name) == 1 && name[0] != '`') {
    ck_assert_int_lt(m->nsections, MACKO_MAX_SECTIONS);
    macko_section *s = &m->sections[m->nsections++];
    *s = load_section(m, name, in);
    if (!strcmp(name, "dict")) plan->table = s->bytes / macko_type_bytes(s->type);
  }
  macko_section like[MACKO_MAX_SECTIONS]; /* the text does not say what a section tells of */
  for (int i = m->ops->sections(m, like) - 1; i >= 0; i--)
    m->sections[i].pattern = like[i].pattern, m->sections[i].values = like[i].values;
  return m;
}

/* ---- what it stands for ---- */

static double value_of(macko_type type, const void *values, int64_t p)
{
  switch (type) {
  case MACKO_F64: return ((const double *)values)[p];
  case MACKO_F32: return ((const float *)values)[p];
  case MACKO_F16: return macko_f16_to_f32(((const uint16_t *)values)[p]);
  default: return macko_bf16_to_f32(((const uint16_t *)values)[p]);
  }
}

/* Every bit, or what half a unit of the stored type's last place allows. */
static void check_value(const macko_matrix *m, const void *mine, const void *expected, int64_t p, const char *what)
{
  int64_t size = macko_type_bytes(m->value_type);
  double a = value_of(m->value_type, mine, p), b = value_of(m->value_type, expected, p);
  if (!memcmp((const char *)mine + p * size, (const char *)expected + p * size, (size_t)size)) return;
  ck_assert_msg(m->plan.values >= MACKO_VALUES_F32, "%s: value %ld is %g, not %g", what, (long)p, a, b);
  int digits = m->plan.values == MACKO_VALUES_F32 ? 24 : m->plan.values == MACKO_VALUES_F16 ? 11 : 8;
  ck_assert_msg(fabs(a - b) <= ldexp(fabs(b), -digits), "%s: value %ld is %g, not %g rounded", what, (long)p, a, b);
}

void test_check_golden(const macko_matrix *m, const macko_csr *a, const char *what)
{
  int64_t nnz = macko_csr_nnz(a), *row_ptr = calloc((size_t)a->nrows + 1, 8), *cols = calloc((size_t)nnz + 1, 8);
  void *values = calloc((size_t)nnz + 1, 8);
  macko_error err = {0};
  ck_assert_msg(!macko_validate(m, &err), "%s: %s", what, err.text);
  ck_assert_msg(m->nrows == a->nrows && m->ncols == a->ncols && m->nnz == nnz, "%s: sizes", what);
  ck_assert_msg(m->value_type == a->value_type, "%s: type", what);
  ck_assert(!macko_decode(m, row_ptr, cols, values, &err));
  for (int64_t i = 0; i <= a->nrows; i++) ck_assert_msg(row_ptr[i] == macko_csr_row(a, i), "%s: row %ld", what, (long)i);
  for (int64_t p = 0; p < nnz; p++) {
    ck_assert_msg(cols[p] == macko_csr_col(a, p), "%s: entry %ld is in column %ld", what, (long)p, (long)cols[p]);
    check_value(m, values, a->values, p, what);
  }
  free(row_ptr), free(cols), free(values);
}

const char *test_source_path(const char *path, char room[500])
{
  const char *srcdir = getenv("srcdir");
  snprintf(room, 500, "%s/%s", srcdir ? srcdir : ".", path);
  return room;
}
