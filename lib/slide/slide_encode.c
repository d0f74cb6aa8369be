/* Format slide written: cells and the rest counted row by row, then filled in parts; values by reading the pattern back. */
#include "core/threads.h"
#include "slide/slide.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  const macko_csr *a;
  macko_matrix *m;
  macko_slide_set *found;  /* of each part */
  uint8_t *codes;          /* by the entries of a block, where there is a table */
  const macko_section *starts, *rest_ptr, *blocks;
  uint32_t *positions;
  int32_t *rest_cols;
} packing;

/* ---- where rows begin, and which patterns there are ---- */

static void count_rows(void *context, int part, int64_t from, int64_t to)
{
  const packing *k = context;
  const int n = (int)macko_slide_counts_of(&k->m->plan)->n;
  for (int64_t i = from; i < to; i++) {
    int64_t cells = 0, rest = 0, block;
    for (int64_t p = macko_csr_row(k->a, i), end = macko_csr_row(k->a, i + 1); p < end; cells++) {
      uint32_t entries, left;
      p = macko_slide_next_block(k->a, n, p, end, &block, &entries);
      left = entries;
      macko_slide_pack(n, &left);
      macko_slide_add(&k->found[part], entries & ~left);
      rest += __builtin_popcount(left);
    }
    macko_put_index(k->starts, i + 1, cells);
    if (k->rest_ptr) macko_put_index(k->rest_ptr, i + 1, rest);
  }
}

static void sum_up(const macko_section *starts, int64_t nrows)
{
  for (int64_t i = 0, sum = 0; starts && i < nrows; i++)
    sum += macko_index_at(starts, i + 1), macko_put_index(starts, i + 1, sum);
}

/* Patterns in the order of their entries as a number. */
static void fill_table(const packing *k, int parts)
{
  const int n = (int)macko_slide_counts_of(&k->m->plan)->n;
  uint32_t *patterns = macko_section_data(k->m, "patterns");
  int count = 0;
  for (int i = 1; i < parts; i++)
    for (int w = 0; w < 1024; w++) k->found[0].words[w] |= k->found[i].words[w];
  for (uint32_t entries = 0; entries < 1u << 2 * n; entries++) {
    uint32_t left = entries;
    if (!macko_slide_has(&k->found[0], entries)) continue;
    k->codes[entries] = (uint8_t)count;
    patterns[count++] = macko_slide_pack(n, &left);
  }
}

/* ---- cells ---- */

/* Parts share the words between them, which are zero before. */
static void put_code(uint32_t *words, int bits, int64_t cell, uint32_t code)
{
  const int64_t at = cell * bits;
  const uint64_t two = (uint64_t)code << at % 32;
  __atomic_fetch_or(&words[at / 32], (uint32_t)two, __ATOMIC_RELAXED);
  if (two >> 32) __atomic_fetch_or(&words[at / 32 + 1], (uint32_t)(two >> 32), __ATOMIC_RELAXED);
}

static void put_cell(const packing *k, int64_t cell, int64_t block, uint32_t entries, int64_t *rest)
{
  const macko_slide_counts *c = macko_slide_counts_of(&k->m->plan);
  uint32_t left = entries, positions = macko_slide_pack((int)c->n, &left);
  put_code(k->positions, (int)c->bits, cell, k->codes ? k->codes[entries & ~left] : positions);
  if (k->blocks && k->blocks->type == MACKO_I32) ((int32_t *)k->blocks->data)[cell] = (int32_t)block;
  else if (k->blocks) ((uint16_t *)k->blocks->data)[cell] = (uint16_t)block;
  for (; left; left &= left - 1) k->rest_cols[(*rest)++] = (int32_t)(block * 2 * c->n + __builtin_ctz(left));
}

static void put_rows(void *context, int part, int64_t from, int64_t to)
{
  const packing *k = context;
  const int n = (int)macko_slide_counts_of(&k->m->plan)->n;
  (void)part;
  for (int64_t i = from; i < to; i++) {
    int64_t cell = macko_index_at(k->starts, i), rest = k->rest_ptr ? macko_index_at(k->rest_ptr, i) : 0, block;
    for (int64_t p = macko_csr_row(k->a, i), end = macko_csr_row(k->a, i + 1); p < end;) {
      uint32_t entries;
      p = macko_slide_next_block(k->a, n, p, end, &block, &entries);
      put_cell(k, cell++, block, entries, &rest);
    }
  }
}

