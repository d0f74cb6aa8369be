/* What a format is: one table of functions, the same slots in the same order in every folder lib/<format>. */
#ifndef MACKO_FORMAT_H
#define MACKO_FORMAT_H

#include "macko.h"

/* Options have numbers, MACKO_OPTION_format, MACKO_OPTION_layout and so on, in the order of options.def, so that loops go over
 * all of them. */
enum {
#define MACKO_OPTION(field, LIST, usual, reader, help) MACKO_OPTION_##field,
#include "options.def"
  MACKO_OPTIONS
};

/* Of an option that is a number: where each number is in its list, MACKO_GAP_BITS_1 and so on. A choice that has a name is where
 * its value says. */
enum {
#define MACKO_NUMBER_OPTION(field, LIST, usual, reader, help) MACKO_##LIST##_BEFORE = -1,
#define MACKO_NUMBER(LIST, number, name, text) MACKO_##LIST##_##number,
#define MACKO_OPTION_END(field, LIST)
#include "options.def"
};

/* One way in which a format stores a matrix. Each option that formats read (reader `formats` in options.def) has a field, which
 * is the set of the choices that this form has: MACKO_HAS(LAYOUT_SLICE), or several of these or-ed together. The first of an
 * option's list, the automatic choice, is always among them. A format has several forms where not all of its choices go
 * together. */
typedef struct {
#define MACKO_FORM_choice(field)
#define MACKO_FORM_formats(field) uint32_t field;
#define MACKO_OPTION(field, LIST, usual, reader, help) MACKO_FORM_##reader(field)
#include "options.def"
#undef MACKO_FORM_choice
#undef MACKO_FORM_formats
} macko_form;
#define MACKO_HAS(choice) ((uint32_t)1 << MACKO_##choice)
#define MACKO_HAS_ALL (~(uint32_t)0)

/* Most sections of a matrix and numbers of a plan that any format has; bytes of a reason with the 0 at its end. */
enum { MACKO_MAX_SECTIONS = 12, MACKO_MAX_PARAMS = 10, MACKO_REASON_LENGTH = 512 };

struct macko_rows;
typedef struct macko_facts macko_facts;
typedef struct macko_findings macko_findings;

/* What planning decided: everything that encode needs besides the matrix, and everything that info reports. Files keep what
 * doc/formats/container.md lists, so that a matrix that was loaded has that again. */
typedef struct {
  int64_t bytes;                   /* bytes of all sections; exact where encoding follows, but for dtans, within 1 % */
  macko_layout layout;             /* AUTO where the format has none */
  macko_variant variant;           /* AUTO where the format has none */
  int gap_bits;                  /* 0 where the format has none or the width varies */
  macko_values values;             /* codec of the value stream */
  macko_type stored_type;          /* element type of the value stream: of codes under a dictionary */
  int lossy; /* 1: values were rounded, and decode does not give all of them back bit for bit */
  int64_t table;                   /* entries of the dictionary: values, or pairs under codec pairs; 0 without one */
  int64_t params[MACKO_MAX_PARAMS]; /* the format's own numbers, which the matrix and files of it keep */
  double work, time;               /* predicted nanoseconds of a product by one vector: without moving bytes, and in all */
  double gathers;                  /* nanoseconds more for loads of x, which are taken as the same in any form; in no other time */
  double csr_time;                 /* time of a product in format csr, values as they are, which that sets; 0: not known */
  double drag;                     /* on a CPU its bytes take longer than those of a plain stream, by this share */
  int64_t scattered;               /* rows of y that are not beside the one before; work has what they take in a cache */
  double waits;                    /* nanoseconds that nothing else goes on in, on top of both */
  double anywhere; /* on a CPU the share of entries that ask for a line of x that none shortly before asked for; 0: not known */
  double hidden;                   /* on a GPU the share of the shorter of work and bytes that the longer one hides */
  char reason[MACKO_REASON_LENGTH]; /* in words: what was chosen and why */
} macko_plan;

/* A compressed matrix. It owns what it points to, but for sections that are borrowed. The sections hold all of it; `prepared` can
 * be made of them again, and is not in files. */
