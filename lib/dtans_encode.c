/* CSR-dtANS: the sections of a matrix. Streams are written slice after slice, so that besides the sections one slice is held. */
#include "dtans.h"

#include <stdlib.h>
#include <string.h>

/* Sections made before any of them goes into the matrix, so that refresh changes nothing when it fails. */
typedef struct {
  int count;
  macko_section sections[MACKO_MAX_SECTIONS];
} section_list;

static macko_section *add(section_list *list, const char *name, macko_type type, int64_t count, macko_status *s, macko_error *err)
{
  if (*s) return NULL;
  *s = macko_new_section(name, type, count, &list->sections[list->count], err);
  return *s ? NULL : &list->sections[list->count++];
}

static void drop_list(section_list *list)
{
  while (list->count) free(list->sections[--list->count].data);
}

static void put_list(macko_matrix *m, const section_list *list)
{
  for (int i = 0; i < list->count; i++) macko_put_section(m, &list->sections[i]);
}

static void put_index(macko_section *s, int64_t i, int64_t value)
{
  if (s->type == MACKO_I64) ((int64_t *)s->data)[i] = value;
  else ((int32_t *)s->data)[i] = (int32_t)value;
}

/* Starts of slices as 32-bit numbers where they fit. */
static macko_status add_starts(section_list *list, const char *name, const int64_t *starts, int64_t slices, macko_error *err)
{
  macko_status s = MACKO_OK;
  macko_section *to = add(list, name, starts[slices] > INT32_MAX ? MACKO_I64 : MACKO_I32, slices + 1, &s, err);
  for (int64_t i = 0; to && i <= slices; i++) put_index(to, i, starts[i]);
  return s;
}

/* ---- streams ---- */

typedef struct {
  uint32_t *words;
  int64_t count, room;
  int64_t *starts;
} word_list;

static macko_status grow(word_list *w, int64_t more, macko_error *err)
{
  if (w->count + more <= w->room) return MACKO_OK;
  int64_t room = w->count + more + (w->count + more) / 4;
  uint32_t *words = realloc(w->words, (size_t)room * 4);
  if (!words) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a stream of %lld words", (long long)room);
  w->words = words, w->room = room;
  return MACKO_OK;
}

static macko_status write_slices(const macko_csr *a, const int64_t *params, macko_dtans_coder *c, word_list *w, macko_error *err)
{
  macko_dtans_slice slice = {0};
  macko_status s = MACKO_OK;
  int64_t rows = params[MACKO_DTANS_ROWS], slices = macko_dtans_slices(a->nrows, rows);
  for (int64_t i = 0; i < slices && !s; i++) {
    macko_dtans_size size = {0};
    s = macko_dtans_gather(a, rows, (int)params[MACKO_DTANS_RELATIVE], i, &slice, err);
    if (!s) s = macko_dtans_measure(c, &slice, &size, err);
    if (!s) s = grow(w, macko_dtans_size_words(&size), err);
    if (s) break;
    macko_dtans_write(c, &slice, w->words + w->count, macko_dtans_size_words(&size));
    w->count += macko_dtans_size_words(&size);
    w->starts[i + 1] = w->count;
  }
  free(slice.symbols);
  return s;
}

/* The table's slots, and the parts of its symbols. */
static macko_status add_table(section_list *list, const macko_dtans_table *t, macko_dtans_part part, macko_type type,
                              macko_error *err)
{
  macko_status s = MACKO_OK;
  macko_section *gaps = part & MACKO_DTANS_GAPS ? add(list, "gap_symbols", MACKO_U32, t->symbols, &s, err) : NULL;
  macko_section *values = part & MACKO_DTANS_VALUES ? add(list, "value_symbols", type, t->symbols, &s, err) : NULL;
  macko_section *slots =
      add(list, part & MACKO_DTANS_GAPS ? "gap_slots" : "value_slots", MACKO_U16, t->symbols + 1, &s, err);
  if (s) return s;
  for (int i = 0; i < t->symbols && gaps; i++) ((uint32_t *)gaps->data)[i] = t->symbol[i].gap;
  for (int i = 0; i < t->symbols && values; i++) macko_put_bits(type, values->data, i, t->symbol[i].value);
  memcpy(slots->data, t->first, (size_t)slots->bytes);
  return MACKO_OK;
}

/* Stream 0 or 1 with all that belongs to it; sets the escapes of params. */
static macko_status add_stream(const macko_csr *a, int64_t *params, int stream, section_list *list, macko_error *err)
{
  static const char *const names[2][2] = {{"stream", "slices"}, {"value_stream", "value_slices"}};
  int64_t slices = macko_dtans_slices(a->nrows, params[MACKO_DTANS_ROWS]);
  macko_dtans_histograms histograms = {.a = a, .relative = (int)params[MACKO_DTANS_RELATIVE]};
  macko_dtans_coder c;
  word_list w = {.starts = calloc((size_t)slices + 1, sizeof *w.starts)};
  macko_status s = macko_dtans_open_coder(&histograms, params, stream, &c, err);
  macko_dtans_close_histograms(&histograms);
  if (!s && !w.starts) s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for the starts of %lld slices", (long long)slices);
  if (!s) s = write_slices(a, params, &c, &w, err);
  for (int k = 0; k < c.coding.domains && !s; k++) {
    params[c.part[k] & MACKO_DTANS_GAPS ? MACKO_DTANS_GAP_ESCAPE : MACKO_DTANS_VALUE_ESCAPE] = c.table[k]->escape >= 0;
    s = add_table(list, c.table[k], c.part[k], a->value_type, err);
  }
  if (!s) s = add_starts(list, names[stream][1], w.starts, slices, err);
  if (!s && !w.words) s = grow(&w, 1, err); /* no words, but an array of them */
  if (!s && list->count < MACKO_MAX_SECTIONS) {
    uint32_t *words = realloc(w.words, (size_t)(w.count ? w.count : 1) * 4); /* smaller; the larger one does as well */
    list->sections[list->count++] = (macko_section){names[stream][0], MACKO_U32, w.count * 4, words ? words : w.words};
    w.words = NULL;
  }
  free(w.words), free(w.starts);
  macko_dtans_close_coder(&c);
  return s;
}

