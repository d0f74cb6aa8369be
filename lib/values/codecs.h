/* Value codecs: how the stream of values is stored, apart from where its slots are (which the column format decides). */
#ifndef MACKO_CODECS_H
#define MACKO_CODECS_H

#include "core/convert.h"
#include "core/facts.h"
#include "core/value_set.h"
#include "core/row_source.h"

struct macko_cut; /* of threads.h, which device code cannot include */

/* Most values of a dictionary: as many as codes of 16 bits tell apart. */
enum { MACKO_DICT_LIMIT = 65536 };

/* Bytes of values beyond which they are taken to be in no cache when they are read, or written over, as a whole;
 * test/lib/narrow_limits.h has fewer. */
#ifndef MACKO_CACHED_VALUES
#define MACKO_CACHED_VALUES (16 << 20)
#endif

/* One way to store the values of a matrix. */
typedef struct {
  macko_values values;
  macko_type stored_type; /* type of the stream: a float type, I8, or U8 and U16 for codes into a table */
  int lossy; /* 1: some value does not come back bit for bit */
  int64_t table; /* values of the section "dict", which are of the matrix's own type; 0 without one */
} macko_codec;

enum { MACKO_MOST_CODECS = 4 }; /* that are compared: raw, narrow by two types, a dictionary */

/* What automatic choice may list beside raw: a dictionary of at most `most` values (0: values are not counted); codec narrow by
 * type t where bit t is set. */
typedef struct {
  int64_t most;
  unsigned types;
} macko_codec_limits;

extern const macko_codec_limits macko_all_codecs; /* everything that holds the values */

/* Lists the codecs that hold all values and that option values=`wanted` allows, raw first: *count of them. What a stream takes in
 * bytes depends on the slots of a format, so that the format compares. What is asked for is listed whatever the limits. Of the
 * types of codec narrow these are the narrowest and f32, which a processor widens faster. Errors: UNSUPPORTED if the one that is
 * asked for cannot hold the values; those of the facts. */
macko_status macko_codecs_by(const macko_value_facts *facts, macko_values wanted, const macko_codec_limits *limits,
                             macko_codec codecs[MACKO_MOST_CODECS], int *count, macko_error *err);

/* A function of a format that adds what a value stream by that codec takes to bytes, work and time of *plan, or takes it away
 * (sign -1). */
typedef void (*macko_add_stream)(const macko_facts *f, const macko_options *options, const macko_codec *codec, int sign,
                                 macko_plan *plan);

/* Give the codec of a plan; and *plan, which has no value stream, with one by *codec. */
macko_codec macko_codec_of(const macko_plan *plan);
macko_plan macko_with_codec(const macko_facts *f, const macko_options *options, const macko_codec *codec, macko_add_stream add,
                            const macko_plan *plan);

/* Gives *plan, which has no value stream, the one of count codecs that suits the options best. */
void macko_take_best_codec(const macko_facts *f, const macko_options *options, const macko_codec *codecs, int count,
                           macko_add_stream add, macko_plan *plan);

/* Gives what can be better than values as they are, so that nothing else needs to be looked at: dictionaries of all that there are
 * codes of 16 bits for, or, where even the fewest of those would be no better, of 8 bits; and types. *plan has no value stream. */
macko_codec_limits macko_useful_codecs(const macko_facts *f, const macko_options *options, macko_add_stream add,
                                       const macko_plan *plan);

/* Gives *plan the best of all codecs that the options allow, and says in its reason which. Errors: those of macko_codecs_by. */
macko_status macko_choose_codec(const macko_facts *f, const macko_options *options, macko_add_stream add, macko_plan *plan,
                                macko_error *err);

/* Sets *plan to that of m with a codec that is chosen again, because new values may not fit the old one: for plan_values of a
 * format. Errors: those of macko_codecs_by, with *plan unchanged. */
macko_status macko_rechoose_codec(const macko_facts *f, const macko_matrix *m, macko_add_stream add, macko_plan *plan,
                                  macko_error *err);

/* Writes the codec to the end of plan->reason, in place of what it said of values before: refresh may choose another codec. */
void macko_describe_values(macko_plan *plan);

/* Lists codecs as macko_codecs_by does, for rows that come in pieces. Errors: also those of macko_get_rows. */
macko_status macko_codecs_of_rows(macko_rows *r, macko_values wanted, macko_codec codecs[MACKO_MOST_CODECS], int *count,
                                  macko_error *err);

/* A writer of values into slots: what the walks of formats are given, which know where slots are and not how values are
 * stored. */
typedef struct {
  macko_codec codec;
  macko_type value_type;
  const void *values; /* values of the csr, or of the piece at hand */
  void *stream; /* data of section "values" */
  macko_value_set codes; /* of a dictionary: its table is section "dict", filled as values appear */
  uint64_t bits_before, bits_earlier; /* the last two values looked up, once there are codes, and their codes */
  int64_t code_before, code_earlier;
  int in_pieces;           /* 1: rows come in pieces and may have changed, so that walks compare lengths */
  int changed;             /* 1: they have, or there were more values than the codec has room for */
  int past_caches;         /* 1: the stream is in no cache, so that slots may be stored past the caches */
  const uint32_t *recode;  /* not NULL: codes in the stream are replaced by those, and nothing else is written */
} macko_value_writer;