struct macko_matrix {
  const struct macko_format_ops *ops; /* the table of functions of its format, of macko_formats */
  macko_format format;
  macko_options options; /* as they were asked for: refresh chooses values by them again */
  macko_plan plan;
  macko_type value_type; /* of the matrix that was encoded and of what decode gives back */
  int64_t nrows, ncols, nnz;
  double others; /* parts of a larger matrix that are like it (macko_encode_part); 0: it is a whole matrix */
  uint64_t pattern; /* its number (pattern.h); 0: it is not known */
  int borrowed; /* 1: the sections are arrays of the caller's (macko_encode_borrowed) */
  int nsections;
  macko_section sections[MACKO_MAX_SECTIONS];
  void *prepared; /* what products need besides the sections, one allocation; NULL: nothing */
};

/* A product Y = alpha op(A) X + beta Y whose arguments have been checked: k >= 1, alpha != 0, and A has entries. X and Y are
 * stored by columns, ldx and ldy elements apart. */
typedef struct {
  macko_op op;
  macko_type vector_type;
  int64_t k;
  double alpha, beta;
  const void *x;
  int64_t ldx;
  void *y;
  int64_t ldy;
  const void *beside; /* on a CPU the elements of X once more, those of a group in one column side by side (beside.h), or NULL */
} macko_product;

/* Tells whether X and Y overlap, each vector of nx and ny elements. Columns of several vectors may alternate in one array, so
 * that for more than one only the same start tells; the rest is up to the caller. */
static inline int macko_vectors_overlap(const macko_product *p, int64_t nx, int64_t ny)
{
  const int64_t size = macko_type_bytes(p->vector_type);
  const uintptr_t x = (uintptr_t)p->x, y = (uintptr_t)p->y;
  return x == y || (p->k == 1 && x < y + (uintptr_t)(ny * size) && y < x + (uintptr_t)(nx * size));
}

/* What a format is to the rest of the library: functions and lists. The csr that is handed to it has been checked: rows are
 * sorted and have no duplicates, every index is in range. Its indices may count from 1, so that they are read through
 * macko_csr_row and macko_csr_col only. Every function returns a status with its sentence in *err, if it can fail.
 * doc/adding-a-format.md goes through them. */
