/* Format dtans encoded on the GPU. Symbols are counted and coded where the matrix is; what to choose by the counts is the host's planner
 * (lib/dtans_plan.c, lib/dtans_table.c), which gets counts, row lengths and the rows of its sample from here, so that the bytes are those
 * of macko_encode. */
#include "dtans_encode.h"

#include "dtans.h"

#include <stdlib.h>
#include <string.h>

enum { VALUE_PIECE = 1 << 16 /* distinct values looked at together */ };

/* Rows of the planner's sample, which it asks for again and again. */
typedef struct {
  int64_t first, count;
  int64_t *row_ptr;
  void *cols, *values;
} kept_piece;

/* A section to be: its data is on the host, or on the device. */
typedef struct {
  macko_section s;
  void *host, *device;
} made_section;

typedef struct {
  const macko_csr *a;
  int64_t nnz;
  cudaStream_t stream;
  int relative;
  macko_dtans_found found[MACKO_DTANS_PAIRS + 1];
  kept_piece *pieces;
  int64_t kept, room, next; /* next: the piece after the one asked for last */
  int32_t *piece_cols;      /* of a row of distinct values */
  void *piece_values;
  int32_t piece_row_ptr[2];
  made_section made[MACKO_MAX_SECTIONS];
  int count;
  macko_dtans_job job;
} encoder;

static macko_status copy_back(encoder *e, void *to, const void *from, int64_t bytes, macko_error *err)
{
  cudaError_t error = cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDeviceToHost, e->stream);
  if (!error) error = cudaStreamSynchronize(e->stream);
  return macko_cuda_status(error, "reading the matrix back", err);
}

/* ---- what the planner asks for ---- */

static macko_status count_part(encoder *e, macko_dtans_part part, macko_error *err)
{
  macko_dtans_found *f = &e->found[part];
  return f->counts ? MACKO_OK : macko_dtans_count_device(e->a, e->nnz, part, e->relative, e->stream, f, err);
}

static macko_status count(void *context, int relative, macko_dtans_histogram *h, macko_error *err)
{
  encoder *e = context;
  e->relative = relative;
  macko_status s = count_part(e, h->part, err);
  if (s) return s;
  const macko_dtans_found *f = &e->found[h->part];
  h->slots = malloc((size_t)(f->used + 1) * sizeof *h->slots);
  if (!h->slots) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld symbols", (long long)f->used);
  memcpy(h->slots, f->counts, (size_t)f->used * sizeof *h->slots);
  h->used = h->room = f->used, h->forgotten = f->forgotten;
  return MACKO_OK;
}

static macko_status fetch_piece(encoder *e, int64_t first, int64_t rows, kept_piece *p, macko_error *err)
{
  const macko_csr *a = e->a;
  int64_t row_bytes = macko_type_bytes(a->row_ptr_type), col_bytes = macko_type_bytes(a->col_type), value_bytes = macko_type_bytes(a->value_type);
  *p = (kept_piece){first, rows, malloc((size_t)(rows + 1) * sizeof *p->row_ptr), NULL, NULL};
  void *row_ptr = malloc((size_t)((rows + 1) * row_bytes));
  macko_status s = p->row_ptr && row_ptr ? MACKO_OK : macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld rows", (long long)rows);
  if (!s) s = copy_back(e, row_ptr, (const char *)a->row_ptr + first * row_bytes, (rows + 1) * row_bytes, err);
  int64_t begin = s ? 0 : macko_index(a->row_ptr_type, row_ptr, 0), entries = s ? 0 : macko_index(a->row_ptr_type, row_ptr, rows) - begin;
  for (int64_t i = 0; i <= rows && !s; i++) p->row_ptr[i] = macko_index(a->row_ptr_type, row_ptr, i) - begin + a->index_base;
  free(row_ptr);
  if (s) return s;
  p->cols = malloc((size_t)(entries * col_bytes + 1)), p->values = malloc((size_t)(entries * value_bytes + 1));
  if (!p->cols || !p->values) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld entries", (long long)entries);
  cudaError_t error = cudaMemcpyAsync(p->cols, (const char *)a->cols + (begin - a->index_base) * col_bytes, (size_t)(entries * col_bytes),
                                      cudaMemcpyDeviceToHost, e->stream);
  s = macko_cuda_status(error, "reading the matrix back", err);
  return s ? s : copy_back(e, p->values, (const char *)a->values + (begin - a->index_base) * value_bytes, entries * value_bytes, err);
}

