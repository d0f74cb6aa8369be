/* Value codecs raw, narrow, dict and the lossy float types: choice, writing and reading back. */
#include "core/threads.h"
#include "values/codecs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what can hold the values ---- */

/* Values are looked at in blocks: after each a part asks whether another one has found what ends the search. */
enum { BLOCK = 4096 };

/* 1 if one of values p .. past - 1 does not come back with the same bits. */
static int block_misfits(const macko_csr *a, macko_type to, int64_t p, int64_t past)
{
#define SCAN(FROM, TO) \
  do { \
    for (; p < past; p++) \
      if (!macko_fits(FROM, TO, a->values, p)) return 1; \
    return 0; \
  } while (0)
#define SCAN_FROM(FROM) \
  do { \
    if (to == MACKO_F32) SCAN(FROM, MACKO_F32); \
    if (to == MACKO_F16) SCAN(FROM, MACKO_F16); \
    if (to == MACKO_BF16) SCAN(FROM, MACKO_BF16); \
    SCAN(FROM, MACKO_I8); \
  } while (0)
  switch (a->value_type) {
  case MACKO_F64: SCAN_FROM(MACKO_F64);
  case MACKO_F32: SCAN_FROM(MACKO_F32);
  case MACKO_F16: SCAN_FROM(MACKO_F16);
  default: SCAN_FROM(MACKO_BF16);
  }
#undef SCAN_FROM
#undef SCAN
}

typedef struct {
  const macko_csr *a;
  macko_type to;
  int found;
} misfit_search;

static void search_part(void *context, int part, int64_t from, int64_t past)
{
  misfit_search *s = context;
  int64_t first = macko_csr_row(s->a, 0);
  (void)part;
  for (int64_t p = from; p < past && !macko_is_set(&s->found); p += BLOCK)
    if (block_misfits(s->a, s->to, first + p, first + (past - p < BLOCK ? past : p + BLOCK))) macko_set(&s->found);
}

static int piece_misfits(const macko_csr *a, macko_type to)
{
  const macko_cut entries = {.n = macko_csr_row(a, a->nrows) - macko_csr_row(a, 0)};
  misfit_search s = {a, to, 0};
  macko_do_parts(&entries, macko_parts(entries.n), search_part, &s);
  return s.found;
}

static macko_status find_misfit(void *rows, macko_type to, int *found, macko_error *err)
{
  macko_rows *r = rows;
  macko_csr piece;
  macko_status s = MACKO_OK;
  *found = 0;
  for (int64_t first = 0, step = macko_rows_step(r); first < r->nrows && !*found && !s; first += step) {
    s = macko_get_rows(r, first, step < r->nrows - first ? step : r->nrows - first, &piece, err);
    if (!s) *found = piece_misfits(&piece, to);
  }
  return s;
}

/* The narrowest type that holds every value exactly; the matrix's own if none does. */
static macko_status narrowest(const macko_value_facts *f, macko_type *type, macko_error *err)
{
  static const macko_type candidates[] = {MACKO_I8, MACKO_F16, MACKO_BF16, MACKO_F32};
  *type = f->value_type;
  for (int i = 0; i < 4; i++) {
    int misfit;
    if (macko_type_bytes(candidates[i]) >= macko_type_bytes(f->value_type)) continue;
    macko_status s = f->misfit(f->context, candidates[i], &misfit, err);
    if (s) return s;
    if (!misfit) return *type = candidates[i], MACKO_OK;
  }
  return MACKO_OK;
}

/* ---- the dictionary: values, by their bits, in order of first appearance ---- */

/* Distinct values, for each part its own. */
typedef struct {
  const macko_csr *piece;
  macko_value_set *sets;
  int full; /* one of them: there are too many */
} distinct_search;

