/* Value codec pairs of layout slice: pairs numbered in the order of their appearance, and a stream of their codes. */
#include "core/convert.h"
#include "core/threads.h"
#include "macko/slice_pairs.h"

#include <stdlib.h>
#include <string.h>

void macko_open_pairs(macko_pair_set *set)
{
  set->used = 0, set->key = macko_new_hash_key();
  memset(set->hash, 0, sizeof set->hash);
}

/* Gives the code of a pair of a gap and the bits of a value, which is added if it is new; -1 where there is no room. */
static int code_of(macko_pair_set *set, uint32_t gap, uint64_t bits)
{
  uint64_t at = macko_hash(set->key, bits + gap * set->key.factor) % MACKO_PAIR_HASH;
  for (; set->hash[at]; at = (at + 1) % MACKO_PAIR_HASH) {
    int code = set->hash[at] - 1;
    if (set->gaps[code] == gap && set->bits[code] == bits) return code;
  }
  if (set->used == MACKO_PAIR_LIMIT) return -1;
  set->gaps[set->used] = gap, set->bits[set->used] = bits;
  set->hash[at] = (uint16_t)++set->used;
  return set->used - 1;
}

/* Gives the gap before entry p, which is not the first of its row. */
static uint32_t gap_before(const macko_csr *a, int64_t p)
{
  return (uint32_t)(macko_csr_col(a, p) - macko_csr_col(a, p - 1));
}

/* The first entry of a row, and all entries of a slice with a list, count as pairs of gap 0: a look-up of their gap adds
 * nothing. */
int macko_count_pairs(const macko_csr *a, const macko_csr_slice *c, macko_pair_set *set)
{
  for (int l = 0; l < c->lanes; l++)
    for (int64_t k = 0, p = c->begin[l]; k < c->length[l]; k++, p++) {
      uint32_t gap = k && c->s.gap_bits ? gap_before(a, p) : 0;
      if (code_of(set, gap, macko_bits_at(a->value_type, a->values, p)) < 0) return 0;
    }
  return 1;
}

int macko_add_pairs_of(macko_pair_set *set, const macko_pair_set *more, uint8_t codes[MACKO_PAIR_LIMIT])
{
  for (int i = 0; i < more->used; i++) {
    int code = code_of(set, more->gaps[i], more->bits[i]);
    if (code < 0) return 0;
    if (codes) codes[i] = (uint8_t)code;
  }
  return 1;
}

/* This is what a part needs to write codes: it numbers pairs as it finds them, and renumbers its codes once the parts before are
 * done, so that they are those of one part. */
typedef struct {
  macko_pair_set pairs;
  uint8_t recode[MACKO_PAIR_LIMIT]; /* what each code of this part becomes */
} pair_part;

/* This is what parts share while they write the codes of the rows in view. */
typedef struct {
  const macko_csr *a; /* the rows at hand, from slice `first` on */
  int64_t first;
  const macko_matrix *m;
  int again, in_pieces; /* again: gaps are taken as m has them; in_pieces: lengths of rows are compared with those of m */
  uint8_t *codes;       /* the stream that is written, of slots as in section "values" */
  pair_part *parts;
  int full, changed; /* full: there are too many pairs; changed: rows in pieces are not as they were */
} pair_writing;

/* Writes the codes of a lane whose entries are begin .. end - 1; 0 where there is no room for its pairs. An entry that is not
 * found by a gap has gap 0. Under `again` the old code of the slot tells the gap, which spares reading columns. */
static int write_lane(const pair_writing *w, const slice_reader *r, const macko_slice *s, uint32_t units, int lane, int64_t begin,
                      int64_t end, macko_pair_set *set)
{
  for (int64_t p = begin; p < end; p++) {
    int64_t slot = macko_slice_slot(units, 1, p - begin, lane);
    int chained = p > begin && s->gap_bits == MACKO_GAP_PAIRS;
    uint32_t gap = !chained ? 0 : w->again ? r->pair_gaps[r->codes[slot]] : gap_before(w->a, p);
    int code = code_of(set, gap, macko_bits_at(w->a->value_type, w->a->values, p));
    if (code < 0) return 0;
    w->codes[slot] = (uint8_t)code;
  }
  return 1;
}

/* Replaces the codes of a lane by what they become. */
static void recode_lane(const pair_writing *w, uint32_t units, int lane, int64_t length, const uint8_t recode[MACKO_PAIR_LIMIT])
{
  for (int64_t k = 0; k < length; k++) {
    uint8_t *code = w->codes + macko_slice_slot(units, 1, k, lane);
    *code = recode[*code];
  }
}

/* Writes, or recodes, the codes of slices from .. to - 1 of those in view. Both walks must meet the same slots, so that they are
 * one function. Other parts are asked whether they have given up. */
