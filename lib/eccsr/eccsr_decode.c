/* Format eccsr read back: decode to CSR, and the check that no header, length, gap, row or mask leads outside the arrays. */
#include "eccsr/eccsr.h"

#include <stdlib.h>
#include <string.h>

/* ---- decode ---- */

/* Moves the slot behind the entries of the step at hand. */
static void move_slot(macko_eccsr_steps *t)
{
  for (int j = 0; j < t->s.w; j++) t->slot += __builtin_popcount(macko_eccsr_lanes(t, j));
}

/* Adds the entries of every row of slice i to the element behind it, row_ptr[row + 1]. */
static void count_slice(const macko_eccsr_reader *r, int64_t i, int64_t *row_ptr)
{
  macko_eccsr_steps t = macko_eccsr_open_slice(r, i);
  while (macko_eccsr_next_step(r, &t))
    for (int j = 0; j < t.s.w; j++)
      for (uint32_t lanes = macko_eccsr_lanes(&t, j); lanes; lanes &= lanes - 1)
        row_ptr[macko_eccsr_row(&t.s, r->rows, __builtin_ctz(lanes)) + 1]++;
}

/* Which rows are decoded, and where to: entries of rows first .. past - 1, those of row i from element starts[i] - starts[first]
 * on. cols and values may be NULL. */
typedef struct {
  const int64_t *starts;
  int64_t first, past, *cols;
  void *values;
} wanted;

/* Decodes those rows of slice i that are wanted. A slice without any is passed over; in others all steps are walked, as columns
 * count from each other. */
static void decode_slice(const macko_matrix *m, const macko_eccsr_reader *r, int64_t i, const wanted *w)
{
  macko_value_stream v = macko_stream_of(m);
  macko_eccsr_steps t = macko_eccsr_open_slice(r, i);
  int64_t next[MACKO_ECCSR_LANES];
  int any = 0;
  for (int l = 0; l < t.s.blocks * t.s.g; l++) {
    /* -1 marks lanes whose rows are not wanted. */
    int64_t row = macko_eccsr_row(&t.s, r->rows, l), inside = row >= w->first && row < w->past;
    next[l] = inside ? w->starts[row] - w->starts[w->first] : -1;
    any |= inside != 0;
  }
  while (any && macko_eccsr_next_step(r, &t))
    for (int j = 0; j < t.s.w; j++)
      for (uint32_t lanes = macko_eccsr_lanes(&t, j); lanes; lanes &= lanes - 1, t.slot++) {
        int l = __builtin_ctz(lanes);
        if (next[l] < 0) continue;
        if (w->cols) w->cols[next[l]] = t.cols[l / t.s.g] + j;
        if (w->values) macko_read_values(&m->plan, m->value_type, &v, t.slot, 1, 1, w->values, next[l]);
        next[l]++;
      }
}

/* All slices are looked at, as the rows of one lie anywhere in a window, or in the matrix. */
void macko_eccsr_decode_rows(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols, void *values)
{
  const macko_eccsr_reader r = macko_eccsr_open(m);
  const wanted w = {starts, first, past, cols, values};
  for (int64_t i = 0; (cols || values) && i < r.nslices; i++) decode_slice(m, &r, i, &w);
}

/* Entries are counted first, as the sections have no row starts. */
macko_status macko_eccsr_decode(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err)
{
  macko_eccsr_reader r = macko_eccsr_open(m);
  int64_t *starts = row_ptr ? row_ptr : malloc((size_t)(m->nrows + 1) * sizeof *starts);
  if (!starts) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for the starts of %lld rows", (long long)m->nrows);
  memset(starts, 0, (size_t)(m->nrows + 1) * sizeof *starts);
  for (int64_t i = 0; i < r.nslices; i++) count_slice(&r, i, starts);
  for (int64_t i = 0; i < m->nrows; i++) starts[i + 1] += starts[i];
  macko_eccsr_decode_rows(m, starts, 0, m->nrows, cols, values);
  if (starts != row_ptr) free(starts);
  return MACKO_OK;
}

/* ---- validate ---- */

/* What the checks of slices add up to: every slice has to begin where those before it end, so that nothing in the sections is
 * read twice or left out. */
typedef struct {
  const macko_matrix *m;
  macko_eccsr_reader r;
  macko_eccsr_counts found; /* what the slices before take */
  int64_t slot;             /* entries of the slices before */
  uint8_t *seen; /* a bit for each row that a lane has held so far */
} check;

/* Checks the parameters: sizes of arrays can be computed from them without overflow, and numbers of blocks and rows fit the
 * headers. */
