/* What a format is: one table of functions, the same slots in the same order in every folder lib/<format>. */
#ifndef MACKO_FORMAT_H
#define MACKO_FORMAT_H

#include "macko.h"

/* The options by number: MACKO_OPTION_format, MACKO_OPTION_layout, ... */
enum {
#define MACKO_OPTION(field, LIST, usual, reader, help) MACKO_OPTION_##field,
#include "options.def"
  MACKO_OPTIONS
};

/* Where a number is in its list: MACKO_GAP_BITS_1 and so on; a choice with a name is where its value says. */
enum {
#define MACKO_NUMBER_OPTION(field, LIST, usual, reader, help) MACKO_##LIST##_BEFORE = -1,
#define MACKO_NUMBER(LIST, number, name, text) MACKO_##LIST##_##number,
#define MACKO_OPTION_END(field, LIST)
#include "options.def"
};

/* One way in which a format stores a matrix: of each option that formats read the choices that it has, MACKO_HAS(LAYOUT_SLICE)
 * or several of them; the first in an option's list is always among them. */
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

enum { MACKO_MAX_SECTIONS = 12, MACKO_MAX_PARAMS = 10, MACKO_REASON_LENGTH = 512 };

struct macko_rows;
typedef struct macko_facts macko_facts;
typedef struct macko_findings macko_findings;

/* What plan decided: everything encode needs besides the matrix, and everything info reports. */
typedef struct {
  int64_t bytes;                   /* size of the encoding, all sections: exact, but for dtans predicted within 1 % */
  macko_layout layout;             /* AUTO where the format has none */
  macko_variant variant;           /* the same */
  int gap_bits;                  /* 0 where the format has none or the width varies */
  macko_values values;             /* codec of the value stream */
  macko_type stored_type;          /* its element type */
  int lossy;
  int64_t table;                   /* entries of the dictionary of values, 0 without one */
  int64_t params[MACKO_MAX_PARAMS]; /* the format's own numbers, kept in the matrix (and in files) */
  double work, time;               /* of one multiply as predicted, in nanoseconds: without what bytes take, and in all (cost.h) */
  double drag;                     /* on a CPU its bytes take so much longer than those of a plain stream, as a share */
  char reason[MACKO_REASON_LENGTH];
} macko_plan;

struct macko_matrix {
  const struct macko_format_ops *ops;
  macko_format format;
  macko_options options; /* as asked for: refresh chooses values by them again */
  macko_plan plan;
  macko_type value_type;
  int64_t nrows, ncols, nnz;
  uint64_t pattern; /* pattern.h; 0: not known */
  int borrowed; /* 1: the sections are arrays of the caller's (macko_encode_borrowed) */
  int nsections;
  macko_section sections[MACKO_MAX_SECTIONS];
  void *prepared; /* what the format's products need besides, one allocation; NULL: nothing */
};

/* y = alpha op(A) x + beta y, arguments checked: k >= 1, alpha != 0, A not empty. */
typedef struct {
  macko_op op;
  macko_type vector_type;
  int64_t k;
  double alpha, beta;
  const void *x;
  int64_t ldx;
  void *y;
  int64_t ldy;
} macko_product;

/* Of nx and ny elements. Columns of several vectors may alternate in one array, so that only one vector, or the same start, tells. */
static inline int macko_vectors_overlap(const macko_product *p, int64_t nx, int64_t ny)
{
  const int64_t size = macko_type_bytes(p->vector_type);
  const uintptr_t x = (uintptr_t)p->x, y = (uintptr_t)p->y;
  return x == y || (p->k == 1 && x < y + (uintptr_t)(ny * size) && y < x + (uintptr_t)(nx * size));
}

/* The csr handed to a format has been checked: rows sorted, no duplicates, every index in range. Its indices may count from 1, so
 * they are read through macko_csr_row and macko_csr_col only. */
