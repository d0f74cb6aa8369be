/* Between the files of format eccsr: windows of rows cut into blocks and slices, and how slices are read back. */
#ifndef MACKO_ECCSR_H
#define MACKO_ECCSR_H

#include "core/product.h"
#include "eccsr/eccsr_params.h"
#include "eccsr/eccsr_rules.h"
#include "values/codecs.h"

/* ---- writing: blocks of a window of rows ---- */

/* A block of a window: rows with equal columns, or with masks some rows and the union of their columns. It keeps what its slice
 * needs to know of its runs, which are found before it is known in which slice the block will be. */
typedef struct {
  int32_t first;  /* place of its first row in macko_eccsr_window.rows */
  int32_t base;   /* first column of its first run; 0 where it has none */
  uint32_t runs;  /* how many runs its rows have */
  uint32_t most;  /* the longest gap, in units */
  uint8_t g, w, masked; /* its rows, the columns of a run, and whether lanes may lack entries */
  uint8_t unit;   /* w or 1: columns that its gaps are counted in */
  int64_t at;     /* its gaps in the window: run k begins gaps[at + k] units behind the end of the run before it */
} macko_eccsr_block;

/* A window of rows while it is encoded. Blocks of different lengths share slices without padding only if they are sorted by
 * length, and a window is what is sorted together. The arrays are used again for the next window. */
typedef struct {
  int nblocks;                  /* blocks that have been found */
  const int32_t *order_of_rows; /* rows of the csr in the order in which they go into windows; NULL: as they are */
  int32_t rows[MACKO_ECCSR_WINDOW]; /* of the csr, by their places in the window */
  macko_eccsr_block blocks[MACKO_ECCSR_WINDOW];
  uint64_t order[2 * MACKO_ECCSR_WINDOW]; /* low half: numbers of blocks as they follow each other; the other is for sorting */
  uint32_t *gaps; /* of all blocks */
  uint16_t *bits; /* of masked blocks: bits of its rows for each column of each run; run k from bits[(at + k) * w] on */
  int64_t used, room, bits_room; /* gaps; runs that there are bits for */
  int64_t masks;                 /* columns of all masked blocks */
} macko_eccsr_window;

/* Allocates a window without gaps; macko_eccsr_free_window gives it back and takes NULL, too. Errors: OUT_OF_MEMORY. */
macko_status macko_eccsr_new_window(macko_eccsr_window **w, macko_error *err);
void macko_eccsr_free_window(macko_eccsr_window *w);

/* Finds the blocks of the rows at places first .. first + MACKO_ECCSR_WINDOW - 1, or as many as there are, and puts them into the
 * order of their slices. What the window held before is forgotten. Errors: OUT_OF_MEMORY. */
macko_status macko_eccsr_fill_window(const macko_csr *a, const macko_eccsr_shape *shape, int64_t first, macko_eccsr_window *w,
                                     macko_error *err);

/* Where slices go. With slices NULL they are only counted, so that planning and encoding run the same code. `at` and `work` count
 * the slices that are there, from 0 on. Arrays that grow belong to the sink, and lengths have 4 bytes there; otherwise they are
 * the data of the matrix's sections. */
typedef struct {
  macko_eccsr_counts at;
  macko_eccsr_work work;
  uint32_t *slices, *words;
  int32_t *bases, *rows;
  void *lengths;
  int length_bytes, grows; /* of an element of lengths: 2 or 4; 1: the arrays are enlarged as needed */
  macko_eccsr_counts room; /* of arrays that grow */
} macko_eccsr_sink;

/* Frees the arrays of a sink that grows. */
void macko_eccsr_free_sink(macko_eccsr_sink *sink);

/* Cuts the blocks of a window into slices and adds these to the sink. Errors: OUT_OF_MEMORY, where arrays grow. */
macko_status macko_eccsr_put_window(const macko_eccsr_window *w, macko_eccsr_sink *sink, macko_error *err);

/* Returns how many rows from place `row` of the order on, and before place `past`, have the columns of the first one: at least 1.
 * With order NULL, places are rows. */
int macko_eccsr_equal_rows(const macko_csr *a, const int32_t *order, int64_t row, int64_t past);

/* Makes room for the gaps of so many runs more than the window has. Errors: OUT_OF_MEMORY. */
macko_status macko_eccsr_reserve_gaps(macko_eccsr_window *w, int64_t more, macko_error *err);

/* Cuts the columns of a row into runs of `width` consecutive ones and adds the block that they make, whose gaps the window has
 * room for. Returns 0 and adds nothing where the columns cannot be cut so. Of *b the place and the number of its rows have been
 * set. */
