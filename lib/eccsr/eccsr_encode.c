/* Format eccsr written: windows of rows counted and encoded in parts, values by the sections. */
#include "core/threads.h"
#include "eccsr/eccsr.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW = MACKO_ECCSR_WINDOW };

/* Windows that follow each other, done by one thread: their slices, and how it went. */
typedef struct {
  macko_eccsr_sink sink;
  macko_status status;
  macko_error err;
} window_part;

/* Slices that planning has made in passing, in the parts of its threads, for encoding to put together. */
typedef struct {
  macko_eccsr_kept kept;
  window_part *parts;
  int count;
} all_parts;

/* What threads share while they make slices. */
typedef struct {
  const macko_csr *a;
  const macko_eccsr_shape *shape;
  int32_t *order; /* of the rows, where those that lie apart go together; or NULL */
  window_part *parts;
} all_windows;

/* ---- counted, and kept as far as encoding follows ---- */

macko_status macko_eccsr_findings_of(macko_findings *found, macko_eccsr_findings **own, macko_error *err)
{
  void **place = &found->own[MACKO_FORMAT_ECCSR];
  if (!*place) *place = calloc(1, sizeof **own);
  *own = *place;
  return *own ? MACKO_OK : macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for what planning has found");
}

/* What each variant keeps begins with the function that frees it. */
static void free_kept(macko_eccsr_kept *kept)
{
  if (kept) kept->free(kept);
}

void macko_eccsr_forget(void *own)
{
  free_kept(((macko_eccsr_findings *)own)->kept);
  free(own);
}

macko_status macko_eccsr_keep(macko_findings *found, macko_eccsr_kept *kept, macko_error *err)
{
  macko_eccsr_findings *own;
  macko_status s = macko_eccsr_findings_of(found, &own, err);
  free_kept(s ? kept : own->kept);
  if (!s) own->kept = kept;
  return s;
}

const macko_eccsr_kept *macko_eccsr_kept_of(const macko_findings *found)
{
  return ((const macko_eccsr_findings *)found->own[MACKO_FORMAT_ECCSR])->kept;
}

/* Frees what planning has kept of blocks of equal rows. */
static void free_parts(void *kept)
{
  all_parts *all = kept;
  for (int i = 0; i < all->count; i++) macko_eccsr_free_sink(&all->parts[i].sink);
  free(all->parts), free(all);
}

/* Allocates so many parts. With `kept` their slices are kept; else they are only counted, which takes no memory. */
static macko_status new_parts(int count, int kept, all_parts **all, macko_error *err)
{
  all_parts *made = calloc(1, sizeof *made);
  window_part *parts = calloc((size_t)count, sizeof *parts);
  if (!made || !parts) {
    free(made), free(parts);
    return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %d parts", count);
  }
  for (int i = 0; i < count; i++) parts[i].sink.grows = kept, parts[i].sink.length_bytes = sizeof(uint32_t);
  *made = (all_parts){{free_parts}, parts, count}, *all = made;
  return MACKO_OK;
}

/* Makes the slices of windows from .. to - 1, as a macko_part. A part has a window of its own. */
static void put_windows(void *context, int number, int64_t from, int64_t to)
{
  const all_windows *all = context;
  window_part *part = &all->parts[number];
  macko_eccsr_window *w = NULL;
  part->status = macko_eccsr_new_window(&w, &part->err);
  if (w) w->order_of_rows = all->order;
  for (; from < to && !part->status; from++) {
    part->status = macko_eccsr_fill_window(all->a, all->shape, from * WINDOW, w, &part->err);
    if (!part->status) part->status = macko_eccsr_put_window(w, &part->sink, &part->err);
  }
  macko_eccsr_free_window(w);
}

/* Makes the slices of all windows in parts; the first part that failed speaks for all. Where rows are put in another order the
 * parts cannot be cut by row starts, and have equal numbers of windows. */
