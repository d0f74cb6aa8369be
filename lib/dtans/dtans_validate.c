/* CSR-dtANS: the check of data from outside. Sizes and tables first, then every slice is decoded once: what passes can be
 * multiplied. */
#include "dtans/dtans_reader.h"
#include "values/codecs.h"

#include <stdlib.h>
#include <string.h>

/* ---- sizes ---- */

/* Tells whether a section, or NULL, holds so many indices of 32 or 64 bits. */
static int is_index(const macko_section *s, int64_t count)
{
  return s && (s->type == MACKO_I32 || s->type == MACKO_I64) && s->bytes == count * macko_type_bytes(s->type);
}

/* Fails unless m has that section, with so many elements of that type. */
static macko_status expect(const macko_matrix *m, const char *name, macko_type type, int64_t count, macko_error *err)
{
  const macko_section *s = macko_find_section(m, name);
  if (s && s->type == type && s->bytes == count * macko_type_bytes(type)) return MACKO_OK;
  return macko_fail(err, MACKO_CORRUPT, "section %s should hold %lld elements of %s and has %lld bytes", name, (long long)count,
                    macko_type_name(type), s ? (long long)s->bytes : 0LL);
}

/* Checks the parameters: each is one that an encoder may write, and they go together. */
static macko_status check_params(const macko_matrix *m, macko_error *err)
{
  const int64_t *q = m->plan.params;
  int64_t variant = q[MACKO_DTANS_VARIANT], M = q[MACKO_DTANS_MULTIPLICITY], rows = q[MACKO_DTANS_ROWS];
  if (variant != MACKO_VARIANT_PAPER && variant != MACKO_VARIANT_SPLIT && variant != MACKO_VARIANT_JOINT)
    return macko_fail(err, MACKO_CORRUPT, "variant %lld is unknown", (long long)variant);
  if ((int64_t)m->plan.variant != variant)
    return macko_fail(err, MACKO_CORRUPT, "variant %s is said to be %s", macko_variant_name((macko_variant)variant),
                      macko_variant_name(m->plan.variant) ? macko_variant_name(m->plan.variant) : "none");
  if (M != 256 && (M != 1024 || variant == MACKO_VARIANT_PAPER))
    return macko_fail(err, MACKO_CORRUPT, "multiplicity %lld does not go with variant %s", (long long)M,
                      macko_variant_name((macko_variant)variant));
  if (rows < 1 || rows > MACKO_DTANS_MAX_ROWS)
    return macko_fail(err, MACKO_CORRUPT, "%lld rows a lane are none of 1..%d", (long long)rows, MACKO_DTANS_MAX_ROWS);
  if (q[MACKO_DTANS_VALUE_BYTES] < 0 || q[MACKO_DTANS_VALUE_BYTES] > INT64_MAX / 64)
    return macko_fail(err, MACKO_CORRUPT, "values of %lld bytes", (long long)q[MACKO_DTANS_VALUE_BYTES]);
  int64_t least = q[MACKO_DTANS_LEAST];
  if (least < 0 || least > M || least & (least - 1))
    return macko_fail(err, MACKO_CORRUPT, "at least %lld slots a symbol: not a power of two up to %lld", (long long)least,
                      (long long)M);
  /* These say yes or no. */
  for (int i = MACKO_DTANS_RELATIVE; i <= MACKO_DTANS_ONE_VALUE; i++)
    if (q[i] != 0 && q[i] != 1) return macko_fail(err, MACKO_CORRUPT, "parameter %d is %lld, not 0 or 1", i, (long long)q[i]);
  if (variant != MACKO_VARIANT_SPLIT && (m->plan.values != MACKO_VALUES_CODED || q[MACKO_DTANS_ONE_VALUE]))
    return macko_fail(err, MACKO_CORRUPT, "variant %s must code its values", macko_variant_name((macko_variant)variant));
  if (q[MACKO_DTANS_ONE_VALUE] && m->plan.values != MACKO_VALUES_CODED)
    return macko_fail(err, MACKO_CORRUPT, "one value for all entries is not coded but %s", macko_values_name(m->plan.values));
  /* Gaps have 32 bits, of which a gap from the diagonal needs one for its sign. */
  if (m->ncols > UINT32_MAX || (q[MACKO_DTANS_RELATIVE] && (m->ncols > 1LL << 31 || m->nrows > 1LL << 31)))
    return macko_fail(err, MACKO_CORRUPT, "%lld x %lld is beyond what gaps of 32 bits can span", (long long)m->nrows,
                      (long long)m->ncols);
  return MACKO_OK;
}