typedef struct macko_format_ops {
  /* Allocates nothing big; fills *plan, whose time may say what it has to beat (0: nothing). UNSUPPORTED or LIMIT where the
   * matrix does not fit; one of the forms has what the options ask for. A format that is chosen automatically asks for facts
   * only, as the arrays may be out of reach. */
  macko_status (*plan)(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err);
  /* The answers, with findings in a csr in host memory as context, to what plan asks besides values (facts.h); NULL where it asks
   * nothing, or reads the csr itself. */
  const void *facts;
  /* Frees its own of the findings; NULL where there is never any. */
  void (*forget)(void *own);
  /* The plan after new values that leave the pattern of m as it is; NULL where only encoding finds it. */
  macko_status (*plan_values)(const macko_facts *f, const macko_matrix *m, macko_plan *plan, macko_error *err);
  /* The sections that m->plan asks for, in their order and without data: how many. NULL where only encoding tells their lengths. */
  int (*sections)(const macko_matrix *m, macko_section list[MACKO_MAX_SECTIONS]);
  /* The names of all sections that a matrix of the format may have, NULL at the end: those in files must be among them. */
  const char *const *section_names;
  /* Fills m->sections by m->plan, of found->csr and of what else has been found; the caller frees them when this fails. */
  macko_status (*encode)(macko_findings *found, macko_matrix *m, macko_error *err);
  /* New values for the same pattern (checked by the caller); on failure m is unchanged. Where m has borrowed arrays it may borrow
   * those of *a. */
  macko_status (*refresh)(const macko_csr *a, macko_matrix *m, macko_error *err);
  /* Makes m->prepared of the sections: once after encode and copy, so that no product has to; after refresh in the memory that is
   * there, so that it cannot fail. NULL: products need nothing but the sections. */
  macko_status (*prepare)(macko_matrix *m, macko_error *err);
  /* Bit-identical CSR back; any output may be NULL. */
  macko_status (*decode)(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err);
  /* Every index and length checked; run on whatever comes from a file before a multiply sees it. */
  macko_status (*validate)(const macko_matrix *m, macko_error *err);
  macko_status (*multiply)(const macko_matrix *m, const macko_product *p, macko_error *err);
  /* plan and encode for rows that come in pieces; NULL where the format reads the matrix as a whole. */
  macko_status (*encode_rows)(struct macko_rows *rows, macko_matrix *m, macko_error *err);
  /* Whether automatic choice need plan the format, given the plans of those before it, zero where there is none, and the best of
   * them (NULL: none); NULL: always. For a format that takes long to plan. */
  int (*may_win)(const macko_facts *f, const macko_options *options, const macko_plan plans[], const macko_plan *best);
  /* All that the format can be asked for. */
  const macko_form *forms;
  int nforms;
  /* The entries of rows first .. past - 1, given what decode writes to row_ptr: those of row i from element starts[i] - starts[first]
   * on. NULL where rows are not to be had but all together. */
  void (*decode_rows)(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols, void *values);
  /* 1: where found->lent says so, encode may make sections of the caller's arrays. */
  int borrows;
} macko_format_ops;

#define MACKO_FORMAT(symbol, name, text) extern const macko_format_ops macko_##name##_ops;
#include "formats.def"
#undef MACKO_FORMAT

/* Those tables, by macko_format. */
extern const macko_format_ops *const macko_formats[MACKO_FORMAT_AUTO];

/* prepare: must follow whenever the sections of m are other ones, before decode or multiply. libmacko_cuda asks for it, too. */
macko_status macko_prepare(macko_matrix *m, macko_error *err);

/* Fills *err with the sentence and returns status. */
macko_status macko_fail(macko_error *err, macko_status status, const char *sentence, ...)
    __attribute__((format(printf, 3, 4)));

/* 1 if plan a suits the options better than plan b: sooner done, and smaller where that is the same; or smaller. */
static inline int macko_better(const macko_options *options, const macko_plan *a, const macko_plan *b)
{
  if (options->prefer == MACKO_PREFER_MEMORY || a->time == b->time) return a->bytes < b->bytes;
  return a->time < b->time;
}

/* ---- options ---- */

/* Name of an option; of a choice of it by its place in the list, NULL beyond its end. */
const char *macko_option_name(int option);
const char *macko_option_choice(int option, int choice);

/* The field of that option; its place in the list, -1 if it is not in it. */
int macko_option_value(const macko_options *options, int option);
int macko_option_chosen(const macko_options *options, int option);

/* Every field inside its list; INVALID_ARGUMENT otherwise. */
macko_status macko_check_fields(const macko_options *options, macko_error *err);

/* 1 if the form, or one of the format's, has what the options, which have been checked, ask for besides a format. */
int macko_form_has(const macko_form *form, const macko_options *options);
int macko_format_has(macko_format format, const macko_options *options);

/* *options becomes *asked (NULL: the defaults). Errors: those of macko_options_check. */
macko_status macko_settle_options(const macko_options *asked, macko_options *options, macko_error *err);

