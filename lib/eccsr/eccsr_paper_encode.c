/* Variants paper and shared of format eccsr written: bundles counted and encoded in parts, values by reading the blocks back. */
#include "eccsr/eccsr_paper.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = MACKO_ECCSR_BUNDLE,
       VECTOR = MACKO_ECCSR_VECTOR };

/* ---- a block ---- */

/* Writes the code of slot `number`, counted in the order of columns, and where it is a lane's first one, its column. Of so many
 * slots a lane has `per`. Granules are whole words, which no other part writes. */
static void put_slot(const macko_eccsr_paper_sink *sink, const macko_eccsr_paper_shape *shape, int64_t per, int64_t number,
                     int64_t col, uint32_t code)
{
  const int bits = shape->bits;
  const int64_t lane = number / per, k = number % per, granule = sink->at.granules + k / VECTOR;
  const int64_t slot = granule * macko_eccsr_granule(shape->lanes) + lane * VECTOR + k % VECTOR;
  if (k == 0 && code != macko_eccsr_no_entry(bits)) code = 0;
  if (k == 0) sink->bases[sink->at.blocks * shape->lanes + lane] = (int32_t)col;
  sink->gaps[slot * bits / 32] |= code << (slot * bits % 32);
}

/* Returns the slots of those columns, with the slots without an entry that long gaps go over. */
static int64_t count_slots(const int32_t *cols, int64_t count, int bits)
{
  int64_t slots = 1;
  for (int64_t k = 1; k < count; k++) slots += macko_eccsr_slots_to((int64_t)cols[k] - cols[k - 1], bits);
  return slots;
}

/* Writes the slots of a block: a long gap goes over slots without an entry, and behind the last column all slots are without
 * one. */
static void put_slots(const macko_eccsr_paper_sink *sink, const macko_eccsr_paper_shape *shape, int64_t granules,
                      const int32_t *cols, int64_t count)
{
  const int64_t per = granules * VECTOR, longest = macko_eccsr_longest_gap(shape->bits);
  const uint32_t none = macko_eccsr_no_entry(shape->bits);
  int64_t number = 0, col = cols[0];
  put_slot(sink, shape, per, number++, col, 0);
  for (int64_t k = 1; k < count; k++) {
    for (; cols[k] - col > longest; col += longest) put_slot(sink, shape, per, number++, col + longest, none);
    put_slot(sink, shape, per, number++, cols[k], (uint32_t)(cols[k] - col - 1));
    col = cols[k];
  }
  while (number < per * shape->lanes) put_slot(sink, shape, per, number++, 0, none);
}

/* Blocks of several rows are counted apart, as the plan's reason says how many entries they hold. */
void macko_eccsr_put_block(macko_eccsr_paper_sink *sink, const macko_eccsr_paper_shape *shape, uint16_t mask,
                           const int32_t *cols, int64_t count)
{
  const int rows = __builtin_popcount(mask);
  const int64_t granule = macko_eccsr_granule(shape->lanes);
  const int64_t granules = (count_slots(cols, count, shape->bits) + granule - 1) / granule;
  if (sink->gaps) {
    put_slots(sink, shape, granules, cols, count);
    sink->masks[sink->at.blocks] = mask, sink->granules[sink->at.blocks] = (uint32_t)granules;
  }
  sink->at.blocks++, sink->at.granules += granules, sink->at.rows += granules * rows;
  if (rows > 1) sink->shared += count * rows;
}

/* ---- bundles in parts ---- */

/* What threads share while they extract blocks. */
typedef struct {
  const macko_csr *a;
  const int32_t *rows;
  const macko_eccsr_paper_shape *shape;
  int64_t every;                 /* of so many bundles one */
  macko_eccsr_paper_sink *sinks; /* of parts */
  macko_status *status;
  macko_error *err;
  int64_t *bundles; /* where each begins, or while they are counted, what it takes; NULL: not wanted */
} all_bundles;

/* Extracts the blocks of items from .. to - 1, as a macko_part; item i is bundle number i * every. When blocks are written each
 * bundle goes to where it was counted to begin, so that parts need not wait for each other. */
