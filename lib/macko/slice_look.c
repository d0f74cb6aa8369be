/* Layout slice: slices are looked at in rounds, in parts and then placed in their order, so that few blocks wait to be placed. */
#include "core/threads.h"
#include "macko/slice_look.h"
#include "macko/slice_repeats.h"

#include <stdlib.h>
#include <string.h>

enum {
  WINDOW = MACKO_SLICE_WINDOW,
  AHEAD = 8, NEAR = 16, /* slices that are fetched ahead, and how many of the last are asked for a stencil */
  ROUNDS = 16, ROUND_ENTRIES = 1 << 20, /* at least so many rounds; at most so many entries of a part in one */
  FIRST_ROOM = 1 << 12 /* words of blocks that there is room for at first; grids need no more */
};

/* This is a slice that has been described, and waits to be placed. */
typedef struct {
  macko_slice s;
  macko_block_key key;
  const macko_block_buffer *buffer; /* where its block is, from word `block` on */
  int64_t block;
} seen_slice;

/* This is what a part has of its own, from round to round. */
typedef struct {
  macko_block_buffer buffer;
  macko_slice_facts facts;
  macko_pair_set pairs;
  macko_known_slice *known; /* NULL where slices that repeat others are not looked for */
  int near_stencil; /* above 0: one of the last slices was a stencil, so that those ahead are likely to be some, too */
  macko_status status;
  macko_error err;
} round_part;

/* This is a look under way, which all parts share. */
typedef struct {
  const macko_csr *a; /* the rows at hand */
  macko_slice_look *look;
  int64_t nrows, past; /* rows of the matrix; slices until the end of those at hand */
  int64_t most; /* words of blocks that may be kept, unless they are needed */
  int in_pieces, needed, parts, full; /* full: there are too many pairs */
  int64_t nnz, first, count; /* entries of the matrix; first slice of the round, and how many it has */
  int64_t *entries;          /* for each of them the entries of the round before it, by which parts are cut */
  seen_slice *seen;
  round_part *of_parts;
  macko_block_set set;
} slice_round;

/* ---- a part's slices ---- */

/* Gives 1 if the rows of eight lanes from `first` on are equally long and begin one column after the other. Later columns are not
 * compared: on meshes they follow. */
static int in_line(const macko_csr *a, const macko_csr_slice *c, int first)
{
  for (int l = first; l < first + MACKO_SIDE_BY_SIDE; l++)
    if (!c->length[l] || c->length[l] != c->length[first] ||
        macko_base_distance(a, c, l) != macko_base_distance(a, c, first))
      return 0;
  return 1;
}

void macko_count_csr_slice(const macko_csr *a, const macko_csr_slice *c, macko_slice_facts *p)
{
  unsigned lined = 0;
  int64_t entries = 0;
  int alike = c->s.stencil || c->s.gap_bits == MACKO_GAP_MASKED || macko_is_uniform(&c->s, c->lanes);
  for (int group = 0; group < MACKO_SLICE_ROWS / MACKO_SIDE_BY_SIDE && !alike; group++)
    lined |= (unsigned)in_line(a, c, group * MACKO_SIDE_BY_SIDE) << group;
  for (int l = 0; l < c->lanes; l++) entries += c->length[l];
  macko_count_slice(p, &c->s, c->lanes, lined, entries);
}

/* As a macko_part this sorts windows of rows, which are counted from the first of the view. */
static void sort_windows(void *context, int part, int64_t from, int64_t to)
{
  const slice_round *r = context;
  (void)part;
  for (from += r->first, to += r->first; from < to; from++) macko_sort_window(r->a, from * WINDOW, r->look->order + from * WINDOW);
}

/* Makes *c, whose rows are known, its block in the part's buffer, and that one's key. Pairs are counted on the way; where they
 * are too many all parts give up. */
static macko_status describe(slice_round *r, round_part *part, macko_csr_slice *c, macko_block_key *key)
{
  if (!c->s.stencil) macko_describe_slice(r->a, r->look->kinds, c);
  if (r->look->kinds & MACKO_PAIRS && !c->s.stencil && !macko_count_pairs(r->a, c, &part->pairs)) {
    macko_set(&r->full);
    return MACKO_OK;
  }
  if (c->s.steps >= MACKO_SLICE_MAX_STEPS)
    return macko_fail(&part->err, MACKO_LIMIT, "layout slice holds rows of fewer than %d entries, not %u", MACKO_SLICE_MAX_STEPS,
                      c->s.steps);
  return macko_fill_buffer(r->a, c, &part->buffer, key, &part->err);
}