int macko_eccsr_add_runs(const macko_csr *a, int64_t row, int width, macko_eccsr_block *b, macko_eccsr_window *w);

/* Adds the block of so many rows from `row` on, which is at place `first` of the window, with runs of `width` columns. Where the
 * rows' columns differ these begin at multiples of it, and the block has masks. Errors: OUT_OF_MEMORY. */
macko_status macko_eccsr_add_aligned(const macko_csr *a, int64_t row, int first, int rows, int width, macko_eccsr_window *w,
                                     macko_error *err);

/* Returns how many runs of `width` columns, each from a multiple of it on, the entries of so many rows from `row` on lie in. */
int64_t macko_eccsr_count_merged(const macko_csr *a, int64_t row, int rows, int width);

/* Sets *found if most entries of some sampled rows are in rows whose columns another row has, too, wherever that one is. It reads
 * all rows once. Errors: those of macko_get_rows. */
macko_status macko_eccsr_rows_apart(macko_rows *r, int *found, macko_error *err);

/* Sets *order, which the caller frees, to all rows such that those with equal columns follow each other, at the place of the
 * first of them. Errors: OUT_OF_MEMORY. */
macko_status macko_eccsr_order_rows(const macko_csr *a, int32_t **order, macko_error *err);

/* What planning hands on to encoding in macko_findings is of one of several types, as the variants keep different things. Each
 * begins with the function that frees it. */
typedef struct {
  void (*free)(void *kept);
} macko_eccsr_kept;

/* What is known of a csr in host memory, from planning to encoding: the format's own among the findings. */
typedef struct {
  int is_sampled;              /* 1: rows have been sampled */
  macko_eccsr_sampled sampled; /* what that has counted */
  int is_grouped;              /* 1: so have groups of aligned rows */
  macko_eccsr_groups groups;
  macko_eccsr_kept *kept;      /* NULL: nothing is */
} macko_eccsr_findings;

/* Sets *own to the format's own of what has been found, empty at first. macko_eccsr_forget frees it. Errors: OUT_OF_MEMORY. */
macko_status macko_eccsr_findings_of(macko_findings *found, macko_eccsr_findings **own, macko_error *err);
void macko_eccsr_forget(void *own);

/* Puts *kept, which may be NULL, in the place of what has been kept before, and frees that. Where it fails *kept is freed. Errors:
 * OUT_OF_MEMORY. */
macko_status macko_eccsr_keep(macko_findings *found, macko_eccsr_kept *kept, macko_error *err);
/* Returns what has been kept, as encoding finds it. */
const macko_eccsr_kept *macko_eccsr_kept_of(const macko_findings *found);

/* Returns the most columns, at most MACKO_ECCSR_MAX_RUN, that the lengths of all maximal runs among the n columns from entry p on
 * are multiples of. */
int macko_eccsr_widest_run(const macko_csr *a, int64_t p, int64_t n);

/* Returns how many windows so many rows make. */
static inline int64_t macko_eccsr_windows(int64_t nrows)
{
  return (nrows + MACKO_ECCSR_WINDOW - 1) / MACKO_ECCSR_WINDOW;
}

/* Sets *view to the rows of that window, or to all rows of a matrix in memory, until the next call; rows keep their numbers. The
 * room is for rows that come in pieces. Errors: those of macko_get_rows. */
static inline macko_status macko_eccsr_view_window(macko_rows *rows, int64_t window, macko_assembly *room, macko_csr *view,
                                                   macko_error *err)
{
  const int64_t first = window * MACKO_ECCSR_WINDOW, left = rows->nrows - first;
  return macko_view_rows(rows, first, left < MACKO_ECCSR_WINDOW ? left : MACKO_ECCSR_WINDOW, room, view, err);
}

/* For rows that come in pieces: counts what macko_eccsr_host_count counts, and encodes as macko_eccsr_encode does, but a window
 * at a time, so that of the rows no more than these are in memory. Errors: those of macko_get_rows, OUT_OF_MEMORY. */
macko_status macko_eccsr_count_windows(macko_rows *rows, const macko_eccsr_shape *shape, macko_eccsr_counts *counts,
                                       macko_eccsr_work *work, macko_error *err);
macko_status macko_eccsr_encode_windows(macko_rows *rows, macko_matrix *m, macko_error *err);

/* Returns who counts for this matrix, on the host or on a GPU; NULL where nobody does. */
static inline const macko_eccsr_facts *macko_eccsr_facts_of(const macko_facts *f)
{
  return (const macko_eccsr_facts *)f->of_format[MACKO_FORMAT_ECCSR];
}

/* Finds by some of the rows how rows of equal columns best go into blocks. *counts and *work are estimates of what the whole matrix
 * then comes to: all that time and bytes depend on is set, and zeros where it fails. Errors: those of the looks. */
