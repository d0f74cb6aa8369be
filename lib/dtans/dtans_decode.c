/* CSR-dtANS: the matrix back as CSR, products with it, and the check of data from outside. */
#include "core/product.h"
#include "dtans/dtans_reader.h"

#include <stdlib.h>
#include <string.h>

/* ---- reader ---- */

/* Sets the symbol of each slot of a table; slots behind the last symbol's get the number of symbols. */
static void fill_table(const macko_matrix *m, macko_dtans_part part, uint16_t symbol[MACKO_DTANS_SLOTS])
{
  const macko_section *slots = macko_find_section(m, part & MACKO_DTANS_GAPS ? "gap_slots" : "value_slots");
  const uint16_t *first = slots->data;
  int symbols = (int)(slots->bytes / 2) - 1;
  for (int i = 0; i < symbols; i++)
    for (int slot = first[i]; slot < first[i + 1]; slot++) symbol[slot] = (uint16_t)i;
  for (int slot = first[symbols]; slot < MACKO_DTANS_SLOTS; slot++) symbol[slot] = (uint16_t)symbols;
}

/* Values have a table in their own stream, or as the second domain of variant paper. */
void macko_dtans_fill_slots(const macko_matrix *m, macko_dtans_slots *slots)
{
  for (int i = 0; i <= macko_dtans_has_value_stream(&m->plan); i++) {
    macko_dtans_part part[MACKO_DTANS_DOMAINS];
    macko_dtans_coding coding = macko_dtans_stream_coding(m->plan.params, m->value_type, i, part);
    for (int k = 0; k < coding.domains; k++) fill_table(m, part[k], part[k] & MACKO_DTANS_GAPS ? slots->gaps : slots->values);
  }
}

/* After refresh the memory that is there is filled again, so that it cannot fail. */
macko_status macko_dtans_prepare(macko_matrix *m, macko_error *err)
{
  if (!m->prepared) m->prepared = malloc(sizeof(macko_dtans_slots));
  if (!m->prepared) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for the symbols of %d slots", MACKO_DTANS_SLOTS);
  macko_dtans_fill_slots(m, m->prepared);
  return MACKO_OK;
}

/* Sets up the lookup in the table of that part. */
static void open_lookup(const macko_matrix *m, const macko_dtans_slots *all, macko_dtans_part part, macko_dtans_lookup *t)
{
  const macko_section *slots = macko_find_section(m, part & MACKO_DTANS_GAPS ? "gap_slots" : "value_slots");
  int escape = (int)m->plan.params[part & MACKO_DTANS_GAPS ? MACKO_DTANS_GAP_ESCAPE : MACKO_DTANS_VALUE_ESCAPE];
  t->first = slots->data;
  t->symbols = (int)(slots->bytes / 2) - 1;
  t->escape = escape ? t->symbols - 1 : -1;
  t->gaps = part & MACKO_DTANS_GAPS ? macko_find_section(m, "gap_symbols")->data : NULL;
  t->values = part & MACKO_DTANS_VALUES ? macko_find_section(m, "value_symbols")->data : NULL;
  t->symbol = part & MACKO_DTANS_GAPS ? all->gaps : all->values;
}

/* Sets up stream i. */
static void open_stream(const macko_matrix *m, const macko_dtans_slots *slots, int i, macko_dtans_stream *s)
{
  macko_dtans_part part[MACKO_DTANS_DOMAINS];
  s->coding = macko_dtans_stream_coding(m->plan.params, m->value_type, i, part);
  s->words = macko_find_section(m, i ? "value_stream" : "stream")->data;
  s->slices = macko_find_section(m, i ? "value_slices" : "slices");
  for (int k = 0; k < s->coding.domains; k++) open_lookup(m, slots, part[k], &s->lookup[k]);
}

/* Sections are found by name once, not for every slice. */
void macko_dtans_open_reader(const macko_matrix *m, const macko_dtans_slots *slots, macko_dtans_reader *r)
{
  const int64_t *q = m->plan.params;
  r->m = m;
  r->rows = q[MACKO_DTANS_ROWS];
  r->relative = (int)q[MACKO_DTANS_RELATIVE];
  r->values_coded = m->plan.values == MACKO_VALUES_CODED;
  r->lengths = macko_find_section(m, "lengths");
  r->value_slices = r->values_coded ? NULL : macko_find_section(m, "value_slices");
  if (q[MACKO_DTANS_ONE_VALUE]) r->value = macko_bits_at(m->value_type, macko_find_section(m, "value_symbols")->data, 0);
  open_stream(m, slots, 0, &r->stream[0]);
  if (macko_dtans_has_value_stream(&m->plan)) open_stream(m, slots, 1, &r->stream[1]);
}

