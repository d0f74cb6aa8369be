/* Format dtans encoded on the GPU. Symbols are counted and coded where the matrix is; what to choose by the counts is the
 * host's planner (lib/dtans/dtans_plan.c, lib/dtans/dtans_table.c), which gets counts, row lengths and the rows of its sample
 * from here, so that the bytes are those of macko_encode. */
#include "core/encoder.h"
#include "dtans/dtans_device.h"
#include "dtans/dtans_facts.h"

#include <stdlib.h>
#include <string.h>

/* This is a section to be: its data is on the host, or on the device; lent: there it belongs to another matrix. */
typedef struct {
  macko_section s;
  void *host, *device;
  int lent;
} made_section;

typedef struct {
  const macko_csr *a; /* in device memory */
  int64_t nnz;
  cudaStream_t stream;
  macko_dtans_device_rows rows;
  macko_dtans_input *in; /* of rows */
  made_section made[MACKO_MAX_SECTIONS];
  int count;
  macko_dtans_job job; /* the stream that is written, and what all streams have in common */
} encoder;

/* ---- sections ---- */

/* Appends a section like that one: its data is `device`, or, where that is NULL, a new zeroed array on the host, which it
 * gives. */
static void *add(encoder *e, macko_section like, void *device)
{
  made_section *m = &e->made[e->count++];
  *m = (made_section){like, NULL, device, 0};
  if (!device) m->host = calloc((size_t)m->s.bytes + 1, 1);
  return m->host;
}

/* Appends a section with new device memory, *data. */
static macko_status add_on_device(encoder *e, macko_section like, void **data, macko_error *err)
{
  macko_status s = macko_device_alloc(like.bytes + 1, like.name, data, err);
  if (!s) add(e, like, *data);
  return s;
}

/* Appends the sections of a table of symbols, filled on the host. */
static macko_status add_table(encoder *e, const macko_dtans_table *t, macko_dtans_part part, macko_error *err)
{
  macko_type type = e->a->value_type;
  const char *slots_name = part & MACKO_DTANS_GAPS ? "gap_slots" : "value_slots";
  uint32_t *gaps = NULL;
  void *values = NULL;
  if (part & MACKO_DTANS_GAPS) gaps = add(e, macko_dtans_section(part, "gap_symbols", MACKO_U32, t->symbols), NULL);
  if (part & MACKO_DTANS_VALUES) values = add(e, macko_dtans_section(part, "value_symbols", type, t->symbols), NULL);
  uint16_t *slots = add(e, macko_dtans_section(part, slots_name, MACKO_U16, t->symbols + 1), NULL);
  if (!slots || (part & MACKO_DTANS_GAPS && !gaps) || (part & MACKO_DTANS_VALUES && !values))
    return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a table of %d symbols", t->symbols);
  for (int i = 0; i < t->symbols && gaps; i++) gaps[i] = t->symbol[i].gap;
  for (int i = 0; i < t->symbols && values; i++) macko_put_bits(type, values, i, t->symbol[i].value);
  memcpy(slots, t->first, (size_t)(t->symbols + 1) * sizeof *slots);
  return MACKO_OK;
}

/* Appends the section that says where slices begin, from job.starts, as i32 where its last number fits. */
static macko_status add_starts(encoder *e, macko_dtans_part part, const char *name, int64_t last, macko_error *err)
{
  void *starts;
  macko_type type = macko_index_type(last);
  macko_status s = add_on_device(e, macko_dtans_section(part, name, type, e->job.slices + 1), &starts, err);
  return s ? s : macko_dtans_put_starts(e->job.starts, e->job.slices + 1, type, starts, e->stream, err);
}

/* ---- streams ---- */