/* Checks the row lengths: no row is longer than the matrix is wide, and together they are all entries. */
static macko_status check_lengths(const macko_matrix *m, macko_error *err)
{
  const macko_section *s = macko_find_section(m, "lengths");
  int64_t sum = 0;
  if (!s || (s->type != MACKO_U8 && s->type != MACKO_U16 && s->type != MACKO_U32) ||
      s->bytes != m->nrows * macko_type_bytes(s->type))
    return macko_fail(err, MACKO_CORRUPT, "section lengths does not hold %lld row lengths", (long long)m->nrows);
  for (int64_t i = 0; i < m->nrows; i++) {
    if (macko_dtans_length(s, i) > m->ncols)
      return macko_fail(err, MACKO_CORRUPT, "row %lld has %lld entries in %lld columns", (long long)i,
                        (long long)macko_dtans_length(s, i), (long long)m->ncols);
    sum += macko_dtans_length(s, i);
  }
  if (sum != m->nnz)
    return macko_fail(err, MACKO_CORRUPT, "the row lengths add up to %lld, not %lld", (long long)sum, (long long)m->nnz);
  return MACKO_OK;
}

/* Checks the section of slices' starts of that name: they rise from 0 to `last`, so that no slice reads beyond the stream. */
static macko_status check_starts(const macko_matrix *m, const char *name, int64_t last, macko_error *err)
{
  const macko_section *s = macko_find_section(m, name);
  int64_t slices = macko_dtans_slices(m->nrows, m->plan.params[MACKO_DTANS_ROWS]), before = 0;
  if (!is_index(s, slices + 1))
    return macko_fail(err, MACKO_CORRUPT, "section %s does not hold %lld starts", name, (long long)slices + 1);
  for (int64_t i = 0; i <= slices; i++) {
    int64_t start = macko_index_at(s, i);
    if (start < before || start > last || (i == 0 && start) || (i == slices && start != last))
      return macko_fail(err, MACKO_CORRUPT, "section %s goes from %lld to %lld at slice %lld; it ends at %lld", name,
                        (long long)before, (long long)start, (long long)i, (long long)last);
    before = start;
  }
  return MACKO_OK;
}

/* Checks a table: first[] rises from 0 to 4096 at most by multiplicities that may be, and there are symbols for all. A matrix
 * with entries needs one symbol at least, as the walk takes it for slots of nobody. */
static macko_status check_table(const macko_matrix *m, macko_dtans_part part, macko_error *err)
{
  const char *name = part & MACKO_DTANS_GAPS ? "gap_slots" : "value_slots";
  const macko_section *s = macko_find_section(m, name);
  int64_t symbols = s ? s->bytes / 2 - 1 : -1;
  macko_status status = MACKO_OK;
  if (!s || s->type != MACKO_U16 || s->bytes % 2 || symbols < 0 || symbols > MACKO_DTANS_SLOTS)
    return macko_fail(err, MACKO_CORRUPT, "section %s does not hold the slots of at most %d symbols", name, MACKO_DTANS_SLOTS);
  const uint16_t *first = s->data;
  if (m->nnz && !symbols) return macko_fail(err, MACKO_CORRUPT, "section %s holds no symbol", name);
  if (first[0] || first[symbols] > MACKO_DTANS_SLOTS)
    return macko_fail(err, MACKO_CORRUPT, "section %s runs from %d to %d", name, first[0], first[symbols]);
  /* Every symbol has a slot, and no more than M. */
  for (int64_t i = 0; i < symbols; i++)
    if (first[i + 1] <= first[i] || first[i + 1] - first[i] > m->plan.params[MACKO_DTANS_MULTIPLICITY])
      return macko_fail(err, MACKO_CORRUPT, "section %s goes from %d to %d at symbol %lld", name, first[i], first[i + 1],
                        (long long)i);
  if (part & MACKO_DTANS_GAPS) status = expect(m, "gap_symbols", MACKO_U32, symbols, err);
  if (!status && part & MACKO_DTANS_VALUES) status = expect(m, "value_symbols", m->value_type, symbols, err);
  return status;
}

