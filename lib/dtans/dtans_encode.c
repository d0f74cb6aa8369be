/* CSR-dtANS: the sections of a matrix. Streams are written slice after slice, so that besides the sections one slice is held. */
#include "dtans/dtans.h"

#include <stdlib.h>
#include <string.h>

/* Sections are made before any of them goes into the matrix, so that refresh changes nothing when it fails. */
typedef struct {
  int count;
  macko_section sections[MACKO_MAX_SECTIONS];
} section_list;

/* Adds a new section to the list and returns it, NULL where *s says that something has failed, before or here. *s is handed
 * through, so that callers check once for several sections. */
static macko_section *add(section_list *list, macko_section like, macko_status *s, macko_error *err)
{
  if (*s) return NULL;
  *s = macko_new_section(like, &list->sections[list->count], err);
  return *s ? NULL : &list->sections[list->count++];
}

/* Frees all sections of the list. */
static void drop_list(section_list *list)
{
  while (list->count) free(list->sections[--list->count].data);
}

/* Puts all sections into the matrix, which owns them then. */
static void put_list(macko_matrix *m, const section_list *list)
{
  for (int i = 0; i < list->count; i++) macko_put_section(m, &list->sections[i]);
}

/* Adds the starts of slices, as 32-bit numbers where they fit. starts has slices + 1 elements. */
static macko_status add_starts(section_list *list, macko_dtans_part part, const char *name, const int64_t *starts, int64_t slices,
                               macko_error *err)
{
  macko_status s = MACKO_OK;
  macko_section *to = add(list, macko_dtans_section(part, name, macko_index_type(starts[slices]), slices + 1), &s, err);
  for (int64_t i = 0; to && i <= slices; i++) macko_put_index(to, i, starts[i]);
  return s;
}

/* ---- streams ---- */

/* The words of a stream while it grows, and where each slice begins. */
typedef struct {
  uint32_t *words;
  int64_t count, room;
  int64_t *starts;
} word_list;

/* Makes room for so many words more, and a quarter beyond: the prediction of a plan is not exact, so that nothing can be
 * allocated beforehand. Errors: OUT_OF_MEMORY. */
static macko_status grow(word_list *w, int64_t more, macko_error *err)
{
  if (w->count + more <= w->room) return MACKO_OK;
  int64_t room = w->count + more + (w->count + more) / 4;
  uint32_t *words = realloc(w->words, (size_t)room * 4);
  if (!words) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a stream of %lld words", (long long)room);
  w->words = words, w->room = room;
  return MACKO_OK;
}

/* Codes all slices, one after the other. The forward pass tells how many words a slice takes, before the backward pass fills them
 * from the end. */
static macko_status write_slices(const macko_dtans_input *in, const int64_t *params, macko_dtans_coder *c, word_list *w,
                                 macko_error *err)
{
  macko_dtans_slice slice = {0};
  macko_status s = MACKO_OK;
  int64_t rows = params[MACKO_DTANS_ROWS], slices = macko_dtans_slices(in->rows->nrows, rows);
  for (int64_t i = 0; i < slices && !s; i++) {
    macko_dtans_size size = {0};
    s = macko_dtans_gather(in, rows, i, &slice, err);
    if (!s) s = macko_dtans_measure(c, &slice, &size, err);
    if (!s) s = grow(w, macko_dtans_size_words(&size), err);
    if (s) break;
    if (macko_dtans_size_words(&size)) macko_dtans_write(c, &slice, w->words + w->count, macko_dtans_size_words(&size));
    w->count += macko_dtans_size_words(&size);
    w->starts[i + 1] = w->count;
  }
  free(slice.symbols);
  return s;
}

