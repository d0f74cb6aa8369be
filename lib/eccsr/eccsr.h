/* Between the files of format eccsr: windows of rows cut into blocks and slices, and how slices are read back. */
#ifndef MACKO_ECCSR_H
#define MACKO_ECCSR_H

#include "core/product.h"
#include "eccsr/eccsr_params.h"
#include "eccsr/eccsr_rules.h"
#include "values/codecs.h"

/* ---- writing: blocks of a window of rows ---- */

/* Rows of equal columns, or for a masked block rows and the union of their columns. */
typedef struct {
  int32_t first;  /* place of its first row in macko_eccsr_window.rows */
  uint32_t runs;
  uint8_t g, w, masked;
  int64_t at;     /* unmasked: the entry of the csr that its columns are read from, one in w; masked: its runs in the window */
} macko_eccsr_block;

typedef struct {
  int nblocks;
  int32_t rows[MACKO_ECCSR_WINDOW];
  macko_eccsr_block blocks[MACKO_ECCSR_WINDOW];
  uint64_t order[2 * MACKO_ECCSR_WINDOW]; /* numbers of blocks in the low half, as they follow each other in slices */
  /* Of masked blocks: where each run begins, and bits of its rows for each of its columns. */
  int32_t *starts;
  uint16_t *bits;
  int64_t used, room;
} macko_eccsr_window;

macko_status macko_eccsr_new_window(macko_eccsr_window **w, macko_error *err);
void macko_eccsr_free_window(macko_eccsr_window *w);

/* Blocks of rows first .. first + MACKO_ECCSR_WINDOW - 1, as many as there are, in the order of their slices. Errors:
 * OUT_OF_MEMORY. */
macko_status macko_eccsr_fill_window(const macko_csr *a, const macko_eccsr_shape *shape, int64_t first, macko_eccsr_window *w,
                                     macko_error *err);

/* Where slices go, or with slices NULL are only counted; `at` counts those that are there. */
typedef struct {
  macko_eccsr_counts at;
  macko_eccsr_work work;
  uint32_t *slices, *words;
  int32_t *bases, *rows;
  void *lengths;
  int length_bytes;
} macko_eccsr_sink;

/* Adds the slices of a window whose entries begin at that slot. */
void macko_eccsr_put_window(const macko_csr *a, const macko_eccsr_window *w, int64_t slot, macko_eccsr_sink *sink);

/* Rows from `row` on, before `past`, with equal columns: how many. */
int macko_eccsr_equal_rows(const macko_csr *a, int64_t row, int64_t past);

/* 1 if the n columns from entry p on are runs of w consecutive ones. */
int macko_eccsr_is_cut(const macko_csr *a, int64_t p, int64_t n, int w);

/* Adds the block of so many rows from `row` on, which is at place `first` of the window, in runs of `width` columns from multiples
 * of it on. Errors: OUT_OF_MEMORY. */
macko_status macko_eccsr_add_aligned(const macko_csr *a, int64_t row, int first, int rows, int width, macko_eccsr_window *w,
                                     macko_error *err);

/* The most columns, at most MACKO_ECCSR_MAX_RUN, that all maximal runs of the n from entry p on are multiples of. */
int macko_eccsr_widest_run(const macko_csr *a, int64_t p, int64_t n);

/* Where windows of rows come from: a csr as a whole, or rows in pieces. */
typedef struct {
  const macko_csr *whole; /* or NULL */
  macko_rows *rows;
  macko_assembly room; /* for a window of them */
  int64_t nrows;
} macko_eccsr_input;

static inline int64_t macko_eccsr_windows(int64_t nrows)
{
  return (nrows + MACKO_ECCSR_WINDOW - 1) / MACKO_ECCSR_WINDOW;
}

/* *view has the rows of that window, numbered as in the matrix, and no row behind them, or all rows; until the next call. Errors: as
 * macko_get_rows. */
macko_status macko_eccsr_get_window(macko_eccsr_input *in, int64_t window, macko_csr *view, macko_error *err);

