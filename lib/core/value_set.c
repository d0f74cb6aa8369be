/* Sets of values. */
#include "core/value_set.h"

#include "core/format.h"

#include <stdlib.h>

/* At most a quarter of the slots is taken, so that a search ends after few steps even where `limit` values are in the set. */
macko_status macko_open_value_set(macko_type type, void *table, int64_t limit, macko_value_set *set, macko_error *err)
{
  uint64_t slots = 64;
  while (slots < 4 * (uint64_t)limit) slots *= 2;
  *set = (macko_value_set){.type = type, .table = table, .limit = limit, .last = slots - 1, .key = macko_new_hash_key()};
  set->slots = calloc(slots, sizeof *set->slots);
  if (set->slots) return MACKO_OK;
  return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a dictionary of %lld values", (long long)limit);
}

void macko_close_value_set(macko_value_set *set)
{
  free(set->slots);
  set->slots = NULL;
}
