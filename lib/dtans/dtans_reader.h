/* CSR-dtANS: the lockstep walk over one slice, shared by multiply, decode and validate. All of it is inlined with the caller's
 * functions, and for multiply the coding, as constants. Damaged data can make it deliver nonsense, but never read outside a
 * section or run on for ever. */
#ifndef MACKO_DTANS_READER_H
#define MACKO_DTANS_READER_H

#include "dtans/dtans.h"

#define MACKO_DTANS_LOOP static inline __attribute__((always_inline))

/* The symbol of each slot of a matrix's tables: of gaps or pairs, and of values. Slots of nobody hold the number of symbols,
 * which no symbol has. */
typedef struct {
  uint16_t gaps[MACKO_DTANS_SLOTS], values[MACKO_DTANS_SLOTS];
} macko_dtans_slots;

/* Fills the slots of a matrix whose sections have the right sizes; tables that it lacks are left as they are. */
void macko_dtans_fill_slots(const macko_matrix *m, macko_dtans_slots *slots);

/* The table of one domain: the symbol of each slot, and the sections by symbol. */
typedef struct {
  int symbols, escape;  /* how many there are; the escape's number, -1 without one */
  const uint32_t *gaps; /* NULL where the domain has no gaps */
  const void *values;   /* the same for values */
  const uint16_t *first;  /* section gap_slots or value_slots */
  const uint16_t *symbol; /* of each slot */
} macko_dtans_lookup;

/* A stream, and where its slices begin. */
typedef struct {
  macko_dtans_coding coding;
  macko_dtans_lookup lookup[MACKO_DTANS_DOMAINS];
  const uint32_t *words;
  const macko_section *slices; /* where the words of each slice begin */
} macko_dtans_stream;

/* Everything that a walk reads. */
typedef struct {
  const macko_matrix *m;
  int64_t rows; /* a lane */
  int relative, values_coded; /* as MACKO_DTANS_RELATIVE; 0: values are beside the gaps, by another codec */
  macko_dtans_stream stream[2]; /* of gaps or pairs; of values, where they have one */
  const macko_section *lengths, *value_slices;
  uint64_t value; /* of all entries, where they have one */
} macko_dtans_reader;

/* Sets up *r for a matrix whose sections have the right sizes, with its slots filled; both must stay as long as *r is used. */
void macko_dtans_open_reader(const macko_matrix *m, const macko_dtans_slots *slots, macko_dtans_reader *r);

/* ---- a stream ---- */

/* Where the stream of a slice stands: its next word, what every lane has unpacked, and the slots and symbols of the segment at
 * hand, whose digits are returned after it. */
typedef struct {
  const uint32_t *next, *end; /* words of the slice that are left */
  int overrun;   /* 1: words were asked for beyond the end */
  int bad_slots; /* 1: a slot of no symbol was met */
  macko_dtans_lane lane[MACKO_DTANS_LANES];
  /* These are the symbols and slots of the segment at hand, [slot of the segment][lane]. */
  uint16_t number[MACKO_DTANS_SEGMENT][MACKO_DTANS_LANES], slot[MACKO_DTANS_SEGMENT][MACKO_DTANS_LANES];
} macko_dtans_cursor;

/* What a segment holds: gaps and values by entry of the segment, then lane. */
typedef struct {
  uint32_t gap[MACKO_DTANS_SEGMENT][MACKO_DTANS_LANES];
  uint64_t value[MACKO_DTANS_SEGMENT][MACKO_DTANS_LANES];
} macko_dtans_batch;

/* Returns the next word of the slice. Beyond its end that is 0, and `overrun` says so: the walk goes on to the end of the segment
 * before it looks. */
MACKO_DTANS_LOOP uint32_t macko_dtans_load(macko_dtans_cursor *c)
{
  if (c->next < c->end) return *c->next++;
  c->overrun = 1;
  return 0;
}

/* Opens the stream of a slice, whose lanes have count[l] entries, and loads the words of their first segments: all first words,
 * then all second ones, then all third ones. */
MACKO_DTANS_LOOP void macko_dtans_start(const macko_dtans_stream *s, const macko_dtans_coding *coding, int64_t slice,
                                        const int64_t count[MACKO_DTANS_LANES], macko_dtans_cursor *c)
{
  c->next = s->words + macko_index_at(s->slices, slice);
  c->end = s->words + macko_index_at(s->slices, slice + 1);
  c->overrun = c->bad_slots = 0;
  for (int l = 0; l < MACKO_DTANS_LANES; l++) c->lane[l] = (macko_dtans_lane){.d = 0, .r = 1};
  for (int q = 0; q < MACKO_DTANS_WORDS; q++)
    for (int l = 0; l < MACKO_DTANS_LANES; l++)
      if (q < macko_dtans_words(coding, count[l], 0)) c->lane[l].words[q] = macko_dtans_load(c);
}