/* ---- values beside coded gaps: nonzero i of all lanes of a slice, then nonzero i + 1 ---- */

static void write_slice_values(const macko_csr *a, int64_t rows, int64_t slice, int64_t slot, macko_value_writer *w)
{
  int64_t row[MACKO_DTANS_LANES], p[MACKO_DTANS_LANES], first = slice * rows * MACKO_DTANS_LANES, active = 1;
  int64_t past = first + rows * MACKO_DTANS_LANES < a->nrows ? first + rows * MACKO_DTANS_LANES : a->nrows;
  for (int l = 0; l < MACKO_DTANS_LANES; l++) {
    row[l] = first + l;
    p[l] = row[l] < past ? macko_csr_row(a, row[l]) : 0;
  }
  while (active) {
    active = 0;
    for (int l = 0; l < MACKO_DTANS_LANES; l++) {
      while (row[l] < past && p[l] == macko_csr_row(a, row[l] + 1)) {
        row[l] += MACKO_DTANS_LANES;
        if (row[l] < past) p[l] = macko_csr_row(a, row[l]);
      }
      if (row[l] >= past) continue;
      macko_write_values(w, p[l]++, 1, slot++, 1);
      active = 1;
    }
  }
}

static macko_status add_values_beside(const macko_csr *a, const macko_plan *plan, section_list *list, macko_error *err)
{
  int64_t rows = plan->params[MACKO_DTANS_ROWS], slices = macko_dtans_slices(a->nrows, rows), nnz = macko_csr_nnz(a);
  macko_codec codec = {plan->values, plan->stored_type, plan->lossy, plan->table};
  macko_value_writer w = {0};
  macko_status s = MACKO_OK;
  macko_section *values = add(list, "values", plan->stored_type, nnz, &s, err);
  macko_section *dict = plan->table ? add(list, "dict", a->value_type, plan->table, &s, err) : NULL;
  macko_section *starts = add(list, "value_slices", nnz > INT32_MAX ? MACKO_I64 : MACKO_I32, slices + 1, &s, err);
  if (!s) s = macko_open_writer(a, &codec, values->data, dict ? dict->data : NULL, &w, err);
  for (int64_t i = 0; i < slices && !s; i++) {
    int64_t past = (i + 1) * rows * MACKO_DTANS_LANES;
    int64_t begin = macko_index(starts->type, starts->data, i);
    write_slice_values(a, rows, i, begin, &w);
    put_index(starts, i + 1, macko_csr_row(a, past < a->nrows ? past : a->nrows));
  }
  macko_close_writer(&w);
  return s;
}

/* ---- sections of a matrix ---- */

static macko_status add_lengths(const macko_csr *a, section_list *list, macko_error *err)
{
  int64_t longest = 0;
  macko_status s = MACKO_OK;
  for (int64_t i = 0; i < a->nrows; i++) {
    int64_t length = macko_csr_row(a, i + 1) - macko_csr_row(a, i);
    if (length > longest) longest = length;
  }
  macko_type type = longest <= UINT8_MAX ? MACKO_U8 : longest <= UINT16_MAX ? MACKO_U16 : MACKO_U32;
  macko_section *lengths = add(list, "lengths", type, a->nrows, &s, err);
  for (int64_t i = 0; lengths && i < a->nrows; i++) {
    int64_t length = macko_csr_row(a, i + 1) - macko_csr_row(a, i);
    if (type == MACKO_U8) ((uint8_t *)lengths->data)[i] = (uint8_t)length;
    else if (type == MACKO_U16) ((uint16_t *)lengths->data)[i] = (uint16_t)length;
    else ((uint32_t *)lengths->data)[i] = (uint32_t)length;
  }
  return s;
}

static macko_status add_values(const macko_csr *a, macko_plan *plan, section_list *list, macko_error *err)
{
  macko_status s = MACKO_OK;
  if (plan->values != MACKO_VALUES_CODED) return add_values_beside(a, plan, list, err);
  if (!plan->params[MACKO_DTANS_ONE_VALUE]) return add_stream(a, plan->params, 1, list, err);
  macko_section *value = add(list, "value_symbols", a->value_type, 1, &s, err);
  if (value) macko_put_bits(a->value_type, value->data, 0, macko_bits_at(a->value_type, a->values, 0));
  return s;
}

macko_status macko_dtans_encode(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  section_list list = {0};
  macko_status s = add_lengths(a, &list, err);
  if (!s) s = add_stream(a, m->plan.params, 0, &list, err);
  if (!s && m->plan.params[MACKO_DTANS_VARIANT] == MACKO_VARIANT_SPLIT) s = add_values(a, &m->plan, &list, err);
  if (s) drop_list(&list);
  else put_list(m, &list);
  return s;
}

macko_status macko_dtans_encode_values(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  static const char *const old[] = {"values", "dict", "value_slices", "value_stream", "value_symbols", "value_slots"};
  section_list list = {0};
  macko_status s = add_values(a, &m->plan, &list, err);
  if (s) {
    drop_list(&list);
    return s;
  }
  for (int i = 0; i < 6; i++) macko_drop_section(m, old[i]);
  put_list(m, &list);
  return MACKO_OK;
}