static void drop_piece(kept_piece *p)
{
  free(p->row_ptr), free(p->cols), free(p->values);
}

/* Sets *piece from those that are kept: the planner asks for them in the same order each time. */
static macko_status keep_piece(encoder *e, int64_t first, int64_t rows, const kept_piece **piece, macko_error *err)
{
  for (int64_t i = 0; i < e->kept; i++) {
    int64_t at = (e->next + i) % e->kept;
    if (e->pieces[at].first != first || e->pieces[at].count != rows) continue;
    e->next = at + 1;
    *piece = &e->pieces[at];
    return MACKO_OK;
  }
  if (e->kept == e->room) {
    int64_t room = 2 * e->room + 64;
    kept_piece *pieces = realloc(e->pieces, (size_t)room * sizeof *pieces);
    if (!pieces) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld pieces of rows", (long long)room);
    e->pieces = pieces, e->room = room;
  }
  macko_status s = fetch_piece(e, first, rows, &e->pieces[e->kept], err);
  if (s) drop_piece(&e->pieces[e->kept]);
  else *piece = &e->pieces[e->kept++], e->next = e->kept;
  return s;
}

static macko_status fetch_rows(void *context, int64_t first, int64_t rows, macko_csr *out, macko_error *err)
{
  encoder *e = context;
  const kept_piece *p = NULL;
  macko_status s = keep_piece(e, first, rows, &p, err);
  if (s) return s;
  *out = *e->a;
  out->nrows = rows, out->row_ptr = p->row_ptr, out->row_ptr_type = MACKO_I64, out->cols = p->cols, out->values = p->values;
  return MACKO_OK;
}

/* One row of distinct values. */
static macko_status fetch_values(void *context, int64_t row, int64_t rows, macko_csr *out, macko_error *err)
{
  encoder *e = context;
  (void)rows;
  macko_status s = count_part(e, MACKO_DTANS_VALUES, err);
  if (s) return s;
  const macko_dtans_found *f = &e->found[MACKO_DTANS_VALUES];
  int64_t first = row * VALUE_PIECE, left = f->distinct_count - first, n = left < 0 ? 0 : left < VALUE_PIECE ? left : VALUE_PIECE;
  if (!e->piece_cols) e->piece_cols = malloc(VALUE_PIECE * sizeof *e->piece_cols);
  if (!e->piece_values) e->piece_values = malloc(VALUE_PIECE * 8);
  if (!e->piece_cols || !e->piece_values) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %d values", (int)VALUE_PIECE);
  for (int32_t i = 0; i < n; i++) e->piece_cols[i] = i;
  s = copy_back(e, e->piece_values, (const char *)f->distinct + first * f->distinct_bytes, n * f->distinct_bytes, err);
  if (e->a->value_type == MACKO_F16 || e->a->value_type == MACKO_BF16) /* sorted as words of 32 bits */
    for (int64_t i = 0; i < n && !s; i++) ((uint16_t *)e->piece_values)[i] = (uint16_t)((uint32_t *)e->piece_values)[i];
  e->piece_row_ptr[1] = (int32_t)n;
  *out = (macko_csr){.nrows = 1, .ncols = VALUE_PIECE, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = e->a->value_type,
                     .row_ptr = e->piece_row_ptr, .cols = e->piece_cols, .values = e->piece_values};
  return s;
}

/* ---- sections ---- */

static void *add(encoder *e, const char *name, macko_type type, int64_t count, void *device)
{
  made_section *m = &e->made[e->count++];
  *m = (made_section){{name, type, count * macko_type_bytes(type), NULL}, NULL, device};
  if (!device) m->host = calloc((size_t)m->s.bytes + 1, 1);
  return m->host;
}

static macko_status add_on_device(encoder *e, const char *name, macko_type type, int64_t count, void **data, macko_error *err)
{
  macko_status s = macko_device_alloc(count * macko_type_bytes(type) + 1, name, data, err);
  if (!s) add(e, name, type, count, *data);
  return s;
}