/* Copies a table to the device; *memory is freed by the caller when the stream has passed. */
static macko_status upload_table(encoder *e, const macko_dtans_table *t, macko_dtans_code_table *out, void **memory,
                                 macko_error *err)
{
  size_t symbols = (size_t)t->symbols * sizeof *t->symbol, first = (size_t)(t->symbols + 1) * sizeof *t->first;
  size_t index = (size_t)(t->index_mask + 1) * sizeof *t->index;
  macko_status s = macko_device_alloc((int64_t)(symbols + first + index), "a table of symbols", memory, err);
  if (s) return s;
  char *at = *memory;
  *out = (macko_dtans_code_table){(const macko_dtans_symbol *)(void *)at, (const uint16_t *)(void *)(at + symbols),
                                  (const uint16_t *)(void *)(at + symbols + first), t->index_mask, t->escape, t->key};
  cudaError_t error = cudaMemcpyAsync(at, t->symbol, symbols, cudaMemcpyHostToDevice, e->stream);
  if (!error) error = cudaMemcpyAsync(at + symbols, t->first, first, cudaMemcpyHostToDevice, e->stream);
  if (!error) error = cudaMemcpyAsync(at + symbols + first, t->index, index, cudaMemcpyHostToDevice, e->stream);
  return macko_cuda_status(error, "copying a table of symbols", err);
}

/* Makes the job for one stream: its coding, its tables on the device, and room for the numbers of symbols. */
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

/* Measures a stream, which tells how many words it has, and writes it. Appends its two sections. */
static macko_status write_stream(encoder *e, int stream, macko_dtans_part part, macko_error *err)
{
  static const char *const names[2][2] = {{"stream", "slices"}, {"value_stream", "value_slices"}};
  int64_t words = 0;
  void *data = NULL;
  macko_status s = macko_dtans_measure_device(e->a, &e->job, &words, e->stream, err);
  if (!s) s = add_starts(e, part, names[stream][1], words, err);
  if (!s) s = add_on_device(e, macko_dtans_section(part, names[stream][0], MACKO_U32, words), &data, err);
  if (!s) s = macko_dtans_write_device(e->a, &e->job, data, e->stream, err);
  return s ? s : macko_cuda_status(cudaStreamSynchronize(e->stream), "writing a stream", err);
}

/* Codes stream 0 (gaps or pairs) or 1 (values) of a plan; params learn whether its tables have an escape. */
static macko_status add_stream(encoder *e, int64_t *params, int stream, macko_error *err)
{
  macko_dtans_coder c;
  void *tables[MACKO_DTANS_DOMAINS] = {NULL};
  macko_status s = macko_dtans_open_coder(e->in, params, stream, &c, err);
  if (s) return s;
  for (int k = 0; k < c.coding.domains && !s; k++) {
    params[c.part[k] & MACKO_DTANS_GAPS ? MACKO_DTANS_GAP_ESCAPE : MACKO_DTANS_VALUE_ESCAPE] = c.table[k]->escape >= 0;
    s = add_table(e, c.table[k], c.part[k], err);
  }
  if (!s) s = open_job(e, &c, tables, err);
  if (!s) s = write_stream(e, stream, macko_dtans_coded_part(&c), err);
  for (int k = 0; k < MACKO_DTANS_DOMAINS; k++) cudaFree(tables[k]);
  cudaFree(e->job.numbers);
  e->job.numbers = NULL;
  macko_dtans_close_coder(&c);
  return s;
}

/* ---- values beside gaps ---- */

/* Appends the sections of values that lie beside the gaps, with their dictionary where the plan has one. */
static macko_status add_values_beside(encoder *e, const macko_plan *plan, macko_error *err)
{
  macko_dtans_dictionary d = {NULL, (int)plan->table, NULL, NULL};
  void *values, *dict, *memory = NULL;
  macko_status s = add_on_device(e, macko_value_section("values", plan->stored_type, e->nnz), &values, err);
  if (!s && plan->table) s = macko_dtans_count_part(&e->rows, MACKO_DTANS_VALUES, err);
  if (!s && plan->table) s = macko_device_alloc(plan->table * (int64_t)(sizeof *d.first + sizeof *d.codes), "a dictionary",
                                                &memory, err);
  if (!s && plan->table) {
    dict = add(e, macko_value_section("dict", e->a->value_type, plan->table), NULL);
    if (dict) s = macko_dtans_fill_dictionary(e->a, &e->job, &e->rows.found[MACKO_DTANS_VALUES], memory, &d, dict, e->stream,
                                              err);
    else s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a dictionary of %lld values", (long long)plan->table);
  }
  if (!s) s = macko_dtans_values_device(e->a, &e->job, &d, plan->stored_type, values, e->stream, err);
  if (!s) s = add_starts(e, MACKO_DTANS_VALUES, "value_slices", e->nnz, err);
  if (!s) s = macko_cuda_status(cudaStreamSynchronize(e->stream), "writing values", err);
  cudaFree(memory);
  return s;
}