/* Opens a writer. stream and table are the data of zeroed sections of the codec's types, which stay the caller's; of *a only
 * types and values are read, and w->values may be set to those of a piece later. Errors: OUT_OF_MEMORY, of a dictionary only. */
macko_status macko_open_writer(const macko_csr *a, const macko_codec *codec, void *stream, void *table, macko_value_writer *w,
                               macko_error *err);
/* Frees what a writer keeps besides stream and table; one that is all zero is allowed. */
void macko_close_writer(macko_value_writer *w);

/* Tells, once all is written, whether it could be. Errors: INVALID_MATRIX where values are no longer those that the codec was
 * chosen for. */
macko_status macko_check_writer(const macko_value_writer *w, macko_error *err);

/* Writes `count` entries p, p + 1, ... of the csr into slots slot, slot + stride, ... */
void macko_write_values(macko_value_writer *w, int64_t p, int64_t count, int64_t slot, int64_t stride);

/* Writes `count` entries where `per` slots lie side by side: entry p + k into slot slot + k / per * per * stride + k % per. */
void macko_write_groups(macko_value_writer *w, int per, int64_t p, int64_t count, int64_t slot, int64_t stride);

/* A function of a format that calls macko_write_values for all entries of items from .. to - 1. It may be called twice with the
 * same items, and must then name the same slots. */
typedef void (*macko_value_walk)(const void *context, macko_value_writer *w, int64_t from, int64_t to);

/* Walks all items of the cut, which have so many entries, in parts. The stream and its table have the bytes that one part would
 * give. */
void macko_write_in_parts(macko_value_writer *w, const struct macko_cut *cut, int64_t entries, macko_value_walk walk,
                          const void *context);

/* The context of the walks below: the values of *a go into the slots of m. */
typedef struct {
  const macko_csr *a;
  const macko_matrix *m;
  int64_t first; /* the item of the matrix that is item 0 of a walk */
} macko_value_source;

/* Makes the sections "values" and "dict" (data NULL: there is none) that m->plan asks for, filled by the walk, whose context is a
 * macko_value_source, over the items of the cut. Nothing of m changes, and the caller owns them. Errors: OUT_OF_MEMORY,
 * INVALID_MATRIX. */
macko_status macko_new_values(const macko_csr *a, const macko_matrix *m, const struct macko_cut *cut, macko_value_walk walk,
                              macko_section *values, macko_section *dict, macko_error *err);

/* Do the same in two steps, between which values are written, piece by piece. *a has types, and values where they are in memory
 * as a whole. end takes what has come before as s and gives the first failure of all; the sections are freed then. */
macko_status macko_begin_values(const macko_csr *a, const macko_matrix *m, macko_section *values, macko_section *dict,
                                macko_value_writer *w, macko_error *err);
macko_status macko_end_values(macko_status s, macko_section *values, macko_section *dict, macko_value_writer *w, macko_error *err);

/* Puts them into m, which then owns them, in place of the values that it has; cannot fail. */
void macko_put_values(macko_matrix *m, const macko_section *values, const macko_section *dict);

/* Writes new values over the old ones of the same codec, which is no dictionary; cannot fail. */
void macko_overwrite_values(const macko_csr *a, macko_matrix *m, const struct macko_cut *cut, macko_value_walk walk);

/* What a multiply reads of values: the stream, and the table of a dictionary (NULL: none). */
typedef struct {
  const void *stream, *table;
} macko_value_stream;

/* Gives the value stream of a matrix. */
static inline macko_value_stream macko_stream_of(const macko_matrix *m)
{
  return (macko_value_stream){macko_section_data(m, "values"), macko_section_data(m, "dict")};
}

/* Gives the value at a slot as double. Stored and table types are constants in every caller, so the switch is gone after
 * inlining. */
static inline __attribute__((always_inline)) double macko_value_at(macko_type stored, macko_type table_type,
                                                                   const macko_value_stream *v, int64_t slot)
{
  if (stored == MACKO_U8) return macko_float_at(table_type, v->table, ((const uint8_t *)v->stream)[slot]);
  if (stored == MACKO_U16) return macko_float_at(table_type, v->table, ((const uint16_t *)v->stream)[slot]);
  return macko_float_at(stored, v->stream, slot);
}

/* Writes `count` slots slot, slot + stride, ... back as entries p, p + 1, ... of the matrix's own value type, bit for bit where
 * the codec is not lossy. */
void macko_read_values(const macko_plan *plan, macko_type value_type, const macko_value_stream *v, int64_t slot, int64_t stride,
                       int64_t count, void *values, int64_t p);

/* Check, for validate of a format, that stored type and table of the plan are a codec's, and that every code of section "values",
 * which must be there, is one of the table. Errors: CORRUPT. */
macko_status macko_check_codec(const macko_matrix *m, macko_error *err);
macko_status macko_check_codes(const macko_matrix *m, macko_error *err);

#endif
