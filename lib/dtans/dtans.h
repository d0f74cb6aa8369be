/* CSR-dtANS (Schaetzle, Pegolotti, Pueschel, arXiv 2603.01915): what its parts share. The format is described in
 * doc/formats/dtans.md. */
#ifndef MACKO_DTANS_H
#define MACKO_DTANS_H

#include "core/facts.h"
#include "core/row_source.h"
#include "dtans/dtans_step.h"
#include "values/codecs.h"

/* The places of the numbers in macko_plan.params of a dtans matrix, which files hold, too. */
enum {
  MACKO_DTANS_VARIANT,      /* macko_variant: PAPER, SPLIT or JOINT */
  MACKO_DTANS_MULTIPLICITY, /* M: 256 or 1024 */
  MACKO_DTANS_ROWS,         /* rows a lane: 1, 2, 4 .. MACKO_DTANS_MAX_ROWS */
  MACKO_DTANS_RELATIVE,     /* 1: the first gap of a row counts from the diagonal */
  MACKO_DTANS_GAP_ESCAPE,   /* 1: the last symbol of the gap (or joint) table is the escape */
  MACKO_DTANS_VALUE_ESCAPE, /* the same of the value table */
  MACKO_DTANS_ONE_VALUE,    /* 1: all values are value symbol 0 and have no stream */
  MACKO_DTANS_VALUE_BYTES,  /* the part of plan.bytes that refresh writes anew */
  MACKO_DTANS_LEAST         /* 0, or all multiplicities are powers of two from this one on */
};

/* The slots of a symbol where all symbols have as many: its number is then the upper 4 bits of a slot, and its digit the lower
 * byte. */
enum { MACKO_DTANS_EQUAL_SLOTS = 256 };

/* Returns that part of a symbol, with 0 for the other, so that symbols can be compared whatever their part. */
static inline macko_dtans_symbol macko_dtans_take(macko_dtans_symbol s, macko_dtans_part part)
{
  return (macko_dtans_symbol){part & MACKO_DTANS_VALUES ? s.value : 0, part & MACKO_DTANS_GAPS ? s.gap : 0};
}

/* Returns a section to be, of so many elements that tell of that part: refresh keeps what tells of the pattern alone. */
static inline macko_section macko_dtans_section(macko_dtans_part part, const char *name, macko_type type, int64_t count)
{
  macko_section s = {name, type, count * macko_type_bytes(type), NULL, (part & MACKO_DTANS_GAPS) != 0,
                     (part & MACKO_DTANS_VALUES) != 0};
  return s;
}

/* ---- histogram ---- */

/* How often each symbol of one part occurs. Memory is bounded: when macko_dtans_distinct different symbols have been seen the
 * rarest are forgotten, which a table of 4096 slots hardly notices; total still counts them. What is left does not depend on the
 * order of rows: then all symbols that are macko_dtans_frequent, and no others. */
typedef struct {
  macko_dtans_part part;
  int64_t total, used, room; /* occurrences; symbols held; slots of the hash table, a power of two */
  int64_t forgotten;         /* less than total / (distinct / 2); until symbols are counted again, those that occur no more often
                              * may be missing, and counts be too high by as much */
  macko_hash_key key;
  int64_t steps;             /* slots that were looked at in vain: a test's business */
  macko_dtans_count *slots, *spare; /* count 0: free; spare: room to rehash into; both NULL once all are counted */
  macko_dtans_count *sorted;        /* then: by falling count, all or more than a table can hold */
  int kept;                         /* of them */
} macko_dtans_histogram;

/* Counts symbols where the rows are, if that is not the host. It sets h->used and h->slots, an array of h->room = h->used counts,
 * to what the host would have found, so that plan and tables come from the same code. */
typedef struct macko_dtans_counter {
  macko_status (*count)(void *context, int relative, macko_dtans_histogram *h, macko_error *err);
  void *context;
} macko_dtans_counter;

/* ---- what is encoded ---- */

/* The rows to be encoded, and what one pass over them tells. Histograms are kept, as several plans are made of the same ones. */
typedef struct {
  macko_rows *rows;
  macko_rows *values; /* rows that have every value at least once: the same, or fewer */
  const macko_dtans_counter *counter; /* NULL: symbols are counted here, row by row */
  macko_section lengths; /* of all rows, in the narrowest type; as it will be in the matrix */
  int64_t nnz, longest_row;
  int relative; /* as MACKO_DTANS_RELATIVE */
  macko_dtans_histogram histograms[MACKO_DTANS_PAIRS + 1]; /* by part, each counted when it is first asked for */
} macko_dtans_input;

/* Reads all rows once for their lengths. macko_dtans_close_input frees what *in holds, and may follow a failure, too. Errors:
 * LIMIT, OUT_OF_MEMORY and those of the rows. */
macko_status macko_dtans_open_input(macko_rows *rows, macko_dtans_input *in, macko_error *err);
void macko_dtans_close_input(macko_dtans_input *in);