/* Checks stream i, its tables and its starts; what its words say is checked by walking the slices. */
static macko_status check_stream(const macko_matrix *m, int i, macko_error *err)
{
  const char *name = i ? "value_stream" : "stream";
  const macko_section *s = macko_find_section(m, name);
  macko_dtans_part part[MACKO_DTANS_DOMAINS];
  macko_dtans_coding coding = macko_dtans_stream_coding(m->plan.params, m->value_type, i, part);
  macko_status status = MACKO_OK;
  if (!s || s->type != MACKO_U32 || s->bytes % 4) return macko_fail(err, MACKO_CORRUPT, "section %s does not hold words", name);
  for (int k = 0; k < coding.domains && !status; k++) status = check_table(m, part[k], err);
  return status ? status : check_starts(m, i ? "value_slices" : "slices", s->bytes / 4, err);
}

/* Checks section values and what belongs to it: every code has an entry in the dictionary. */
static macko_status check_values_beside(const macko_matrix *m, macko_error *err)
{
  const int coded = m->plan.stored_type == MACKO_U8 || m->plan.stored_type == MACKO_U16;
  macko_status s = macko_check_codec(m, err);
  if (!s) s = expect(m, "values", m->plan.stored_type, m->nnz, err);
  if (!s) s = check_starts(m, "value_slices", m->nnz, err);
  if (!s && coded && m->nnz) s = expect(m, "dict", m->value_type, m->plan.table, err);
  return s ? s : macko_check_codes(m, err);
}

/* ---- which sections there are ---- */

/* Lists the sections of stream i, as far as check_names looks at them, and returns how many. */
static int list_stream(const macko_matrix *m, int i, macko_section *list)
{
  macko_dtans_part part[MACKO_DTANS_DOMAINS];
  macko_dtans_coding coding = macko_dtans_stream_coding(m->plan.params, m->value_type, i, part);
  const macko_dtans_part all = coding.domains == 2 ? MACKO_DTANS_PAIRS : part[0];
  int n = 0;
  for (int k = 0; k < coding.domains; k++) {
    if (part[k] & MACKO_DTANS_GAPS) list[n++] = macko_dtans_section(part[k], "gap_symbols", MACKO_U32, 0);
    if (part[k] & MACKO_DTANS_VALUES) list[n++] = macko_dtans_section(part[k], "value_symbols", m->value_type, 0);
    list[n++] = macko_dtans_section(part[k], part[k] & MACKO_DTANS_GAPS ? "gap_slots" : "value_slots", MACKO_U16, 0);
  }
  list[n++] = macko_dtans_section(all, i ? "value_slices" : "slices", MACKO_I32, 0);
  list[n++] = macko_dtans_section(all, i ? "value_stream" : "stream", MACKO_U32, 0);
  return n;
}

/* Lists all sections by their names and what each tells of: types and lengths are checked with what they hold. */
static int list_sections(const macko_matrix *m, macko_section list[MACKO_MAX_SECTIONS])
{
  int n = 0;
  list[n++] = macko_pattern_section("lengths", MACKO_U32, 0);
  n += list_stream(m, 0, list + n);
  if (macko_dtans_has_value_stream(&m->plan)) return n + list_stream(m, 1, list + n);
  if (m->plan.params[MACKO_DTANS_VARIANT] != MACKO_VARIANT_SPLIT) return n;
  if (m->plan.params[MACKO_DTANS_ONE_VALUE]) list[n++] = macko_value_section("value_symbols", m->value_type, 0);
  else {
    list[n++] = macko_value_section("values", m->plan.stored_type, 0);
    if (m->plan.table) list[n++] = macko_value_section("dict", m->value_type, 0);
    list[n++] = macko_value_section("value_slices", MACKO_I32, 0);
  }
  return n;
}