/* Adds the sections of a table: its slots, and gaps and values of its symbols. */
static macko_status add_table(section_list *list, const macko_dtans_table *t, macko_dtans_part part, macko_type type,
                              macko_error *err)
{
  macko_status s = MACKO_OK;
  const char *slots_name = part & MACKO_DTANS_GAPS ? "gap_slots" : "value_slots";
  macko_section *gaps = NULL, *values = NULL;
  if (part & MACKO_DTANS_GAPS) gaps = add(list, macko_dtans_section(part, "gap_symbols", MACKO_U32, t->symbols), &s, err);
  if (part & MACKO_DTANS_VALUES) values = add(list, macko_dtans_section(part, "value_symbols", type, t->symbols), &s, err);
  macko_section *slots = add(list, macko_dtans_section(part, slots_name, MACKO_U16, t->symbols + 1), &s, err);
  if (s) return s;
  for (int i = 0; i < t->symbols && gaps; i++) ((uint32_t *)gaps->data)[i] = t->symbol[i].gap;
  for (int i = 0; i < t->symbols && values; i++) macko_put_bits(type, values->data, i, t->symbol[i].value);
  memcpy(slots->data, t->first, (size_t)slots->bytes);
  return MACKO_OK;
}

/* Adds stream 0 or 1 with all that belongs to it, and sets the escapes of params, which are known once the tables are. */
static macko_status add_stream(macko_dtans_input *in, int64_t *params, int stream, section_list *list, macko_error *err)
{
  static const char *const names[2][2] = {{"stream", "slices"}, {"value_stream", "value_slices"}};
  int64_t slices = macko_dtans_slices(in->rows->nrows, params[MACKO_DTANS_ROWS]);
  macko_dtans_coder c;
  macko_dtans_part part;
  word_list w = {.starts = calloc((size_t)slices + 1, sizeof *w.starts)};
  macko_status s = macko_dtans_open_coder(in, params, stream, &c, err);
  if (!s && !w.starts) s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for the starts of %lld slices", (long long)slices);
  part = macko_dtans_coded_part(&c);
  if (!s) s = write_slices(in, params, &c, &w, err);
  /* Tables follow the stream, as they are those that have coded it. */
  for (int k = 0; k < c.coding.domains && !s; k++) {
    params[c.part[k] & MACKO_DTANS_GAPS ? MACKO_DTANS_GAP_ESCAPE : MACKO_DTANS_VALUE_ESCAPE] = c.table[k]->escape >= 0;
    s = add_table(list, c.table[k], c.part[k], in->rows->value_type, err);
  }
  if (!s) s = add_starts(list, part, names[stream][1], w.starts, slices, err);
  if (!s && !w.words) s = grow(&w, 1, err); /* no words, but an array of them */
  if (!s && list->count < MACKO_MAX_SECTIONS) {
    uint32_t *words = realloc(w.words, (size_t)(w.count ? w.count : 1) * 4); /* smaller; the larger one does as well */
    list->sections[list->count] = macko_dtans_section(part, names[stream][0], MACKO_U32, w.count);
    list->sections[list->count++].data = words ? words : w.words;
    w.words = NULL;
  }
  free(w.words), free(w.starts);
  macko_dtans_close_coder(&c);
  return s;
}

/* ---- values beside coded gaps: entry i of all lanes of a slice, then entry i + 1 ---- */

/* Puts the values of a slice, which it has lane after lane, into the order in which lanes decode them, so that a warp reads them
 * side by side. */
static void order_values(const macko_dtans_slice *s, macko_type type, void *values)
{
  int64_t at = 0;
  for (int64_t i = 0; i < s->longest; i++)
    for (int l = 0; l < MACKO_DTANS_LANES; l++)
      if (i < s->count[l]) macko_put_bits(type, values, at++, s->symbols[s->start[l] + i].value);
}

/* Writes the values of all slices by a codec, and where each slice's begin. */
static macko_status write_values(const macko_dtans_input *in, int64_t rows, macko_section *starts, macko_value_writer *w,
                                 macko_error *err)
{
  macko_dtans_slice slice = {0};
  macko_status s = MACKO_OK;
  void *values = NULL;
  int64_t slices = macko_dtans_slices(in->rows->nrows, rows), slot = 0, room = 0;
  for (int64_t i = 0; i < slices && !s; i++) {
    s = macko_dtans_gather(in, rows, i, &slice, err);
    if (!s && slice.nonzeros > room) {
      free(values);
      room = slice.room;
      values = malloc((size_t)(room * macko_type_bytes(w->value_type)));
      if (!values) s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for the values of %lld nonzeros", (long long)room);
    }
    if (s) break;
    order_values(&slice, w->value_type, values);
    w->values = values;
    macko_write_values(w, 0, slice.nonzeros, slot, 1);
    slot += slice.nonzeros;
    macko_put_index(starts, i + 1, slot);
  }
  free(values), free(slice.symbols);
  return s;
}

