/* Values of an encoding under way: which codecs hold them, and codes for those of a dictionary. */
#include "core/encoder.h"

#include <stdlib.h>

/* ---- facts ---- */

/* Looks at all values once for all types together, as the pass over them is what takes the time. It ends early where no type holds
 * them, unless it is asked for what overflows. */
static macko_status find_misfits(macko_encoder *e, int overflows, macko_error *err)
{
  if (e->misfits_known > overflows) return MACKO_OK;
  macko_status s = macko_encoder_clear(e, err);
  if (!s) s = macko_cuda_status(macko_find_misfits(&e->a, overflows, e->answer, e->stream), "looking at values", err);
  if (!s) s = macko_encoder_read_back(e, &e->misfits, e->answer, sizeof e->misfits, err);
  if (!s) e->misfits_known = 1 + overflows;
  return s;
}

macko_status macko_encoder_misfit(void *context, macko_type to, int *found, macko_error *err)
{
  macko_encoder *e = context;
  macko_status s = find_misfits(e, 0, err);
  *found = (int)(e->misfits >> to & 1);
  return s;
}

macko_status macko_encoder_check_overflow(macko_encoder *e, const macko_options *options, macko_error *err)
{
  macko_type to = macko_rounded_type(options);
  if (!macko_may_overflow(options, e->csr.value_type)) return MACKO_OK;
  macko_status s = find_misfits(e, 1, err);
  if (!s && e->misfits >> (MACKO_OVERFLOWS + to) & 1)
    s = macko_fail(err, MACKO_UNSUPPORTED, "a value is beyond the range of %s and becomes infinite only with option "
                   "overflow set to allow", macko_type_name(to));
  return s;
}

/* Gives the slots of a set for so many entries. Small matrices have small sets, as all slots are cleared, and read back where
 * elements are numbered. */
static unsigned slots_for(int64_t nnz)
{
  unsigned slots = 1024;
  while (slots < MACKO_DEVICE_HASH_SLOTS && slots < 4 * nnz) slots *= 2;
  return slots;
}

/* One room holds the keys, ranks and codes of all slots, one slot more than the hash has. */
macko_status macko_encoder_dictionary(macko_encoder *e, macko_device_dictionary *d, macko_error *err)
{
  const int64_t slots = (int64_t)slots_for(e->a.nnz) + 1;
  void *memory = NULL;
  macko_status s = macko_encoder_room(e, slots * (8 + 8 + 4), &memory, err);
  if (s) return s;
  d->slots = (unsigned)(slots - 1);
  d->keys = memory;
  d->ranks = d->keys + slots;
  d->codes = (uint32_t *)(d->ranks + slots);
  d->used = e->answer;
  d->key = macko_new_hash_key();
  return MACKO_OK;
}

/* Values are collected up to what any dictionary holds, whatever the limit of this question is: it is the set that codes come
 * from later. */
macko_status macko_encoder_distinct(void *context, int64_t limit, int64_t *distinct, macko_error *err)
{
  macko_encoder *e = context;
  unsigned used = 0;
  macko_status s = e->values.keys ? MACKO_OK : macko_encoder_dictionary(e, &e->values, err);
  if (!s) s = macko_cuda_status(macko_collect_values(&e->a, &e->values, e->stream), "collecting values", err);
  if (!s) s = macko_encoder_read_back(e, &used, e->values.used, sizeof used, err);
  e->distinct = used > MACKO_DICT_LIMIT ? -1 : (int64_t)used;
  *distinct = e->distinct > limit ? -1 : e->distinct;
  return s;
}

/* ---- writing values ---- */

/* This is the order for qsort: rising ranks, which all differ. */
static int by_rank(const void *a, const void *b)
{
  unsigned long long x = ((const macko_appearance *)a)->rank, y = ((const macko_appearance *)b)->rank;
  return x < y ? -1 : x > y;
}

/* The table is filled on the host, as it is small, and zero behind the elements that were found. */
macko_status macko_encoder_send_values(macko_encoder *e, macko_device_matrix *d, const macko_device_dictionary *set,
                                       const unsigned long long *keys, const macko_appearance *found, int64_t count,
                                       macko_error *err)
{
  const macko_section *dict = macko_find_section(&d->m, "dict");
  void *table = calloc((size_t)dict->bytes, 1);
  if (!table) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a dictionary");
  for (int64_t i = 0; i < count; i++) macko_put_bits(d->m.value_type, table, i, macko_element_at(set, keys, found[i].slot));
  macko_status s = macko_encoder_send(e, dict->data, table, (size_t)dict->bytes, err);
  free(table);
  return s;
}

/* Codes go in the order of ranks, so that they are the host's. Patterns of bits that only stencils hold have no rank and get no
 * code; the end of the table is then 0, as the host's is. */
macko_status macko_encoder_number(macko_encoder *e, macko_device_matrix *d, const macko_device_dictionary *set,
                                  macko_table_sender send, macko_error *err)
{
  const size_t slots = (size_t)set->slots + 1;
  int64_t count = 0;
  unsigned long long *keys = malloc(2 * slots * sizeof *keys), *ranks = keys ? keys + slots : NULL;
  uint32_t *codes = calloc(slots, sizeof *codes);
  macko_appearance *found = malloc((size_t)(d->m.plan.table + 1) * sizeof *found);
  macko_status s = keys && codes && found ? MACKO_OK : macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a dictionary");
  if (!s) s = macko_encoder_read_back(e, keys, set->keys, 2 * slots * sizeof *keys, err);
  for (size_t i = 0; !s && i < slots; i++)
    if (ranks[i] != ~0ull && count < d->m.plan.table) found[count++] = (macko_appearance){ranks[i], (uint32_t)i};
  if (!s) qsort(found, (size_t)count, sizeof *found, by_rank);
  for (int64_t i = 0; i < count; i++) codes[found[i].slot] = (uint32_t)i;
  if (!s) s = macko_encoder_send(e, set->codes, codes, slots * sizeof *codes, err);
  if (!s) s = send(e, d, set, keys, found, count, err);
  if (!s) s = macko_cuda_status(cudaStreamSynchronize(e->stream), "numbering values", err);
  free(keys), free(codes), free(found);
  return s;
}

macko_status macko_encoder_put_values(macko_encoder *e, macko_device_matrix *d, macko_error *err)
{
  macko_status s = MACKO_OK;
  if (d->m.plan.table) s = macko_cuda_status(macko_rank_values(&e->a, &e->values, e->stream), "ranking values", err);
  if (!s && d->m.plan.table) s = macko_encoder_number(e, d, &e->values, macko_encoder_send_values, err);
  return s ? s : macko_cuda_status(macko_write_stream(&e->a, d, &e->values, e->stream), "writing values", err);
}