macko_status macko_eccsr_usual_shape(const macko_facts *f, macko_eccsr_shape *shape, macko_eccsr_counts *counts,
                                     macko_eccsr_work *work, macko_error *err);
/* Does the same, but takes aligned rows with masks where these take fewer bytes, unless rows of equal columns make blocks of two
 * and more as it is. */
macko_status macko_eccsr_choose_shape(const macko_facts *f, macko_eccsr_shape *shape, macko_eccsr_counts *counts,
                                      macko_eccsr_work *work, macko_error *err);

/* These answer what planning asks of a matrix in host memory (macko_eccsr_facts); context is its macko_findings. */
macko_status macko_eccsr_host_sample(void *context, macko_eccsr_sampled *c, macko_error *err);
macko_status macko_eccsr_host_groups(void *context, macko_eccsr_groups *c, macko_error *err);
macko_status macko_eccsr_host_apart(void *context, int *found, macko_error *err);
macko_status macko_eccsr_host_count(void *context, const macko_eccsr_shape *shape, macko_eccsr_counts *counts,
                                    macko_eccsr_work *work, macko_error *err);

/* ---- reading ---- */

/* The sections of a matrix as arrays, for everything that reads slices. */
typedef struct {
  const uint32_t *slices, *gaps; /* headers of slices; masks and gaps */
  const int32_t *bases, *rows;
  const void *lengths;
  int length_bytes;
  int64_t nslices;
} macko_eccsr_reader;

/* Finds the sections of m, which must have passed macko_eccsr_validate or come from encoding. */
macko_eccsr_reader macko_eccsr_open(const macko_matrix *m);

/* A slice as it is read step by step: which columns the step has, and which lanes have an entry in them. */
typedef struct {
  macko_eccsr_slice s;
  const uint32_t *masks, *gaps;
  int64_t k, gap;          /* the step, -1 before the first; gaps that have been read */
  int64_t slot;            /* of the next entry: the caller moves it on */
  int active;              /* blocks that have the step */
  int64_t cols[MACKO_ECCSR_LANES]; /* of blocks: where their runs begin */
} macko_eccsr_steps;

/* Returns slice i as it is before its first step. */
static inline macko_eccsr_steps macko_eccsr_open_slice(const macko_eccsr_reader *r, int64_t i)
{
  macko_eccsr_steps t = {.s = macko_eccsr_slice_at(r->slices, i), .k = -1};
  t.masks = r->gaps + t.s.words, t.gaps = t.masks + macko_eccsr_mask_words(&t.s);
  t.slot = t.s.values, t.active = t.s.blocks;
  return t;
}

/* Goes to the next step and returns 0 where there is none. The caller moves `slot`, as it alone knows how many entries it has
 * taken. The columns of all active blocks are kept because a gap counts from the run before. */
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

/* Returns a bit for each lane that has an entry in column j of the runs of this step. Shifted in 64 bits, as all 32 lanes may
 * have one. */
static inline uint32_t macko_eccsr_lanes(const macko_eccsr_steps *t, int j)
{
  if (t->s.masked) return t->masks[t->k * t->s.w + j];
  return (uint32_t)(((uint64_t)1 << t->active * t->s.g) - 1);
}

/* Writes the values of slices from .. to - 1, which are entries of *a, by a writer that knows how they are stored. */
void macko_eccsr_write_values(const macko_csr *a, const macko_matrix *m, macko_value_writer *w, int64_t from, int64_t to);

/* These are the format's functions (core/format.h) for matrices whose rows are each in one block; eccsr_format.c chooses between
 * them and those of variants paper and shared. */
macko_status macko_eccsr_plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err);
macko_status macko_eccsr_plan_values(const macko_facts *f, const macko_matrix *m, macko_plan *plan, macko_error *err);
int macko_eccsr_may_win(const macko_facts *f, const macko_options *options, const macko_plan plans[], const macko_plan *best);
macko_status macko_eccsr_promise(const macko_facts *f, const macko_options *options, double *time, macko_error *err);
macko_status macko_eccsr_encode(macko_findings *found, macko_matrix *m, macko_error *err);
macko_status macko_eccsr_refresh(const macko_csr *a, macko_matrix *m, macko_error *err);
macko_status macko_eccsr_decode(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err);
void macko_eccsr_decode_rows(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols,
                             void *values);
macko_status macko_eccsr_validate(const macko_matrix *m, macko_error *err);
macko_status macko_eccsr_multiply(const macko_matrix *m, const macko_product *p, macko_error *err);

/* What the format can be asked for: blocks of whole rows, and variants paper and shared. */
extern const macko_form macko_eccsr_forms[2];

#endif