static macko_status put_all(const macko_csr *a, const macko_eccsr_shape *shape, all_parts *parts, macko_error *err)
{
  all_windows all = {.a = a, .shape = shape, .parts = parts->parts};
  macko_cut cut = macko_cut_rows(a, WINDOW);
  macko_status s = MACKO_OK;
  if (shape->aligned == MACKO_ECCSR_APART) {
    s = macko_eccsr_order_rows(a, &all.order, err);
    if (s) return s;
    cut.starts = NULL;
  }
  macko_do_parts(&cut, parts->count, put_windows, &all);
  free(all.order);
  for (int i = 0; i < parts->count && !s; i++)
    if (parts->parts[i].status) s = macko_fail(err, parts->parts[i].status, "%s", parts->parts[i].err.text);
  return s;
}

/* Adds the counts of slices that come behind. */
static void add_counts(macko_eccsr_counts *c, const macko_eccsr_counts *more)
{
  c->slices += more->slices, c->blocks += more->blocks, c->rows += more->rows, c->words += more->words;
  c->masked += more->masked, c->widths |= more->widths;
  if (more->longest > c->longest) c->longest = more->longest;
}

/* Adds the work of slices that come behind. */
static void add_work(macko_eccsr_work *w, const macko_eccsr_work *more)
{
  w->entries += more->entries, w->lanes += more->lanes;
  w->reads += more->reads, w->masked += more->masked, w->runs += more->runs, w->idle += more->idle;
}

/* What has been kept before is freed: a plan may be made again, and only the last one is encoded. Slices are kept only if
 * encoding follows, as they take as much memory as the sections. */
macko_status macko_eccsr_host_count(void *context, const macko_eccsr_shape *shape, macko_eccsr_counts *counts,
                                    macko_eccsr_work *work, macko_error *err)
{
  macko_findings *found = context;
  if (found->rows) return macko_eccsr_count_windows(found->rows, shape, counts, work, err);
  all_parts *all = NULL;
  macko_status s = macko_eccsr_keep(found, NULL, err);
  if (!s) s = new_parts(macko_parts(macko_csr_nnz(found->csr)), found->handed_on, &all, err);
  if (s) return s;
  s = put_all(found->csr, shape, all, err);
  *counts = (macko_eccsr_counts){0}, *work = (macko_eccsr_work){0};
  for (int i = 0; i < all->count; i++) add_counts(counts, &all->parts[i].sink.at), add_work(work, &all->parts[i].sink.work);
  if (!s && found->handed_on) return macko_eccsr_keep(found, &all->kept, err);
  free_parts(all);
  return s;
}

/* ---- put together ---- */

/* Copies elements of `size` bytes to element `at` of an array; without any, either array may be NULL. */
static void copy(void *to, int64_t at, const void *from, int64_t count, size_t size)
{
  if (count) memcpy((char *)to + (size_t)at * size, from, (size_t)count * size);
}

/* Adds what lies before a part to the headers of its slices, which count from the beginning of the part: in the sections they
 * count from the beginning of the matrix. */
static void move_slices(uint32_t *slices, const macko_eccsr_counts *at, int64_t entries, int64_t count)
{
  for (; count > 0; count--, slices += MACKO_ECCSR_SLICE_WORDS) {
    macko_eccsr_slice s = macko_eccsr_slice_at(slices, 0);
    s.values += entries, s.words += at->words, s.block += (uint32_t)at->blocks, s.row += (uint32_t)at->rows;
    macko_eccsr_put_slice(&s, slices);
  }
}

/* Copies lengths into the section, whose type is known only after all blocks are counted; parts hold them in 4 bytes. */
static void copy_lengths(const macko_section *to, int64_t at, const uint32_t *lengths, int64_t count)
{
  if (to->type == MACKO_U32) copy(to->data, at, lengths, count, sizeof *lengths);
  else
    for (int64_t i = 0; i < count; i++) ((uint16_t *)to->data)[at + i] = (uint16_t)lengths[i];
}