static macko_status validate_plan(const macko_matrix *m, macko_error *err)
{
  const macko_eccsr_counts *c = &macko_eccsr_params_of(&m->plan)->of.counts;
  if (m->ncols > INT32_MAX || m->nrows > INT32_MAX)
    return macko_fail(err, MACKO_CORRUPT, "format eccsr holds at most %d rows and columns, not %lld x %lld", INT32_MAX,
                      (long long)m->nrows, (long long)m->ncols);
  for (int i = 0; i < 5; i++)
    if (m->plan.params[i] < 0 || m->plan.params[i] > INT64_MAX / 64)
      return macko_fail(err, MACKO_CORRUPT, "parameter %d is %lld", i, (long long)m->plan.params[i]);
  if (c->blocks > UINT32_MAX || c->rows > m->nrows || c->longest > UINT32_MAX)
    return macko_fail(err, MACKO_CORRUPT, "%lld blocks, %lld rows of %lld, %lld runs in one", (long long)c->blocks,
                      (long long)c->rows, (long long)m->nrows, (long long)c->longest);
  return macko_check_codec(m, err);
}

/* Checks the header of slice i: it begins where the slice before ends, and its rows, blocks and masks are inside the sections. */
static macko_status validate_header(const check *c, int64_t i, const macko_eccsr_slice *s, macko_error *err)
{
  const macko_eccsr_counts *all = &macko_eccsr_params_of(&c->m->plan)->of.counts, *f = &c->found;
  uint32_t info = c->r.slices[i * MACKO_ECCSR_SLICE_WORDS + 7];
  int64_t rows = s->in_order ? s->blocks : s->blocks * s->g;
  /* Bits that a header does not use must be 0. */
  if (info >> 17 || s->g * s->blocks > MACKO_ECCSR_LANES || s->values != c->slot || s->words != f->words ||
      s->block != f->blocks || s->row != f->rows || f->blocks + s->blocks > all->blocks || f->rows + rows > all->rows ||
      s->steps > all->longest || (s->masked && s->steps > (all->words - f->words) / s->w))
    return macko_fail(err, MACKO_CORRUPT,
                      "slice %lld (info %08x) of %u steps begins at value %lld, word %lld, block %u and row %u; it should at "
                      "%lld, %lld, %lld and %lld, or leads beyond the ends",
                      (long long)i, info, s->steps, (long long)s->values, (long long)s->words, s->block, s->row,
                      (long long)c->slot, (long long)f->words, (long long)f->blocks, (long long)f->rows);
  return MACKO_OK;
}

/* Checks that the blocks of slice i are in the order of falling length, that one without runs has base 0, so that a matrix has
 * one encoding, and that their gaps are inside the section. *gaps becomes the number of these. */
static macko_status validate_lengths(const check *c, int64_t i, const macko_eccsr_slice *s, int64_t *gaps, macko_error *err)
{
  const macko_eccsr_counts *all = &macko_eccsr_params_of(&c->m->plan)->of.counts;
  uint32_t before = s->steps;
  *gaps = 0;
  for (int b = 0; b < s->blocks; b++) {
    uint32_t length = macko_eccsr_length(c->r.lengths, c->r.length_bytes, s->block + (int64_t)b);
    if (length > before || (b == 0 && length < before))
      return macko_fail(err, MACKO_CORRUPT,
                        "block %lld of slice %lld has %u runs, where the slice has %u steps and the block before %u",
                        (long long)s->block + b, (long long)i, length, s->steps, before);
    if (length == 0 && c->r.bases[s->block + (int64_t)b])
      return macko_fail(err, MACKO_CORRUPT, "block %lld has no runs and begins at column %d, not 0", (long long)s->block + b,
                        c->r.bases[s->block + (int64_t)b]);
    *gaps += length ? length - 1 : 0;
    before = length;
  }
  int64_t words = macko_eccsr_mask_words(s) + macko_eccsr_gap_words(s->gap_bits, *gaps);
  if (words > all->words - c->found.words)
    return macko_fail(err, MACKO_CORRUPT, "slice %lld needs %lld words of gaps and masks from %lld on; there are %lld",
                      (long long)i, (long long)words, (long long)c->found.words, (long long)all->words);
  return MACKO_OK;
}

/* Checks that every lane of slice i holds a row of the matrix that no other lane holds. */
static macko_status validate_rows(const check *c, int64_t i, const macko_eccsr_slice *s, macko_error *err)
{
  for (int l = 0; l < s->blocks * s->g; l++) {
    int64_t row = macko_eccsr_row(s, c->r.rows, l);
    if (row < 0 || row >= c->m->nrows || c->seen[row / 8] >> row % 8 & 1)
      return macko_fail(err, MACKO_CORRUPT, "lane %d of slice %lld holds row %lld of %lld, which is not there or another lane's", l,
                        (long long)i, (long long)row, (long long)c->m->nrows);
    c->seen[row / 8] |= (uint8_t)(1 << row % 8);
  }
  return MACKO_OK;
}

/* Walks the steps of slice i: columns are inside the matrix, lanes of masks inside the blocks that have the step. A run may reach
 * beyond the last column where masks say that no lane has an entry there. The walk stops once there are more entries than the
 * matrix has. */