/* ---- decode ---- */

/* What decoding writes, and where to. */
typedef struct {
  const macko_matrix *m;
  macko_value_stream values_beside;
  int64_t first_row, start[MACKO_DTANS_MAX_ROWS * MACKO_DTANS_LANES + 1]; /* where the rows of the slice go */
  int64_t *cols;
  void *values;
} decoder;

/* Writes an entry to its place; as the entry of a sink. Values that are not coded come as their slots. */
static inline void decode_entry(void *context, int l, int64_t row, int64_t i, int64_t col, uint64_t bits)
{
  decoder *d = context;
  int64_t p = d->start[row - d->first_row] + i;
  (void)l;
  if (d->cols) d->cols[p] = col;
  if (!d->values) return;
  if (d->m->plan.values == MACKO_VALUES_CODED) macko_put_bits(d->m->value_type, d->values, p, bits);
  else macko_read_values(&d->m->plan, d->m->value_type, &d->values_beside, (int64_t)bits, 1, 1, d->values, p);
}

/* Ends a row, as a sink has to. */
static inline void skip_row(void *context, int l, int64_t row)
{
  (void)context, (void)l, (void)row;
}

/* The starts of a slice's rows go on from where those of the slice before end, so that decoding needs no row_ptr. */
macko_status macko_dtans_decode(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err)
{
  static const macko_dtans_sink sink = {decode_entry, skip_row};
  macko_dtans_reader r;
  macko_dtans_walk w;
  decoder d = {.m = m, .values_beside = macko_stream_of(m), .cols = cols, .values = values};
  (void)err;
  macko_dtans_open_reader(m, m->prepared, &r);
  if (row_ptr) row_ptr[0] = 0;
  for (int64_t i = 0; row_ptr && i < m->nrows; i++) row_ptr[i + 1] = row_ptr[i] + macko_dtans_length(r.lengths, i);
  for (int64_t slice = 0; (cols || values) && slice < macko_dtans_slices(m->nrows, r.rows); slice++) {
    int64_t rows = r.rows * MACKO_DTANS_LANES, next = d.start[rows];
    d.first_row = slice * rows;
    /* Rows behind the last one of the matrix have no entries. */
    for (int64_t i = 0; i < rows; i++) {
      d.start[i] = next;
      if (d.first_row + i < m->nrows) next += macko_dtans_length(r.lengths, d.first_row + i);
    }
    d.start[rows] = next;
    macko_dtans_walk_any(&r, slice, &w, sink, &d);
  }
  return MACKO_OK;
}

/* Writes an entry as decode_entry does if its row is wanted; others have no place. */
static inline void decode_wanted(void *context, int l, int64_t row, int64_t i, int64_t col, uint64_t bits)
{
  const decoder *d = context;
  if (d->start[row - d->first_row] >= 0) decode_entry(context, l, row, i, col, bits);
}

/* Slices are walked whole, as their lanes are decoded together. */
void macko_dtans_decode_rows(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols, void *values)
{
  static const macko_dtans_sink sink = {decode_wanted, skip_row};
  macko_dtans_reader r;
  macko_dtans_walk w;
  decoder d = {.m = m, .values_beside = macko_stream_of(m), .cols = cols, .values = values};
  macko_dtans_open_reader(m, m->prepared, &r);
  const int64_t rows = r.rows * MACKO_DTANS_LANES;
  for (int64_t slice = first / rows; slice * rows < past && (cols || values); slice++) {
    d.first_row = slice * rows;
    /* -1 marks rows that are not wanted. */
    for (int64_t i = 0, row = d.first_row; i < rows; i++, row++)
      d.start[i] = row >= first && row < past ? starts[row] - starts[first] : -1;
    macko_dtans_walk_any(&r, slice, &w, sink, &d);
  }
}

/* ---- multiply ---- */

/* What a multiply keeps while it walks: the vectors, and for op N the sums of the rows that lanes are at. */
typedef struct {
  const macko_matrix *m;
  macko_value_stream values_beside;
  const macko_product *product;
  double sum[MACKO_DTANS_LANES][MACKO_GROUP];
} multiplier;

