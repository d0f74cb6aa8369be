/* Values of an encoding under way: which codecs hold them, and codes for those of a dictionary. */
#include "core/encoder.h"
#include "macko/slice_pairs.h"

#include <stdlib.h>

/* ---- facts ---- */

macko_status macko_encoder_misfit(void *context, macko_type to, int *found, macko_error *err)
{
  macko_encoder *e = context;
  macko_status s = MACKO_OK;
  if (!e->misfits_known) {
    s = macko_encoder_clear(e, err);
    if (!s) s = macko_cuda_status(macko_find_misfits(&e->a, e->answer, e->stream), "looking at values", err);
    if (!s) s = macko_encoder_read_back(e, &e->misfits, e->answer, sizeof e->misfits, err);
    e->misfits_known = !s;
  }
  *found = (int)(e->misfits >> to & 1);
  return s;
}

static macko_status take_dictionary(macko_encoder *e, macko_device_dictionary *d, macko_error *err)
{
  const int64_t slots = MACKO_DEVICE_HASH_SLOTS + 1;
  void *memory = NULL;
  macko_status s = macko_encoder_room(e, slots * (8 + 8 + 4), &memory, err);
  if (s) return s;
  d->keys = memory;
  d->ranks = d->keys + slots;
  d->codes = (uint32_t *)(d->ranks + slots);
  d->used = e->answer;
  return MACKO_OK;
}

macko_status macko_encoder_distinct(void *context, int64_t *distinct, macko_error *err)
{
  macko_encoder *e = context;
  unsigned used = 0;
  macko_status s = e->values.keys ? MACKO_OK : take_dictionary(e, &e->values, err);
  if (!s) s = macko_cuda_status(macko_collect_values(&e->a, &e->values, e->stream), "collecting values", err);
  if (!s) s = macko_encoder_read_back(e, &used, e->values.used, sizeof used, err);
  e->distinct = *distinct = used > MACKO_DICT_LIMIT ? -1 : (int64_t)used;
  return s;
}

/* How many there are, to at most one more than there is room for. */
macko_status macko_encoder_pairs(macko_encoder *e, const macko_device_slices *slices, macko_slice_facts *facts, macko_error *err)
{
  unsigned used[2] = {0, 0};
  macko_status s = e->values.keys ? MACKO_OK : macko_encoder_distinct(e, &e->distinct, err);
  if (s || e->distinct < 0) return facts->pairs = -1, s;
  if (!e->pairs.keys) s = take_dictionary(e, &e->pairs, err);
  if (!s) s = macko_cuda_status(macko_collect_pairs(&e->a, slices, &e->values, &e->pairs, e->stream), "collecting pairs", err);
  if (!s) s = macko_encoder_read_back(e, used, e->pairs.used, sizeof used, err);
  facts->pairs = used[0] > MACKO_PAIR_LIMIT ? -1 : (int64_t)used[0];
  facts->wide_pairs = used[1] != 0;
  return s;
}

/* ---- new values under pairs ---- */

static macko_device_coding coding_of(const macko_encoder *e, const macko_device_matrix *d)
{
  int joint = d->m.plan.values == MACKO_VALUES_PAIRS;
  return (macko_device_coding){joint ? e->pairs : e->values, e->values, e->old, joint};
}

/* What the stream and the table of *d hold will be overwritten, the table first. */
static macko_status keep_gaps(macko_encoder *e, const macko_device_matrix *d, macko_error *err)
{
  const macko_section *gaps = macko_find_section(&d->m, "pair_gaps");
  void *copy = NULL;
  if (!gaps) return MACKO_OK;
  macko_status s = macko_encoder_room(e, gaps->bytes, &copy, err);
  e->old = (macko_device_codes){macko_device_data(d, "values"), copy};
  if (s) return s;
  return macko_cuda_status(cudaMemcpyAsync(copy, gaps->data, (size_t)gaps->bytes, cudaMemcpyDeviceToDevice, e->stream),
                           "copying gaps", err);
}

macko_status macko_encoder_new_pairs(macko_encoder *e, const macko_device_matrix *d, int64_t *pairs, macko_error *err)
{
  unsigned used = 0;
  macko_status s = macko_encoder_distinct(e, pairs, err);
  if (s || *pairs < 0) return s;
  s = take_dictionary(e, &e->pairs, err);
  if (!s) s = keep_gaps(e, d, err);
  macko_device_coding coding = coding_of(e, d);
  if (!s) s = macko_cuda_status(macko_collect_new_pairs(&e->a, d, &coding, e->stream), "collecting pairs", err);
  if (!s) s = macko_encoder_read_back(e, &used, e->pairs.used, sizeof used, err);
  *pairs = used > MACKO_PAIR_LIMIT ? -1 : (int64_t)used;
  if (s || *pairs < 0) e->old = (macko_device_codes){NULL, NULL};
  return s;
}