static macko_status open_sets(int parts, macko_type type, int64_t limit, macko_value_set **sets, macko_error *err)
{
  int made = 0;
  *sets = calloc((size_t)parts, sizeof **sets);
  for (; *sets && made < parts; made++) {
    void *table = malloc((size_t)(limit * macko_type_bytes(type)));
    if (macko_open_value_set(type, table, limit, &(*sets)[made], NULL) || !table) break;
  }
  if (made == parts) return MACKO_OK;
  return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a dictionary of %lld values", (long long)limit);
}

static void close_sets(int parts, macko_value_set *sets)
{
  for (int part = 0; sets && part < parts; part++) free(sets[part].table), macko_close_value_set(&sets[part]);
  free(sets);
}

/* 1 if there is room for values p .. past - 1. */
static int add_values(macko_value_set *set, const macko_csr *a, int64_t p, int64_t past)
{
  uint64_t before = 0;
  for (int64_t first = p; p < past; p++) {
    uint64_t bits = macko_bits_at(a->value_type, a->values, p);
    if (p > first && bits == before) continue;
    if (macko_value_code(set, bits) < 0) return 0;
    before = bits;
  }
  return 1;
}

static void add_part(void *context, int part, int64_t from, int64_t past)
{
  distinct_search *s = context;
  int64_t first = macko_csr_row(s->piece, 0);
  for (int64_t p = from; p < past && !macko_is_set(&s->full); p += BLOCK)
    if (!add_values(&s->sets[part], s->piece, first + p, first + (past - p < BLOCK ? past : p + BLOCK))) macko_set(&s->full);
}

/* Number of values that differ in their bits, or -1 beyond the limit. */
static macko_status count_distinct(void *rows, int64_t limit, int64_t *distinct, macko_error *err)
{
  macko_rows *r = rows;
  macko_csr piece;
  distinct_search search = {.piece = &piece};
  int parts = r->whole ? macko_large_parts(macko_csr_nnz(r->whole)) : 1;
  macko_status s = open_sets(parts, r->value_type, limit, &search.sets, err);
  for (int64_t first = 0, step = macko_rows_step(r); first < r->nrows && !search.full && !s; first += step) {
    s = macko_get_rows(r, first, step < r->nrows - first ? step : r->nrows - first, &piece, err);
    const macko_cut entries = {.n = s ? 0 : macko_csr_row(&piece, piece.nrows) - macko_csr_row(&piece, 0)};
    if (!s) macko_do_parts(&entries, parts, add_part, &search);
  }
  for (int part = 1; !s && part < parts && !search.full; part++) {
    macko_csr found = {.value_type = r->value_type, .values = search.sets[part].table};
    search.full = !add_values(&search.sets[0], &found, 0, search.sets[part].used);
  }
  *distinct = s || search.full ? -1 : search.sets[0].used;
  close_sets(parts, search.sets);
  return s;
}

macko_value_facts macko_facts_of_rows(macko_rows *r)
{
  return (macko_value_facts){r->value_type, find_misfit, count_distinct, r};
}

/* ---- a csr as a whole ---- */

static macko_status csr_misfit(void *csr, macko_type to, int *found, macko_error *err)
{
  macko_rows r = macko_rows_of(csr);
  return find_misfit(&r, to, found, err);
}

static macko_status csr_distinct(void *csr, int64_t limit, int64_t *distinct, macko_error *err)
{
  macko_rows r = macko_rows_of(csr);
  return count_distinct(&r, limit, distinct, err);
}

macko_value_facts macko_facts_of_csr(const macko_csr *a)
{
  return (macko_value_facts){a->value_type, csr_misfit, csr_distinct, (void *)a};
}

/* ---- choice ---- */

static macko_codec dict_codec(int64_t distinct)
{
  return (macko_codec){MACKO_VALUES_DICT, distinct <= 256 ? MACKO_U8 : MACKO_U16, 0, distinct};
}