/* Returns the value of an entry as a double, of its bits or, where values are not coded, of its slot. */
MACKO_DTANS_LOOP double number(const multiplier *c, macko_type type, uint64_t bits)
{
  double value;
  if (c->m->plan.values != MACKO_VALUES_CODED)
    return macko_value_at(c->m->plan.stored_type, type, &c->values_beside, (int64_t)bits);
  switch (type) {
  case MACKO_F64: memcpy(&value, &bits, sizeof value); return value;
  case MACKO_F32: return macko_float_from_bits((uint32_t)bits);
  case MACKO_F16: return macko_f16_to_f32((uint16_t)bits);
  default: return macko_bf16_to_f32((uint16_t)bits);
  }
}

/* Multiplies an entry by `group` vectors: into the sums of its lane, or for op T into y. */
MACKO_DTANS_LOOP void multiply_entry(multiplier *c, int l, int64_t row, int64_t col, double value, macko_type vector, macko_op op,
                                     int group)
{
  for (int j = 0; j < group; j++)
    if (op == MACKO_OP_N) c->sum[l][j] += value * macko_x(vector, c->product, j, col);
    else macko_add_y(vector, c->product, j, col, value * (c->product->alpha * macko_x(vector, c->product, j, row)));
}

/* Puts the sums of a row into y and begins those of the lane's next row; rows without entries come here, too, so that y is
 * scaled. */
MACKO_DTANS_LOOP void multiply_end_row(multiplier *c, int l, int64_t row, macko_type vector, macko_op op, int group)
{
  for (int j = 0; j < group && op == MACKO_OP_N; j++) {
    macko_put_y(vector, c->product, j, row, c->sum[l][j]);
    c->sum[l][j] = 0;
  }
}

/* A multiply is a walk with a sink. f64 vectors with f64 values are compiled for themselves, one and several; everything else
 * shares one body. */
#define SINK(name, type, vector, op, group, walk) \
  static inline void name##_entry(void *context, int l, int64_t row, int64_t i, int64_t col, uint64_t bits) \
  { \
    multiplier *c = context; \
    (void)i; \
    multiply_entry(c, l, row, col, number(c, type, bits), vector, op, group); \
  } \
  static inline void name##_end_row(void *context, int l, int64_t row) \
  { \
    multiplier *c = context; \
    multiply_end_row(c, l, row, vector, op, group); \
  } \
  static void name(const macko_dtans_reader *r, multiplier *c) \
  { \
    static const macko_dtans_sink sink = {name##_entry, name##_end_row}; \
    macko_dtans_walk w; \
    for (int64_t slice = 0; slice < macko_dtans_slices(r->m->nrows, r->rows); slice++) \
      walk; \
  }

SINK(multiply_f64, MACKO_F64, MACKO_F64, MACKO_OP_N, 1, macko_dtans_walk_slice(r, MACKO_F64, slice, &w, sink, c))
SINK(multiply_several, MACKO_F64, MACKO_F64, MACKO_OP_N, (int)c->product->k,
     macko_dtans_walk_slice(r, MACKO_F64, slice, &w, sink, c))
SINK(multiply_any, c->m->value_type, c->product->vector_type, c->product->op, (int)c->product->k,
     macko_dtans_walk_any(r, slice, &w, sink, c))

/* One thread takes all slices; op T adds to y wherever a column is, so that y is scaled before. */
macko_status macko_dtans_multiply(const macko_matrix *m, const macko_product *p, macko_error *err)
{
  macko_dtans_reader r;
  (void)err;
  macko_dtans_open_reader(m, m->prepared, &r);
  if (p->op == MACKO_OP_T) macko_scale(p, m->ncols);
  for (int64_t j = 0; j < p->k;) {
    macko_product q = macko_product_from(p, j);
    multiplier c = {.m = m, .values_beside = macko_stream_of(m), .product = &q};
    int plain = m->value_type == MACKO_F64 && p->vector_type == MACKO_F64 && p->op == MACKO_OP_N;
    q.k = p->k - j >= MACKO_GROUP ? MACKO_GROUP : p->k - j;
    if (plain && q.k == 1) multiply_f64(&r, &c);
    else if (plain) multiply_several(&r, &c);
    else multiply_any(&r, &c);
    j += q.k;
  }
  return MACKO_OK;
}