/* Returns the entries of a row by section "lengths", whose type is the narrowest that holds all. */
static inline int64_t macko_dtans_length(const macko_section *lengths, int64_t row)
{
  switch (lengths->type) {
  case MACKO_U8: return ((const uint8_t *)lengths->data)[row];
  case MACKO_U16: return ((const uint16_t *)lengths->data)[row];
  default: return ((const uint32_t *)lengths->data)[row];
  }
}

/* Sets *piece to rows first .. first + count - 1, where count is at most past - first and as many as may be asked for at once. It
 * stays until the next call. Errors: those of macko_get_rows. */
macko_status macko_dtans_next_piece(const macko_dtans_input *in, int64_t first, int64_t past, macko_csr *piece, macko_error *err);

/* Sets *h to the histogram of that part, which *in keeps and which is counted when it is first asked for. Errors: OUT_OF_MEMORY,
 * those of the rows. */
macko_status macko_dtans_count_symbols(macko_dtans_input *in, macko_dtans_part part, const macko_dtans_histogram **h,
                                       macko_error *err);

/* ---- tables ---- */

/* Sets h->sorted from h->slots, which it frees: symbols by falling count, and equal ones by what they are, so that the order is
 * the same everywhere. Errors: OUT_OF_MEMORY. */
macko_status macko_dtans_sort_counts(macko_dtans_histogram *h, macko_error *err);

/* The symbols that have slots, and which: symbol i has slots first[i] .. first[i + 1] - 1, and a slot's digit is its distance
 * from first[i]. Symbols are sorted by falling count; the escape, which stands for all other symbols, is last. */
typedef struct {
  int symbols;      /* the escape among them */
  int escape;       /* its number, -1 if there is none */
  int64_t escaped;  /* occurrences that it stands for */
  int64_t total;    /* occurrences of all symbols */
  double bits;      /* the sum over all occurrences of log2(K / multiplicity), without raw words */
  float log2[MACKO_DTANS_SLOTS]; /* of the multiplicities */
  int index_mask;  /* elements of index, a power of two, less one */
  uint16_t *index; /* hash table under `key`: a symbol's number + 1; 0 is free */
  macko_hash_key key;
  macko_dtans_symbol symbol[MACKO_DTANS_SLOTS];
  uint16_t first[MACKO_DTANS_SLOTS + 1];
} macko_dtans_table;

/* What a table may be and what its parts cost in bits, so that the best one can be searched for. */
typedef struct {
  int multiplicity; /* the largest: M */
  int least;        /* as MACKO_DTANS_LEAST */
  int raw_bits;     /* of an escape */
  int symbol_bits;  /* of a symbol kept in the table */
} macko_dtans_table_rules;

/* Makes the table of fewest bits by these rules; macko_dtans_close_table frees it and takes a pointer to NULL, too. Errors:
 * OUT_OF_MEMORY. */
macko_status macko_dtans_open_table(const macko_dtans_histogram *h, const macko_dtans_table_rules *rules,
                                    macko_dtans_table **table, macko_error *err);
void macko_dtans_close_table(macko_dtans_table **table);

/* Returns the number of a symbol in the table, the escape's where it has none of its own; without an escape that is a number
 * beyond all symbols. */
static inline unsigned macko_dtans_number(const macko_dtans_table *t, macko_dtans_symbol s)
{
  return macko_dtans_find_number(t->index, t->index_mask, t->key, t->symbol, t->escape, s);
}

/* ---- one slice: 32 lanes of `rows` rows; lane l holds rows l, l + 32, l + 64 ... of the slice, one after the other ---- */

/* Returns the slices of so many rows with `rows` of them a lane. */
static inline int64_t macko_dtans_slices(int64_t nrows, int64_t rows)
{
  return (nrows + MACKO_DTANS_LANES * rows - 1) / (MACKO_DTANS_LANES * rows);
}

/* The gaps and values of a slice, lane after lane; its array is used again for the next slice. */
typedef struct {
  int64_t count[MACKO_DTANS_LANES], start[MACKO_DTANS_LANES], longest, nonzeros;
  int64_t room;
  macko_dtans_symbol *symbols;
} macko_dtans_slice;

/* Sets *out to a slice of the rows, `rows` a lane. Errors: OUT_OF_MEMORY, those of the rows; INVALID_MATRIX where a row's length
 * is not what it was. */
macko_status macko_dtans_gather(const macko_dtans_input *in, int64_t rows, int64_t slice, macko_dtans_slice *out,
                                macko_error *err);

/* Codes the slices of one stream, one after the other: its tables, and room for what the forward pass finds and the backward pass
 * needs. */
typedef struct {
  macko_dtans_coding coding;
  macko_dtans_part part[MACKO_DTANS_DOMAINS];
  macko_dtans_table *table[MACKO_DTANS_DOMAINS];
  int64_t room, flags_room;
  uint16_t *numbers; /* symbol numbers of a slice, lane after lane, the domains of an entry beside each other */
  uint8_t *flags;    /* bit g: word g of the next segment is extracted; lane after lane, segment after segment */
} macko_dtans_coder;