/* Describes a slice, of which the rows are known, into the part's buffer. One that repeats another takes that one's header and
 * block; its pairs have been counted with that one's. */
static macko_status look_at(slice_round *r, round_part *part, int64_t slice, macko_csr_slice *c, macko_block_key *key)
{
  const macko_slice_look *known = r->look->stencils;
  const int stencils = r->look->kinds & MACKO_STENCILS && !r->look->order && !known;
  const int pairs = (r->look->kinds & MACKO_PAIRS) != 0;
  const macko_slice before = known ? macko_slice_at(known->headers, slice) : (macko_slice){0};
  macko_known_slice *like;
  if (before.stencil) {
    c->s = before;
    return macko_refill_buffer(&before, known->blocks + before.block, &part->buffer, key, &part->err);
  }
  if (macko_is_repeated(part->known, r->a, slice, stencils, c, &like)) {
    *key = like->key;
    return macko_copy_to_buffer(like->block, like->key.words, &part->buffer, &part->err);
  }
  macko_status s = describe(r, part, c, key);
  if (!s && like && !macko_is_set(&r->full)) macko_remember_slice(like, c, pairs, key, part->buffer.words + part->buffer.used);
  return s;
}

/* Finds and describes a slice into *seen and the part's buffer. */
static macko_status look_at_next(slice_round *r, round_part *part, int64_t slice, seen_slice *seen)
{
  macko_csr_slice c;
  const int64_t window = slice * MACKO_SLICE_ROWS / WINDOW * WINDOW;
  if (part->near_stencil > 0) macko_fetch_slice(r->a, slice + AHEAD), part->near_stencil--;
  macko_find_slice(r->a, r->look->order ? r->look->order + window : NULL, slice, &c);
  const macko_status s = look_at(r, part, slice, &c, &seen->key);
  if (c.s.stencil) part->near_stencil = NEAR;
  seen->s = c.s, seen->buffer = &part->buffer, seen->block = part->buffer.used;
  if (s || r->full) return s;
  part->buffer.used += seen->key.words;
  macko_count_csr_slice(r->a, &c, &part->facts);
  return MACKO_OK;
}

/* As a macko_part this describes slices of the round. The buffer begins anew, as blocks of the last round have been placed. */
static void look_at_part(void *context, int number, int64_t from, int64_t to)
{
  slice_round *r = context;
  round_part *part = &r->of_parts[number];
  part->buffer.used = 0;
  for (; from < to && !part->status && !macko_is_set(&r->full); from++)
    part->status = look_at_next(r, part, r->first + from, &r->seen[from]);
}

/* ---- rounds ---- */

/* Gives the entries of a slice in the order of the look. */
static int64_t entries_of(const slice_round *r, int64_t slice)
{
  int64_t row = slice * MACKO_SLICE_ROWS, end = row + MACKO_SLICE_ROWS, n = 0;
  if (end > r->a->nrows) end = r->a->nrows;
  if (!r->look->order) return macko_csr_row(r->a, end) - macko_csr_row(r->a, row);
  for (; row < end; row++) {
    int64_t i = row / WINDOW * WINDOW + r->look->order[row];
    n += macko_csr_row(r->a, i + 1) - macko_csr_row(r->a, i);
  }
  return n;
}

/* Gives the most slices of a round. In one part slices are placed one by one, so that one block waits at a time. */
static int64_t most_slices(const slice_round *r)
{
  return r->parts > 1 ? macko_slices_of(r->nrows) / ROUNDS + 1 : 1;
}

/* Sets the round to the next slices, at least one, and gives the number of their entries. How many depends on entries, so that
 * the buffers of blocks stay small. */
static int64_t gather_round(slice_round *r, int64_t first)
{
  int64_t total = 0, most = (int64_t)r->parts * ROUND_ENTRIES;
  if (most > r->nnz / ROUNDS) most = r->nnz / ROUNDS;
  r->first = first, r->count = 0;
  while (first + r->count < r->past && r->count < most_slices(r)) {
    int64_t more = r->parts > 1 ? entries_of(r, first + r->count) : 0;
    if (r->count && total + more > most) break;
    r->entries[r->count++] = total;
    total += more;
  }
  return total;
}

