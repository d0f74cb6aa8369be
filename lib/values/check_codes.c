/* The checks of a stored value stream that all formats share which have a dictionary. */
#include "values/codecs.h"

/* A plan that comes from a file can hold any numbers. These are checked before the sections are, whose types and lengths are made
 * of them. */
macko_status macko_check_codec(const macko_matrix *m, macko_error *err)
{
  const macko_plan *plan = &m->plan;
  if ((unsigned)plan->stored_type > MACKO_I8 && plan->stored_type != MACKO_U8 && plan->stored_type != MACKO_U16)
    return macko_fail(err, MACKO_CORRUPT, "values are stored as type %d, which is no codec's", (int)plan->stored_type);
  if (plan->table < 0 || plan->table > MACKO_DICT_LIMIT)
    return macko_fail(err, MACKO_CORRUPT, "a dictionary of %lld values; there is room for %d", (long long)plan->table,
                      MACKO_DICT_LIMIT);
  if (plan->stored_type == MACKO_U8 && plan->table > 256)
    return macko_fail(err, MACKO_CORRUPT, "a dictionary of %lld values; codes of 8 bits tell 256 apart", (long long)plan->table);
  return MACKO_OK;
}

/* A code beyond the table would let a product read outside of it. All slots are looked at, padding included. */
macko_status macko_check_codes(const macko_matrix *m, macko_error *err)
{
  const macko_section *values = macko_find_section(m, "values");
  if (values->type != MACKO_U8 && values->type != MACKO_U16) return MACKO_OK;
  int64_t count = values->bytes / macko_type_bytes(values->type);
  for (int64_t i = 0; i < count; i++) {
    int64_t code = values->type == MACKO_U8 ? ((const uint8_t *)values->data)[i] : ((const uint16_t *)values->data)[i];
    if (code >= m->plan.table)
      return macko_fail(err, MACKO_CORRUPT, "value code %lld at slot %lld is beyond the %lld of the dictionary", (long long)code,
                        (long long)i, (long long)m->plan.table);
  }
  return MACKO_OK;
}
