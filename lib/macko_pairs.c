#include "macko_pairs.h"
#include "convert.h"

#include <stdlib.h>
#include <string.h>

/* Code of a pair, added if new; -1 where there is no room. */
static int code_of(macko_pair_set *set, uint32_t gap, uint64_t bits)
{
  uint64_t at = ((bits ^ (uint64_t)gap << 20) * 0x9e3779b97f4a7c15u) >> 54;
  for (; set->hash[at]; at = (at + 1) % MACKO_PAIR_HASH) {
    int code = set->hash[at] - 1;
    if (set->gaps[code] == gap && set->bits[code] == bits) return code;
  }
  if (set->used == MACKO_PAIR_LIMIT) return -1;
  set->gaps[set->used] = gap, set->bits[set->used] = bits;
  set->hash[at] = (uint16_t)++set->used;
  return set->used - 1;
}

static uint32_t gap_before(const macko_csr *a, int64_t p)
{
  return (uint32_t)(macko_csr_col(a, p) - macko_csr_col(a, p - 1));
}

int macko_count_pairs(const macko_csr *a, const macko_csr_slice *c, macko_pair_set *set)
{
  for (int l = 0; l < c->lanes; l++)
    for (int64_t k = 0, p = c->begin[l]; k < c->length[l]; k++, p++) {
      uint32_t gap = k && c->s.gap_bits ? gap_before(a, p) : 0;
      if (code_of(set, gap, macko_bits_at(a->value_type, a->values, p)) < 0) return 0;
    }
  return 1;
}

/* 0 where the set has no room. */
static int write_codes(const macko_csr *a, const macko_matrix *m, int again, uint8_t *codes, macko_pair_set *set)
{
  slice_reader r = macko_open_slices(m);
  uint32_t units = 0;
  for (int64_t i = 0; i < macko_slices_of(m->nrows); i++) {
    macko_slice s = macko_slice_at(r.headers, i);
    for (int l = 0; l < macko_slice_lanes(&r, i) && !s.stencil; l++) {
      int64_t row = macko_slice_row(&r, i * MACKO_SLICE_ROWS + l), begin = macko_csr_row(a, row), end = macko_csr_row(a, row + 1);
      for (int64_t p = begin; p < end; p++) {
        int64_t slot = macko_slice_slot(units, 1, p - begin, l);
        int chained = p > begin && s.gap_bits == MACKO_GAP_PAIRS;
        uint32_t gap = !chained ? 0 : again ? r.pair_gaps[r.codes[slot]] : gap_before(a, p);
        int code = code_of(set, gap, macko_bits_at(a->value_type, a->values, p));
        if (code < 0) return 0;
        codes[slot] = (uint8_t)code;
      }
    }
    units += (uint32_t)macko_slice_value_units(&s, 1);
  }
  return 1;
}

static macko_status new_tables(macko_type type, const macko_pair_set *set, macko_value_sections *v, macko_error *err)
{
  if (!set->used) return MACKO_OK;
  macko_status s = macko_new_section("dict", type, set->used, &v->dict, err);
  if (!s) s = macko_new_section("pair_gaps", MACKO_U32, set->used, &v->pair_gaps, err);
  if (s) return s;
  for (int i = 0; i < set->used; i++) macko_put_bits(type, v->dict.data, i, set->bits[i]);
  memcpy(v->pair_gaps.data, set->gaps, (size_t)v->pair_gaps.bytes);
  return MACKO_OK;
}

macko_status macko_too_many_pairs(macko_error *err)
{
  return macko_fail(err, MACKO_UNSUPPORTED, "values joint: the matrix has more than %d pairs of a column gap and a value",
                    MACKO_PAIR_LIMIT);
}

macko_status macko_new_pairs(const macko_csr *a, const macko_matrix *m, int again, macko_value_sections *v, macko_error *err)
{
  macko_pair_set set = {0};
  *v = (macko_value_sections){0};
  macko_status s = macko_new_section("values", MACKO_U8, macko_slice_value_slots(&m->plan, 1), &v->values, err);
  if (!s && !write_codes(a, m, again, v->values.data, &set)) s = macko_too_many_pairs(err);
  if (!s) s = new_tables(m->value_type, &set, v, err);
  if (s) free(v->values.data), free(v->dict.data), free(v->pair_gaps.data);
  return s;
}