/* The type that the options ask to round values to; f64 where they do not. Whether that may make values infinite that may not. */
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

/* UNSUPPORTED, naming the first value, counted from base, that rounding would make infinite, unless the options allow it. */
macko_status macko_check_overflow(const macko_csr *a, const macko_options *options, int base, macko_error *err);

/* ---- sections ---- */

/* Sections to be, of so many elements. */
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

/* Into list from number n on: the sections of a value stream of so many slots, as the plan of m has it. Gives the number behind. */
static inline int macko_list_values(const macko_matrix *m, int64_t slots, macko_section *list, int n)
{
  list[n++] = macko_value_section("values", m->plan.stored_type, slots);
  if (m->plan.table) list[n++] = macko_value_section("dict", m->value_type, m->plan.table);
  return n;
}

/* A section like that one with a zeroed array of its own, not yet part of a matrix; free(section->data) gives it back. */
macko_status macko_new_section(macko_section like, macko_section *section, macko_error *err);

/* The same, appended to m, which owns it. */
macko_status macko_add_section(macko_matrix *m, macko_section like, macko_error *err);

/* Those that m->plan asks for, or of them only what tells of the pattern. */
macko_status macko_add_sections(macko_matrix *m, int pattern_only, macko_error *err);

/* Arrays of the caller's become copies; m is unchanged on failure. Errors: OUT_OF_MEMORY. */
macko_status macko_own_arrays(macko_matrix *m, macko_error *err);

/* validate: CORRUPT unless m has exactly the sections that its plan asks for. */
macko_status macko_check_sections(const macko_matrix *m, macko_error *err);

/* The section of that name, NULL if there is none; and its data. */
const macko_section *macko_find_section(const macko_matrix *m, const char *name);

static inline void *macko_section_data(const macko_matrix *m, const char *name)
{
  const macko_section *s = macko_find_section(m, name);
  return s ? s->data : NULL;
}

/* refresh: puts a fresh section in place of the one of the same name, or at the end; cannot fail. */
void macko_put_section(macko_matrix *m, const macko_section *fresh);

/* Frees and removes the sections that tell of values only. */
void macko_drop_values(macko_matrix *m);

/* Sizes, types and the index base of a csr. Errors: INVALID_MATRIX, INVALID_ARGUMENT. */
macko_status macko_check_types(const macko_csr *csr, macko_error *err);

/* The same, row starts, and that there are columns and values: all but what the columns are. */
macko_status macko_check_rows(const macko_csr *csr, macko_error *err);

/* Checks *csr. Where rows are sorted and free of duplicates *sorted is the same view and *owned is NULL; otherwise *sorted
 * points into *owned, one allocation, which the caller frees. */
macko_status macko_sort_csr(const macko_csr *csr, macko_csr *sorted, void **owned, macko_error *err);

static inline int64_t macko_index(macko_type type, const void *array, int64_t i)
{
  return type == MACKO_I64 ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

/* Number i of section s, which has such a type. */
static inline int64_t macko_index_at(const macko_section *s, int64_t i)
{
  return macko_index(s->type, s->data, i);
}

static inline void macko_set_index(macko_type type, void *array, int64_t i, int64_t value)
{
  if (type == MACKO_I64) ((int64_t *)array)[i] = value;
  else ((int32_t *)array)[i] = (int32_t)value;
}

static inline void macko_put_index(const macko_section *s, int64_t i, int64_t value)
{
  macko_set_index(s->type, s->data, i, value);
}

/* Where row i begins and the column of entry p, counted from 0 whatever the caller's arrays count from. Unsigned, because the
 * arrays are looked at before they are checked: the smallest number becomes the largest, which no check lets pass. */
static inline int64_t macko_csr_row(const macko_csr *a, int64_t i)
{
  return (int64_t)((uint64_t)macko_index(a->row_ptr_type, a->row_ptr, i) - (uint64_t)a->index_base);
}

static inline int64_t macko_csr_col(const macko_csr *a, int64_t p)
{
  return (int64_t)((uint64_t)macko_index(a->col_type, a->cols, p) - (uint64_t)a->index_base);
}

/* Indices take 4 bytes unless the matrix is too big for them. */
static inline macko_type macko_index_type(int64_t largest)
{
  return largest > INT32_MAX ? MACKO_I64 : MACKO_I32;
}

static inline int64_t macko_csr_nnz(const macko_csr *a)
{
  return macko_csr_row(a, a->nrows);
}

#endif