typedef struct macko_format_ops {
  /* Fills *plan, and allocates nothing big for it. plan->time may say which time it has to beat (0: none), so that a format that
   * cannot win may stop early. Errors: UNSUPPORTED or LIMIT where the matrix does not fit; that one of the forms has what the
   * options ask for has been checked. A format that is chosen automatically asks for facts only, because the arrays may be in GPU
   * memory. */
  macko_status (*plan)(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err);
  /* The answers to what plan asks besides values (facts.h), for a csr in host memory: a table of the format's own, whose
   * functions take findings as context. NULL where it asks nothing, or reads the csr itself. */
  const void *facts;
  /* Frees what the format keeps in findings; NULL where there never is anything. */
  void (*forget)(void *own);
  /* Makes the plan after new values, which leave the pattern of m as it is; NULL where only encoding finds it. */
  macko_status (*plan_values)(const macko_facts *f, const macko_matrix *m, macko_plan *plan, macko_error *err);
  /* Lists the sections that m->plan asks for, in their order and without data, and gives how many they are. NULL where only
   * encoding tells their lengths. */
  int (*sections)(const macko_matrix *m, macko_section list[MACKO_MAX_SECTIONS]);
  /* The names of all sections that a matrix of the format may have, with NULL at the end. A file may name these only, and a
   * matrix read from it points to these texts. */
  const char *const *section_names;
  /* Fills m->sections by m->plan, from found->csr (but see in_pieces) and whatever else has been found; the caller frees them when
   * this fails. */
  macko_status (*encode)(macko_findings *found, macko_matrix *m, macko_error *err);
  /* Takes new values for the same pattern, which the caller has checked; on failure m is unchanged. Where m has borrowed arrays
   * it may borrow those of *a in their place. */
  macko_status (*refresh)(const macko_csr *a, macko_matrix *m, macko_error *err);
  /* Makes m->prepared of the sections: once after encode, load and copy, so that no product has to and products need no lock.
   * After refresh it uses the memory that is there, so that it cannot fail. NULL: products need nothing but the sections. */
  macko_status (*prepare)(macko_matrix *m, macko_error *err);
  /* Writes the matrix back as CSR, bit for bit what was encoded; any output may be NULL. */
  macko_status (*decode)(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err);
  /* Checks every index and length. It is run on whatever comes from a file before a product sees it, because products check
   * nothing. Errors: CORRUPT. */
  macko_status (*validate)(const macko_matrix *m, macko_error *err);
  /* Does a product whose arguments have been checked, in as many threads as threads.h gives. */
  macko_status (*multiply)(const macko_matrix *m, const macko_product *p, macko_error *err);
  /* Plans and encodes at once, for rows that come in pieces; NULL where the format reads the matrix as a whole or in views. */
  macko_status (*encode_rows)(struct macko_rows *rows, macko_matrix *m, macko_error *err);
  /* Tells whether automatic choice has to plan the format, given the plans of the formats before it (all zero where there is
   * none) and the best of them (NULL: there is none). NULL: it always has to. This is for a format that takes long to plan. */
  int (*may_win)(const macko_facts *f, const macko_options *options, const macko_plan plans[], const macko_plan *best);
  /* Sets *time to the nanoseconds that a product is likely to take, by a look at some of the matrix and with values as they are; to
   * 0 where that is not known. Automatic choice plans a format that promises more than one before it first, so that planning that
   * one may stop early. NULL: nothing is ever promised. */
  macko_status (*promise)(const macko_facts *f, const macko_options *options, double *time, macko_error *err);
  /* All forms, and how many: what the format can be asked for. */
  const macko_form *forms;
  int nforms;
  /* Writes the entries of rows first .. past - 1, where starts is what decode wrote to row_ptr: those of row i go to element
   * starts[i] - starts[first] and behind. cols and values may be NULL. NULL where rows are not to be had but all together. */
  void (*decode_rows)(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols, void *values);
  /* 1: encode may make sections of the caller's arrays where found->lent says so. */
  int borrows;
  /* 1: encode reads found->rows where there are some. Else rows that come in pieces are put together before it. */
  int in_pieces;
} macko_format_ops;

#define MACKO_FORMAT(symbol, name, text) extern const macko_format_ops macko_##name##_ops;
#include "formats.def"
#undef MACKO_FORMAT

/* The tables of all formats, by macko_format. */
extern const macko_format_ops *const macko_formats[MACKO_FORMAT_AUTO];

/* Gives that many bytes of zeros, at least one, for free(): in large pages where the system has them. It gives NULL where memory is
 * short. */
void *macko_zeros(size_t bytes);

/* Calls prepare, if the format has it. It must follow whenever the sections of m have become other ones, before decode or
 * multiply. libmacko_cuda calls it, too. */
macko_status macko_prepare(macko_matrix *m, macko_error *err);

/* Fills *err, which may be NULL, with the sentence, made as by printf, and returns status, so that a caller can fail in one
 * statement. */
macko_status macko_fail(macko_error *err, macko_status status, const char *sentence, ...)
    __attribute__((format(printf, 3, 4)));

/* Does the same with a sentence about a place in the matrix, which is put before it: row and col count from 0 (col -1: the whole
 * row), and the sentence counts them from base. */
macko_status macko_fail_at(macko_error *err, macko_status status, int64_t row, int64_t col, int base, const char *sentence, ...)
    __attribute__((format(printf, 6, 7)));

/* Checks how many vectors there are and how far apart, as far as a product of ny rows and nx columns shows. */
static inline macko_status macko_check_distances(const macko_product *p, int64_t nx, int64_t ny, macko_error *err)
{
  const int64_t apart = p->ldx > p->ldy ? p->ldx : p->ldy;
  if (p->k < 0)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "k is %lld, a count of vectors cannot be negative", (long long)p->k);
  if (p->k > 1 && (p->ldx < nx || p->ldy < ny))
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "ldx %lld and ldy %lld must be at least %lld and %lld", (long long)p->ldx,
                      (long long)p->ldy, (long long)nx, (long long)ny);
  if (p->k > 1 && ny && apart > PTRDIFF_MAX / macko_type_bytes(p->vector_type) / p->k)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "no memory holds %lld vectors %lld elements apart", (long long)p->k,
                      (long long)apart);
  return MACKO_OK;
}