/* Looks up slot k of segment j in all lanes: its symbols, then the raw words of escapes, which lanes take in turn. A slot of
 * nobody is taken for the first symbol's and remembered as bad, so that what follows reads inside the tables. */
MACKO_DTANS_LOOP void macko_dtans_look_up(const macko_dtans_stream *s, const macko_dtans_coding *coding, macko_type type,
                                          int64_t j, int k, const int64_t count[MACKO_DTANS_LANES], macko_dtans_cursor *c,
                                          macko_dtans_batch *out)
{
  int domain = k % coding->domains, i = k / coding->domains, escapes = 0;
  int64_t place = j * (MACKO_DTANS_SEGMENT / coding->domains) + i;
  const macko_dtans_lookup *t = &s->lookup[domain];
  const uint16_t *symbol = t->symbol;
  uint8_t escaped[MACKO_DTANS_LANES];
  for (int l = 0; l < MACKO_DTANS_LANES; l++) {
    /* The lane has no segment j. */
    if (place - i >= count[l]) continue;
    unsigned slot = macko_dtans_slot(c->lane[l].words, k), number = symbol[slot];
    if ((int)number >= t->symbols) {
      c->bad_slots |= place < count[l];
      number = 0, slot = t->first[0];
    }
    c->slot[k][l] = (uint16_t)slot;
    c->number[k][l] = (uint16_t)number;
    if (place >= count[l]) continue;
    if (coding->gap_words[domain]) out->gap[i][l] = t->gaps[number];
    if (coding->value_words[domain]) out->value[i][l] = macko_bits_at(type, t->values, number);
    if ((int)number == t->escape) escaped[escapes++] = (uint8_t)l;
  }
  /* Raw words come in the order in which the coder writes them: all gaps, then the first words of all values, then the second
   * ones. */
  if (coding->gap_words[domain])
    for (int e = 0; e < escapes; e++) out->gap[i][escaped[e]] = macko_dtans_load(c);
  if (coding->value_words[domain])
    for (int e = 0; e < escapes; e++) out->value[i][escaped[e]] = macko_dtans_load(c);
  if (coding->value_words[domain] == 2)
    for (int e = 0; e < escapes; e++) out->value[i][escaped[e]] |= (uint64_t)macko_dtans_load(c) << 32;
}

/* Finds the words of segment j + 1 for all lanes, from returned digits or from the stream. */
MACKO_DTANS_LOOP void macko_dtans_advance(const macko_dtans_stream *s, const macko_dtans_coding *coding, int64_t j,
                                          const int64_t count[MACKO_DTANS_LANES], macko_dtans_cursor *c)
{
  for (int g = 0; g < MACKO_DTANS_WORDS; g++)
    for (int l = 0; l < MACKO_DTANS_LANES; l++) {
      uint64_t D = 0, B = 1;
      if (g >= macko_dtans_words(coding, count[l], j + 1)) continue;
      if (g < coding->groups) {
        for (int k = g ? macko_dtans_group_end(coding->groups, g - 1) : 0; k < macko_dtans_group_end(coding->groups, g); k++) {
          const uint16_t *first = s->lookup[k % coding->domains].first + c->number[k][l];
          unsigned base = (unsigned)(first[1] - first[0]);
          D = D * base + (c->slot[k][l] - first[0]), B *= base;
        }
        /* Where digits make a word, nothing is loaded for this lane. */
        if (macko_dtans_return(&c->lane[l], D, B, &c->lane[l].words[g])) continue;
      }
      c->lane[l].words[g] = macko_dtans_load(c);
    }
}

/* Decodes segment j: its symbols go to *out, and the words of the next one are made ready. */
MACKO_DTANS_LOOP void macko_dtans_segment(const macko_dtans_stream *s, const macko_dtans_coding *coding, macko_type type,
                                          int64_t j, const int64_t count[MACKO_DTANS_LANES], macko_dtans_cursor *c,
                                          macko_dtans_batch *out)
{
  for (int k = 0; k < MACKO_DTANS_SEGMENT; k++) macko_dtans_look_up(s, coding, type, j, k, count, c, out);
  macko_dtans_advance(s, coding, j, count, c);
}