/* Appends the sections of values of variant split: beside the gaps, one value for all, or a stream of their own. */
static macko_status add_values(encoder *e, macko_plan *plan, macko_error *err)
{
  if (plan->values != MACKO_VALUES_CODED) return add_values_beside(e, plan, err);
  if (!plan->params[MACKO_DTANS_ONE_VALUE]) return add_stream(e, plan->params, 1, err);
  void *value = add(e, macko_value_section("value_symbols", e->a->value_type, 1), NULL);
  if (!value) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a value");
  macko_status s = macko_dtans_count_part(&e->rows, MACKO_DTANS_VALUES, err);
  if (!s) macko_put_bits(e->a->value_type, value, 0, e->rows.found[MACKO_DTANS_VALUES].counts[0].symbol.value);
  return s;
}

/* ---- a matrix ---- */

/* Opens *e, which the caller closes also after a failure. UNSUPPORTED for what is encoded on the host. */
static macko_status open_encoder(const macko_csr *a, int64_t nnz, cudaStream_t stream, encoder *e, macko_error *err)
{
  *e = (encoder){.a = a, .nnz = nnz, .stream = stream};
  macko_dtans_open_rows(a, nnz, stream, &e->rows);
  e->in = &e->rows.in;
  if (nnz == 0 || nnz > MACKO_DTANS_DEVICE_ENTRIES || a->ncols > UINT32_MAX)
    return macko_fail(err, MACKO_UNSUPPORTED, "%lld entries are encoded on the host", (long long)nnz);
  return macko_dtans_longest_device(a, &e->in->longest_row, stream, err);
}

static void close_encoder(encoder *e)
{
  for (int i = 0; i < e->count; i++) {
    free(e->made[i].host);
    if (!e->made[i].lent) cudaFree(e->made[i].device);
  }
  cudaFree(e->job.starts);
  macko_dtans_close_rows(&e->rows);
}

/* Sets what all streams have in common, by a plan's params. */
static macko_status set_job(encoder *e, const int64_t *params, macko_error *err)
{
  e->job.rows = (int)params[MACKO_DTANS_ROWS], e->job.relative = e->in->relative, e->job.nnz = e->nnz;
  e->job.slices = macko_dtans_slices(e->a->nrows, e->job.rows);
  return macko_device_alloc((e->job.slices + 1) * 8, "starts of slices", (void **)&e->job.starts, err);
}

/* Appends section "lengths" in the narrowest type; the planner gets a copy on the host. */
static macko_status add_lengths(encoder *e, macko_error *err)
{
  macko_dtans_input *in = e->in;
  void *lengths = NULL;
  macko_type type = in->longest_row <= UINT8_MAX ? MACKO_U8 : in->longest_row <= UINT16_MAX ? MACKO_U16 : MACKO_U32;
  const macko_section like = macko_pattern_section("lengths", type, e->a->nrows);
  macko_status s = macko_new_section(like, &in->lengths, err);
  if (!s) s = add_on_device(e, like, &lengths, err);
  if (!s) s = macko_dtans_lengths_device(e->a, type, lengths, e->stream, err);
  return s ? s : macko_dtans_copy_back(&e->rows, in->lengths.data, lengths, in->lengths.bytes, err);
}

