/* What encoding on the device asks of it: memory, checks of the csr, surveys of rows and slices, and slices written; values are in
 * encoder_values.c. */
#include "core/encoder.h"
#include "core/pattern.h"
#include "dtans/dtans.h"
#include "dtans/dtans_encode.h"

#include <stdlib.h>
#include <string.h>

enum { ANSWER_BYTES = 1024 };

/* ---- memory ---- */

macko_status macko_encoder_room(macko_encoder *e, int64_t bytes, void **room, macko_error *err)
{
  if (e->nrooms == MACKO_ENCODER_ROOMS)
    return macko_fail(err, MACKO_LIMIT, "an encoder with more than %d rooms", MACKO_ENCODER_ROOMS);
  macko_status s = macko_device_alloc(bytes > 0 ? bytes : 1, "room to encode in", room, err);
  if (!s) e->rooms[e->nrooms++] = *room;
  return s;
}

static void give_back(macko_encoder *e, void *room)
{
  for (int i = 0; i < e->nrooms; i++)
    if (e->rooms[i] == room) {
      cudaFree(room);
      e->rooms[i] = e->rooms[--e->nrooms];
      return;
    }
}

macko_status macko_encoder_read_back(const macko_encoder *e, void *to, const void *from, size_t bytes, macko_error *err)
{
  macko_status s = macko_cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, e->stream), "encoding", err);
  return s ? s : macko_cuda_status(cudaStreamSynchronize(e->stream), "encoding", err);
}

/* The copy has left the host's memory when this returns: it is not page-locked. */
macko_status macko_encoder_send(const macko_encoder *e, void *to, const void *from, size_t bytes, macko_error *err)
{
  return macko_cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, e->stream), "encoding", err);
}

macko_status macko_encoder_clear(const macko_encoder *e, macko_error *err)
{
  return macko_cuda_status(cudaMemsetAsync(e->answer, 0, ANSWER_BYTES, e->stream), "encoding", err);
}

/* ---- opening ---- */

static macko_status count_entries(macko_encoder *e, macko_error *err)
{
  int64_t end = 0;
  int32_t end_i32 = 0;
  int wide = e->csr.row_ptr_type == MACKO_I64;
  const char *at = (const char *)e->csr.row_ptr + e->csr.nrows * (wide ? 8 : 4);
  macko_status s = macko_encoder_read_back(e, wide ? (void *)&end : &end_i32, at, wide ? 8 : 4, err);
  e->a.nnz = (wide ? end : end_i32) - e->csr.index_base;
  return s;
}

static macko_status number_pattern(macko_encoder *e, macko_error *err)
{
  unsigned long long sum = 0;
  macko_status s = macko_cuda_status(macko_sum_pattern(&e->csr, e->a.nnz, e->answer, e->stream), "looking at a pattern", err);
  if (!s) s = macko_encoder_read_back(e, &sum, e->answer, sizeof sum, err);
  e->pattern = macko_pattern_number(sum);
  return s;
}

macko_status macko_open_encoder(const macko_csr *csr, cudaStream_t stream, macko_encoder *e, macko_error *err)
{
  macko_device_check check;
  *e = (macko_encoder){.csr = *csr, .stream = stream};
  e->a = (macko_device_csr){csr->row_ptr,    csr->cols,       csr->values, csr->row_ptr_type, csr->col_type,
                            csr->value_type, csr->index_base, csr->nrows,  csr->ncols,        0};
  macko_status s = macko_encoder_room(e, ANSWER_BYTES, &e->answer, err);
  if (!s) s = count_entries(e, err);
  if (s || e->a.nnz < 0 || (e->a.nnz && (!csr->cols || !csr->values))) return s;
  s = macko_cuda_status(macko_check_device_csr(&e->a, e->answer, stream), "checking a matrix", err);
  if (!s) s = macko_encoder_read_back(e, &check, e->answer, sizeof check, err);
  e->readable = !s && !check.invalid && check.longest < MACKO_SLICE_MAX_STEPS;
  return e->readable ? number_pattern(e, err) : s;
}

void macko_close_encoder(macko_encoder *e)
{
  for (int i = 0; i < 8; i++) free(e->surveyed[i].records), free(e->surveyed[i].places);
  for (int i = 0; i < e->nrooms; i++) cudaFree(e->rooms[i]);
}

/* ---- facts about slices ---- */

static macko_status take_arena(macko_encoder *e, int64_t words, macko_device_slices *d, macko_error *err)
{
  void *arena = NULL;
  if (d->arena) give_back(e, d->arena);
  macko_status s = macko_encoder_room(e, words * 4, &arena, err);
  d->arena = arena, d->room = s ? 0 : (unsigned long long)words;
  return s;
}

