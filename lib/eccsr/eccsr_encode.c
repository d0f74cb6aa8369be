/* Format eccsr written: windows of rows counted and encoded in parts, values by the sections. */
#include "core/threads.h"
#include "eccsr/eccsr.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW = MACKO_ECCSR_WINDOW };

typedef struct {
  macko_eccsr_sink sink;
  macko_status status;
  macko_error err;
} window_part;

typedef struct {
  const macko_csr *a;
  const macko_eccsr_shape *shape;
  window_part *parts;
} all_windows;

static void put_windows(void *context, int number, int64_t from, int64_t to)
{
  all_windows *all = context;
  window_part *part = &all->parts[number];
  macko_eccsr_window *w = NULL;
  part->status = macko_eccsr_new_window(&w, &part->err);
  for (; from < to && !part->status; from++) {
    part->status = macko_eccsr_fill_window(all->a, all->shape, from * WINDOW, w, &part->err);
    if (!part->status) macko_eccsr_put_window(all->a, w, macko_csr_row(all->a, from * WINDOW), &part->sink);
  }
  macko_eccsr_free_window(w);
}

static void add_counts(macko_eccsr_counts *c, const macko_eccsr_counts *more)
{
  c->slices += more->slices, c->blocks += more->blocks, c->rows += more->rows, c->words += more->words;
  c->masked += more->masked, c->widths |= more->widths;
  if (more->longest > c->longest) c->longest = more->longest;
}

static void add_work(macko_eccsr_work *w, const macko_eccsr_work *more)
{
  w->entries += more->entries, w->lanes += more->lanes;
  w->reads += more->reads, w->masked += more->masked, w->runs += more->runs;
}

static macko_status open_parts(const macko_csr *a, const macko_eccsr_shape *shape, int parts, all_windows *all, macko_error *err)
{
  *all = (all_windows){a, shape, calloc((size_t)parts, sizeof *all->parts)};
  return all->parts ? MACKO_OK : macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %d parts", parts);
}

/* All windows into the sinks of the parts; the first part that failed speaks for all. */
static macko_status put_all(all_windows *all, int parts, macko_error *err)
{
  const macko_cut cut = macko_cut_rows(all->a, WINDOW);
  macko_do_parts(&cut, parts, put_windows, all);
  for (int i = 0; i < parts; i++)
    if (all->parts[i].status) return macko_fail(err, all->parts[i].status, "%s", all->parts[i].err.text);
  return MACKO_OK;
}

macko_status macko_eccsr_host_count(void *context, const macko_eccsr_shape *shape, macko_eccsr_counts *counts, macko_eccsr_work *work,
                                    macko_error *err)
{
  const macko_csr *a = ((macko_findings *)context)->csr;
  int parts = macko_parts(macko_csr_nnz(a));
  all_windows all;
  macko_status s = open_parts(a, shape, parts, &all, err);
  if (!s) s = put_all(&all, parts, err);
  *counts = (macko_eccsr_counts){0}, *work = (macko_eccsr_work){0};
  for (int i = 0; i < parts && !s; i++) add_counts(counts, &all.parts[i].sink.at), add_work(work, &all.parts[i].sink.work);
  free(all.parts);
  return s;
}

/* Where each part begins: what the parts before it take. */
static macko_status place_parts(all_windows *all, int parts, macko_error *err)
{
  macko_eccsr_counts at = {0};
  macko_status s = parts > 1 ? put_all(all, parts, err) : MACKO_OK;
  for (int i = 0; i < parts; i++) {
    macko_eccsr_counts own = all->parts[i].sink.at;
    all->parts[i].sink = (macko_eccsr_sink){.at = at};
    add_counts(&at, &own);
  }
  return s;
}

