/* Value codecs: how the stream of values is stored, apart from where its slots are (which the column format decides). */
#ifndef MACKO_VALUES_H
#define MACKO_VALUES_H

#include "core/convert.h"
#include "core/facts.h"
#include "core/value_set.h"
#include "core/row_source.h"

struct macko_cut; /* threads.h, which device code cannot include */

enum { MACKO_DICT_LIMIT = 65536 };

/* One way to store the values of a matrix. */
typedef struct {
  macko_values values;
  macko_type stored_type; /* of the stream: a float type, I8, or U8 and U16 for codes into a table */
  int lossy;
  int64_t table; /* entries of the table "dict", of the matrix's own value type; 0 without one */
} macko_codec;

/* Lists the codecs that options allow for values of which that is so, raw first; *count of at most 3. What a stream costs in bytes
 * depends on the format's slots, so the format compares. A dictionary of more values than `most` is only one that is asked for.
 * Errors: UNSUPPORTED if the one asked for cannot hold the values; those of the facts. */
macko_status macko_codecs_by(const macko_value_facts *facts, macko_values wanted, int64_t most, macko_codec codecs[3], int *count,
                             macko_error *err);

/* The last part of plan->reason, in place of what it said before: refresh may choose another codec. */
void macko_describe_values(macko_plan *plan);

/* Facts about values in host memory, each found by one pass over them; *r must stay. Errors: OUT_OF_MEMORY, those of
 * macko_get_rows. */
macko_value_facts macko_facts_of_rows(macko_rows *r);

/* The same of rows that come in pieces. Errors: also those of macko_get_rows. */
macko_status macko_codecs_of_rows(macko_rows *r, macko_values wanted, macko_codec codecs[3], int *count, macko_error *err);

/* Writes values into slots. */
typedef struct {
  macko_codec codec;
  macko_type value_type;
  const void *values; /* of the csr, or of the piece at hand */
  void *stream;
  macko_value_set codes; /* for dict: its table is section dict, filled as distinct values appear */
  uint64_t bits_before;    /* the value looked up last, once there are codes, and its code */
  int64_t code_before;
  int changed;             /* there were more of them than the codec has room for */
  const uint32_t *recode;  /* not NULL: codes in the stream are replaced by those, and nothing else is written */
} macko_value_writer;

/* stream and table are the data of zeroed sections of the codec's types; of *a only types and values are read, and w->values may
 * be set to those of a piece. Errors: OUT_OF_MEMORY. */
macko_status macko_open_writer(const macko_csr *a, const macko_codec *codec, void *stream, void *table, macko_value_writer *w,
                               macko_error *err);
void macko_close_writer(macko_value_writer *w);

/* Once all is written. Errors: INVALID_MATRIX where values are no longer those that the codec was chosen for. */
macko_status macko_check_writer(const macko_value_writer *w, macko_error *err);

/* Entries p, p + 1, ... of the csr into slots slot, slot + stride, ...: count of them. */
void macko_write_values(macko_value_writer *w, int64_t p, int64_t count, int64_t slot, int64_t stride);

/* The same where `per` slots lie side by side: entry p + k into slot slot + k / per * per * stride + k % per. */
void macko_write_groups(macko_value_writer *w, int per, int64_t p, int64_t count, int64_t slot, int64_t stride);

/* Calls macko_write_values for the entries of items from .. to - 1. */
typedef void (*macko_value_walk)(const void *context, macko_value_writer *w, int64_t from, int64_t to);

/* All items of the cut, which have so many entries, in parts; the stream and its table are those of one part. */
void macko_write_in_parts(macko_value_writer *w, const struct macko_cut *cut, int64_t entries, macko_value_walk walk,
                          const void *context);

/* What a multiply reads: the stream, and the table of a dictionary. */
typedef struct {
  const void *stream, *table;
} macko_value_stream;

/* Value at a slot as double. stored and table types are constants in every caller, so the switch is gone after inlining. */
static inline __attribute__((always_inline)) double macko_value_at(macko_type stored, macko_type table_type,
                                                                   const macko_value_stream *v, int64_t slot)
{
  if (stored == MACKO_U8) return macko_float_at(table_type, v->table, ((const uint8_t *)v->stream)[slot]);
  if (stored == MACKO_U16) return macko_float_at(table_type, v->table, ((const uint16_t *)v->stream)[slot]);
  return macko_float_at(stored, v->stream, slot);
}

/* Slots slot, slot + stride, ... back as entries p, p + 1, ... of the matrix's own value type, bit for bit where not lossy. */
void macko_read_values(const macko_plan *plan, macko_type value_type, const macko_value_stream *v, int64_t slot, int64_t stride,
                       int64_t count, void *values, int64_t p);

/* validate: stored type and table of the plan are a codec's; every code of section "values", which is there, is one of the table. */
macko_status macko_check_codec(const macko_matrix *m, macko_error *err);
macko_status macko_check_codes(const macko_matrix *m, macko_error *err);

#endif
