/* Every option with every choice and every format is honoured, as macko_get_info shows, or refused by a sentence that names the
 * formats that have it; all of it from lib/options.def. */
#include "macko.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { /* OPTION_format, ... */
#define MACKO_OPTION(field, LIST, usual, reader, help) OPTION_##field,
#include "options.def"
  OPTIONS
};

enum { CHOICES = 16 };

#define MACKO_OPTION(field, LIST, usual, reader, help) static const char *const field##_choices[CHOICES] = {
#define MACKO_CHOICE(LIST, symbol, name, text) #name,
#define MACKO_OPTION_END(field, LIST) };
#include "options.def"

static const struct {
  const char *name, *const *choices;
} known[OPTIONS] = {
#define MACKO_OPTION(field, LIST, usual, reader, help) {#field, field##_choices},
#include "options.def"
};

static int count_choices(int option)
{
  int count = 0;
  while (known[option].choices[count]) count++;
  return count;
}

static void set(macko_options *o, int option, int choice)
{
  macko_error err = {0};
  ck_assert_msg(!macko_options_set(o, known[option].name, known[option].choices[choice], &err), "%s", err.text);
}

/* Whether what is stored is what the options ask for, of all that can be seen; else *option is one that is not. */
static int honoured(const macko_options *o, const macko_info *info, const char **option)
{
  if (o->format != MACKO_FORMAT_AUTO && o->format != info->format) return *option = "format", 0;
#define SEEN_choice(field)
#define SEEN_formats(field) if (o->field && o->field != info->field) return *option = #field, 0;
#define MACKO_OPTION(field, LIST, usual, reader, help) SEEN_##reader(field)
#define MACKO_WITHOUT_TARGET
#include "options.def"
  return 1;
}

static const char *say(const macko_options *o)
{
  static char text[256];
  snprintf(text, sizeof text, "format %s, layout %s, gap_bits %d, values %s, variant %s, prefer %s, target %s",
           macko_format_name(o->format), macko_layout_name(o->layout), o->gap_bits, macko_values_name(o->values),
           macko_variant_name(o->variant), macko_prefer_name(o->prefer), macko_target_name(o->target));
  return text;
}

/* ---- matrices that every codec can hold ---- */

enum { ROWS = 40, MATRICES = 5 };

