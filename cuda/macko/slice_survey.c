/* Layout slice encoded on the device: kernels describe slices, place their blocks, and write them. */
#include "macko/slice_survey.h"

#include <stdlib.h>

macko_status macko_open_survey(macko_encoder *e, macko_survey **v, macko_error *err)
{
  void **own = &e->own[MACKO_FORMAT_MACKO];
  if (!*own) *own = calloc(1, sizeof **v);
  *v = *own;
  return *own ? MACKO_OK : macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to look at slices");
}

/* Rooms on the device are the encoder's. */
void macko_close_survey(macko_encoder *e)
{
  free(e->own[MACKO_FORMAT_MACKO]);
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

/* Describes all slices, or one of so many to learn how many words their blocks take, and sets *used to that. */
static macko_status describe_some(macko_encoder *e, int kinds, int every, macko_device_slices *d, unsigned long long *used,
                                  macko_error *err)
{
  d->used = e->answer;
  macko_status s = macko_encoder_clear(e, err);
  if (!s) s = macko_cuda_status(macko_describe_slices(&e->a, kinds, every, d, e->stream), "looking at slices", err);
  return s ? s : macko_encoder_read_back(e, used, d->used, sizeof *used, err);
}

/* Sets *words to what the blocks of all slices are expected to take. A number that grids have no multiples of says which slices
 * are looked at. In another order of rows they take about as much. */
static macko_status expect_words(macko_encoder *e, int64_t known, int kinds, macko_device_slices *d, int64_t *words,
                                 macko_error *err)
{
  enum { STRIDE = 17, MANY = 4096 };
  unsigned long long some = 0;
  *words = known ? known + known / 16 : e->a.nnz / 2 + 64 * d->slices;
  if (known || d->slices < MANY) return MACKO_OK;
  macko_status s = describe_some(e, kinds, STRIDE, d, &some, err);
  *words = (int64_t)(some + some / 8) * STRIDE + 64;
  return s;
}

/* Describes all slices. Where their blocks take more than expected it is known how much after the first time, and the kernel runs
 * again with room for that. */
static macko_status describe(macko_encoder *e, macko_survey *all, int kinds, macko_device_slices *d, macko_error *err)
{
  int64_t words = 0;
  unsigned long long used = 0;
  macko_status s = expect_words(e, all->block_words, kinds, d, &words, err);
  do {
    if (!s) s = take_arena(e, words, d, err);
    if (!s) s = describe_some(e, kinds, 1, d, &used, err);
    words = (int64_t)used;
  } while (!s && used > d->room);
  all->block_words = words;
  return s;
}

/* Takes room for what is described of each slice, and sorts the rows of windows by their lengths where that is asked for. */
static macko_status take_slices(macko_encoder *e, int sorted, macko_device_slices *d, macko_error *err)
{
  void *room = NULL, *order = NULL;
  const int64_t n = d->slices = macko_slices_of(e->a.nrows);
  macko_status s = macko_encoder_room(e, n * (int64_t)(sizeof *d->records + sizeof *d->sources + sizeof *d->places), &room, err);
  if (!s && sorted) s = macko_encoder_room(e, e->a.nrows * (int64_t)sizeof *d->order, &order, err);
  if (s) return s;
  d->records = room, d->order = order;
  d->sources = (macko_slice_source *)(d->records + n);
  d->places = (macko_slice_place *)(d->sources + n);
  return sorted ? macko_cuda_status(macko_sort_windows(&e->a, order, e->stream), "sorting rows", err) : MACKO_OK;
}

/* Takes one room, *room, for all that placing so many blocks needs. */
static macko_status take_table(macko_encoder *e, int64_t slices, void **room, macko_slice_table *t, macko_error *err)
{
  int64_t places = 64, sums = macko_slice_sums(slices);
  while (places < 2 * slices) places *= 2;
  macko_status s = macko_encoder_room(
      e, sums * (int64_t)sizeof *t->growth + places * (int64_t)(sizeof *t->numbers + sizeof *t->first) + slices * 4, room, err);
  if (s) return s;
  *t = (macko_slice_table){.growth = *room, .mask = (uint64_t)places - 1, .key = macko_new_hash_key()};
  t->numbers = (unsigned long long *)(t->growth + sums);
  t->first = (uint32_t *)(t->numbers + places);
  t->found = t->first + places;
  return MACKO_OK;
}

/* Places the blocks of all slices, equal ones once, and counts what slices are for the plan. Equal hashes are taken for equal
 * blocks here; macko_put_slices compares them. */
static macko_status place_blocks(macko_encoder *e, macko_surveyed *v, macko_slice_facts *facts, macko_error *err)
{
  macko_slice_answer answer = {0};
  macko_slice_table table;
  void *room = NULL;
  macko_status s = take_table(e, v->device.slices, &room, &table, err);
  if (!s)
    s = macko_cuda_status(macko_place_slices(&v->device, e->a.nrows, &table, e->answer, e->stream), "placing blocks", err);
  if (!s) s = macko_encoder_read_back(e, &answer, e->answer, sizeof answer, err);
  if (room) macko_encoder_give_back(e, room);
  if (s) return s;
  macko_add_counts(facts, &answer.facts);
  facts->block_words = answer.facts.block_words;
  v->placed = 1, v->mixed = answer.mixed, v->stencils = facts->stencils, v->masked = facts->masked;
  return macko_check_facts(facts, err);
}

/* Says where slices are kept that are described in that way. */
static macko_surveyed *surveyed(macko_encoder *e, int sorted, int kinds)
{
  return &((macko_survey *)e->own[MACKO_FORMAT_MACKO])->surveyed[(sorted ? 1 : 0) + 2 * kinds];
}

/* Gives the slices that a plan goes by. A plan without stencils or masked slices may come from looking for them in vain. */
static macko_surveyed *surveyed_for(macko_encoder *e, const macko_plan *plan)
{
  const macko_params *params = macko_params_of(plan);
  const int sorted = params->slice.window > 0, pairs = plan->values == MACKO_VALUES_PAIRS ? MACKO_PAIRS : 0;
  macko_surveyed *v = NULL;
  for (int kinds = 0; kinds <= (MACKO_STENCILS | MACKO_PAIRS | MACKO_MASKED); kinds++) {
    macko_surveyed *one = surveyed(e, sorted, kinds);
    const int as_planned = one->stencils == params->slice.stencils && one->masked == params->slice.masked;
    if (one->placed && (kinds & MACKO_PAIRS) == pairs && as_planned) v = one;
  }
  return v;
}

/* Describes and places all slices in one order of rows, and keeps them for encoding, because the plan may choose this way.
 * Where pairs are too many nothing else is of use. */
macko_status macko_survey_slices(void *context, int sorted, int kinds, macko_slice_facts *facts, macko_error *err)
{
  macko_encoder *e = context;
  macko_survey *all;
  *facts = (macko_slice_facts){.window = sorted ? MACKO_SLICE_WINDOW : 0, .order_bytes = sorted ? e->a.nrows * 2 : 0};
  macko_status s = macko_open_survey(e, &all, err);
  if (s) return s;
  macko_surveyed *v = surveyed(e, sorted, kinds);
  s = take_slices(e, sorted, &v->device, err);
  if (!s) s = describe(e, all, kinds, &v->device, err);
  if (!s && kinds & MACKO_PAIRS) s = macko_survey_pairs(e, &v->device, facts, err);
  if (s || facts->pairs < 0) return s;
  return place_blocks(e, v, facts, err);
}

/* The order is that of the first survey with sorted rows, as all of them sort alike. */
double macko_survey_sectors(void *context)
{
  macko_encoder *e = context;
  const macko_survey *all = e->own[MACKO_FORMAT_MACKO];
  const uint16_t *order = NULL;
  for (int i = 0; all && !order && i < 16; i++) order = all->surveyed[i].device.order;
  if (!order) return 0;
  const macko_stretches stretches = macko_stretches_of(e->a.nrows, e->a.nnz, e->a.value_type);
  const macko_apart_sample sample = macko_apart_sample_of(e->a.nrows, e->a.nnz, e->a.value_type);
  return macko_encoder_all_sectors(
      e, &stretches, macko_count_apart(&e->a, order, &sample, stretches.columns, macko_new_hash_key(), e->answer, e->stream));
}

/* ---- writing slices ---- */

/* Fails, so that the host encodes, where hashes are not enough to tell blocks apart. */
static macko_status mistaken(macko_encoder *e, macko_error *err)
{
  e->mistaken = 1;
  return macko_fail(err, MACKO_UNSUPPORTED, "two blocks of slices have one hash");
}

/* Where values begin is known only now, as it depends on the codec. A kernel compares every block with the one it was given. */
macko_status macko_put_slices(macko_encoder *e, macko_device_matrix *d, macko_error *err)
{
  macko_surveyed *v = surveyed_for(e, &d->m.plan);
  uint32_t *blocks = macko_device_data(d, "blocks");
  int differs = 0;
  void *order = macko_device_data(d, "order");
  if (v->mixed) return mistaken(e, err);
  macko_status s = macko_encoder_clear(e, err);
  if (!s)
    s = macko_cuda_status(macko_write_slices(&v->device, macko_device_data(d, "slices"), blocks, e->stream), "writing slices", err);
  if (!s) s = macko_cuda_status(macko_compare_blocks(&v->device, blocks, e->answer, e->stream), "comparing blocks", err);
  if (!s) s = macko_move_slice_values(e, d, err);
  if (!s && order)
    s = macko_cuda_status(cudaMemcpyAsync(order, v->device.order, (size_t)e->a.nrows * 2, cudaMemcpyDeviceToDevice, e->stream),
                          "copying", err);
  if (!s) s = macko_encoder_read_back(e, &differs, e->answer, sizeof differs, err);
  return s || !differs ? s : mistaken(e, err);
}

macko_status macko_move_slice_values(macko_encoder *e, macko_device_matrix *d, macko_error *err)
{
  const int64_t slices = macko_slices_of(d->m.nrows);
  void *room = NULL;
  macko_status s = macko_encoder_room(e, macko_slice_sums(slices) * (int64_t)sizeof(uint32_t), &room, err);
  if (s) return s;
  return macko_cuda_status(macko_move_slices(macko_device_data(d, "slices"), slices,
                                             (int)macko_type_bytes(d->m.plan.stored_type), room, e->stream), "moving values", err);
}