static void put_bundles(void *context, int part, int64_t from, int64_t to)
{
  const all_bundles *all = context;
  macko_eccsr_paper_sink *sink = &all->sinks[part];
  macko_eccsr_bundle b;
  all->status[part] = macko_eccsr_new_bundle(all->a, all->rows, &b, &all->err[part]);
  if (all->status[part]) return;
  for (; from < to; from++) {
    const int64_t first = from * all->every * ROWS, left = all->a->nrows - first;
    int64_t *own = all->bundles ? all->bundles + 3 * from : NULL;
    const macko_eccsr_paper_counts before = sink->at;
    /* own says where the bundle begins when blocks are written, and is told what it takes when they are counted. */
    if (sink->gaps) sink->at = (macko_eccsr_paper_counts){own[0], own[1], own[2], all->shape->lanes};
    macko_eccsr_put_bundle(all->a, all->rows + first, left < ROWS ? (int)left : ROWS, all->shape, &b, sink);
    if (own && !sink->gaps)
      own[0] = sink->at.blocks - before.blocks, own[1] = sink->at.granules - before.granules, own[2] = sink->at.rows - before.rows;
  }
  macko_eccsr_free_bundle(&b);
}

/* Extracts all bundles that are wanted, each part into a sink like *sink, to which what is counted is added. */
static macko_status put_all(all_bundles *all, macko_eccsr_paper_sink *sink, macko_error *err)
{
  const int64_t bundles = macko_eccsr_bundles(all->a->nrows);
  const macko_cut cut = {.n = (bundles + all->every - 1) / all->every};
  const int parts = macko_parts(macko_csr_nnz(all->a));
  macko_status s = MACKO_OK;
  all->sinks = malloc((size_t)parts * sizeof *all->sinks), all->status = calloc((size_t)parts, sizeof *all->status);
  all->err = calloc((size_t)parts, sizeof *all->err);
  if (!all->sinks || !all->status || !all->err) s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %d parts", parts);
  for (int i = 0; !s && i < parts; i++) all->sinks[i] = *sink;
  if (!s) macko_do_parts(&cut, parts, put_bundles, all);
  for (int i = 0; !s && i < parts; i++)
    if (all->status[i]) s = macko_fail(err, all->status[i], "%s", all->err[i].text);
  for (int i = 0; !s && !sink->gaps && i < parts; i++) {
    const macko_eccsr_paper_sink *part = &all->sinks[i];
    sink->at.blocks += part->at.blocks, sink->at.granules += part->at.granules, sink->at.rows += part->at.rows;
    sink->shared += part->shared;
  }
  free(all->sinks), free(all->status), free(all->err);
  return s;
}

macko_status macko_eccsr_paper_count(const macko_csr *a, const int32_t *rows, const macko_eccsr_paper_shape *shape, int64_t every,
                                     int64_t *bundles, macko_eccsr_paper_sink *sum, macko_error *err)
{
  all_bundles all = {.a = a, .rows = rows, .shape = shape, .every = every, .bundles = bundles};
  *sum = (macko_eccsr_paper_sink){.at.lanes = shape->lanes};
  return put_all(&all, sum, err);
}

/* ---- encode ---- */

/* Turns what each bundle takes, in section "bundles", into where each begins. Errors: INVALID_MATRIX where the sums are not those
 * of the plan, as the sections are as long as that says. */
static macko_status place_bundles(const macko_matrix *m, macko_error *err)
{
  const macko_eccsr_paper_counts *c = macko_eccsr_paper_counts_of(&m->plan);
  const int64_t count = macko_eccsr_bundles(m->nrows), all[3] = {c->blocks, c->granules, c->rows};
  int64_t *bundles = macko_section_data(m, "bundles");
  for (int k = 0; k < 3; k++) {
    int64_t at = 0;
    for (int64_t i = 0; i <= count; i++) {
      const int64_t own = i < count ? bundles[3 * i + k] : 0;
      bundles[3 * i + k] = at, at += own;
    }
    if (at != all[k])
      return macko_fail(err, MACKO_INVALID_MATRIX, "the matrix no longer has the %lld blocks that were counted",
                        (long long)c->blocks);
  }
  return MACKO_OK;
}

/* Returns the shape that a matrix was planned with: extraction must make the same choices again. */
static macko_eccsr_paper_shape shape_of(const macko_matrix *m)
{
  return (macko_eccsr_paper_shape){m->plan.gap_bits, macko_eccsr_paper_counts_of(&m->plan)->lanes, macko_type_bytes(m->value_type)};
}

static void write_bundles(const void *context, macko_value_writer *w, int64_t from, int64_t to);