/* Adds the sections of values that are not coded: the values themselves, a dictionary if the codec has one, and starts of
 * slices. */
static macko_status add_values_beside(const macko_dtans_input *in, const macko_plan *plan, section_list *list, macko_error *err)
{
  int64_t rows = plan->params[MACKO_DTANS_ROWS], slices = macko_dtans_slices(in->rows->nrows, rows), nnz = in->nnz;
  macko_type type = in->rows->value_type;
  const macko_codec codec = macko_codec_of(plan);
  macko_value_writer w = {0};
  macko_status s = MACKO_OK;
  macko_section *values = add(list, macko_value_section("values", plan->stored_type, nnz), &s, err);
  macko_section *dict = plan->table ? add(list, macko_value_section("dict", type, plan->table), &s, err) : NULL;
  macko_section *starts = add(list, macko_value_section("value_slices", macko_index_type(nnz), slices + 1), &s, err);
  if (!s) s = macko_open_writer(&(macko_csr){.value_type = type}, &codec, values->data, dict ? dict->data : NULL, &w, err);
  if (!s) s = write_values(in, rows, starts, &w, err);
  if (!s) s = macko_check_writer(&w, err);
  macko_close_writer(&w);
  return s;
}

/* ---- sections of a matrix ---- */

/* Adds the value that all entries have, taken from the first row that has any. */
static macko_status add_one_value(const macko_dtans_input *in, section_list *list, macko_error *err)
{
  macko_status s = MACKO_OK;
  macko_csr piece = {0};
  macko_section *value = add(list, macko_value_section("value_symbols", in->rows->value_type, 1), &s, err);
  int64_t row = 0;
  /* The last row is asked for where no other has an entry. */
  while (!s && row + 1 < in->rows->nrows && !macko_dtans_length(&in->lengths, row)) row++;
  if (!s) s = macko_dtans_next_piece(in, row, row + 1, &piece, err);
  if (!s && macko_csr_row(&piece, 1) == macko_csr_row(&piece, 0))
    s = macko_fail(err, MACKO_INVALID_MATRIX, "row %lld has no entries; it had some when it was asked for before",
                   (long long)row);
  if (s) return s;
  macko_put_bits(piece.value_type, value->data, 0, macko_bits_at(piece.value_type, piece.values, macko_csr_row(&piece, 0)));
  return s;
}

/* Adds the values of a SPLIT matrix in the way that the plan says. */
static macko_status add_values(macko_dtans_input *in, macko_plan *plan, section_list *list, macko_error *err)
{
  if (plan->values != MACKO_VALUES_CODED) return add_values_beside(in, plan, list, err);
  if (plan->params[MACKO_DTANS_ONE_VALUE]) return add_one_value(in, list, err);
  return add_stream(in, plan->params, 1, list, err);
}

/* The lengths are those that were counted when the rows were first read; they are handed over, not copied. */
macko_status macko_dtans_encode(macko_dtans_input *in, macko_matrix *m, macko_error *err)
{
  section_list list = {0};
  macko_status s = add_stream(in, m->plan.params, 0, &list, err);
  if (!s && m->plan.params[MACKO_DTANS_VARIANT] == MACKO_VARIANT_SPLIT) s = add_values(in, &m->plan, &list, err);
  if (s) {
    drop_list(&list);
    return s;
  }
  macko_put_section(m, &in->lengths);
  in->lengths.data = NULL;
  put_list(m, &list);
  return MACKO_OK;
}

/* What m has of values goes only when all new sections are there. */
macko_status macko_dtans_encode_values(macko_dtans_input *in, macko_matrix *m, macko_error *err)
{
  section_list list = {0};
  macko_status s = add_values(in, &m->plan, &list, err);
  if (s) {
    drop_list(&list);
    return s;
  }
  macko_drop_values(m);
  put_list(m, &list);
  return MACKO_OK;
}