static macko_status encode_pattern(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  const macko_cut cut = macko_cut_rows(a, 1);
  int parts = macko_parts(m->nnz);
  macko_status s = macko_add_sections(m, 1, err);
  if (s) return s;
  packing k = {.a = a, .m = m, .found = calloc((size_t)parts, sizeof *k.found)};
  int table = macko_slide_counts_of(&m->plan)->patterns > 0;
  if (table) k.codes = malloc(65536);
  if (!k.found || (table && !k.codes)) s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for the patterns of blocks");
  k.starts = macko_find_section(m, "starts"), k.rest_ptr = macko_find_section(m, "rest_ptr");
  k.blocks = macko_find_section(m, "blocks");
  k.positions = macko_section_data(m, "positions"), k.rest_cols = macko_section_data(m, "rest_cols");
  if (!s) {
    macko_do_parts(&cut, parts, count_rows, &k);
    sum_up(k.starts, m->nrows), sum_up(k.rest_ptr, m->nrows);
    if (table) fill_table(&k, parts);
    macko_do_parts(&cut, parts, put_rows, &k);
  }
  free(k.found), free(k.codes);
  return s;
}

/* ---- values ---- */

typedef struct {
  const macko_csr *a;
  const macko_matrix *m;
} value_source;

static void write_rows(const void *context, macko_value_writer *w, int64_t from, int64_t to)
{
  const value_source *source = context;
  macko_slide_reader r = macko_slide_open(source->m);
  macko_slide_entries e;
  for (int64_t i = from; i < to; i++) {
    int64_t p = macko_csr_row(source->a, i), rest = macko_slide_rest(&r, i), rest_end = macko_slide_rest(&r, i + 1);
    int64_t first = macko_slide_start(&r, i), end = macko_slide_start(&r, i + 1);
    for (int64_t cell = first; cell < end; cell++) {
      macko_slide_read(&r, cell, macko_slide_block(&r, first, cell), &rest, rest_end, &e);
      for (int j = 0; j < e.count; j++) macko_write_values(w, p++, 1, e.slots[j], 1);
    }
  }
}

/* The value stream of m->plan in fresh sections; nothing of m changes. */
static macko_status new_values(const macko_csr *a, const macko_matrix *m, macko_section *values, macko_section *dict,
                               macko_error *err)
{
  const macko_plan *plan = &m->plan;
  const macko_codec codec = {plan->values, plan->stored_type, plan->lossy, plan->table};
  const value_source source = {a, m};
  const macko_cut cut = macko_cut_rows(a, 1);
  macko_section list[MACKO_MAX_SECTIONS];
  macko_value_writer w = {0};
  int n = m->ops->sections(m, list);
  *values = *dict = (macko_section){0};
  macko_status s = macko_new_section(list[plan->table ? n - 2 : n - 1], values, err);
  if (!s && plan->table) s = macko_new_section(list[n - 1], dict, err);
  if (!s) s = macko_open_writer(a, &codec, values->data, dict->data, &w, err);
  if (!s) macko_write_in_parts(&w, &cut, m->nnz, write_rows, &source);
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

macko_status macko_slide_encode(macko_findings *found, macko_matrix *m, macko_error *err)
{
  const macko_csr *a = found->csr;
  macko_section values, dict;
  macko_status s = encode_pattern(a, m, err);
  if (!s) s = new_values(a, m, &values, &dict, err);
  if (!s) put_values(m, &values, &dict);
  return s;
}

macko_status macko_slide_refresh(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  macko_findings found = {.csr = a};
  macko_facts f = macko_host_facts(&found);
  macko_section values, dict;
  macko_matrix next = *m;
  macko_status s = macko_slide_plan_values(&f, m, &next.plan, err);
  if (!s) s = new_values(a, &next, &values, &dict, err);
  if (s) return s;
  m->plan = next.plan;
  put_values(m, &values, &dict);
  return MACKO_OK;
}