static macko_status float_codec(const macko_value_facts *f, macko_values wanted, macko_codec *codec, macko_error *err)
{
  macko_type to = wanted == MACKO_VALUES_F32 ? MACKO_F32 : wanted == MACKO_VALUES_F16 ? MACKO_F16 : MACKO_BF16;
  *codec = (macko_codec){MACKO_VALUES_RAW, f->value_type, 0, 0};
  if (to == f->value_type || macko_type_bytes(to) > macko_type_bytes(f->value_type)) return MACKO_OK;
  *codec = (macko_codec){wanted, to, 0, 0};
  return f->misfit(f->context, to, &codec->lossy, err);
}

macko_status macko_codecs_of_rows(macko_rows *r, macko_values wanted, macko_codec codecs[3], int *count, macko_error *err)
{
  macko_value_facts facts = macko_facts_of_rows(r);
  return macko_codecs_by(&facts, wanted, MACKO_DICT_LIMIT, codecs, count, err);
}

macko_status macko_codecs_by(const macko_value_facts *f, macko_values wanted, int64_t most, macko_codec codecs[3], int *count,
                             macko_error *err)
{
  int64_t distinct = -1;
  macko_status s = MACKO_OK;
  *count = 1;
  if (wanted >= MACKO_VALUES_F32) return float_codec(f, wanted, &codecs[0], err);
  codecs[0] = (macko_codec){MACKO_VALUES_RAW, f->value_type, 0, 0};
  if (wanted == MACKO_VALUES_RAW) return MACKO_OK;
  if (wanted == MACKO_VALUES_NARROW || wanted == MACKO_VALUES_AUTO) {
    macko_type type;
    s = narrowest(f, &type, err);
    if (s) return s;
    macko_codec narrow = {type == f->value_type ? MACKO_VALUES_RAW : MACKO_VALUES_NARROW, type, 0, 0};
    if (wanted == MACKO_VALUES_NARROW) codecs[0] = narrow;
    else if (type != f->value_type) codecs[(*count)++] = narrow;
    if (wanted == MACKO_VALUES_NARROW) return MACKO_OK;
  }
  s = f->distinct(f->context, wanted == MACKO_VALUES_DICT ? MACKO_DICT_LIMIT : most, &distinct, err);
  if (s) return s;
  if (wanted == MACKO_VALUES_DICT && distinct < 0)
    return macko_fail(err, MACKO_UNSUPPORTED, "values dict: the matrix has more than %d distinct values", MACKO_DICT_LIMIT);
  if (wanted == MACKO_VALUES_DICT) codecs[0] = dict_codec(distinct);
  else if (distinct >= 0) codecs[(*count)++] = dict_codec(distinct);
  return MACKO_OK;
}

void macko_describe_values(macko_plan *plan)
{
  static const char start[] = "; values ";
  char *end = strstr(plan->reason, start);
  if (!end) end = plan->reason + strlen(plan->reason);
  snprintf(end, (size_t)(plan->reason + sizeof plan->reason - end), "%s%s as %s%s", start, macko_values_name(plan->values),
           macko_type_name(plan->stored_type), plan->lossy ? " (lossy, as asked for)" : "");
}

/* ---- writing ---- */

macko_status macko_open_writer(const macko_csr *a, const macko_codec *codec, void *stream, void *table, macko_value_writer *w,
                               macko_error *err)
{
  *w = (macko_value_writer){.codec = *codec, .value_type = a->value_type, .values = a->values, .stream = stream};
  return codec->values == MACKO_VALUES_DICT ? macko_open_value_set(a->value_type, table, codec->table, &w->codes, err) : MACKO_OK;
}

void macko_close_writer(macko_value_writer *w)
{
  macko_close_value_set(&w->codes);
}

macko_status macko_check_writer(const macko_value_writer *w, macko_error *err)
{
  if (!w->changed) return MACKO_OK;
  return macko_fail(err, MACKO_INVALID_MATRIX, "values have changed while they were encoded: there were %lld of them",
                    (long long)w->codec.table);
}

