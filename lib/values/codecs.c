/* Value codecs raw, narrow, dict and the lossy float types: choice, writing and reading back. */
#include "core/threads.h"
#include "values/codecs.h"

#include <stdlib.h>
#include <string.h>

/* ---- choice ---- */

const macko_codec_limits macko_all_codecs = {MACKO_DICT_LIMIT, ~0u};

/* Sets *type to the narrowest of those types that holds every value exactly, or to the matrix's own if none does. Of the 16-bit
 * floats f16 comes first. */
static macko_status narrowest(const macko_value_facts *f, unsigned types, macko_type *type, macko_error *err)
{
  static const macko_type candidates[] = {MACKO_I8, MACKO_F16, MACKO_BF16, MACKO_F32};
  *type = f->value_type;
  for (int i = 0; i < 4; i++) {
    int misfit;
    if (!(types >> candidates[i] & 1) || macko_type_bytes(candidates[i]) >= macko_type_bytes(f->value_type)) continue;
    macko_status s = f->misfit(f->context, candidates[i], &misfit, err);
    if (s) return s;
    if (!misfit) return *type = candidates[i], MACKO_OK;
  }
  return MACKO_OK;
}

/* Gives the codec of a dictionary of so many values, with codes as narrow as can be. */
static macko_codec dict_codec(int64_t distinct)
{
  return (macko_codec){MACKO_VALUES_DICT, distinct <= 256 ? MACKO_U8 : MACKO_U16, 0, distinct};
}

/* Sets *codec to what was asked for as f32, f16 or bf16. Where the values have that type already, or a narrower one, it is
 * raw. */
static macko_status float_codec(const macko_value_facts *f, macko_values wanted, macko_codec *codec, macko_error *err)
{
  macko_type to = wanted == MACKO_VALUES_F32 ? MACKO_F32 : wanted == MACKO_VALUES_F16 ? MACKO_F16 : MACKO_BF16;
  *codec = (macko_codec){MACKO_VALUES_RAW, f->value_type, 0, 0};
  if (to == f->value_type || macko_type_bytes(to) > macko_type_bytes(f->value_type)) return MACKO_OK;
  *codec = (macko_codec){wanted, to, 0, 0};
  return f->misfit(f->context, to, &codec->lossy, err);
}

macko_status macko_codecs_of_rows(macko_rows *r, macko_values wanted, macko_codec codecs[MACKO_MOST_CODECS], int *count,
                                  macko_error *err)
{
  macko_value_facts facts = macko_facts_of_rows(r);
  return macko_codecs_by(&facts, wanted, &macko_all_codecs, codecs, count, err);
}

/* Sets *narrow to the codec of the narrowest of those types that holds the values, which is raw where that is their own. */
static macko_status narrow_codec(const macko_value_facts *f, unsigned types, macko_codec *narrow, macko_error *err)
{
  macko_type type;
  macko_status s = narrowest(f, types, &type, err);
  if (!s) *narrow = (macko_codec){type == f->value_type ? MACKO_VALUES_RAW : MACKO_VALUES_NARROW, type, 0, 0};
  return s;
}

/* Appends what codec narrow offers among those types. What a narrower type holds f32 holds, too. */
static macko_status list_narrow(const macko_value_facts *f, unsigned types, macko_codec *codecs, int *count, macko_error *err)
{
  macko_codec narrow;
  macko_status s = narrow_codec(f, types, &narrow, err);
  if (s || narrow.values != MACKO_VALUES_NARROW) return s;
  codecs[(*count)++] = narrow;
  if (narrow.stored_type != MACKO_F32 && types >> MACKO_F32 & 1 && f->value_type == MACKO_F64)
    codecs[(*count)++] = (macko_codec){MACKO_VALUES_NARROW, MACKO_F32, 0, 0};
  return MACKO_OK;
}

/* Each codec is looked into only where it may be listed, because telling whether it holds the values takes a pass over them.
 * Values are counted first: where they are few, that one pass tells which types hold them. */
macko_status macko_codecs_by(const macko_value_facts *f, macko_values wanted, const macko_codec_limits *limits,
                             macko_codec codecs[MACKO_MOST_CODECS], int *count, macko_error *err)
{
  int64_t distinct = -1, most = limits->most;
  macko_status s = MACKO_OK;
  *count = 1;
  if (wanted >= MACKO_VALUES_F32) return float_codec(f, wanted, &codecs[0], err);
  codecs[0] = (macko_codec){MACKO_VALUES_RAW, f->value_type, 0, 0};
  if (wanted == MACKO_VALUES_RAW) return MACKO_OK;
  if (wanted == MACKO_VALUES_NARROW) return narrow_codec(f, ~0u, &codecs[0], err);
  if (wanted == MACKO_VALUES_DICT) most = MACKO_DICT_LIMIT;
  if (most > 0) s = f->distinct(f->context, most, &distinct, err);
  if (s) return s;
  if (wanted == MACKO_VALUES_DICT && distinct < 0)
    return macko_fail(err, MACKO_UNSUPPORTED, "values dict: the matrix has more than %d distinct values", MACKO_DICT_LIMIT);
  if (wanted == MACKO_VALUES_AUTO) s = list_narrow(f, limits->types, codecs, count, err);
  if (wanted == MACKO_VALUES_DICT) codecs[0] = dict_codec(distinct);
  else if (distinct >= 0) codecs[(*count)++] = dict_codec(distinct);
  return s;
}

