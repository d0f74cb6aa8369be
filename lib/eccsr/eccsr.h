/* Between the files of format eccsr: windows of rows cut into blocks and slices, and how slices are read back. */
#ifndef MACKO_ECCSR_H
#define MACKO_ECCSR_H

#include "core/product.h"
#include "eccsr/eccsr_params.h"
#include "eccsr/eccsr_rules.h"
#include "values/codecs.h"

/* ---- writing: blocks of a window of rows ---- */

/* Rows of equal columns, or for a masked block rows and the union of their columns, with what its slice needs to know of its runs. */
typedef struct {
  int32_t first;  /* place of its first row in macko_eccsr_window.rows */
  int32_t base;   /* first column of its first run */
  uint32_t runs;
  uint32_t most;  /* the longest gap, in units */
  uint8_t g, w, masked;
  uint8_t unit;   /* w or 1: columns that its gaps are counted in */
  int64_t at;     /* its gaps in the window: run k begins gaps[at + k] units behind the end of the run before it */
} macko_eccsr_block;

typedef struct {
  int nblocks;
  const int32_t *order_of_rows; /* rows of the csr in the order in which they go into windows; NULL: as they are */
  int32_t rows[MACKO_ECCSR_WINDOW];
  macko_eccsr_block blocks[MACKO_ECCSR_WINDOW];
  uint64_t order[2 * MACKO_ECCSR_WINDOW]; /* numbers of blocks in the low half, as they follow each other in slices */
  uint32_t *gaps; /* of all blocks */
  uint16_t *bits; /* of masked blocks: bits of its rows for each column of each run; run k from bits[(at + k) * w] on */
  int64_t used, room, bits_room; /* gaps; runs that there are bits for */
  int64_t masks;                 /* columns of all masked blocks */
} macko_eccsr_window;

macko_status macko_eccsr_new_window(macko_eccsr_window **w, macko_error *err);
void macko_eccsr_free_window(macko_eccsr_window *w);

/* Blocks of rows first .. first + MACKO_ECCSR_WINDOW - 1, as many as there are, in the order of their slices. Errors:
 * OUT_OF_MEMORY. */
macko_status macko_eccsr_fill_window(const macko_csr *a, const macko_eccsr_shape *shape, int64_t first, macko_eccsr_window *w,
                                     macko_error *err);

/* Where slices go, or with slices NULL are only counted; `at` and `work` count those that are there. Arrays that grow belong to the
 * sink, and lengths have 4 bytes there. */
typedef struct {
  macko_eccsr_counts at;
  macko_eccsr_work work;
  uint32_t *slices, *words;
  int32_t *bases, *rows;
  void *lengths;
  int length_bytes, grows;
  macko_eccsr_counts room; /* of arrays that grow */
} macko_eccsr_sink;

void macko_eccsr_free_sink(macko_eccsr_sink *sink);

/* Adds the slices of a window. Errors: OUT_OF_MEMORY, where arrays grow. */
macko_status macko_eccsr_put_window(const macko_eccsr_window *w, macko_eccsr_sink *sink, macko_error *err);

/* Rows from place `row` of the order on, before `past`, with equal columns: how many. */
int macko_eccsr_equal_rows(const macko_csr *a, const int32_t *order, int64_t row, int64_t past);

/* 1 if the n columns from entry p on are runs of w consecutive ones. */
int macko_eccsr_is_cut(const macko_csr *a, int64_t p, int64_t n, int w);

/* Room for the gaps of so many runs more. Errors: OUT_OF_MEMORY. */
macko_status macko_eccsr_reserve_gaps(macko_eccsr_window *w, int64_t more, macko_error *err);

/* The columns of a row as runs of w consecutive ones, whose gaps the window has room for; 0 and no block where they are none. Of *b
 * rows have been set. */
int macko_eccsr_add_runs(const macko_csr *a, int64_t row, int width, macko_eccsr_block *b, macko_eccsr_window *w);

/* Adds the block of so many rows from `row` on, which is at place `first` of the window, in runs of `width` columns from multiples
 * of it on. Errors: OUT_OF_MEMORY. */
macko_status macko_eccsr_add_aligned(const macko_csr *a, int64_t row, int first, int rows, int width, macko_eccsr_window *w,
                                     macko_error *err);

/* *found: by a sample most entries are in rows with the columns of a row elsewhere. Errors: as macko_get_rows. */
macko_status macko_eccsr_rows_apart(macko_rows *r, int *found, macko_error *err);

/* *order, which the caller frees: rows with equal columns behind each other, in the order of the first of their columns. Errors:
 * OUT_OF_MEMORY. */
macko_status macko_eccsr_order_rows(const macko_csr *a, int32_t **order, macko_error *err);

/* What planning hands on to encoding, macko_findings, begins with how it is freed. */
typedef struct {
  void (*free)(void *kept);
} macko_eccsr_kept;
void macko_eccsr_forget(void *kept);

/* The most columns, at most MACKO_ECCSR_MAX_RUN, that all maximal runs of the n from entry p on are multiples of. */
int macko_eccsr_widest_run(const macko_csr *a, int64_t p, int64_t n);

static inline int64_t macko_eccsr_windows(int64_t nrows)
{
  return (nrows + MACKO_ECCSR_WINDOW - 1) / MACKO_ECCSR_WINDOW;
}

/* *view has the rows of that window, or all rows, until the next call; the room is for rows in pieces. Errors: as macko_get_rows. */
static inline macko_status macko_eccsr_view_window(macko_rows *rows, int64_t window, macko_assembly *room, macko_csr *view,
                                                   macko_error *err)
{
  const int64_t first = window * MACKO_ECCSR_WINDOW, left = rows->nrows - first;
  return macko_view_rows(rows, first, left < MACKO_ECCSR_WINDOW ? left : MACKO_ECCSR_WINDOW, room, view, err);
}

/* Of rows that come in pieces, a window at a time: what host_count counts, and what encode encodes. Errors: as macko_get_rows. */
macko_status macko_eccsr_count_windows(macko_rows *rows, const macko_eccsr_shape *shape, macko_eccsr_counts *counts,
                                       macko_eccsr_work *work, macko_error *err);
macko_status macko_eccsr_encode_windows(macko_rows *rows, macko_matrix *m, macko_error *err);

/* The answers to what planning asks; context: macko_findings. */
void macko_eccsr_host_estimate(void *context, macko_eccsr_counts *counts, macko_eccsr_work *work);
macko_status macko_eccsr_host_sample(void *context, macko_eccsr_shape *shape, macko_error *err);
macko_status macko_eccsr_host_apart(void *context, int *found, macko_error *err);
macko_status macko_eccsr_host_count(void *context, const macko_eccsr_shape *shape, macko_eccsr_counts *counts, macko_eccsr_work *work,
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
void macko_eccsr_decode_rows(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols, void *values);
macko_status macko_eccsr_validate(const macko_matrix *m, macko_error *err);
macko_status macko_eccsr_multiply(const macko_matrix *m, const macko_product *p, macko_error *err);

extern const macko_form macko_eccsr_forms[2];

#endif