/* ---- writing values ---- */

typedef struct {
  unsigned long long rank;
  uint32_t slot;
} appearance;

static int by_rank(const void *a, const void *b)
{
  unsigned long long x = ((const appearance *)a)->rank, y = ((const appearance *)b)->rank;
  return x < y ? -1 : x > y;
}

/* Element of a set that has been read back. */
static uint64_t element_at(const unsigned long long *keys, uint64_t slot)
{
  return slot == MACKO_DEVICE_HASH_SLOTS ? ~0ull : keys[slot];
}

static macko_status send_values(macko_encoder *e, macko_device_matrix *d, const unsigned long long *keys, const appearance *found,
                                int64_t count, macko_error *err)
{
  const macko_section *dict = macko_find_section(&d->m, "dict");
  void *table = calloc((size_t)dict->bytes, 1);
  if (!table) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a dictionary");
  for (int64_t i = 0; i < count; i++) macko_put_bits(d->m.value_type, table, i, element_at(keys, found[i].slot));
  macko_status s = macko_encoder_send(e, dict->data, table, (size_t)dict->bytes, err);
  free(table);
  return s;
}

static macko_status send_pairs(macko_encoder *e, macko_device_matrix *d, const unsigned long long *keys, const appearance *found,
                               int64_t count, macko_error *err)
{
  const size_t slots = MACKO_DEVICE_HASH_SLOTS + 1;
  unsigned long long *values = malloc(slots * sizeof *values);
  uint64_t table[256];
  uint32_t gaps[256];
  if (!values) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a dictionary");
  size_t bytes = (size_t)(count * macko_type_bytes(d->m.value_type));
  macko_status s = macko_encoder_read_back(e, values, e->values.keys, slots * sizeof *values, err);
  for (int64_t i = 0; !s && i < count; i++) {
    uint64_t pair = element_at(keys, found[i].slot), mask = ((uint64_t)1 << MACKO_PAIR_SHIFT) - 1;
    gaps[i] = (uint32_t)(pair >> MACKO_PAIR_SHIFT);
    macko_put_bits(d->m.value_type, table, i, element_at(values, pair & mask));
  }
  if (!s) s = macko_encoder_send(e, macko_device_data(d, "dict"), table, bytes, err);
  if (!s) s = macko_encoder_send(e, macko_device_data(d, "pair_gaps"), gaps, (size_t)count * sizeof *gaps, err);
  free(values);
  return s;
}

/* Codes in the order of ranks, and the table. Patterns that only stencils hold have none; the table's end is then 0, as the
 * host's is. */
static macko_status number_elements(macko_encoder *e, macko_device_matrix *d, int joint, const macko_device_dictionary *set,
                                    macko_error *err)
{
  const size_t slots = MACKO_DEVICE_HASH_SLOTS + 1;
  int64_t count = 0;
  unsigned long long *keys = malloc(2 * slots * sizeof *keys), *ranks = keys ? keys + slots : NULL;
  uint32_t *codes = calloc(slots, sizeof *codes);
  appearance *found = malloc((size_t)(d->m.plan.table + 1) * sizeof *found);
  macko_status s = keys && codes && found ? MACKO_OK : macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a dictionary");
  if (!s) s = macko_encoder_read_back(e, keys, set->keys, 2 * slots * sizeof *keys, err);
  for (size_t i = 0; !s && i < slots; i++)
    if (ranks[i] != ~0ull && count < d->m.plan.table) found[count++] = (appearance){ranks[i], (uint32_t)i};
  if (!s) qsort(found, (size_t)count, sizeof *found, by_rank);
  for (int64_t i = 0; i < count; i++) codes[found[i].slot] = (uint32_t)i;
  if (!s) s = macko_encoder_send(e, set->codes, codes, slots * sizeof *codes, err);
  if (!s) s = (joint ? send_pairs : send_values)(e, d, keys, found, count, err);
  if (!s) s = macko_cuda_status(cudaStreamSynchronize(e->stream), "numbering values", err);
  free(keys), free(codes), free(found);
  return s;
}

macko_status macko_encoder_put_values(macko_encoder *e, macko_device_matrix *d, macko_error *err)
{
  macko_device_coding coding = coding_of(e, d);
  macko_status s = MACKO_OK;
  if (d->m.plan.table) s = macko_cuda_status(macko_rank_values(&e->a, d, &coding, e->stream), "ranking values", err);
  if (!s && d->m.plan.table) s = number_elements(e, d, coding.joint, &coding.set, err);
  return s ? s : macko_cuda_status(macko_write_stream(&e->a, d, &coding, e->stream), "writing values", err);
}