/* Gives 1 if plan a suits the options better than plan b. By time it is the faster one, and the smaller one of equal times, as
 * where no time is predicted; by memory it is the smaller one. */
static inline int macko_better(const macko_options *options, const macko_plan *a, const macko_plan *b)
{
  if (options->prefer == MACKO_PREFER_MEMORY || a->time == b->time) return a->bytes < b->bytes;
  return a->time < b->time;
}

/* ---- options ---- */

/* Give the name of an option, and the name of a choice of it by its place in the list, NULL beyond the end of the list. */
const char *macko_option_name(int option);
const char *macko_option_choice(int option, int choice);

/* Give what *options has for an option: the number in the field, and the place of that number in the list, -1 if it is not in
 * it. */
int macko_option_value(const macko_options *options, int option);
int macko_option_chosen(const macko_options *options, int option);

/* Checks that every field is in its list. Errors: INVALID_ARGUMENT. */
macko_status macko_check_fields(const macko_options *options, macko_error *err);

/* Give 1 if the form, or one of the forms of a format, has what the options ask for besides a format. The options have been
 * checked. */
int macko_form_has(const macko_form *form, const macko_options *options);
int macko_format_has(macko_format format, const macko_options *options);

/* Sets *options to *asked (NULL: the defaults) and checks them. Errors: those of macko_options_check. */
macko_status macko_settle_options(const macko_options *asked, macko_options *options, macko_error *err);

/* Give the type that the options ask to round values to (f64 where they ask for none), and whether rounding may make finite
 * values infinite that must stay finite, so that the values have to be looked at. */
static inline macko_type macko_rounded_type(const macko_options *options)
{
  if (options->values == MACKO_VALUES_F32) return MACKO_F32;
  if (options->values == MACKO_VALUES_F16) return MACKO_F16;
  return options->values == MACKO_VALUES_BF16 ? MACKO_BF16 : MACKO_F64;
}
static inline int macko_may_overflow(const macko_options *options, macko_type value_type)
{
  return options->overflow != MACKO_OVERFLOW_ALLOW && macko_type_bytes(macko_rounded_type(options)) < macko_type_bytes(value_type);
}

/* Checks that rounding leaves finite values finite, unless the options allow otherwise. Errors: UNSUPPORTED, naming the first
 * value that it would make infinite; base is what rows and columns of the sentence count from. */
macko_status macko_check_overflow(const macko_csr *a, const macko_options *options, int base, macko_error *err);

/* ---- sections ---- */

/* Give sections to be, of so many elements and without data: one that tells of the pattern, and one that tells of values. */
static inline macko_section macko_pattern_section(const char *name, macko_type type, int64_t count)
{
  macko_section s = {name, type, count * macko_type_bytes(type), NULL, 1, 0};
  return s;
}

static inline macko_section macko_value_section(const char *name, macko_type type, int64_t count)
{
  macko_section s = {name, type, count * macko_type_bytes(type), NULL, 0, 1};
  return s;
}

/* Appends to the list, from number n on, the sections of a value stream of so many slots, as the plan of m has it. Gives the
 * number behind them. */
static inline int macko_list_values(const macko_matrix *m, int64_t slots, macko_section *list, int n)
{
  list[n++] = macko_value_section("values", m->plan.stored_type, slots);
  if (m->plan.table) list[n++] = macko_value_section("dict", m->value_type, m->plan.table);
  return n;
}

/* Makes a section like that one, with a zeroed array of its own that is not yet part of a matrix; free(section->data) gives it
 * back. Errors: OUT_OF_MEMORY. */
macko_status macko_new_section(macko_section like, macko_section *section, macko_error *err);

/* Makes such a section and appends it to m, which owns it. Errors: OUT_OF_MEMORY, LIMIT. */
macko_status macko_add_section(macko_matrix *m, macko_section like, macko_error *err);

/* Appends the sections that m->plan asks for, or of these only the ones that tell of the pattern. Errors: OUT_OF_MEMORY; the
 * sections made before stay with m. */