/* Checks that m has these sections and no others. Refresh puts sections in place of others by what they tell of. */
static macko_status check_names(const macko_matrix *m, macko_error *err)
{
  macko_section list[MACKO_MAX_SECTIONS];
  int n = list_sections(m, list);
  for (int i = 0; i < n; i++) {
    const macko_section *s = macko_find_section(m, list[i].name);
    if (!s) return macko_fail(err, MACKO_CORRUPT, "section %s is missing", list[i].name);
    if (s->pattern != list[i].pattern || s->values != list[i].values)
      return macko_fail(err, MACKO_CORRUPT, "section %s tells of the pattern (%d) and of values (%d); it should be %d and %d",
                        s->name, s->pattern, s->values, list[i].pattern, list[i].values);
  }
  /* The sections that are asked for are all there, so that any more would be others. */
  if (m->nsections == n) return MACKO_OK;
  return macko_fail(err, MACKO_CORRUPT, "%d sections, where the plan asks for %d", m->nsections, n);
}

/* Checks all that does not need decoding, each part before what reads by it. */
static macko_status check_sizes(const macko_matrix *m, macko_error *err)
{
  macko_status s = check_params(m, err);
  if (!s) s = check_names(m, err);
  if (!s) s = check_lengths(m, err);
  if (!s) s = check_stream(m, 0, err);
  if (s || m->plan.params[MACKO_DTANS_VARIANT] != MACKO_VARIANT_SPLIT) return s;
  if (m->plan.values != MACKO_VALUES_CODED) return check_values_beside(m, err);
  return m->plan.params[MACKO_DTANS_ONE_VALUE] ? expect(m, "value_symbols", m->value_type, 1, err) : check_stream(m, 1, err);
}

/* ---- slices ---- */

/* What the walk has seen: entries are checked as they come, and the first bad one is kept. */
typedef struct {
  int64_t ncols, before[MACKO_DTANS_LANES]; /* column of the lane's last entry */
  int64_t bad_row, bad_col;
} checker;

/* Checks that columns rise within the matrix; as the entry of a sink. */
static inline void check_entry(void *context, int l, int64_t row, int64_t i, int64_t col, uint64_t bits)
{
  checker *c = context;
  (void)bits;
  if ((col < 0 || col >= c->ncols || (i && col <= c->before[l])) && c->bad_row < 0) c->bad_row = row, c->bad_col = col;
  c->before[l] = col;
}

/* Ends a row, as a sink has to. */
static inline void skip_row(void *context, int l, int64_t row)
{
  (void)context, (void)l, (void)row;
}

/* Tells whether every word of the slice has been used: words left over would mean another matrix, or damage. */
static int used_up(const macko_dtans_reader *r, const macko_dtans_walk *w)
{
  return w->cursor[0].next == w->cursor[0].end &&
         (!macko_dtans_has_value_stream(&r->m->plan) || w->cursor[1].next == w->cursor[1].end);
}

/* Slices are walked as decode walks them, with a table of slots that is made here. */
macko_status macko_dtans_validate(const macko_matrix *m, macko_error *err)
{
  static const macko_dtans_sink sink = {check_entry, skip_row};
  macko_dtans_slots slots; /* of what is to be checked, whatever has been prepared */
  macko_dtans_reader r;
  macko_dtans_walk w;
  checker c = {.ncols = m->ncols, .bad_row = -1};
  macko_status s = check_sizes(m, err);
  if (s) return s;
  macko_dtans_fill_slots(m, &slots);
  macko_dtans_open_reader(m, &slots, &r);
  for (int64_t slice = 0; slice < macko_dtans_slices(m->nrows, r.rows); slice++) {
    if (!macko_dtans_walk_any(&r, slice, &w, sink, &c) || !used_up(&r, &w))
      return macko_fail(err, MACKO_CORRUPT, "the words of slice %lld do not decode to its row lengths", (long long)slice);
    if (c.bad_row >= 0)
      return macko_fail(err, MACKO_CORRUPT, "column %lld in row %lld is outside 0..%lld or not after the one before",
                        (long long)c.bad_col, (long long)c.bad_row, (long long)m->ncols - 1);
    if (r.value_slices && w.next_value != macko_index_at(r.value_slices, slice + 1))
      return macko_fail(err, MACKO_CORRUPT, "section value_slices does not fit the row lengths of slice %lld", (long long)slice);
  }
  return MACKO_OK;
}