static macko_status encode_pattern(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  int parts = macko_parts(m->nnz);
  all_windows all;
  macko_status s = macko_add_sections(m, 1, err);
  if (!s) s = open_parts(a, &macko_eccsr_params_of(&m->plan)->of.shape, parts, &all, err);
  if (s) return s;
  s = place_parts(&all, parts, err);
  for (int i = 0; i < parts; i++) {
    macko_eccsr_sink *sink = &all.parts[i].sink;
    sink->slices = macko_section_data(m, "slices"), sink->words = macko_section_data(m, "gaps");
    sink->bases = macko_section_data(m, "bases"), sink->rows = macko_section_data(m, "rows");
    sink->lengths = macko_section_data(m, "lengths");
    sink->length_bytes = macko_eccsr_length_bytes(&macko_eccsr_params_of(&m->plan)->of.counts);
  }
  if (!s) s = put_all(&all, parts, err);
  free(all.parts);
  return s;
}

/* ---- values ---- */

typedef struct {
  const macko_csr *a;
  const macko_matrix *m;
} value_source;

static void write_slices(const void *context, macko_value_writer *w, int64_t from, int64_t to)
{
  const value_source *source = context;
  macko_eccsr_write_values(source->a, source->m, w, from, to);
}

/* The value stream of m->plan in fresh sections; nothing of m changes. */
static macko_status new_values(const macko_csr *a, const macko_matrix *m, macko_section *values, macko_section *dict,
                               macko_error *err)
{
  const macko_plan *plan = &m->plan;
  const macko_codec codec = {plan->values, plan->stored_type, plan->lossy, plan->table};
  const value_source source = {a, m};
  const macko_cut cut = {.n = macko_eccsr_params_of(plan)->of.counts.slices};
  macko_section list[MACKO_MAX_SECTIONS];
  macko_value_writer w = {0};
  int n = m->ops->sections(m, list);
  *values = *dict = (macko_section){0};
  macko_status s = macko_new_section(list[plan->table ? n - 2 : n - 1], values, err);
  if (!s && plan->table) s = macko_new_section(list[n - 1], dict, err);
  if (!s) s = macko_open_writer(a, &codec, values->data, dict->data, &w, err);
  if (!s) macko_write_in_parts(&w, &cut, m->nnz, write_slices, &source);
  if (!s) s = macko_check_writer(&w, err);
  macko_close_writer(&w);
  if (s) free(values->data), free(dict->data);
  return s;
}

static void put_values(macko_matrix *m, const macko_section *values, const macko_section *dict)
{
  macko_drop_values(m);
  macko_put_section(m, values);
  if (dict->data) macko_put_section(m, dict);
}

macko_status macko_eccsr_encode(macko_findings *found, macko_matrix *m, macko_error *err)
{
  const macko_csr *a = found->csr;
  macko_section values, dict;
  macko_status s = encode_pattern(a, m, err);
  if (!s) s = new_values(a, m, &values, &dict, err);
  if (!s) put_values(m, &values, &dict);
  return s;
}

/* New values over the old ones of the same codec; cannot fail. */
static void overwrite_values(const macko_csr *a, macko_matrix *m)
{
  const macko_codec codec = {m->plan.values, m->plan.stored_type, m->plan.lossy, 0};
  const value_source source = {a, m};
  const macko_cut cut = {.n = macko_eccsr_params_of(&m->plan)->of.counts.slices};
  macko_value_writer w;
  macko_open_writer(a, &codec, macko_section_data(m, "values"), NULL, &w, NULL);
  macko_write_in_parts(&w, &cut, m->nnz, write_slices, &source);
}

macko_status macko_eccsr_refresh(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  macko_findings found = {.csr = a};
  macko_facts f = macko_host_facts(&found);
  macko_section values, dict;
  macko_matrix next = *m;
  macko_status s = macko_eccsr_plan_values(&f, m, &next.plan, err);
  if (s) return s;
  if (next.plan.values != MACKO_VALUES_DICT && next.plan.values == m->plan.values &&
      next.plan.stored_type == m->plan.stored_type) {
    m->plan = next.plan;
    overwrite_values(a, m);
    return MACKO_OK;
  }
  s = new_values(a, &next, &values, &dict, err);
  if (s) return s;
  m->plan = next.plan;
  put_values(m, &values, &dict);
  return MACKO_OK;
}