/* Copies the slices of one part behind those of the parts before, which have come to *at and to so many entries. */
static void copy_part(const macko_eccsr_sink *from, const macko_eccsr_counts *at, int64_t entries, macko_matrix *m)
{
  uint32_t *slices = (uint32_t *)macko_section_data(m, "slices") + at->slices * MACKO_ECCSR_SLICE_WORDS;
  copy(slices, 0, from->slices, from->at.slices, MACKO_ECCSR_SLICE_WORDS * sizeof *slices);
  move_slices(slices, at, entries, from->at.slices);
  copy(macko_section_data(m, "gaps"), at->words, from->words, from->at.words, sizeof *from->words);
  copy(macko_section_data(m, "bases"), at->blocks, from->bases, from->at.blocks, sizeof *from->bases);
  copy(macko_section_data(m, "rows"), at->rows, from->rows, from->at.rows, sizeof *from->rows);
  copy_lengths(macko_find_section(m, "lengths"), at->blocks, from->lengths, from->at.blocks);
}

/* Makes all sections but the values of what planning has kept, in the order of the parts, so that the bytes do not depend on how
 * many there were. */
static macko_status encode_pattern(macko_findings *found, macko_matrix *m, macko_error *err)
{
  const all_parts *all = (const all_parts *)macko_eccsr_kept_of(found);
  macko_eccsr_counts at = {0};
  macko_eccsr_work work = {0};
  macko_status s = macko_add_sections(m, 1, err);
  for (int i = 0; i < all->count && !s; i++) {
    copy_part(&all->parts[i].sink, &at, work.entries, m);
    add_counts(&at, &all->parts[i].sink.at), add_work(&work, &all->parts[i].sink.work);
  }
  macko_forget(found, MACKO_FORMAT_ECCSR);
  return s;
}

/* ---- values ---- */

/* Writes the values of slices from .. to - 1, as a macko_value_walk. */
static void write_slices(const void *context, macko_value_writer *w, int64_t from, int64_t to)
{
  const macko_value_source *source = context;
  macko_eccsr_write_values(source->a, source->m, w, from, to);
}

/* Cuts the slices into parts as if they were alike; it is near enough for writing values. */
static macko_cut cut_slices(const macko_matrix *m)
{
  return (macko_cut){.n = macko_eccsr_params_of(&m->plan)->of.counts.slices};
}

/* Values come after the pattern, as the slots of entries are found by reading slices. */
macko_status macko_eccsr_encode(macko_findings *found, macko_matrix *m, macko_error *err)
{
  const macko_csr *a = found->csr;
  const macko_cut cut = cut_slices(m);
  macko_section values, dict;
  if (found->rows) return macko_eccsr_encode_windows(found->rows, m, err);
  macko_status s = encode_pattern(found, m, err);
  if (!s) s = macko_new_values(a, m, &cut, write_slices, &values, &dict, err);
  if (!s) macko_put_values(m, &values, &dict);
  return s;
}

/* Where the same codec holds the new values they are written over the old ones. A dictionary is made anew, as its codes are in
 * the order in which values appear; and so is a stream of another type, beside the old one, so that a failure leaves m
 * unchanged. */
macko_status macko_eccsr_refresh(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  macko_findings found = {.csr = a, .others = m->others};
  macko_facts f = macko_host_facts(&found);
  const macko_cut cut = cut_slices(m);
  macko_section values, dict;
  macko_matrix next = *m;
  macko_status s = macko_eccsr_plan_values(&f, m, &next.plan, err);
  if (s) return s;
  if (next.plan.values != MACKO_VALUES_DICT && next.plan.values == m->plan.values &&
      next.plan.stored_type == m->plan.stored_type) {
    m->plan = next.plan;
    macko_overwrite_values(a, m, &cut, write_slices);
    return MACKO_OK;
  }
  s = macko_new_values(a, &next, &cut, write_slices, &values, &dict, err);
  if (s) return s;
  m->plan = next.plan;
  macko_put_values(m, &values, &dict);
  return MACKO_OK;
}
