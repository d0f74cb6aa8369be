/* Layout slice encoded on the device: kernels describe slices, their blocks are placed here, and kernels write them. */
#include "macko/slice_survey.h"

#include <stdlib.h>
#include <string.h>

macko_status macko_open_survey(macko_encoder *e, macko_survey **v, macko_error *err)
{
  void **own = &e->own[MACKO_FORMAT_MACKO];
  if (!*own) *own = calloc(1, sizeof **v);
  *v = *own;
  return *own ? MACKO_OK : macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to look at slices");
}

/* Frees what is in host memory; rooms on the device are the encoder's. */
void macko_close_survey(macko_encoder *e)
{
  macko_survey *v = e->own[MACKO_FORMAT_MACKO];
  for (int i = 0; v && i < 8; i++) free(v->surveyed[i].records), free(v->surveyed[i].places);
  free(v);
}

/* ---- facts about slices ---- */

/* Takes an arena for the words of all blocks, in place of the one that was too small. */
static macko_status take_arena(macko_encoder *e, int64_t words, macko_device_slices *d, macko_error *err)
{
  void *arena = NULL;
  if (d->arena) macko_encoder_give_back(e, d->arena);
  macko_status s = macko_encoder_room(e, words * 4, &arena, err);
  d->arena = arena, d->room = s ? 0 : (unsigned long long)words;
  return s;
}

/* Describes all slices. Blocks take half a word an entry or less, nearly always; where they take more it is known how much
 * after the first time, and the kernel runs again with room for that. */
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

/* Takes room for what is described of each slice, and sorts the rows of windows by their lengths where that is asked for. */
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

/* Gives what a record tells of a slice: all but where its values and block begin, and its base. */
static macko_slice slice_of(const macko_slice_record *r)
{
  uint32_t header[MACKO_SLICE_WORDS] = {0, 0, r->info, 0};
  return macko_slice_at(header, 0);
}

/* Places the blocks of all slices, equal ones once, and counts what slices are for the plan. Equal hashes are taken for equal
 * blocks here; macko_put_slices compares them. */
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

/* Says where slices are kept that are described in that way. */
static macko_surveyed *surveyed(macko_encoder *e, int sorted, int pairs, int stencils)
{
  return &((macko_survey *)e->own[MACKO_FORMAT_MACKO])->surveyed[(sorted ? 1 : 0) + (pairs ? 2 : 0) + (stencils ? 4 : 0)];
}

/* Gives the slices that a plan goes by. A plan without stencils may come from looking for them in vain. */
static macko_surveyed *surveyed_for(macko_encoder *e, const macko_plan *plan)
{
  int sorted = macko_params_of(plan)->slice.window > 0, pairs = plan->values == MACKO_VALUES_PAIRS;
  macko_surveyed *v = surveyed(e, sorted, pairs, macko_params_of(plan)->slice.stencils > 0);
  return v->records ? v : surveyed(e, sorted, pairs, 1);
}

/* Describes and places all slices in one order of rows, and keeps them for encoding, because the plan may choose this way.
 * Where pairs are too many nothing else is of use. */
macko_status macko_survey_slices(void *context, int sorted, int kinds, macko_slice_facts *facts, macko_error *err)
{
  macko_encoder *e = context;
  macko_survey *all;
  size_t slices = (size_t)macko_slices_of(e->a.nrows);
  *facts = (macko_slice_facts){.window = sorted ? MACKO_SLICE_WINDOW : 0, .order_bytes = sorted ? e->a.nrows * 2 : 0};
  macko_status s = macko_open_survey(e, &all, err);
  if (s) return s;
  macko_surveyed *v = surveyed(e, sorted, kinds & MACKO_PAIRS, kinds & MACKO_STENCILS);
  s = take_slices(e, sorted, &v->device, err);
  if (!s) s = describe(e, kinds, &v->device, err);
  if (!s && kinds & MACKO_PAIRS) s = macko_survey_pairs(e, &v->device, facts, err);
  if (s || facts->pairs < 0) return s;
  v->records = malloc(slices * sizeof *v->records + 1), v->places = malloc(slices * sizeof *v->places + 1);
  if (!v->records || !v->places)
    return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to place the blocks of %zu slices", slices);
  s = macko_encoder_read_back(e, v->records, v->device.records, slices * sizeof *v->records, err);
  return s ? s : place_blocks(e, v, facts, err);
}

/* ---- writing slices ---- */

/* Where values begin is known only now, as it depends on the codec. A kernel compares every block with the one it was given: if
 * that is another one, hashes were mistaken, and the host encodes. */
macko_status macko_put_slices(macko_encoder *e, macko_device_matrix *d, macko_error *err)
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

/* Where values begin is computed on the host, as slices follow each other and a sum of their units is all there is to it. */
macko_status macko_move_slice_values(macko_encoder *e, macko_device_matrix *d, macko_error *err)
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