/* Gives the zeroed array of a section like that one, which may go into a matrix; NULL where memory is short. */
static void *new_array(macko_section like, macko_error *err)
{
  macko_section section = {.data = NULL};
  macko_new_section(like, &section, err);
  return section.data;
}

/* Gives the blocks room for so many words, those that are there included. On failure they stay. */
static macko_status take_room(macko_slice_look *look, int64_t words, macko_error *err)
{
  uint32_t *larger = new_array(macko_pattern_section("blocks", MACKO_U32, words), err);
  if (!larger) return MACKO_OUT_OF_MEMORY;
  if (look->room) memcpy(larger, look->blocks, (size_t)look->room * 4);
  free(look->blocks);
  look->blocks = larger, look->room = words;
  return MACKO_OK;
}

/* Makes room for so many words of blocks, with some to spare, unless that is more than there may be: then blocks are no longer
 * kept. */
static macko_status make_room(slice_round *r, int64_t words, macko_error *err)
{
  if (words <= r->most || r->needed)
    return take_room(r->look, 4 * words < r->most ? 4 * words : words < r->most ? r->most : words, err);
  free(r->look->blocks);
  r->look->blocks = NULL, r->look->room = 0;
  return MACKO_OK;
}

/* Places the block of slice i of the round and writes the slice's header. */
static macko_status place_slice(slice_round *r, int64_t i, macko_error *err)
{
  seen_slice *seen = &r->seen[i];
  const macko_block_key *key = &seen->key;
  macko_slice_look *look = r->look;
  macko_status s = MACKO_OK;
  int is_new;
  r->set.block = key->words ? seen->buffer->words + seen->block : NULL;
  seen->s.block = macko_place_block(&r->set, key->hash, key->words, (int)key->align, look->blocks, &is_new);
  /* make_room may drop the blocks, so that the line behind it has to look for them again, or fail, and leave them too small. */
  if (is_new && look->blocks && r->set.words > look->room) s = make_room(r, r->set.words, err);
  if (is_new && look->blocks && !s) memcpy(look->blocks + seen->s.block, r->set.block, (size_t)key->words * 4);
  macko_put_slice(&seen->s, look->headers + (r->first + i) * MACKO_SLICE_WORDS);
  return s;
}

/* Sorts the rows at hand, from `row` on, in their windows. */
static void sort_rows(slice_round *r, int64_t row)
{
  const macko_cut whole = macko_cut_rows(r->a, WINDOW), pieces = {.n = (r->a->nrows - row + WINDOW - 1) / WINDOW};
  r->first = row / WINDOW;
  macko_do_parts(r->in_pieces ? &pieces : &whole, r->parts, sort_windows, r);
}

/* Forgets slices of earlier views: their columns are out of reach, so that nothing can be compared with them. */
static void forget_slices(slice_round *r)
{
  for (int i = 0; i < r->parts; i++)
    for (int k = 0; r->of_parts[i].known && k < MACKO_REPEATS; k++) r->of_parts[i].known[k].signature = 0;
}

/* Looks at the slices of the rows at hand, from `row` on. Parts describe slices at the same time; then all are placed in their
 * order, so that blocks lie as one part would have put them. */
static macko_status look_in_rounds(slice_round *r, int64_t row, macko_error *err)
{
  if (r->look->order) sort_rows(r, row);
  if (r->in_pieces) forget_slices(r);
  r->past = macko_slices_of(r->a->nrows);
  for (int64_t first = row / MACKO_SLICE_ROWS; first < r->past && !r->full; first += r->count) {
    int64_t entries = gather_round(r, first);
    const macko_cut cut = {r->count, MACKO_I64, r->entries, 1, entries};
    macko_do_parts(&cut, r->parts, look_at_part, r);
    for (int i = 0; i < r->parts; i++)
      if (r->of_parts[i].status) return macko_fail(err, r->of_parts[i].status, "%s", r->of_parts[i].err.text);
    for (int64_t i = 0; i < r->count && !r->full; i++) {
      macko_status s = place_slice(r, i, err);
      if (s) return s;
    }
  }
  return MACKO_OK;
}