static void walk_slices(pair_writing *w, pair_part *part, int recoding, int64_t from, int64_t to)
{
  slice_reader r = macko_open_slices(w->m);
  for (int64_t i = w->first + from; i < w->first + to && !macko_is_set(&w->full); i++) {
    macko_slice s = macko_slice_at(r.headers, i);
    const uint32_t units = s.values;
    for (int l = 0; l < macko_slice_lanes(&r, i) && !s.stencil; l++) {
      int64_t row = macko_slice_row(&r, i * MACKO_SLICE_ROWS + l), begin = macko_csr_row(w->a, row),
              end = macko_csr_row(w->a, row + 1);
      /* A row of another length would write into slots of other lanes or beyond the slice. */
      if (w->in_pieces && end - begin != macko_lane_length(&r, &s, l)) macko_set(&w->changed);
      else if (recoding) recode_lane(w, units, l, end - begin, part->recode);
      else if (!write_lane(w, &r, &s, units, l, begin, end, &part->pairs)) macko_set(&w->full);
    }
  }
}

/* As a macko_part this writes codes numbered by the part itself. */
static void write_part(void *context, int part, int64_t from, int64_t to)
{
  pair_writing *w = context;
  walk_slices(w, &w->parts[part], 0, from, to);
}

/* As a macko_part this renumbers codes. Those of the first part stay, as its numbers are everyone's. */
static void recode_part(void *context, int part, int64_t from, int64_t to)
{
  pair_writing *w = context;
  if (part) walk_slices(w, &w->parts[part], 1, from, to);
}

/* Writes the codes of what is in view. The pairs of all views so far are in the first of w->parts, whose numbers go on from view
 * to view; the other parts begin anew. UNSUPPORTED where there is no room for them. */
static macko_status write_view(pair_writing *w, const macko_view *v, int parts, macko_error *err)
{
  const macko_cut whole = macko_cut_rows(&v->view, MACKO_SLICE_ROWS), piece = {.n = macko_slices_of(v->past - v->first)};
  const macko_cut cut = w->in_pieces ? piece : whole;
  w->a = &v->view, w->first = v->first / MACKO_SLICE_ROWS;
  for (int part = 1; part < parts; part++) macko_open_pairs(&w->parts[part].pairs);
  macko_do_parts(&cut, parts, write_part, w);
  for (int part = 1; part < parts && !w->full; part++)
    w->full = !macko_add_pairs_of(&w->parts[0].pairs, &w->parts[part].pairs, w->parts[part].recode);
  if (w->full) return macko_too_many_pairs(err);
  if (w->changed) return macko_fail(err, MACKO_INVALID_MATRIX, "rows have changed while they were encoded");
  if (parts > 1) macko_do_parts(&cut, parts, recode_part, w);
  return MACKO_OK;
}

/* Makes the sections of what codes stand for, of as many elements as there are pairs; none where there are no pairs. */
static macko_status new_tables(macko_type type, const macko_pair_set *set, macko_value_sections *v, macko_error *err)
{
  if (!set->used) return MACKO_OK;
  macko_status s = macko_new_section(macko_value_section("dict", type, set->used), &v->dict, err);
  if (!s) s = macko_new_section(macko_value_section("pair_gaps", MACKO_U32, set->used), &v->pair_gaps, err);
  if (s) return s;
  for (int i = 0; i < set->used; i++) macko_put_bits(type, v->dict.data, i, set->bits[i]);
  memcpy(v->pair_gaps.data, set->gaps, (size_t)v->pair_gaps.bytes);
  return MACKO_OK;
}

macko_status macko_too_many_pairs(macko_error *err)
{
  return macko_fail(err, MACKO_UNSUPPORTED, "values pairs: the matrix has more than %d pairs of a column gap and a value",
                    MACKO_PAIR_LIMIT);
}

/* There are fewer parts than for other work, as each has a set of pairs of its own. */
macko_status macko_new_pairs(macko_rows *rows, const macko_matrix *m, int again, macko_value_sections *v, macko_error *err)
{
  int parts = macko_large_parts(m->nnz);
  pair_writing w = {.m = m, .again = again, .in_pieces = !rows->whole, .parts = calloc((size_t)parts, sizeof *w.parts)};
  macko_view view = macko_open_view(rows, MACKO_SLICE_WINDOW);
  *v = (macko_value_sections){0};
  macko_status s = MACKO_OK;
  if (!w.parts) s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %d pairs of a gap and a value", MACKO_PAIR_LIMIT);
  if (!s) macko_open_pairs(&w.parts[0].pairs);
  if (!s) s = macko_new_section(macko_values_of(m).values, &v->values, err);
  w.codes = v->values.data;
  while (macko_next_view(&view, &s, err)) s = write_view(&w, &view, parts, err);
  macko_close_view(&view);
  if (!s) s = new_tables(m->value_type, &w.parts[0].pairs, v, err);
  if (s) free(v->values.data), free(v->dict.data), free(v->pair_gaps.data);
  free(w.parts);
  return s;
}