static macko_status validate_steps(check *c, int64_t i, macko_error *err)
{
  macko_eccsr_steps t = macko_eccsr_open_slice(&c->r, i);
  for (; macko_eccsr_next_step(&c->r, &t); move_slot(&t)) {
    uint64_t there = ((uint64_t)1 << t.active * t.s.g) - 1;
    for (int j = 0; j < t.s.w; j++) {
      uint32_t lanes = macko_eccsr_lanes(&t, j);
      if (lanes & ~there)
        return macko_fail(err, MACKO_CORRUPT, "step %lld of slice %lld has a mask of %08x, where lanes %08x have it",
                          (long long)t.k, (long long)i, lanes, (uint32_t)there);
      for (int b = 0; b < t.active; b++) {
        int64_t col = t.cols[b] + j, has = lanes >> b * t.s.g & ((1u << t.s.g) - 1);
        if (t.cols[b] < 0 || t.cols[b] >= c->m->ncols || (has && col >= c->m->ncols))
          return macko_fail(err, MACKO_CORRUPT, "block %lld has column %lld at step %lld; the matrix has %lld",
                            (long long)t.s.block + b, (long long)col, (long long)t.k, (long long)c->m->ncols);
      }
    }
    if (t.slot > c->m->nnz) break;
  }
  c->slot = t.slot;
  if (t.slot <= c->m->nnz) return MACKO_OK;
  return macko_fail(err, MACKO_CORRUPT, "the first %lld slices hold more than the %lld entries of the matrix", (long long)i + 1,
                    (long long)c->m->nnz);
}

/* Checks slice i, each part before what it lets be read, and adds what it takes to what has been found. */
static macko_status validate_slice(check *c, int64_t i, macko_error *err)
{
  macko_eccsr_slice s = macko_eccsr_slice_at(c->r.slices, i);
  int64_t gaps = 0;
  macko_status status = validate_header(c, i, &s, err);
  if (!status) status = validate_lengths(c, i, &s, &gaps, err);
  if (!status) status = validate_rows(c, i, &s, err);
  if (!status) status = validate_steps(c, i, err);
  /* These are counted after a failure, too, as the caller stops then. */
  c->found.blocks += s.blocks, c->found.rows += s.in_order ? s.blocks : s.blocks * s.g;
  c->found.words += macko_eccsr_mask_words(&s) + macko_eccsr_gap_words(s.gap_bits, gaps);
  c->found.masked += s.masked;
  if (s.steps) c->found.widths |= (int64_t)1 << s.w;
  if (s.steps > c->found.longest) c->found.longest = s.steps;
  c->found.slices += s.blocks * s.g; /* rows, until all are counted */
  return status;
}

/* Checks that all slices together hold every row and every entry and take what the plan says, which kernels were chosen by. */
static macko_status validate_counts(const check *c, macko_error *err)
{
  const macko_eccsr_counts *all = &macko_eccsr_params_of(&c->m->plan)->of.counts, *f = &c->found;
  if (f->slices != c->m->nrows || c->slot != c->m->nnz)
    return macko_fail(err, MACKO_CORRUPT, "the slices hold %lld rows and %lld entries, the matrix %lld and %lld",
                      (long long)f->slices, (long long)c->slot, (long long)c->m->nrows, (long long)c->m->nnz);
  if (f->blocks != all->blocks || f->rows != all->rows || f->words != all->words || f->longest != all->longest ||
      f->masked != all->masked || f->widths != all->widths)
    return macko_fail(err, MACKO_CORRUPT,
                      "the slices have %lld blocks, %lld rows, %lld words, %lld runs at most, %lld of them masks and widths %llx; "
                      "the plan says %lld, %lld, %lld, %lld, %lld and %llx",
                      (long long)f->blocks, (long long)f->rows, (long long)f->words, (long long)f->longest, (long long)f->masked,
                      (long long)f->widths, (long long)all->blocks, (long long)all->rows, (long long)all->words,
                      (long long)all->longest, (long long)all->masked, (long long)all->widths);
  return MACKO_OK;
}

/* Codes of values are checked last, as they need no slices. */
macko_status macko_eccsr_validate(const macko_matrix *m, macko_error *err)
{
  macko_status s = validate_plan(m, err);
  if (!s) s = macko_check_sections(m, err);
  if (s) return s;
  check c = {.m = m, .r = macko_eccsr_open(m), .seen = calloc((size_t)m->nrows / 8 + 1, 1)};
  if (!c.seen) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to check %lld rows", (long long)m->nrows);
  for (int64_t i = 0; i < c.r.nslices && !s; i++) s = validate_slice(&c, i, err);
  if (!s) s = validate_counts(&c, err);
  free(c.seen);
  return s ? s : macko_check_codes(m, err);
}