static macko_csr matrix(int which)
{
  static int32_t row_ptr[ROWS + 1], none[ROWS + 1], cols[3 * ROWS];
  static double values[3 * ROWS];
  int n = 0;
  for (int i = 0; i < ROWS; i++) {
    for (int j = i - 1; j <= i + 1; j++)
      if (j >= 0 && j < ROWS) cols[n] = j, values[n++] = i == j ? 2 + i % 2 : -1;
    row_ptr[i + 1] = n;
  }
  macko_csr tridiagonal = {.nrows = ROWS, .ncols = ROWS, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32,
                           .value_type = MACKO_F64, .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_csr all[MATRICES] = {tridiagonal, tridiagonal, tridiagonal, tridiagonal, tridiagonal};
  all[1].row_ptr = none;                  /* no entry */
  all[2].row_ptr = none, all[2].ncols = 0; /* what a rank has whose rows need no other rank's */
  all[3].nrows = 0, all[3].row_ptr = none;
  all[4].nrows = all[4].ncols = 0, all[4].row_ptr = none;
  return all[which];
}

/* What encode, predict and check answer; the same, but for products on a GPU, which encode cannot time. */
static macko_status answer(const macko_csr *c, const macko_options *asked, macko_error *err)
{
  macko_options by_time = *asked, *o = &by_time;
  macko_matrix *m = NULL;
  macko_info info, predicted;
  const char *what = NULL;
  macko_error again = {0}, checked = {0};
  if (o->prefer == MACKO_PREFER_MEASURED && o->target == MACKO_TARGET_GPU) {
    ck_assert_msg(macko_encode(c, o, &m, err) == MACKO_UNSUPPORTED && strstr(err->text, "macko_device_encode"), "%s", say(o));
    o->prefer = MACKO_PREFER_TIME;
  }
  macko_status s = macko_encode(c, o, &m, err), expected = macko_predict(c, o, &predicted, &again);
  ck_assert_msg(s == expected && s == macko_options_check(o, &checked), "%s: %s; %s; %s", say(o), err->text, again.text,
                checked.text);
  if (s) {
    ck_assert_msg(!strcmp(err->text, checked.text), "%s: %s; checked: %s", say(o), err->text, checked.text);
    return s;
  }
  macko_get_info(m, &info);
  ck_assert_msg(honoured(o, &info, &what), "%s: %s is not honoured: %s", say(o), what, info.reason);
  ck_assert_msg(honoured(o, &predicted, &what), "%s: %s is not what is predicted", say(o), what);
  ck_assert_msg(!macko_validate(m, err), "%s: %s", say(o), err->text);
  macko_destroy(&m);
  return s;
}

/* The formats that take the options, a bit each. */
static unsigned formats_with(macko_options o)
{
  unsigned formats = 0;
  for (int f = 0; f < MACKO_FORMAT_AUTO; f++) {
    o.format = (macko_format)f;
    formats |= (unsigned)!macko_options_check(&o, NULL) << f;
  }
  return formats;
}

static int names(const char *text, const char *name)
{
  size_t length = strlen(name);
  for (const char *at = strstr(text, name); at; at = strstr(at + 1, name))
    if ((at == text || at[-1] == ' ') && (!at[length] || strchr(" ,:;", at[length]))) return 1;
  return 0;
}

START_TEST(every_choice_of_every_option)
{
  macko_csr c = matrix(_i);
  for (int option = 0; option < OPTIONS; option++)
    for (int choice = 0; choice < count_choices(option); choice++) {
      macko_options o;
      macko_options_init(&o);
      set(&o, option, choice);
      unsigned formats = formats_with(o);
      ck_assert_msg(option == OPTION_format || formats, "no format has %s", say(&o));
      for (int f = 0; f <= MACKO_FORMAT_AUTO && option != OPTION_format; f++) {
        macko_error err = {0};
        o.format = (macko_format)f;
        macko_status s = answer(&c, &o, &err);
        ck_assert_msg(s == (f == MACKO_FORMAT_AUTO || formats >> f & 1 ? MACKO_OK : MACKO_UNSUPPORTED), "%s: %s", say(&o),
                      err.text);
        for (int g = 0; s && g < MACKO_FORMAT_AUTO; g++)
          ck_assert_msg(names(err.text, macko_format_name((macko_format)g)) == (g == f || formats >> g & 1), "%s: %s", say(&o),
                        err.text);
      }
    }
}
END_TEST

/* Two choices together: what cannot be names both, or the format that has not one of them. */
START_TEST(every_pair_of_choices)
{
  macko_csr c = matrix(0);
  char first[64], second[64];
  for (int i = OPTION_format + 1; i < OPTIONS; i++)
    for (int j = i + 1; j < OPTIONS; j++)
      for (int k = 0; k < count_choices(i) * count_choices(j) * (MACKO_FORMAT_AUTO + 1); k++) {
        macko_options o;
        macko_error err = {0};
        int a = k / (MACKO_FORMAT_AUTO + 1) % count_choices(i), b = k / (MACKO_FORMAT_AUTO + 1) / count_choices(i);
        macko_options_init(&o);
        o.format = (macko_format)(k % (MACKO_FORMAT_AUTO + 1));
        set(&o, i, a), set(&o, j, b);
        snprintf(first, sizeof first, "%s %s", known[i].name, known[i].choices[a]);
        snprintf(second, sizeof second, "%s %s", known[j].name, known[j].choices[b]);
        if (!answer(&c, &o, &err)) continue;
        ck_assert_msg((names(err.text, first) && names(err.text, second)) ||
                          (o.format != MACKO_FORMAT_AUTO && (names(err.text, first) || names(err.text, second)) &&
                           names(err.text, macko_format_name(o.format))), "%s: %s", say(&o), err.text);
      }
}
END_TEST

/* All combinations: two or three choices are always enough to say why not. */
START_TEST(every_combination)
{
  macko_csr c = matrix(0);
  int64_t combinations = 1, fine = 0, refused = 0;
  for (int option = 0; option < OPTIONS; option++) combinations *= count_choices(option);
  for (int64_t n = 0; n < combinations; n++) {
    macko_options o;
    macko_error err = {0};
    int64_t rest = n;
    for (int option = 0; option < OPTIONS; rest /= count_choices(option++)) set(&o, option, (int)(rest % count_choices(option)));
    if (!answer(&c, &o, &err)) fine++;
    else refused++;
    ck_assert_msg(!strstr(err.text, "all that the options ask for"), "%s: %s", say(&o), err.text);
  }
  ck_assert(fine > 0 && refused > 0);
}
END_TEST

START_TEST(sentences)
{
  static const struct {
    const char *name[3], *choice[3], *sentence;
  } refusals[] = {
    {{"format", "layout"}, {"csr", "slice"}, "format csr has no layout slice; format macko has"},
    {{"format", "variant"}, {"macko", "split"}, "format macko has no variant split; format dtans has"},
    {{"format", "values"}, {"csr", "dict"}, "format csr has no values dict; formats macko, dtans, eccsr and slide have"},
    {{"gap_bits", "layout"}, {"4", "slice"},
     "layout slice and gap_bits 4 cannot go together: gap_bits 4 goes with layout row or paper"},
    {{"layout", "values"}, {"row", "pairs"},
     "layout row and values pairs cannot go together: values pairs goes with layout slice"},
    {{"gap_bits", "values"}, {"1", "pairs"},
     "gap_bits 1 and values pairs cannot go together: gap_bits 1 goes with values raw, narrow, dict, f32, f16 or bf16"},
    {{"layout", "variant"}, {"slice", "paper"},
     "layout slice and variant paper cannot go together: layout slice is for format macko, variant paper for formats dtans "
     "and eccsr"},
    {{"format", "values", "variant"}, {"dtans", "raw", "joint"},
     "values raw and variant joint cannot go together: variant joint goes with values coded"}};
  macko_csr c = matrix(0);
  macko_options o;
  macko_error err = {0};
  macko_options_init(&o);
  for (int i = 0; i < 3 && refusals[_i].name[i]; i++)
    ck_assert(!macko_options_set(&o, refusals[_i].name[i], refusals[_i].choice[i], NULL));
  ck_assert_int_eq(answer(&c, &o, &err), MACKO_UNSUPPORTED);
  ck_assert_str_eq(err.text, refusals[_i].sentence);
  ck_assert_int_eq(macko_options_check(NULL, &err), MACKO_INVALID_ARGUMENT);
}
END_TEST

/* Zero bytes are the defaults of all but the format, of which csr is the first. */
START_TEST(zeros_are_defaults)
{
  macko_options zeros, o;
  memset(&zeros, 0, sizeof zeros);
  macko_options_init(&o);
  ck_assert_int_eq(o.format, MACKO_FORMAT_AUTO);
  zeros.format = o.format;
  ck_assert_mem_eq(&zeros, &o, sizeof o);
}
END_TEST

/* ---- what the matrix adds: automatic choice does not fall back to what has not what was asked for ---- */

enum { MANY = 70000 };

/* A row of many values and gaps, or of many columns. */
static macko_csr awkward(int64_t ncols)
{
  static int64_t row_ptr[2] = {0, MANY}, cols[MANY];
  static double values[MANY];
  for (int64_t p = 0; p < MANY; p++) cols[p] = p * p, values[p] = (double)p / 3;
  return (macko_csr){.nrows = 1, .ncols = ncols, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = MACKO_F64,
                     .row_ptr = row_ptr, .cols = cols, .values = values};
}

static macko_status encode_with(int64_t ncols, const char *name, const char *choice, macko_info *info, macko_error *err)
{
  macko_options o;
  macko_csr c = awkward(ncols);
  macko_matrix *m = NULL;
  macko_options_init(&o);
  ck_assert(!macko_options_set(&o, name, choice, NULL));
  macko_status s = macko_encode(&c, &o, &m, err);
  if (!s) macko_get_info(m, info);
  if (!s) info->reason = NULL;
  macko_destroy(&m);
  return s;
}

START_TEST(nothing_else_instead)
{
  const int64_t fits = (int64_t)MANY * MANY, beyond_macko = fits;
  macko_info info;
  macko_error err = {0};
  ck_assert(fits > INT32_MAX && fits < 2 * (int64_t)UINT32_MAX);
  ck_assert(!encode_with(fits, "prefer", "time", &info, &err) && info.format == MACKO_FORMAT_CSR);
  ck_assert_int_eq(encode_with(beyond_macko, "layout", "slice", &info, &err), MACKO_LIMIT);
  ck_assert_msg(names(err.text, "macko") && strstr(err.text, "2147483647 columns"), "%s", err.text);
  ck_assert_int_eq(encode_with(fits, "values", "pairs", &info, &err), MACKO_LIMIT);
  ck_assert_int_eq(encode_with(fits, "variant", "split", &info, &err), MACKO_LIMIT);
  ck_assert_msg(names(err.text, "dtans"), "%s", err.text);
  ck_assert_int_eq(encode_with(fits, "values", "dict", &info, &err), MACKO_LIMIT);
  ck_assert(!encode_with(fits, "values", "raw", &info, &err) && info.format == MACKO_FORMAT_CSR);
}
END_TEST

/* In place of what one format cannot hold another one that honours the option. */
START_TEST(the_next_format_that_has_it)
{
  static const int64_t row_ptr[] = {0, 2}, cols[] = {0, (int64_t)INT32_MAX + 1};
  static const double values[] = {1, 2};
  macko_csr c = {.nrows = 1, .ncols = (int64_t)INT32_MAX + 2, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                 .value_type = MACKO_F64, .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_options o;
  macko_info info;
  macko_matrix *m = NULL;
  macko_options_init(&o);
  o.values = MACKO_VALUES_DICT;
  ck_assert(!macko_encode(&c, &o, &m, NULL));
  macko_get_info(m, &info);
  ck_assert(info.format == MACKO_FORMAT_DTANS && info.values == MACKO_VALUES_DICT);
  macko_destroy(&m);
}
END_TEST

/* ---- values beyond the range of what they are rounded to ---- */

static macko_status two_rows(void *context, int64_t first, int64_t count, macko_csr *piece, macko_error *err)
{
  static int32_t starts[3];
  const macko_csr *a = context;
  const int32_t *row_ptr = a->row_ptr;
  (void)err;
  *piece = *a;
  piece->nrows = count;
  for (int64_t i = 0; i <= count; i++) starts[i] = 1 + row_ptr[first + i] - row_ptr[first];
  piece->row_ptr = starts, piece->cols = (const int32_t *)a->cols + row_ptr[first] - 1;
  piece->values = (const double *)a->values + row_ptr[first] - 1;
  return MACKO_OK;
}

START_TEST(overflow_is_refused_by_name)
{
  static const struct {
    const char *values, *beyond;
    double fits, largest;
  } types[] = {{"f16", "70000 is beyond the range of f16", 65504, 7e4},
               {"bf16", "3.4e+38 is beyond the range of bf16", 3e38, 3.4e38},
               {"f32", "1e+39 is beyond the range of f32", 3.4e38, 1e39}};
  static const char *const formats[] = {"auto", "csr", "macko", "dtans", "eccsr"};
  const char *format = formats[_i % 5];
  macko_options o, allow;
  macko_error err = {0};
  macko_info info, before;
  for (int t = 0; t < 3; t++) {
    int32_t row_ptr[] = {1, 3, 4, 6}, cols[] = {1, 2, 2, 1, 3};
    double values[] = {1, INFINITY, -types[t].fits, 3, types[t].fits}, out[5];
    macko_csr a = {.nrows = 3, .ncols = 3, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                   .row_ptr = row_ptr, .cols = cols, .values = values, .index_base = 1};
    macko_matrix *m = NULL, *fresh = NULL;
    macko_options_init(&o);
    ck_assert(!macko_options_set(&o, "values", types[t].values, &err) && !macko_options_set(&o, "format", format, &err));
    ck_assert_msg(!macko_encode(&a, &o, &m, &err), "%s", err.text);
    macko_get_info(m, &before);
    values[4] = types[t].largest;
    ck_assert_int_eq(macko_encode(&a, &o, &fresh, &err), MACKO_UNSUPPORTED);
    ck_assert_msg(strstr(err.text, types[t].beyond) && strstr(err.text, "row 3, column 3, counted from 1: "), "%s", err.text);
    ck_assert_msg(err.row == 2 && err.col == 2, "%lld, %lld", (long long)err.row, (long long)err.col);
    ck_assert_int_eq(macko_predict(&a, &o, &info, &err), MACKO_UNSUPPORTED);
    ck_assert_int_eq(macko_refresh(m, &a, &err), MACKO_UNSUPPORTED);
    ck_assert_msg(strstr(err.text, types[t].beyond), "%s", err.text);
    ck_assert(!macko_decode(m, NULL, NULL, out, &err) && out[4] <= types[t].fits * 1.01); /* unchanged */
    macko_row_source source = {.nrows = 3, .ncols = 3, .value_type = MACKO_F64, .piece_rows = 2, .rows = two_rows, .context = &a};
    ck_assert_int_eq(macko_encode_rows(&source, &o, &fresh, &err), MACKO_UNSUPPORTED);
    ck_assert_msg(strstr(err.text, types[t].beyond) && strstr(err.text, "row 2, column 2, counted from 0: "), "%s", err.text);
    allow = o;
    ck_assert(!macko_options_set(&allow, "overflow", "allow", &err));
    ck_assert_msg(!macko_encode(&a, &allow, &fresh, &err), "%s", err.text);
    macko_get_info(fresh, &info);
    ck_assert(!macko_decode(fresh, NULL, NULL, out, &err) && isinf(out[4]) && info.lossy);
    macko_destroy(&m), macko_destroy(&fresh);
  }
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("options");
  TCase *t = tcase_create("options");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, overflow_is_refused_by_name, 0, 5);
  tcase_add_loop_test(t, every_choice_of_every_option, 0, MATRICES);
  tcase_add_test(t, every_pair_of_choices);
  tcase_add_test(t, every_combination);
  tcase_add_loop_test(t, sentences, 0, 8);
  tcase_add_test(t, zeros_are_defaults);
  tcase_add_test(t, nothing_else_instead);
  tcase_add_test(t, the_next_format_that_has_it);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