/* Writes blocks and values, given section "rows" and, in "bundles", what each bundle takes. */
static macko_status encode_counted(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  const macko_eccsr_paper_shape shape = shape_of(m);
  all_bundles all = {.a = a, .rows = macko_section_data(m, "rows"), .shape = &shape, .every = 1};
  macko_eccsr_paper_sink sink = {.gaps = macko_section_data(m, "gaps"), .masks = macko_section_data(m, "masks")};
  const macko_cut cut = {.n = macko_eccsr_bundles(m->nrows)};
  macko_section values, dict;
  macko_status s = place_bundles(m, err);
  all.bundles = macko_section_data(m, "bundles");
  sink.granules = macko_section_data(m, "granules"), sink.bases = macko_section_data(m, "bases");
  if (!s && m->nnz) s = put_all(&all, &sink, err);
  if (!s) s = macko_new_values(a, m, &cut, write_bundles, &values, &dict, err);
  if (!s) macko_put_values(m, &values, &dict);
  return s;
}

/* The order of rows, and what each bundle takes, are taken over from planning. The blocks themselves are extracted again, as
 * planning has only counted them. */
macko_status macko_eccsr_paper_encode(macko_findings *found, macko_matrix *m, macko_error *err)
{
  const macko_eccsr_order *order = (const macko_eccsr_order *)macko_eccsr_kept_of(found);
  macko_status s = macko_add_sections(m, 1, err);
  if (!s && m->nrows) {
    memcpy(macko_section_data(m, "rows"), order->rows, (size_t)m->nrows * sizeof *order->rows);
    memcpy(macko_section_data(m, "bundles"), order->bundles, (size_t)macko_eccsr_bundles(m->nrows) * 24);
  }
  macko_forget(found, MACKO_FORMAT_ECCSR);
  return s ? s : encode_counted(found->csr, m, err);
}

/* ---- values ---- */

/* Writes the values of row number j of a block. Its entries are looked for in the csr from p on, where its row begins; both
 * rise. */
static void write_row(const macko_csr *a, const macko_eccsr_paper_reader *r, const macko_eccsr_paper_block *block, int j, int64_t p,
                      macko_value_writer *w)
{
  macko_eccsr_cursor c = macko_eccsr_open_block(r, block);
  while (macko_eccsr_next_entry(r, block, &c)) {
    while (macko_csr_col(a, p) < c.col) p++;
    macko_write_values(w, p, 1, macko_eccsr_value_slot(r, block, j, c.slot), 1);
  }
}

/* Writes the values of bundles from .. to - 1, as a macko_value_walk. Slots without an entry keep their zero bits. */
static void write_bundles(const void *context, macko_value_writer *w, int64_t from, int64_t to)
{
  const macko_value_source *source = context;
  const macko_eccsr_paper_reader r = macko_eccsr_paper_open(source->m);
  macko_eccsr_paper_block block = {0};
  for (; from < to; from++)
    for (int64_t b = r.bundles[3 * from]; b < r.bundles[3 * from + 3]; b++) {
      macko_eccsr_next_block(&r, from, b, &block);
      for (uint32_t rows = block.mask; rows; rows &= rows - 1) {
        const int bit = __builtin_ctz(rows);
        const int64_t row = r.rows[from * ROWS + bit];
        write_row(source->a, &r, &block, macko_eccsr_row_of_block(block.mask, bit), macko_csr_row(source->a, row), w);
      }
    }
}

/* New values are written over the old ones where the same codec, which is no dictionary, holds them: entries have the same slots.
 * Otherwise the stream is made anew beside the old one, so that a failure leaves m unchanged. */
macko_status macko_eccsr_paper_refresh(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  macko_findings found = {.csr = a, .others = m->others};
  const macko_facts f = macko_host_facts(&found);
  const macko_cut cut = {.n = macko_eccsr_bundles(m->nrows)};
  const macko_codec old = macko_codec_of(&m->plan);
  macko_section values, dict;
  macko_matrix next = *m;
  macko_status s = macko_eccsr_paper_plan_values(&f, m, &next.plan, err);
  if (s) return s;
  if (next.plan.values != MACKO_VALUES_DICT && next.plan.values == old.values && next.plan.stored_type == old.stored_type) {
    m->plan = next.plan;
    macko_overwrite_values(a, m, &cut, write_bundles);
    return MACKO_OK;
  }
  s = macko_new_values(a, &next, &cut, write_bundles, &values, &dict, err);
  if (s) return s;
  m->plan = next.plan;
  macko_put_values(m, &values, &dict);
  return MACKO_OK;
}