/* The code of value p; any where there is no room for it, as there was when values were counted. */
static inline int64_t code_at(macko_value_writer *w, macko_type from, int64_t p)
{
  uint64_t bits = macko_bits_at(from, w->values, p);
  if (bits == w->bits_before && w->codes.used) return w->code_before;
  int64_t code = macko_value_code(&w->codes, bits);
  w->changed |= code < 0;
  w->bits_before = bits, w->code_before = code;
  return code;
}

static inline __attribute__((always_inline)) void write_as(macko_value_writer *w, macko_type from, macko_type to, int64_t p,
                                                           int64_t count, int64_t slot, int64_t stride)
{
  for (int64_t i = 0; i < count; i++, slot += stride) switch (to) {
    case MACKO_U8: ((uint8_t *)w->stream)[slot] = (uint8_t)code_at(w, from, p + i); break;
    case MACKO_U16: ((uint16_t *)w->stream)[slot] = (uint16_t)code_at(w, from, p + i); break;
    case MACKO_I8: ((uint8_t *)w->stream)[slot] = (uint8_t)macko_convert(from, to, w->values, p + i); break;
    default:
      if (from == to) macko_put_bits(to, w->stream, slot, macko_bits_at(from, w->values, p + i));
      else macko_put_bits(to, w->stream, slot, macko_convert(from, to, w->values, p + i));
    }
}

static void recode(macko_value_writer *w, int64_t count, int64_t slot, int64_t stride)
{
  for (int64_t i = 0; i < count; i++, slot += stride)
    if (w->codec.stored_type == MACKO_U8) ((uint8_t *)w->stream)[slot] = (uint8_t)w->recode[((uint8_t *)w->stream)[slot]];
    else ((uint16_t *)w->stream)[slot] = (uint16_t)w->recode[((uint16_t *)w->stream)[slot]];
}

static inline __attribute__((always_inline)) void groups_as(macko_value_writer *w, macko_type from, macko_type to, int per, int64_t p,
                                                            int64_t count, int64_t slot, int64_t stride)
{
  for (; count >= per; p += per, slot += stride * per, count -= per) write_as(w, from, to, p, per, slot, 1);
  write_as(w, from, to, p, count, slot, 1);
}

void macko_write_groups(macko_value_writer *w, int per, int64_t p, int64_t count, int64_t slot, int64_t stride)
{
  macko_type to = w->codec.stored_type;
  if (w->recode)
    for (; count > 0; slot += stride * per, count -= per) recode(w, count < per ? count : per, slot, 1);
  else if (w->value_type == MACKO_F64 && to == MACKO_U8 && per == 4) groups_as(w, MACKO_F64, MACKO_U8, 4, p, count, slot, stride);
  else if (w->value_type == MACKO_F64 && to == MACKO_I8 && per == 4) groups_as(w, MACKO_F64, MACKO_I8, 4, p, count, slot, stride);
  else if (w->value_type == MACKO_F64 && to == MACKO_U16 && per == 2) groups_as(w, MACKO_F64, MACKO_U16, 2, p, count, slot, stride);
  else groups_as(w, w->value_type, to, per, p, count, slot, stride);
}

void macko_write_values(macko_value_writer *w, int64_t p, int64_t count, int64_t slot, int64_t stride)
{
  macko_type to = w->codec.stored_type;
  if (w->recode) recode(w, count, slot, stride);
  else if (w->value_type == MACKO_F64 && to == MACKO_F64) write_as(w, MACKO_F64, MACKO_F64, p, count, slot, stride);
  else if (w->value_type == MACKO_F64 && to == MACKO_F32) write_as(w, MACKO_F64, MACKO_F32, p, count, slot, stride);
  else if (w->value_type == MACKO_F64 && to == MACKO_U8) write_as(w, MACKO_F64, MACKO_U8, p, count, slot, stride);
  else write_as(w, w->value_type, to, p, count, slot, stride);
}