static macko_status add_table(encoder *e, const macko_dtans_table *t, macko_dtans_part part, macko_error *err)
{
  macko_type type = e->a->value_type;
  uint32_t *gaps = part & MACKO_DTANS_GAPS ? add(e, "gap_symbols", MACKO_U32, t->symbols, NULL) : NULL;
  void *values = part & MACKO_DTANS_VALUES ? add(e, "value_symbols", type, t->symbols, NULL) : NULL;
  uint16_t *slots = add(e, part & MACKO_DTANS_GAPS ? "gap_slots" : "value_slots", MACKO_U16, t->symbols + 1, NULL);
  if (!slots || (part & MACKO_DTANS_GAPS && !gaps) || (part & MACKO_DTANS_VALUES && !values))
    return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a table of %d symbols", t->symbols);
  for (int i = 0; i < t->symbols && gaps; i++) gaps[i] = t->symbol[i].gap;
  for (int i = 0; i < t->symbols && values; i++) macko_put_bits(type, values, i, t->symbol[i].value);
  memcpy(slots, t->first, (size_t)(t->symbols + 1) * sizeof *slots);
  return MACKO_OK;
}

static macko_status add_starts(encoder *e, const char *name, int64_t last, macko_error *err)
{
  void *starts;
  macko_type type = last > INT32_MAX ? MACKO_I64 : MACKO_I32;
  macko_status s = add_on_device(e, name, type, e->job.slices + 1, &starts, err);
  return s ? s : macko_dtans_put_starts(e->job.starts, e->job.slices + 1, type, starts, e->stream, err);
}

/* ---- streams ---- */

/* A table to the device; *memory is freed by the caller when the stream has passed. */
static macko_status upload_table(encoder *e, const macko_dtans_table *t, macko_dtans_code_table *out, void **memory, macko_error *err)
{
  size_t symbols = (size_t)t->symbols * sizeof *t->symbol, first = (size_t)(t->symbols + 1) * sizeof *t->first;
  size_t index = (size_t)(t->index_mask + 1) * sizeof *t->index;
  macko_status s = macko_device_alloc((int64_t)(symbols + first + index), "a table of symbols", memory, err);
  if (s) return s;
  char *at = *memory;
  *out = (macko_dtans_code_table){(const macko_dtans_symbol *)(void *)at, (const uint16_t *)(void *)(at + symbols),
                                  (const uint16_t *)(void *)(at + symbols + first), t->index_mask, t->escape};
  cudaError_t error = cudaMemcpyAsync(at, t->symbol, symbols, cudaMemcpyHostToDevice, e->stream);
  if (!error) error = cudaMemcpyAsync(at + symbols, t->first, first, cudaMemcpyHostToDevice, e->stream);
  if (!error) error = cudaMemcpyAsync(at + symbols + first, t->index, index, cudaMemcpyHostToDevice, e->stream);
  return macko_cuda_status(error, "copying a table of symbols", err);
}

static macko_status open_job(encoder *e, const macko_dtans_coder *c, void *tables[MACKO_DTANS_DOMAINS], macko_error *err)
{
  macko_status s = MACKO_OK;
  e->job.coding = c->coding;
  for (int k = 0; k < c->coding.domains && !s; k++) {
    e->job.part[k] = c->part[k];
    s = upload_table(e, c->table[k], &e->job.table[k], &tables[k], err);
  }
  if (!s) s = macko_device_alloc(e->nnz * c->coding.domains * 2, "numbers of symbols", (void **)&e->job.numbers, err);
  return s;
}

static macko_status write_stream(encoder *e, int stream, macko_error *err)
{
  static const char *const names[2][2] = {{"stream", "slices"}, {"value_stream", "value_slices"}};
  int64_t words = 0;
  void *data = NULL;
  macko_status s = macko_dtans_measure_device(e->a, &e->job, &words, e->stream, err);
  if (!s) s = add_starts(e, names[stream][1], words, err);
  if (!s) s = add_on_device(e, names[stream][0], MACKO_U32, words, &data, err);
  if (!s) s = macko_dtans_write_device(e->a, &e->job, data, e->stream, err);
  return s ? s : macko_cuda_status(cudaStreamSynchronize(e->stream), "writing a stream", err);
}