/* ---- writing ---- */

/* Only a dictionary needs memory: its numbering of values. */
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

/* Writers never fail on the way, because they run in parts of threads; they leave a mark, which is asked for here. */
macko_status macko_check_writer(const macko_value_writer *w, macko_error *err)
{
  if (!w->changed) return MACKO_OK;
  if (!w->codec.table) return macko_fail(err, MACKO_INVALID_MATRIX, "rows have changed while they were encoded");
  return macko_fail(err, MACKO_INVALID_MATRIX, "values have changed while they were encoded: there were %lld of them",
                    (long long)w->codec.table);
}

/* Gives the code of value p; any code where there is no room for it, as there was when values were counted. The last two that were
 * looked up are remembered, because most rows of many matrices have no more and looking one up costs more than comparing. */
static inline int64_t code_at(macko_value_writer *w, macko_type from, int64_t p)
{
  const uint64_t bits = macko_bits_at(from, w->values, p);
  const int empty = !w->codes.used;
  if (bits == w->bits_before && !empty) return w->code_before;
  if (bits == w->bits_earlier && !empty) return w->code_earlier;
  const int64_t code = macko_value_code(&w->codes, bits);
  w->changed |= code < 0;
  w->bits_earlier = empty ? bits : w->bits_before, w->code_earlier = empty ? code : w->code_before;
  w->bits_before = bits, w->code_before = code;
  return code;
}

/* Writes entries p and so on into slots, as macko_write_values does. Types are constants in the fast calls, so that each is a
 * plain loop. */
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

/* Replaces the codes in `count` slots by what w->recode has for them. */
static void recode(macko_value_writer *w, int64_t count, int64_t slot, int64_t stride)
{
  for (int64_t i = 0; i < count; i++, slot += stride)
    if (w->codec.stored_type == MACKO_U8) ((uint8_t *)w->stream)[slot] = (uint8_t)w->recode[((uint8_t *)w->stream)[slot]];
    else ((uint16_t *)w->stream)[slot] = (uint16_t)w->recode[((uint16_t *)w->stream)[slot]];
}

/* Does what macko_write_groups does, for types and a width of groups that may be constants. */
static inline __attribute__((always_inline)) void groups_as(macko_value_writer *w, macko_type from, macko_type to, int per,
                                                            int64_t p, int64_t count, int64_t slot, int64_t stride)
{
  for (; count >= per; p += per, slot += stride * per, count -= per) write_as(w, from, to, p, per, slot, 1);
  write_as(w, from, to, p, count, slot, 1);
}

/* Codes are moved without a look at what they stand for. The types and widths that have calls of their own are compiled to loops
 * in which nothing asks for types. */
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

/* The context of writing values in parts. */
typedef struct {
  macko_value_writer *writers; /* one for each part where codes are looked up; else one for all */
  macko_value_walk walk;
  const void *context;
} writing;

/* A writer without a dictionary is only read, so that all parts may share one. */
static void write_part(void *context, int part, int64_t from, int64_t to)
{
  const writing *w = context;
  macko_value_writer *own = &w->writers[w->writers->codes.slots ? part : 0];
  w->walk(w->context, own, from, to);
}

/* Goes through the slots of a part again and replaces its own codes by those of the common table. */
static void recode_part(void *context, int part, int64_t from, int64_t to)
{
  const writing *w = context;
  if (w->writers[part].recode) w->walk(w->context, &w->writers[part], from, to);
}

/* Frees the writers but what belongs to the first, which is that of the caller. */
static void close_writers(macko_value_writer *writers, int parts)
{
  for (int part = 1; writers && part < parts; part++) free(writers[part].codes.table), macko_close_writer(&writers[part]);
  free(writers);
}

/* Gives a writer for each part, each with a dictionary of its own; the first has that of *w. NULL where memory is short, and then
 * one part must do. */
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

/* Adds the values of a part that the parts before have not had to the common table. own->codes.slots, whose look-up is over,
 * becomes what each of its codes is there. Parts are taken in their order, so that codes are the same as those of one part: in
 * the order in which values first appear. */
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

/* With a dictionary every part numbers its values by itself, so that threads need no lock; then the tables are joined, and codes
 * that have changed are written once more. */
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

/* The stored type says it all: only codes of a dictionary are stored as u8 and u16. */
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