/* ---- a slice ---- */

/* What the walk does with entries and rows; context is the caller's. end_row is called for rows without entries, too. */
typedef struct {
  /* Entry number i of a row, of lane l. bits: of the value, or its slot in section values where values are not coded. */
  void (*entry)(void *context, int l, int64_t row, int64_t i, int64_t col, uint64_t bits);
  void (*end_row)(void *context, int l, int64_t row);
} macko_dtans_sink;

/* Where the walk over a slice stands: for every lane its row, the entries of it that have been handed over and that it has, and
 * the column of the last one. */
typedef struct {
  /* These are, by lane, its row, the entries of the row that have been handed over, all that it has, and the column of the
   * last. */
  int64_t row[MACKO_DTANS_LANES], done[MACKO_DTANS_LANES], length[MACKO_DTANS_LANES], col[MACKO_DTANS_LANES];
  int64_t count[MACKO_DTANS_LANES], longest, past; /* entries of the lanes; the row after the slice */
  int64_t next_value;                              /* slot in section values that comes next */
  macko_dtans_cursor cursor[2];
  macko_dtans_batch batch;
} macko_dtans_walk;

/* Goes from row[l] on to the lane's next row that has entries. Its column begins where the first gap counts from: at the diagonal
 * or at 0. */
MACKO_DTANS_LOOP void macko_dtans_next_row(const macko_dtans_reader *r, macko_dtans_walk *w, int l, macko_dtans_sink sink,
                                           void *context)
{
  w->done[l] = 0, w->length[l] = 0;
  for (; w->row[l] < w->past; w->row[l] += MACKO_DTANS_LANES) {
    w->length[l] = macko_dtans_length(r->lengths, w->row[l]);
    w->col[l] = r->relative ? w->row[l] : 0;
    if (w->length[l]) return;
    sink.end_row(context, l, w->row[l]);
  }
}

/* Begins a slice: counts the entries of its lanes, which say how many segments these have, and finds their first rows. */
MACKO_DTANS_LOOP void macko_dtans_start_slice(const macko_dtans_reader *r, int64_t slice, macko_dtans_walk *w,
                                              macko_dtans_sink sink, void *context)
{
  int64_t first = slice * r->rows * MACKO_DTANS_LANES;
  w->past = first + r->rows * MACKO_DTANS_LANES < r->m->nrows ? first + r->rows * MACKO_DTANS_LANES : r->m->nrows;
  w->longest = 0;
  for (int l = 0; l < MACKO_DTANS_LANES; l++) {
    w->count[l] = 0;
    for (int64_t row = first + l; row < w->past; row += MACKO_DTANS_LANES) w->count[l] += macko_dtans_length(r->lengths, row);
    if (w->count[l] > w->longest) w->longest = w->count[l];
    w->row[l] = first + l;
    macko_dtans_next_row(r, w, l, sink, context);
  }
  if (r->value_slices) w->next_value = macko_index_at(r->value_slices, slice);
}

/* Sets the values that have no stream, `per` of each lane from `begin` on: the one value, or slots of section values, in their
 * order. */
MACKO_DTANS_LOOP void macko_dtans_place_values(const macko_dtans_reader *r, int64_t begin, int per, macko_dtans_walk *w)
{
  for (int i = 0; i < per; i++)
    for (int l = 0; l < MACKO_DTANS_LANES; l++)
      if (begin + i < w->count[l]) w->batch.value[i][l] = r->values_coded ? r->value : (uint64_t)w->next_value++;
}

/* Hands the batch, entries begin, begin + 1, ... of each lane, to the sink, and ends rows that are complete. */
MACKO_DTANS_LOOP void macko_dtans_hand_over(const macko_dtans_reader *r, int64_t begin, int per, macko_dtans_walk *w,
                                            macko_dtans_sink sink, void *context)
{
  for (int l = 0; l < MACKO_DTANS_LANES; l++)
    for (int i = 0; i < per && begin + i < w->count[l]; i++) {
      uint32_t gap = w->batch.gap[i][l];
      w->col[l] += w->done[l] == 0 && r->relative ? macko_dtans_unzigzag(gap) : (int64_t)gap;
      sink.entry(context, l, w->row[l], w->done[l], w->col[l], w->batch.value[i][l]);
      if (++w->done[l] < w->length[l]) continue;
      sink.end_row(context, l, w->row[l]);
      w->row[l] += MACKO_DTANS_LANES;
      macko_dtans_next_row(r, w, l, sink, context);
    }
}