static macko_status add_stream(encoder *e, macko_dtans_histograms *h, int64_t *params, int stream, macko_error *err)
{
  macko_dtans_coder c;
  void *tables[MACKO_DTANS_DOMAINS] = {NULL};
  macko_status s = macko_dtans_open_coder(h, params, stream, &c, err);
  if (s) return s;
  for (int k = 0; k < c.coding.domains && !s; k++) {
    params[c.part[k] & MACKO_DTANS_GAPS ? MACKO_DTANS_GAP_ESCAPE : MACKO_DTANS_VALUE_ESCAPE] = c.table[k]->escape >= 0;
    s = add_table(e, c.table[k], c.part[k], err);
  }
  if (!s) s = open_job(e, &c, tables, err);
  if (!s) s = write_stream(e, stream, err);
  for (int k = 0; k < MACKO_DTANS_DOMAINS; k++) cudaFree(tables[k]);
  cudaFree(e->job.numbers);
  e->job.numbers = NULL;
  macko_dtans_close_coder(&c);
  return s;
}

/* ---- values beside gaps ---- */

static macko_status add_values_beside(encoder *e, const macko_plan *plan, macko_error *err)
{
  macko_dtans_dictionary d = {NULL, (int)plan->table, NULL, NULL};
  void *values, *dict, *memory = NULL;
  macko_status s = add_on_device(e, "values", plan->stored_type, e->nnz, &values, err);
  if (!s && plan->table) s = count_part(e, MACKO_DTANS_VALUES, err);
  if (!s && plan->table) s = macko_device_alloc(plan->table * (int64_t)(sizeof *d.first + sizeof *d.codes), "a dictionary", &memory, err);
  if (!s && plan->table) {
    dict = add(e, "dict", e->a->value_type, plan->table, NULL);
    if (dict) s = macko_dtans_fill_dictionary(e->a, &e->job, &e->found[MACKO_DTANS_VALUES], memory, &d, dict, e->stream, err);
    else s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a dictionary of %lld values", (long long)plan->table);
  }
  if (!s) s = macko_dtans_values_device(e->a, &e->job, &d, plan->stored_type, values, e->stream, err);
  if (!s) s = add_starts(e, "value_slices", e->nnz, err);
  if (!s) s = macko_cuda_status(cudaStreamSynchronize(e->stream), "writing values", err);
  cudaFree(memory);
  return s;
}

static macko_status add_values(encoder *e, macko_dtans_histograms *h, macko_plan *plan, macko_error *err)
{
  if (plan->values != MACKO_VALUES_CODED) return add_values_beside(e, plan, err);
  if (!plan->params[MACKO_DTANS_ONE_VALUE]) return add_stream(e, h, plan->params, 1, err);
  void *value = add(e, "value_symbols", e->a->value_type, 1, NULL);
  if (!value) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a value");
  macko_put_bits(e->a->value_type, value, 0, e->found[MACKO_DTANS_VALUES].counts[0].symbol.value);
  return MACKO_OK;
}

/* ---- a matrix ---- */

static macko_status fill_input(encoder *e, macko_dtans_input *in, macko_error *err)
{
  const macko_csr *a = e->a;
  void *lengths = NULL;
  macko_status s = macko_dtans_longest_device(a, &in->longest_row, e->stream, err);
  macko_type type = in->longest_row <= UINT8_MAX ? MACKO_U8 : in->longest_row <= UINT16_MAX ? MACKO_U16 : MACKO_U32;
  if (!s) s = macko_new_section("lengths", type, a->nrows, &in->lengths, err);
  if (!s) s = add_on_device(e, "lengths", type, a->nrows, &lengths, err);
  if (!s) s = macko_dtans_lengths_device(a, type, lengths, e->stream, err);
  return s ? s : copy_back(e, in->lengths.data, lengths, in->lengths.bytes, err);
}