/* ---- in parts ---- */

typedef struct {
  macko_value_writer *writers; /* one for each part, or for all where nothing is looked up */
  macko_value_walk walk;
  const void *context;
} writing;

static void write_part(void *context, int part, int64_t from, int64_t to)
{
  const writing *w = context;
  macko_value_writer *own = &w->writers[w->writers->codes.slots ? part : 0];
  w->walk(w->context, own, from, to);
}

static void recode_part(void *context, int part, int64_t from, int64_t to)
{
  const writing *w = context;
  if (w->writers[part].recode) w->walk(w->context, &w->writers[part], from, to);
}

static void close_writers(macko_value_writer *writers, int parts)
{
  for (int part = 1; writers && part < parts; part++) free(writers[part].codes.table), macko_close_writer(&writers[part]);
  free(writers);
}

/* Each with a dictionary of its own, the first with that of *w; NULL where memory is short. */
static macko_value_writer *open_writers(const macko_value_writer *w, int parts)
{
  macko_value_writer *writers = calloc((size_t)parts, sizeof *writers);
  int made = 1;
  if (writers) writers[0] = *w;
  for (; writers && made < parts; made++) {
    const macko_value_set *codes = &w->codes;
    void *table = malloc((size_t)(codes->limit * macko_type_bytes(codes->type)));
    writers[made] = *w;
    if (macko_open_value_set(codes->type, table, codes->limit, &writers[made].codes, NULL) || !table) break;
  }
  if (writers && made == parts) return writers;
  close_writers(writers, made + 1 < parts ? made + 1 : parts);
  return NULL;
}

/* The values of a part that the parts before have not had are added to the table; its slots become what its codes are there. */
static void number_codes(macko_value_writer *first, macko_value_writer *own)
{
  int moved = 0;
  for (int64_t i = 0; i < own->codes.used; i++) {
    int64_t code = macko_value_code(&first->codes, macko_bits_at(own->value_type, own->codes.table, i));
    first->changed |= code < 0;
    own->codes.slots[i] = (uint32_t)code;
    moved |= code != i;
  }
  first->changed |= own->changed;
  if (moved) own->recode = own->codes.slots;
}

void macko_write_in_parts(macko_value_writer *w, const macko_cut *cut, int64_t entries, macko_value_walk walk,
                          const void *context)
{
  int coded = w->codes.slots != NULL, parts = coded ? macko_large_parts(entries) : macko_parts(entries);
  macko_value_writer *writers = coded && parts > 1 ? open_writers(w, parts) : NULL;
  writing all = {writers ? writers : w, walk, context};
  if (coded && !writers) parts = 1;
  macko_do_parts(cut, parts, write_part, &all);
  if (!writers) return;
  for (int part = 1; part < parts; part++) number_codes(&writers[0], &writers[part]);
  macko_do_parts(cut, parts, recode_part, &all);
  *w = writers[0];
  close_writers(writers, parts);
}

/* ---- reading back ---- */

void macko_read_values(const macko_plan *plan, macko_type value_type, const macko_value_stream *v, int64_t slot, int64_t stride,
                       int64_t count, void *values, int64_t p)
{
  for (int64_t i = 0; i < count; i++, slot += stride) {
    uint64_t bits;
    if (plan->stored_type == MACKO_U8) bits = macko_bits_at(value_type, v->table, ((const uint8_t *)v->stream)[slot]);
    else if (plan->stored_type == MACKO_U16) bits = macko_bits_at(value_type, v->table, ((const uint16_t *)v->stream)[slot]);
    else if (plan->stored_type == value_type) bits = macko_bits_at(value_type, v->stream, slot);
    else bits = macko_widen(plan->stored_type, value_type, v->stream, slot);
    macko_put_bits(value_type, values, p + i, bits);
  }
}