macko_status macko_add_sections(macko_matrix *m, int pattern_only, macko_error *err);

/* Makes copies of arrays that m has borrowed, so that they may go; does nothing where it has none. m is unchanged on failure.
 * Errors: OUT_OF_MEMORY. */
macko_status macko_own_arrays(macko_matrix *m, macko_error *err);

/* Checks that m has exactly the sections that its plan asks for, for the validate of a format. Errors: CORRUPT. */
macko_status macko_check_sections(const macko_matrix *m, macko_error *err);

/* Give the section of that name, NULL if there is none; and its data. */
const macko_section *macko_find_section(const macko_matrix *m, const char *name);

static inline void *macko_section_data(const macko_matrix *m, const char *name)
{
  const macko_section *s = macko_find_section(m, name);
  return s ? s->data : NULL;
}

/* Puts a fresh section in place of the one of the same name, whose array it frees, or at the end. It cannot fail, so that refresh
 * calls it once everything else has succeeded. */
void macko_put_section(macko_matrix *m, const macko_section *fresh);

/* Frees and removes the sections that tell of values only, for new ones to be put there. */
void macko_drop_values(macko_matrix *m);

/* Checks sizes, types and the index base of a csr, and reads none of its arrays. Errors: INVALID_MATRIX, INVALID_ARGUMENT. */
macko_status macko_check_types(const macko_csr *csr, macko_error *err);

/* Checks the same, row starts, and that there are columns and values: all but what the columns are. Errors: the same. */
macko_status macko_check_rows(const macko_csr *csr, macko_error *err);

/* Checks all of *csr. Where rows are sorted and free of duplicates *sorted is the same view and *owned is NULL; otherwise *sorted
 * points into *owned, one allocation, which the caller frees. Errors: INVALID_MATRIX, INVALID_ARGUMENT, OUT_OF_MEMORY. */
macko_status macko_sort_csr(const macko_csr *csr, macko_csr *sorted, void **owned, macko_error *err);

/* Does the same; *number, unless it is NULL, becomes the number of the pattern of *sorted (pattern.h) where that is known without
 * another look at it, else 0. */
macko_status macko_sort_and_number(const macko_csr *csr, macko_csr *sorted, void **owned, uint64_t *number, macko_error *err);

/* Gives number i of an array of i64 or i32. */
static inline int64_t macko_index(macko_type type, const void *array, int64_t i)
{
  return type == MACKO_I64 ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

/* Gives number i of section s, which has such a type. */
static inline int64_t macko_index_at(const macko_section *s, int64_t i)
{
  return macko_index(s->type, s->data, i);
}

/* Stores number i of such an array, and of a section; the value must fit the type. */
static inline void macko_set_index(macko_type type, void *array, int64_t i, int64_t value)
{
  if (type == MACKO_I64) ((int64_t *)array)[i] = value;
  else ((int32_t *)array)[i] = (int32_t)value;
}

static inline void macko_put_index(const macko_section *s, int64_t i, int64_t value)
{
  macko_set_index(s->type, s->data, i, value);
}

/* Give where row i begins, and the column of entry p, counted from 0 whatever the caller's arrays count from. The subtraction is
 * unsigned, because the arrays are looked at before they are checked: the smallest number then becomes the largest, which no
 * check lets pass, and nothing overflows. */
static inline int64_t macko_csr_row(const macko_csr *a, int64_t i)
{
  return (int64_t)((uint64_t)macko_index(a->row_ptr_type, a->row_ptr, i) - (uint64_t)a->index_base);
}

static inline int64_t macko_csr_col(const macko_csr *a, int64_t p)
{
  return (int64_t)((uint64_t)macko_index(a->col_type, a->cols, p) - (uint64_t)a->index_base);
}

/* Gives the type of indices up to that one: they take 4 bytes unless the matrix is too big for them. */
static inline macko_type macko_index_type(int64_t largest)
{
  return largest > INT32_MAX ? MACKO_I64 : MACKO_I32;
}

/* Gives the number of entries. */
static inline int64_t macko_csr_nnz(const macko_csr *a)
{
  return macko_csr_row(a, a->nrows);
}

#endif