/* Makes a device matrix as *m describes it, with copies of the sections side by side. Tables are made from the host's arrays. */
static macko_status put_sections(encoder *e, macko_matrix *m, macko_device_matrix **device, macko_error *err)
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
  for (int i = 0; i < e->count; i++)
    if (!strcmp(m->sections[i].name, "lengths")) m->sections[i].data = e->in->lengths.data;
  if (!s) s = macko_dtans_prepare_tables(d, m, e->stream, err);
  if (!s) s = macko_cuda_status(cudaStreamSynchronize(e->stream), "putting sections together", err);
  if (s) macko_device_destroy(&d);
  else *device = d;
  return s;
}

macko_status macko_dtans_plan_device(const macko_csr *a, int64_t nnz, const macko_options *options, cudaStream_t stream,
                                     macko_plan *plan, macko_error *err)
{
  encoder e;
  macko_status s = open_encoder(a, nnz, stream, &e, err);
  if (!s) s = add_lengths(&e, err);
  if (!s) s = macko_dtans_plan(e.in, options, plan, err);
  close_encoder(&e);
  return s;
}

macko_status macko_dtans_encode_device(const macko_csr *a, int64_t nnz, const macko_options *options, const macko_plan *plan,
                                       cudaStream_t stream, macko_device_matrix **device, macko_error *err)
{
  encoder e;
  macko_matrix m = {.ops = &macko_dtans_ops, .format = MACKO_FORMAT_DTANS, .options = *options, .value_type = a->value_type,
                    .nrows = a->nrows, .ncols = a->ncols, .nnz = nnz};
  macko_status s = open_encoder(a, nnz, stream, &e, err);
  if (!s) s = macko_options_check(options, err);
  if (!s) s = add_lengths(&e, err);
  if (!s && plan) m.plan = *plan, e.in->relative = (int)plan->params[MACKO_DTANS_RELATIVE];
  else if (!s) s = macko_dtans_plan(e.in, options, &m.plan, err);
  if (!s) s = set_job(&e, m.plan.params, err);
  if (!s) s = add_stream(&e, m.plan.params, 0, err);
  if (!s && m.plan.params[MACKO_DTANS_VARIANT] == MACKO_VARIANT_SPLIT) s = add_values(&e, &m.plan, err);
  if (!s) s = put_sections(&e, &m, device, err);
  close_encoder(&e);
  return s;
}

/* ---- new values for the same pattern ---- */

/* Takes over the sections of *d that hold its pattern: the table of gaps comes to the host, where the multiply's tables are
 * made. */
static macko_status keep_pattern(encoder *e, const macko_device_matrix *d, macko_error *err)
{
  macko_status s = MACKO_OK;
  for (int i = 0; i < d->m.nsections && !s; i++) {
    const macko_section *old = &d->m.sections[i];
    int is_table = !strcmp(old->name, "gap_symbols") || !strcmp(old->name, "gap_slots");
    if (!old->pattern) continue;
    void *host = add(e, *old, is_table ? NULL : old->data);
    e->made[e->count - 1].lent = 1;
    if (is_table && !host) s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a table of %lld bytes", (long long)old->bytes);
    else if (is_table) s = macko_dtans_copy_back(&e->rows, host, old->data, old->bytes, err);
  }
  return s;
}

/* Says whether new values can go where the old ones are: they take as many bytes and neither have a table. */
static int fits_in_place(const macko_plan *old, const macko_plan *next)
{
  return old->values != MACKO_VALUES_CODED && next->values != MACKO_VALUES_CODED && old->stored_type == next->stored_type &&
         !old->table && !next->table;
}

/* Stores new values of a matrix of variant split, whose gaps stay as they are. *fresh stays NULL where they are written in
 * place. */