/* A device matrix with the sections side by side. */
static macko_status put_sections(encoder *e, const macko_dtans_input *in, macko_matrix *m, macko_device_matrix **device, macko_error *err)
{
  macko_device_matrix *d = NULL;
  m->nsections = e->count;
  for (int i = 0; i < e->count; i++) m->sections[i] = e->made[i].s, m->sections[i].data = e->made[i].host;
  macko_status s = macko_device_new(m, &d, err);
  if (!s) s = macko_device_allocate(d, e->stream, err);
  for (int i = 0; i < e->count && !s; i++) {
    const made_section *made = &e->made[i];
    s = macko_cuda_status(cudaMemcpyAsync(d->m.sections[i].data, made->host ? made->host : made->device, (size_t)made->s.bytes,
                                          cudaMemcpyDefault, e->stream), "putting sections together", err);
  }
  m->sections[0].data = in->lengths.data;
  if (!s) s = macko_dtans_prepare_tables(d, m, e->stream, err);
  if (!s) s = macko_cuda_status(cudaStreamSynchronize(e->stream), "putting sections together", err);
  if (s) macko_device_destroy(&d);
  else *device = d;
  return s;
}

static macko_status plan_and_code(encoder *e, const macko_options *options, macko_dtans_input *in, macko_matrix *m, macko_error *err)
{
  macko_plan *plan = &m->plan;
  macko_dtans_histograms histograms = {.in = in};
  macko_status s = macko_dtans_plan(in, options, plan, err);
  if (s) return s;
  e->job.rows = (int)plan->params[MACKO_DTANS_ROWS], e->job.relative = in->relative, e->job.nnz = e->nnz;
  e->job.slices = macko_dtans_slices(e->a->nrows, e->job.rows);
  s = macko_device_alloc((e->job.slices + 1) * 8, "starts of slices", (void **)&e->job.starts, err);
  if (!s) s = add_stream(e, &histograms, plan->params, 0, err);
  if (!s && plan->params[MACKO_DTANS_VARIANT] == MACKO_VARIANT_SPLIT) s = add_values(e, &histograms, plan, err);
  macko_dtans_close_histograms(&histograms);
  return s;
}

static void close_encoder(encoder *e)
{
  for (int part = MACKO_DTANS_GAPS; part <= MACKO_DTANS_PAIRS; part++) macko_dtans_drop_found(&e->found[part]);
  for (int64_t i = 0; i < e->kept; i++) drop_piece(&e->pieces[i]);
  for (int i = 0; i < e->count; i++) free(e->made[i].host), cudaFree(e->made[i].device);
  free(e->pieces), free(e->piece_cols), free(e->piece_values);
  cudaFree(e->job.starts);
}

macko_status macko_dtans_encode_device(const macko_csr *a, int64_t nnz, const macko_options *options, cudaStream_t stream,
                                       macko_device_matrix **device, macko_error *err)
{
  encoder e = {.a = a, .stream = stream, .nnz = nnz};
  if (nnz == 0 || nnz > INT32_MAX - MACKO_DTANS_SEGMENT || a->ncols > UINT32_MAX)
    return macko_fail(err, MACKO_UNSUPPORTED, "%lld entries are encoded on the host", (long long)nnz);
  macko_row_source row_source = {a->nrows, a->ncols, a->value_type, MACKO_DTANS_MAX_ROWS * MACKO_DTANS_LANES, fetch_rows, &e};
  macko_row_source value_source = {(nnz + VALUE_PIECE - 1) / VALUE_PIECE, VALUE_PIECE, a->value_type, 1, fetch_values, &e};
  macko_rows rows = {a->nrows, a->ncols, a->value_type, NULL, &row_source, NULL};
  macko_rows values = {value_source.nrows, VALUE_PIECE, a->value_type, NULL, &value_source, NULL};
  macko_dtans_counter counter = {count, &e};
  macko_dtans_input in = {.rows = &rows, .values = &values, .counter = &counter, .nnz = nnz};
  macko_matrix m = {.ops = &macko_dtans_ops, .format = MACKO_FORMAT_DTANS, .options = *options, .value_type = a->value_type,
                    .nrows = a->nrows, .ncols = a->ncols, .nnz = nnz};
  macko_status s = macko_check_options(options, err);
  if (!s) s = fill_input(&e, &in, err);
  if (!s) s = plan_and_code(&e, options, &in, &m, err);
  if (!s) s = put_sections(&e, &in, &m, device, err);
  free(rows.owned), free(values.owned), free(in.lengths.data);
  close_encoder(&e);
  return s;
}