/* What the streams of a matrix hold: values of which type, slots of one domain or of two in turn, how many groups of digits, one
 * stream or two, and whether a symbol is a pair of gap and value. */
typedef struct {
  macko_type type;
  int domains, groups, streams, pairs;
} macko_dtans_kind;

/* Walks one slice. Returns 0 if its streams ended too early or held slots of no symbol, and the walk stopped there. What is in
 * `kind` are constants where it has to be fast. */
MACKO_DTANS_LOOP int macko_dtans_walk_as(const macko_dtans_reader *r, macko_dtans_kind kind, int64_t slice, macko_dtans_walk *w,
                                         macko_dtans_sink sink, void *context)
{
  const macko_type type = kind.type;
  const int domains = kind.domains, groups = kind.groups, streams = kind.streams;
  int words = type == MACKO_F64 ? 2 : 1, per = MACKO_DTANS_SEGMENT / domains;
  const macko_dtans_coding first = {.domains = domains, .groups = groups, .short_tail = domains == 1, .gap_words = {1, 0},
                                    .value_words = {kind.pairs ? words : 0, words}};
  const macko_dtans_coding second = {.domains = 1, .groups = groups, .short_tail = 1, .value_words = {words}};
  macko_dtans_start_slice(r, slice, w, sink, context);
  macko_dtans_start(&r->stream[0], &first, slice, w->count, &w->cursor[0]);
  if (streams == 2) macko_dtans_start(&r->stream[1], &second, slice, w->count, &w->cursor[1]);
  for (int64_t j = 0; j * per < w->longest; j++) {
    macko_dtans_segment(&r->stream[0], &first, type, j, w->count, &w->cursor[0], &w->batch);
    if (streams == 2) macko_dtans_segment(&r->stream[1], &second, type, j, w->count, &w->cursor[1], &w->batch);
    else if (domains == 1 && !kind.pairs) macko_dtans_place_values(r, j * per, per, w);
    /* Damaged streams are found before what they hold is handed over. */
    if (w->cursor[0].overrun || w->cursor[0].bad_slots) return 0;
    if (streams == 2 && (w->cursor[1].overrun || w->cursor[1].bad_slots)) return 0;
    macko_dtans_hand_over(r, j * per, per, w, sink, context);
  }
  return 1;
}

/* Does the same with the coding taken from the matrix; it is compiled once a caller, for walks that need not be as fast as a
 * multiply. */
MACKO_DTANS_LOOP int macko_dtans_walk_any(const macko_dtans_reader *r, int64_t slice, macko_dtans_walk *w, macko_dtans_sink sink,
                                          void *context)
{
  const int64_t *q = r->m->plan.params;
  const macko_dtans_kind kind = {r->m->value_type, q[MACKO_DTANS_VARIANT] == MACKO_VARIANT_PAPER ? 2 : 1,
                                 q[MACKO_DTANS_MULTIPLICITY] == 256 ? 2 : 3, macko_dtans_has_value_stream(&r->m->plan) ? 2 : 1,
                                 q[MACKO_DTANS_VARIANT] == MACKO_VARIANT_JOINT};
  return macko_dtans_walk_as(r, kind, slice, w, sink, context);
}

/* Does the same with the coding as constants, chosen once a slice. */
MACKO_DTANS_LOOP int macko_dtans_walk_slice(const macko_dtans_reader *r, macko_type type, int64_t slice, macko_dtans_walk *w,
                                            macko_dtans_sink sink, void *context)
{
  const int64_t *q = r->m->plan.params;
  int few = q[MACKO_DTANS_MULTIPLICITY] == 256;
#define WALK(domains, groups, streams, pairs) \
  macko_dtans_walk_as(r, (macko_dtans_kind){type, domains, groups, streams, pairs}, slice, w, sink, context)
  if (q[MACKO_DTANS_VARIANT] == MACKO_VARIANT_PAPER) return WALK(2, 2, 1, 0);
  if (q[MACKO_DTANS_VARIANT] == MACKO_VARIANT_JOINT) return few ? WALK(1, 2, 1, 1) : WALK(1, 3, 1, 1);
  if (macko_dtans_has_value_stream(&r->m->plan)) return few ? WALK(1, 2, 2, 0) : WALK(1, 3, 2, 0);
  return few ? WALK(1, 2, 1, 0) : WALK(1, 3, 1, 0);
#undef WALK
}

#endif