/* Blocks take half a word an entry or less, nearly always; where they take more, it is known how much after the first time. */
static macko_status describe(macko_encoder *e, int kinds, macko_device_slices *d, macko_error *err)
{
  unsigned long long used = (unsigned long long)(e->a.nnz / 2 + 64 * d->slices);
  macko_status s = MACKO_OK;
  d->used = e->answer;
  do {
    s = take_arena(e, (int64_t)used, d, err);
    if (!s) s = macko_encoder_clear(e, err);
    if (!s) s = macko_cuda_status(macko_describe_slices(&e->a, kinds, d, e->stream), "looking at slices", err);
    if (!s) s = macko_encoder_read_back(e, &used, d->used, sizeof used, err);
  } while (!s && used > d->room);
  return s;
}

static macko_status take_slices(macko_encoder *e, int sorted, macko_device_slices *d, macko_error *err)
{
  void *records = NULL, *sources = NULL, *order = NULL;
  d->slices = macko_slices_of(e->a.nrows);
  macko_status s = macko_encoder_room(e, d->slices * (int64_t)sizeof *d->records, &records, err);
  if (!s) s = macko_encoder_room(e, d->slices * (int64_t)sizeof *d->sources, &sources, err);
  if (!s && sorted) s = macko_encoder_room(e, e->a.nrows * (int64_t)sizeof *d->order, &order, err);
  d->records = records, d->sources = sources, d->order = order;
  if (!s && sorted) s = macko_cuda_status(macko_sort_windows(&e->a, order, e->stream), "sorting rows", err);
  return s;
}

static macko_slice slice_of(const macko_slice_record *r)
{
  uint32_t header[MACKO_SLICE_WORDS] = {0, 0, r->info, 0};
  return macko_slice_at(header, 0);
}

static macko_status place_blocks(const macko_encoder *e, macko_surveyed *v, macko_slice_facts *facts, macko_error *err)
{
  macko_block_set set;
  macko_status s = macko_open_blocks(v->device.slices, &set, err);
  for (int64_t i = 0; !s && i < v->device.slices; i++) {
    const macko_slice_record *r = &v->records[i];
    int64_t lanes = e->a.nrows - i * MACKO_SLICE_ROWS;
    macko_slice slice = slice_of(r);
    int is_new;
    uint32_t block = macko_place_block(&set, r->hash, r->words, macko_block_align(&slice), NULL, &is_new);
    v->places[i] = (macko_slice_place){0, block, (uint32_t)is_new};
    macko_count_slice(facts, &slice, lanes < MACKO_SLICE_ROWS ? (int)lanes : MACKO_SLICE_ROWS, r->in_line, r->entries);
  }
  if (!s) s = macko_count_blocks(facts, &set, err);
  macko_close_blocks(&set);
  return s;
}

/* ---- facts about rows and values ---- */

static macko_status count_rows(void *context, macko_row_facts *facts, macko_error *err)
{
  macko_encoder *e = context;
  macko_device_row_facts f = {.low = {INT64_MAX, INT64_MAX, INT64_MAX}, .high = {INT64_MIN, INT64_MIN, INT64_MIN}};
  macko_status s = macko_encoder_send(e, e->answer, &f, sizeof f, err);
  if (!s) s = macko_cuda_status(macko_count_rows(&e->a, e->answer, e->stream), "looking at rows", err);
  if (!s) s = macko_encoder_read_back(e, &f, e->answer, sizeof f, err);
  for (int i = 0; i < 33; i++) facts->by_log[i] = (int64_t)f.by_log[i];
  for (int mode = 0; mode < 3; mode++) facts->low[mode] = f.low[mode], facts->high[mode] = f.high[mode];
  return s;
}

static macko_surveyed *surveyed(macko_encoder *e, int sorted, int pairs, int stencils)
{
  return &e->surveyed[(sorted ? 1 : 0) + (pairs ? 2 : 0) + (stencils ? 4 : 0)];
}

/* What was seen of the slices of a plan; one without stencils may come from looking for them in vain. */
static macko_surveyed *surveyed_for(macko_encoder *e, const macko_plan *plan)
{
  int sorted = plan->params[MACKO_PARAM_WINDOW] > 0, pairs = plan->values == MACKO_VALUES_PAIRS;
  macko_surveyed *v = surveyed(e, sorted, pairs, plan->params[MACKO_PARAM_STENCILS] > 0);
  return v->records ? v : surveyed(e, sorted, pairs, 1);
}

static macko_status survey(void *context, int sorted, int kinds, macko_slice_facts *facts, macko_error *err)
{
  macko_encoder *e = context;
  macko_surveyed *v = surveyed(e, sorted, kinds & MACKO_PAIRS, kinds & MACKO_STENCILS);
  size_t slices = (size_t)macko_slices_of(e->a.nrows);
  *facts = (macko_slice_facts){.window = sorted ? MACKO_SLICE_WINDOW : 0, .order_bytes = sorted ? e->a.nrows * 2 : 0};
  macko_status s = take_slices(e, sorted, &v->device, err);
  if (!s) s = describe(e, kinds, &v->device, err);
  if (!s && kinds & MACKO_PAIRS) s = macko_encoder_pairs(e, &v->device, facts, err);
  if (s || facts->pairs < 0) return s;
  v->records = malloc(slices * sizeof *v->records + 1), v->places = malloc(slices * sizeof *v->places + 1);
  if (!v->records || !v->places)
    return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to place the blocks of %zu slices", slices);
  s = macko_encoder_read_back(e, v->records, v->device.records, slices * sizeof *v->records, err);
  return s ? s : place_blocks(e, v, facts, err);
}