/* The shape, by some of the windows, and what all of them come to. Errors: OUT_OF_MEMORY, as macko_get_rows. */
macko_status macko_eccsr_sample(macko_eccsr_input *in, macko_eccsr_shape *shape, macko_error *err);
macko_status macko_eccsr_encode_rows(macko_rows *rows, macko_matrix *m, macko_error *err);

void macko_eccsr_host_estimate(void *context, macko_eccsr_counts *counts, macko_eccsr_work *work);
macko_status macko_eccsr_host_sample(void *context, macko_eccsr_shape *shape, macko_error *err);
macko_status macko_eccsr_host_count(void *csr, const macko_eccsr_shape *shape, macko_eccsr_counts *counts, macko_eccsr_work *work,
                                    macko_error *err);

/* ---- reading ---- */

typedef struct {
  const uint32_t *slices, *gaps;
  const int32_t *bases, *rows;
  const void *lengths;
  int length_bytes;
  int64_t nslices;
} macko_eccsr_reader;

macko_eccsr_reader macko_eccsr_open(const macko_matrix *m);

/* A slice step by step: its columns and which lanes have an entry. */
typedef struct {
  macko_eccsr_slice s;
  const uint32_t *masks, *gaps;
  int64_t k, gap;          /* the step, and the number of its first gap */
  int64_t slot;            /* of the first entry of the step */
  int active;              /* blocks that have the step */
  int64_t cols[MACKO_ECCSR_LANES]; /* of blocks: where their runs begin */
} macko_eccsr_steps;

/* Before its first step. */
static inline macko_eccsr_steps macko_eccsr_open_slice(const macko_eccsr_reader *r, int64_t i)
{
  macko_eccsr_steps t = {.s = macko_eccsr_slice_at(r->slices, i), .k = -1};
  t.masks = r->gaps + t.s.words, t.gaps = t.masks + macko_eccsr_mask_words(&t.s);
  t.slot = t.s.values, t.active = t.s.blocks;
  return t;
}

/* To the next step; 0 where there is none. The caller moves `slot`. */
static inline int macko_eccsr_next_step(const macko_eccsr_reader *r, macko_eccsr_steps *t)
{
  const macko_eccsr_slice *s = &t->s;
  t->k++;
  t->active = macko_eccsr_active(s, r->lengths, r->length_bytes, t->k, t->active);
  for (int b = 0; t->k == 0 && b < t->active; b++) t->cols[b] = r->bases[s->block + (uint32_t)b];
  for (int b = 0; t->k > 0 && b < t->active; b++)
    t->cols[b] += s->w + (int64_t)macko_eccsr_gap(t->gaps, s->gap_bits, t->gap++) * s->unit;
  return t->active > 0;
}

/* Lanes that have an entry in column j of the runs of this step. */
static inline uint32_t macko_eccsr_lanes(const macko_eccsr_steps *t, int j)
{
  if (t->s.masked) return t->masks[t->k * t->s.w + j];
  return (uint32_t)(((uint64_t)1 << t->active * t->s.g) - 1);
}

/* Values of the slices from .. to - 1, entries of *a, by a writer. */
void macko_eccsr_write_values(const macko_csr *a, const macko_matrix *m, macko_value_writer *w, int64_t from, int64_t to);

macko_status macko_eccsr_plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err);
macko_status macko_eccsr_plan_values(const macko_facts *f, const macko_matrix *m, macko_plan *plan, macko_error *err);
int macko_eccsr_may_win(const macko_facts *f, const macko_options *options, const macko_plan plans[], const macko_plan *best);
macko_status macko_eccsr_encode(macko_findings *found, macko_matrix *m, macko_error *err);
macko_status macko_eccsr_refresh(const macko_csr *a, macko_matrix *m, macko_error *err);
macko_status macko_eccsr_decode(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err);
macko_status macko_eccsr_validate(const macko_matrix *m, macko_error *err);
macko_status macko_eccsr_multiply(const macko_matrix *m, const macko_product *p, macko_error *err);

extern const macko_form macko_eccsr_forms[1];

static inline macko_value_stream macko_eccsr_stream(const macko_matrix *m)
{
  return (macko_value_stream){macko_section_data(m, "values"), macko_section_data(m, "dict")};
}

#endif