/* What a slice takes in words: full + raw - extracted. The parts are kept apart, as all but the last can be predicted exactly. */
typedef struct {
  int64_t full;      /* words of all segments */
  int64_t raw;       /* words of escapes */
  int64_t extracted; /* words of segments that come out of digits */
  int64_t returned;  /* symbols whose digits are returned: those of all segments but each lane's last */
  double log2_sum;   /* over all symbols, of their multiplicity */
} macko_dtans_size;

/* Returns the words of the stream. */
static inline int64_t macko_dtans_size_words(const macko_dtans_size *s)
{
  return s->full + s->raw - s->extracted;
}

/* Numbers the symbols of a slice and runs the forward pass; adds what the slice takes to *size. Errors: OUT_OF_MEMORY;
 * INVALID_MATRIX where a symbol was not counted before. */
macko_status macko_dtans_measure(macko_dtans_coder *c, const macko_dtans_slice *s, macko_dtans_size *size, macko_error *err);

/* Runs the backward pass over the slice just measured and writes its words, as many as that has found, to `out`. */
void macko_dtans_write(const macko_dtans_coder *c, const macko_dtans_slice *s, uint32_t *out, int64_t words);

/* Opens the coder of stream i (0: gaps or pairs, 1: values) of a plan, whose tables it makes of the histograms. Errors:
 * OUT_OF_MEMORY, those of the rows; nothing has to be closed then. */
macko_status macko_dtans_open_coder(macko_dtans_input *in, const int64_t *params, int stream, macko_dtans_coder *c,
                                    macko_error *err);
void macko_dtans_close_coder(macko_dtans_coder *c);

/* Returns how that stream is coded, and sets part[k] to what the symbols of domain k are made of. */
macko_dtans_coding macko_dtans_stream_coding(const int64_t *params, macko_type type, int stream,
                                             macko_dtans_part part[MACKO_DTANS_DOMAINS]);

/* Returns all that the symbols of a stream tell. */
static inline macko_dtans_part macko_dtans_coded_part(const macko_dtans_coder *c)
{
  return c->coding.domains == 2 ? MACKO_DTANS_PAIRS : c->part[0];
}

/* ---- plan ---- */

/* Plans where the arrays of the csr are out of the host's reach. NULL in their place says that they are at hand. */
typedef struct {
  macko_status (*plan)(void *context, const macko_options *options, macko_plan *plan, macko_error *err);
} macko_dtans_facts;

/* Plans the format. plan->time on entry, where more than 0, is what has to be beaten: if the time can only be that or more, it is
 * all that is set, as planning takes long. Errors: LIMIT, UNSUPPORTED, OUT_OF_MEMORY and those of the rows. */
macko_status macko_dtans_plan(macko_dtans_input *in, const macko_options *options, macko_plan *plan, macko_error *err);

/* Returns what a multiply on a GPU takes, in bytes that are read in the same time: decoding and reading add up, roughly. It
 * serves to choose between plans of this format; escapes are those of stream 0. */
double macko_dtans_weight(const macko_plan *plan, int64_t nnz, int64_t escapes);

/* Returns the same in nanoseconds, to compare it with other formats (cost.h); rows of uneven length count here. */
double macko_dtans_time(const macko_dtans_input *in, const macko_options *options, const macko_plan *plan, int64_t escapes);

/* Returns a time that no plan for these rows falls below, or none that could be the fastest of all formats. */
double macko_dtans_least_time(const macko_dtans_input *in, const macko_options *options);

/* macko_format_ops.may_win. */
int macko_dtans_may_win(const macko_facts *f, const macko_options *options, const macko_plan plans[], const macko_plan *best);

/* Plans new values for a SPLIT matrix whose gaps stay; *plan is the old plan and becomes the new one. */
macko_status macko_dtans_plan_values(macko_dtans_input *in, const macko_options *options, macko_plan *plan, macko_error *err);

/* Tells whether the values have a stream of their own. */
static inline int macko_dtans_has_value_stream(const macko_plan *plan)
{
  return plan->params[MACKO_DTANS_VARIANT] == MACKO_VARIANT_SPLIT && plan->values == MACKO_VALUES_CODED &&
         !plan->params[MACKO_DTANS_ONE_VALUE];
}

/* ---- the rest of the format ---- */

/* Makes the sections of *m by m->plan; takes the lengths of *in over. On failure m has none of them. */
macko_status macko_dtans_encode(macko_dtans_input *in, macko_matrix *m, macko_error *err);

/* Makes the values of a SPLIT matrix by m->plan and puts them into m only when all has gone well. */
macko_status macko_dtans_encode_values(macko_dtans_input *in, macko_matrix *m, macko_error *err);

/* Sets m->prepared to the symbol of each slot, which the sections do not have, as tables by symbol take fewer bytes. Errors:
 * OUT_OF_MEMORY. */
macko_status macko_dtans_prepare(macko_matrix *m, macko_error *err);
/* These are functions of the format's table (core/format.h); they read m->prepared, but for validate, which trusts nothing. */
macko_status macko_dtans_decode(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err);
void macko_dtans_decode_rows(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols,
                             void *values);
macko_status macko_dtans_validate(const macko_matrix *m, macko_error *err);
macko_status macko_dtans_multiply(const macko_matrix *m, const macko_product *p, macko_error *err);

#endif
