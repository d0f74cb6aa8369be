/* y = alpha op(A) x + beta y from format slide, compiled for several vector widths and chosen by what the processor has. */
#include "core/cpu.h"
#include "core/product.h"
#include "core/threads.h"
#include "slide/slide.h"

#include <string.h>

enum {
  CELLS = MACKO_SLIDE_LANES, /* cells that are decoded together: those whose slots lie at one distance from each other */
  ROOM = 2 * CELLS + 8,      /* slots of one window of these, and a vector more, as the last vector may reach beyond them */
  WINDOWS = MACKO_SLIDE_MOST - 1 /* the most windows of a block */
};

/* This holds a few cells of a row: for each window the columns of its slots, negative where there is no entry, and their values.
 * Slots of a window lie together, so that a vector takes those of several cells. */
typedef struct {
  int count; /* how many cells there are */
  int32_t cols[WINDOWS][ROOM];
  double values[WINDOWS][ROOM];
} chunk;

/* These are the columns of a window's two slots, from its first column on, by its four bits; NONE where there is no entry. */
#define NONE (-1)
static const int32_t columns_of[16][2] = {{0, NONE},    {NONE, NONE}, {NONE, NONE}, {NONE, NONE}, {0, 1},    {1, NONE},
                                          {NONE, NONE}, {NONE, NONE}, {0, 2},       {1, 2},       {2, NONE}, {NONE, NONE},
                                          {0, 3},       {1, 3},       {2, 3},       {3, NONE}};
#undef NONE

/* Gives the column of a slot of a window that begins at column `at`, and -1 where there is no entry. It neither branches nor
 * overflows, as windows of the last block may begin beyond the greatest column. */
static inline int32_t column_at(uint32_t at, int32_t offset)
{
  return (int32_t)(at + (uint32_t)offset) | offset >> 31;
}

/* Sets the columns of the cells from `cell` on, before `end`, as far as they lie in one tile at one distance; `first` is the
 * first cell of the row. Behind them come eight columns that say "no entry", for the last vector. */
static inline __attribute__((always_inline)) void read_columns(const macko_slide_reader *r, int64_t first, int64_t cell,
                                                               int64_t end, chunk *c)
{
  const int64_t most = CELLS - cell % CELLS;
  c->count = (int)(end - cell < most ? end - cell : most);
  for (int i = 0; i < c->count; i++) {
    uint32_t positions = macko_slide_positions(r, cell + i);
    uint32_t at = (uint32_t)(macko_slide_block(r, first, cell + i) * 2 * r->n);
    for (int w = 0; w < r->n - 1; w++, at += 2, positions >>= 4) {
      c->cols[w][2 * i] = column_at(at, columns_of[positions & 15][0]);
      c->cols[w][2 * i + 1] = column_at(at, columns_of[positions & 15][1]);
    }
  }
  for (int w = 0; w < r->n - 1; w++)
    for (int i = 2 * c->count; i < 2 * c->count + 8; i++) c->cols[w][i] = -1;
}

/* Sets the values of the cells of *c, from `cell` on, as doubles; stored and table are constants. */
static inline __attribute__((always_inline)) void read_values_as(const macko_slide_reader *r, macko_type stored, macko_type table,
                                                                 const macko_value_stream *v, int64_t cell, chunk *c)
{
  for (int w = 0; w < r->n - 1; w++) {
    const int64_t slot = macko_slide_slot(r->n, r->per, cell, 2 * w);
    for (int i = 0; i < c->count; i++) {
      c->values[w][2 * i] = macko_value_at(stored, table, v, slot + i * 2 * r->per);
      c->values[w][2 * i + 1] = macko_value_at(stored, table, v, slot + i * 2 * r->per + 1);
    }
  }
}

/* Does the same for the type that the matrix has. */
static void read_values(const macko_slide_reader *r, const macko_matrix *m, const macko_value_stream *v, int64_t cell, chunk *c)
{
  switch (m->plan.stored_type) {
  case MACKO_F64: read_values_as(r, MACKO_F64, m->value_type, v, cell, c); break;
  case MACKO_F32: read_values_as(r, MACKO_F32, m->value_type, v, cell, c); break;
  case MACKO_F16: read_values_as(r, MACKO_F16, m->value_type, v, cell, c); break;
  case MACKO_BF16: read_values_as(r, MACKO_BF16, m->value_type, v, cell, c); break;
  case MACKO_U8: read_values_as(r, MACKO_U8, m->value_type, v, cell, c); break;
  case MACKO_U16: read_values_as(r, MACKO_U16, m->value_type, v, cell, c); break;
  default: read_values_as(r, MACKO_I8, m->value_type, v, cell, c);
  }
}

/* Gives the sum of the terms of a row's entries that are in the rest, for one vector. */
static double rest_of_row(const macko_slide_reader *r, const macko_matrix *m, const macko_value_stream *v, const macko_product *q,
                          int64_t vector, int64_t row)
{
  double sum = 0;
  for (int64_t i = macko_slide_rest(r, row), end = macko_slide_rest(r, row + 1); i < end; i++)
    sum += macko_value_at(m->plan.stored_type, m->value_type, v, r->first_rest + i) *
           macko_x(q->vector_type, q, vector, r->rest_cols[i]);
  return sum;
}

/* ---- op N ---- */

#define KERNEL "slide/slide_simd/kernel.inc"
#include "core/widths.inc"

/* ---- op T ---- */

/* Adds a row to y, for one vector: its entries times alpha and its element of x. */
static void transpose_row(const macko_slide_reader *r, const macko_matrix *m, const macko_value_stream *v, const macko_product *q,
                          int64_t row)
{
  int64_t first = macko_slide_start(r, row), end = macko_slide_start(r, row + 1);
  int64_t rest = macko_slide_rest(r, row), rest_end = macko_slide_rest(r, row + 1);
  const double x = q->alpha * macko_x(q->vector_type, q, 0, row);
  macko_slide_entries e;
  for (int64_t cell = first; cell < end; cell++) {
    macko_slide_read(r, cell, macko_slide_block(r, first, cell), &rest, rest_end, &e);
    for (int j = 0; j < e.count; j++)
      macko_add_y(q->vector_type, q, 0, e.cols[j], macko_value_at(m->plan.stored_type, m->value_type, v, e.slots[j]) * x);
  }
}

/* As a macko_pieces for op T this multiplies rows from .. to - 1, a vector at a time. */
static void transpose_rows(const macko_matrix *m, const macko_product *p, int64_t from, int64_t to)
{
  macko_slide_reader r = macko_slide_open(m);
  macko_value_stream v = macko_stream_of(m);
  for (int64_t j = 0; j < p->k; j++) {
    macko_product q = macko_product_from(p, j);
    for (int64_t i = from; i < to; i++) transpose_row(&r, m, &v, &q, i);
  }
}

/* Threads get rows with about as many cells each. For op T y is scaled by beta before terms are added to it. */
macko_status macko_slide_multiply(const macko_matrix *m, const macko_product *p, macko_error *err)
{
  const macko_section *starts = macko_find_section(m, "starts");
  const macko_cut cut = {m->nrows, starts->type, starts->data, 1, macko_slide_counts_of(&m->plan)->cells};
  (void)err;
  if (p->op == MACKO_OP_T) macko_scale(p, m->ncols);
  macko_share_product(m, p, p->op == MACKO_OP_N ? multiply_widest : transpose_rows, &cut);
  return MACKO_OK;
}
