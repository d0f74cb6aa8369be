/* Values of layout slice written on the device, those of codec pairs among them: codes for pairs of a gap and a value. */
#include "macko/slice_pairs.h"
#include "macko/slice_survey.h"

#include <stdlib.h>

/* Pairs are counted to at most one more a thread than there is room for. An element of their set holds the slot of a value, so
 * that values are collected first; where these are too many for a dictionary, so are the pairs. */
macko_status macko_survey_pairs(macko_encoder *e, const macko_device_slices *slices, macko_slice_facts *facts, macko_error *err)
{
  macko_survey *v = e->own[MACKO_FORMAT_MACKO];
  unsigned used[2] = {0, 0};
  macko_status s = e->values.keys ? MACKO_OK : macko_encoder_distinct(e, MACKO_DICT_LIMIT, &e->distinct, err);
  if (s || e->distinct < 0) return facts->pairs = -1, s;
  if (!v->pairs.keys) s = macko_encoder_dictionary(e, &v->pairs, err);
  if (!s) s = macko_cuda_status(macko_collect_pairs(&e->a, slices, &e->values, &v->pairs, e->stream), "collecting pairs", err);
  if (!s) s = macko_encoder_read_back(e, used, v->pairs.used, sizeof used, err);
  facts->pairs = used[0] > MACKO_PAIR_LIMIT ? -1 : (int64_t)used[0];
  facts->wide_pairs = used[1] != 0;
  return s;
}

/* ---- new values under pairs ---- */

/* Gives what the stream of *d holds codes for, by its plan; without a dictionary nothing is looked at. */
static macko_device_coding coding_of(const macko_encoder *e, const macko_device_matrix *d)
{
  const macko_survey *v = e->own[MACKO_FORMAT_MACKO];
  int joint = d->m.plan.values == MACKO_VALUES_PAIRS;
  if (!joint) return (macko_device_coding){.set = e->values, .values = e->values};
  return (macko_device_coding){v->pairs, e->values, v->old, joint};
}

/* Keeps the gaps that the old codes stand for, because the stream and the table of *d will be overwritten, the table first. The
 * codes themselves are read before they are overwritten, slot by slot. */
static macko_status keep_gaps(macko_encoder *e, const macko_device_matrix *d, macko_error *err)
{
  const macko_section *gaps = macko_find_section(&d->m, "pair_gaps");
  macko_survey *v = e->own[MACKO_FORMAT_MACKO];
  void *copy = NULL;
  if (!gaps) return MACKO_OK;
  macko_status s = macko_encoder_room(e, gaps->bytes, &copy, err);
  v->old = (macko_device_codes){macko_device_data(d, "values"), copy};
  if (s) return s;
  return macko_cuda_status(cudaMemcpyAsync(copy, gaps->data, (size_t)gaps->bytes, cudaMemcpyDeviceToDevice, e->stream),
                           "copying gaps", err);
}

/* The encoder goes by old gaps from here on, unless the pairs are too many: then all is encoded again. */
macko_status macko_survey_new_pairs(macko_encoder *e, const macko_device_matrix *d, int64_t *pairs, macko_error *err)
{
  macko_survey *v;
  unsigned used = 0;
  macko_status s = macko_open_survey(e, &v, err);
  if (!s) s = macko_encoder_distinct(e, MACKO_DICT_LIMIT, pairs, err);
  if (s || *pairs < 0) return s;
  s = macko_encoder_dictionary(e, &v->pairs, err);
  if (!s) s = keep_gaps(e, d, err);
  macko_device_coding coding = coding_of(e, d);
  if (!s) s = macko_cuda_status(macko_collect_new_pairs(&e->a, d, &coding, e->stream), "collecting pairs", err);
  if (!s) s = macko_encoder_read_back(e, &used, v->pairs.used, sizeof used, err);
  *pairs = used > MACKO_PAIR_LIMIT ? -1 : (int64_t)used;
  if (s || *pairs < 0) v->old = (macko_device_codes){NULL, NULL};
  return s;
}

/* ---- writing values ---- */

/* Fills sections "dict" and "pair_gaps" with the pairs that were found, in the order of their codes (macko_table_sender). */
static macko_status send_pairs(macko_encoder *e, macko_device_matrix *d, const macko_device_dictionary *set,
                               const unsigned long long *keys, const macko_appearance *found, int64_t count, macko_error *err)
{
  const size_t slots = (size_t)e->values.slots + 1;
  unsigned long long *values = malloc(slots * sizeof *values);
  uint64_t table[256];
  uint32_t gaps[256];
  if (!values) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a dictionary");
  size_t bytes = (size_t)(count * macko_type_bytes(d->m.value_type));
  macko_status s = macko_encoder_read_back(e, values, e->values.keys, slots * sizeof *values, err);
  for (int64_t i = 0; !s && i < count; i++) {
    uint64_t pair = macko_element_at(set, keys, found[i].slot), mask = ((uint64_t)1 << MACKO_PAIR_SHIFT) - 1;
    gaps[i] = (uint32_t)(pair >> MACKO_PAIR_SHIFT);
    macko_put_bits(d->m.value_type, table, i, macko_element_at(&e->values, values, pair & mask));
  }
  if (!s) s = macko_encoder_send(e, macko_device_data(d, "dict"), table, bytes, err);
  if (!s) s = macko_encoder_send(e, macko_device_data(d, "pair_gaps"), gaps, (size_t)count * sizeof *gaps, err);
  free(values);
  return s;
}

macko_status macko_put_slice_values(macko_encoder *e, macko_device_matrix *d, macko_error *err)
{
  const macko_device_coding coding = coding_of(e, d);
  macko_status s = MACKO_OK;
  if (d->m.plan.table) s = macko_cuda_status(macko_rank_slots(&e->a, d, &coding, e->stream), "ranking values", err);
  if (!s && d->m.plan.table)
    s = macko_encoder_number(e, d, &coding.set, coding.joint ? send_pairs : macko_encoder_send_values, err);
  return s ? s : macko_cuda_status(macko_write_slots(&e->a, d, &coding, e->stream), "writing values", err);
}