/* Puts together what the parts have counted, pairs in the order of the parts. */
static macko_status add_parts(slice_round *r, macko_error *err)
{
  macko_slice_facts *p = &r->look->facts;
  macko_pair_set *pairs = &r->of_parts[0].pairs;
  for (int i = 0; i < r->parts && !r->full; i++) {
    macko_add_counts(p, &r->of_parts[i].facts);
    if (i && !macko_add_pairs_of(pairs, &r->of_parts[i].pairs, NULL)) r->full = 1;
  }
  p->pairs = r->full ? -1 : pairs->used;
  for (int i = 0; i < pairs->used; i++) p->wide_pairs |= pairs->gaps[i] >> 16 != 0;
  p->block_words = r->set.words;
  return r->full ? MACKO_OK : macko_check_facts(p, err);
}

/* ---- looks ---- */

/* Allocates what a look needs; close_round frees it, but for what is in the look. Repeats are not looked for in sorted rows,
 * which do not follow each other in the csr. */
static macko_status open_round(slice_round *r, macko_error *err)
{
  macko_slice_look *look = r->look;
  int64_t slices = macko_slices_of(r->nrows), room = r->needed || r->most < FIRST_ROOM ? r->most : FIRST_ROOM;
  r->entries = calloc((size_t)most_slices(r), sizeof *r->entries);
  r->seen = calloc((size_t)most_slices(r), sizeof *r->seen);
  r->of_parts = calloc((size_t)r->parts, sizeof *r->of_parts);
  if (!r->entries || !r->seen || !r->of_parts)
    return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to look at %lld slices", (long long)slices);
  const macko_hash_key key = macko_new_hash_key();
  for (int i = 0; i < r->parts; i++) {
    round_part *part = &r->of_parts[i];
    part->buffer.key = key, macko_open_pairs(&part->pairs);
    if (look->sorted) continue;
    part->known = calloc(MACKO_REPEATS, sizeof *part->known);
    if (!part->known) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to remember %d slices", MACKO_REPEATS);
  }
  look->headers = new_array(macko_pattern_section("slices", MACKO_U32, slices * MACKO_SLICE_WORDS), err);
  if (look->headers && look->sorted) look->order = new_array(macko_pattern_section("order", MACKO_U16, r->nrows), err);
  if (!look->headers || (look->sorted && !look->order)) return MACKO_OUT_OF_MEMORY;
  macko_status s = r->needed || r->most ? take_room(look, room, err) : MACKO_OK;
  return s ? s : macko_open_blocks(slices, &r->set, err);
}

static void close_round(slice_round *r)
{
  for (int i = 0; r->of_parts && i < r->parts; i++) free(r->of_parts[i].buffer.words), free(r->of_parts[i].known);
  free(r->entries), free(r->seen), free(r->of_parts);
  macko_close_blocks(&r->set);
}

/* Views are whole windows, because rows are sorted within them. */
macko_status macko_take_look(macko_rows *rows, int64_t nnz, int64_t most, int needed, macko_slice_look *look, macko_error *err)
{
  macko_view view = macko_open_view(rows, WINDOW);
  slice_round r = {.a = &view.view, .look = look, .nrows = rows->nrows, .most = most, .in_pieces = !rows->whole, .needed = needed,
                   .nnz = nnz};
  r.parts = macko_parts(nnz);
  look->facts = (macko_slice_facts){.window = look->sorted ? WINDOW : 0, .order_bytes = look->sorted ? rows->nrows * 2 : 0};
  macko_status s = open_round(&r, err);
  while (!r.full && macko_next_view(&view, &s, err)) s = look_in_rounds(&r, view.first, err);
  if (!s) s = add_parts(&r, err);
  macko_close_view(&view);
  close_round(&r);
  return s;
}

void macko_drop_look(macko_slice_look *look)
{
  free(look->headers), free(look->order), free(look->blocks);
  look->headers = look->blocks = NULL, look->order = NULL;
}

void macko_trim_look(macko_slice_look *look)
{
  size_t words = (size_t)look->facts.block_words;
  uint32_t *less = realloc(look->blocks, words ? 4 * words : 1);
  if (less) look->blocks = less, look->room = (int64_t)words;
}