static macko_status plan_dtans(void *context, const macko_options *options, macko_plan *plan, macko_error *err)
{
  const macko_encoder *e = context;
  return macko_dtans_plan_device(&e->csr, e->a.nnz, options, e->stream, plan, err);
}

macko_facts macko_encoder_facts(macko_encoder *e)
{
  static const macko_column_facts columns = {survey, NULL, count_rows};
  static const macko_dtans_facts dtans = {plan_dtans};
  macko_value_facts values = {e->csr.value_type, macko_encoder_misfit, macko_encoder_distinct, e};
  return (macko_facts){&e->csr, e->a.nnz, values, e, {[MACKO_FORMAT_MACKO] = &columns, [MACKO_FORMAT_DTANS] = &dtans}};
}

/* ---- writing slices ---- */

macko_status macko_encoder_put_slices(macko_encoder *e, macko_device_matrix *d, macko_error *err)
{
  macko_surveyed *v = surveyed_for(e, &d->m.plan);
  uint32_t *blocks = macko_device_data(d, "blocks"), units = 0;
  int size = (int)macko_type_bytes(d->m.plan.stored_type), differs = 0;
  size_t bytes = (size_t)v->device.slices * sizeof *v->places;
  void *places = NULL, *order = macko_device_data(d, "order");
  for (int64_t i = 0; i < v->device.slices; i++) {
    macko_slice s = slice_of(&v->records[i]);
    v->places[i].values = units;
    units += (uint32_t)macko_slice_value_units(&s, size);
  }
  macko_status s = macko_encoder_room(e, (int64_t)bytes, &places, err);
  if (!s) s = macko_encoder_send(e, places, v->places, bytes, err);
  if (!s) s = macko_encoder_clear(e, err);
  if (!s)
    s = macko_cuda_status(macko_write_slices(&v->device, places, macko_device_data(d, "slices"), blocks, e->stream),
                          "writing slices", err);
  if (!s) s = macko_cuda_status(macko_compare_blocks(&v->device, places, blocks, e->answer, e->stream), "comparing blocks", err);
  if (!s && order)
    s = macko_cuda_status(cudaMemcpyAsync(order, v->device.order, (size_t)e->a.nrows * 2, cudaMemcpyDeviceToDevice, e->stream),
                          "copying", err);
  if (!s) s = macko_encoder_read_back(e, &differs, e->answer, sizeof differs, err);
  if (s || !differs) return s;
  e->mistaken = 1;
  return macko_fail(err, MACKO_UNSUPPORTED, "two blocks of slices have one hash");
}

macko_status macko_encoder_move_slices(macko_encoder *e, macko_device_matrix *d, macko_error *err)
{
  int64_t slices = macko_slices_of(d->m.nrows);
  uint32_t *headers = malloc((size_t)slices * MACKO_SLICE_WORDS * 4 + 1), *starts = malloc((size_t)slices * 4 + 1), units = 0;
  void *room = NULL, *section = macko_device_data(d, "slices");
  macko_status s =
      headers && starts ? MACKO_OK : macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld slices", (long long)slices);
  if (!s) s = macko_encoder_read_back(e, headers, section, (size_t)slices * MACKO_SLICE_WORDS * 4, err);
  for (int64_t i = 0; !s && i < slices; i++) {
    macko_slice slice = macko_slice_at(headers, i);
    starts[i] = units;
    units += (uint32_t)macko_slice_value_units(&slice, (int)macko_type_bytes(d->m.plan.stored_type));
  }
  if (!s) s = macko_encoder_room(e, slices * 4, &room, err);
  if (!s) s = macko_encoder_send(e, room, starts, (size_t)slices * 4, err);
  if (!s) s = macko_cuda_status(macko_move_slices(section, room, slices, e->stream), "moving values", err);
  free(headers), free(starts);
  return s;
}

/* ---- comparing ---- */

macko_status macko_encoder_compare(macko_encoder *e, const macko_device_matrix *d, int *rows_differ, int *values_differ,
                                   macko_error *err)
{
  int *answer = e->answer, differ[2] = {0};
  macko_status s = macko_encoder_clear(e, err);
  cudaError_t error = cudaSuccess;
  if (!s && macko_find_section(&d->m, "slices")) error = macko_compare_slices(&e->a, d, answer, answer + 1, e->stream);
  else if (!s) error = macko_compare_row_ptr(&e->a, d, answer, e->stream);
  if (!s) s = macko_cuda_status(error, "comparing rows", err);
  if (!s) s = macko_encoder_read_back(e, differ, answer, sizeof differ, err);
  *rows_differ = differ[0], *values_differ = differ[1];
  return s;
}