static macko_status refresh_values(encoder *e, macko_device_matrix *d, macko_device_matrix **fresh, macko_error *err)
{
  macko_matrix m = d->m;
  macko_dtans_dictionary none = {NULL, 0, NULL, NULL};
  macko_section *lengths = &e->in->lengths;
  const macko_section *old = macko_find_section(&d->m, "lengths");
  macko_status s = macko_new_section(*old, lengths, err);
  if (!s) s = macko_dtans_copy_back(&e->rows, lengths->data, old->data, old->bytes, err);
  if (!s) s = macko_dtans_plan_values(e->in, &m.options, &m.plan, err);
  if (!s) s = set_job(e, m.plan.params, err);
  if (!s && fits_in_place(&d->m.plan, &m.plan)) {
    s = macko_dtans_values_device(e->a, &e->job, &none, m.plan.stored_type, macko_device_data(d, "values"), e->stream, err);
    d->m.plan = m.plan;
    return s ? s : macko_cuda_status(cudaStreamSynchronize(e->stream), "writing values", err);
  }
  if (!s) s = keep_pattern(e, d, err);
  if (!s) s = add_values(e, &m.plan, err);
  return s ? s : put_sections(e, &m, fresh, err);
}

macko_status macko_dtans_refresh_device(const macko_csr *a, int64_t nnz, macko_device_matrix *d, cudaStream_t stream,
                                        macko_device_matrix **fresh, int *done, macko_error *err)
{
  encoder e;
  *fresh = NULL, *done = 0;
  macko_status s = open_encoder(a, nnz, stream, &e, err);
  if (!s && d->m.plan.params[MACKO_DTANS_VARIANT] == MACKO_VARIANT_SPLIT) s = refresh_values(&e, d, fresh, err);
  else if (!s) s = macko_dtans_encode_device(a, nnz, &d->m.options, NULL, stream, fresh, err);
  close_encoder(&e);
  *done = !s;
  return s == MACKO_DEVICE ? s : MACKO_OK;
}

/* ---- the table of functions ---- */

/* Answers plan's question to this format (macko_dtans_facts); context is the encoder of core/encoder.h. */
static macko_status plan(void *context, const macko_options *options, macko_plan *plan, macko_error *err)
{
  const macko_encoder *e = context;
  return macko_dtans_plan_device(&e->csr, e->a.nnz, options, e->stream, plan, err);
}

static const macko_dtans_facts facts = {plan};

/* Automatic choice by fewest bytes plans this format as well, which counts entries in 32 bits here. */
static int on_host(const macko_options *options, int64_t nnz)
{
  /* CUB, which counts symbols, takes an error that an earlier call of the program left for its own. */
  if (cudaPeekAtLastError()) return 1;
  return options->format == MACKO_FORMAT_AUTO && options->prefer == MACKO_PREFER_MEMORY && nnz != -1 &&
         !(nnz > 0 && nnz <= MACKO_DTANS_DEVICE_ENTRIES);
}

static macko_status encode(macko_encoder *e, const macko_matrix *m, macko_device_matrix **device, macko_error *err)
{
  return macko_dtans_encode_device(&e->csr, e->a.nnz, &m->options, &m->plan, e->stream, device, err);
}

static macko_status plan_and_encode(macko_encoder *e, const macko_options *options, macko_device_matrix **device,
                                    macko_error *err)
{
  return macko_dtans_encode_device(&e->csr, e->a.nnz, options, NULL, e->stream, device, err);
}

/* A matrix that was coded anew takes the old one's place; *moved says so, because kernels get other arguments. */
static macko_status refresh(macko_encoder *e, macko_device_matrix *d, int *moved, int *done, macko_error *err)
{
  macko_device_matrix *fresh = NULL;
  macko_status s = macko_dtans_refresh_device(&e->csr, e->a.nnz, d, e->stream, &fresh, done, err);
  *moved = fresh != NULL;
  if (fresh) macko_swap_matrices(d, fresh);
  macko_device_destroy(&fresh);
  return s;
}

const macko_device_ops macko_dtans_device_ops = {
  .prepare = macko_dtans_device_prepare,
  .multiply = macko_dtans_device_multiply,
  .destroy = macko_dtans_device_destroy,
  .diagonal = NULL,
  .on_host = on_host,
  .facts = &facts,
  .encode = encode,
  .plan_and_encode = plan_and_encode,
  .refresh = refresh,
  .close = NULL,
  .write_pattern = NULL, /* streams are written first; how long they are lists the sections */
  .write_values = NULL,
  .move_values = NULL,
  .reads = NULL};
