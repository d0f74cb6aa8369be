/* Values, told apart by their bits, numbered in the order in which they first appear. A set draws a key of its own, so that
 * nobody can choose values that meet in one place; codes do not depend on it. */
#ifndef MACKO_VALUE_SET_H
#define MACKO_VALUE_SET_H

#include "core/convert.h"
#include "core/hash.h"

/* A set of values: a hash table with linear probing over the table of values, which it does not own. */
typedef struct {
  macko_type type;     /* the float type of the values */
  void *table;         /* the values by their codes: the caller's, with room for `limit` */
  int64_t limit, used;
  uint64_t last;       /* number of slots, a power of two, less 1 */
  uint32_t *slots;     /* code + 1, 0 where free */
  macko_hash_key key;
  int64_t steps;       /* slots that were looked at in vain, which only a test asks for */
} macko_value_set;

/* Makes an empty set that numbers at most `limit` values and writes them to `table`, which stays the caller's. Errors:
 * OUT_OF_MEMORY. */
macko_status macko_open_value_set(macko_type type, void *table, int64_t limit, macko_value_set *set, macko_error *err);
/* Frees the slots and leaves the table; a set that was never opened, all zero, is allowed. */
void macko_close_value_set(macko_value_set *set);

/* Gives the code of the value of those bits, which is added where it is new; -1 where there is no room for it. */
static inline int64_t macko_value_code(macko_value_set *set, uint64_t bits)
{
  uint64_t at = macko_hash(set->key, bits) & set->last;
  for (; set->slots[at]; at = (at + 1) & set->last, set->steps++)
    if (macko_bits_at(set->type, set->table, set->slots[at] - 1) == bits) return set->slots[at] - 1;
  if (set->used == set->limit) return -1;
  macko_put_bits(set->type, set->table, set->used, bits);
  set->slots[at] = (uint32_t)++set->used;
  return set->used - 1;
}

#endif
