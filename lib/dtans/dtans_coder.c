/* CSR-dtANS: one slice at a time into words (arXiv 2603.01915, sections IV-D to IV-F). A forward pass over the multiplicities
 * finds which words come out of digits; a backward pass then fixes the digits and writes the words in the order of the lockstep
 * decoder, last word first. */
#include "dtans/dtans.h"

#include <stdlib.h>
#include <string.h>

/* ---- forward ---- */

/* Makes room for the symbol numbers and flags of a slice, and for some more, as the next slice may be longer. Errors:
 * OUT_OF_MEMORY; there is no room at all then. */
static macko_status make_room(macko_dtans_coder *c, const macko_dtans_slice *s, macko_error *err)
{
  /* Every lane may end in a segment that is not full. */
  int64_t flags = s->nonzeros / macko_dtans_per_segment(&c->coding) + MACKO_DTANS_LANES;
  int64_t numbers = s->nonzeros * c->coding.domains + 1; /* an array also where there are none */
  if (flags > c->flags_room) {
    free(c->flags);
    c->flags_room = flags + flags / 8;
    c->flags = malloc((size_t)c->flags_room);
  }
  if (numbers > c->room) {
    free(c->numbers);
    c->room = numbers + numbers / 8;
    c->numbers = malloc((size_t)c->room * sizeof *c->numbers);
  }
  if (c->flags && c->numbers) return MACKO_OK;
  c->flags_room = c->room = 0;
  free(c->flags), free(c->numbers);
  c->flags = NULL, c->numbers = NULL;
  return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to code a slice of %lld nonzeros", (long long)s->nonzeros);
}

/* Numbers the symbols of a slice by the tables and adds what is known by that to *size. Returns 0 if there is a symbol that a
 * table lacks, which without an escape means that the rows have changed. */
static int number_symbols(macko_dtans_coder *c, const macko_dtans_slice *s, macko_dtans_size *size)
{
  int domains = c->coding.domains;
  for (int k = 0; k < domains; k++) {
    const macko_dtans_table *t = c->table[k];
    macko_dtans_part part = c->part[k];
    uint16_t *numbers = c->numbers + k;
    int64_t escapes = 0;
    double log2_sum = size->log2_sum;
    for (int64_t i = 0; i < s->nonzeros; i++) {
      unsigned number = macko_dtans_number(t, macko_dtans_take(s->symbols[i], part));
      if (number >= (unsigned)t->symbols) return 0;
      numbers[i * domains] = (uint16_t)number;
      escapes += (int)number == t->escape;
      log2_sum += t->log2[number];
    }
    size->raw += escapes * (c->coding.gap_words[k] + c->coding.value_words[k]);
    size->log2_sum = log2_sum;
  }
  return 1;
}

/* Returns the slots of a symbol. */
static inline unsigned multiplicity(const macko_dtans_table *t, unsigned number)
{
  return t->first[number + 1] - t->first[number];
}

/* Runs the forward pass over one lane: r, the space of digits that have been returned and not yet used, tells which words of the
 * next segments come out of digits, whatever the digits are. Sets the lane's flags and adds to *size. Only its last segment may
 * have fewer words than all others. */
static void forward(const macko_dtans_coder *c, int64_t nonzeros, const uint16_t *numbers, uint8_t *flags, macko_dtans_size *size)
{
  const macko_dtans_table *const tables[] = {c->table[0], c->table[c->coding.domains - 1]};
  int64_t last = macko_dtans_segments(&c->coding, nonzeros) - 1, extracted = 0;
  int groups = c->coding.groups, words = macko_dtans_words(&c->coding, nonzeros, last);
  uint64_t r = 1;
  if (last < 0) return;
  for (int64_t j = 0; j < last; j++, numbers += MACKO_DTANS_SEGMENT) {
    int next = j + 1 < last ? MACKO_DTANS_WORDS : words;
    unsigned flag = 0;
    for (int g = 0, k = 0; g < groups && g < next; g++) {
      for (int end = macko_dtans_group_end(groups, g); k < end; k++) r *= multiplicity(tables[k & 1], numbers[k]);
      /* 1 says that a whole word of digits is there, which the decoder extracts instead of loading one. */
      unsigned out = r >> 32 != 0;
      r >>= 32 * out;
      flag |= out << g;
      extracted += out;
    }
    flags[j] = (uint8_t)flag;
  }
  size->full += MACKO_DTANS_WORDS * last + words;
  size->returned += MACKO_DTANS_SEGMENT * last;
  size->extracted += extracted;
}

/* Lanes have their own r, and are passed over one by one. */
macko_status macko_dtans_measure(macko_dtans_coder *c, const macko_dtans_slice *s, macko_dtans_size *size, macko_error *err)
{
  macko_status status = make_room(c, s, err);
  if (status) return status;
  if (!number_symbols(c, s, size)) return macko_fail(err, MACKO_INVALID_MATRIX, "rows have changed while they were encoded");
  uint8_t *flags = c->flags;
  for (int l = 0; l < MACKO_DTANS_LANES; l++) {
    forward(c, s->count[l], c->numbers + s->start[l] * c->coding.domains, flags, size);
    flags += macko_dtans_segments(&c->coding, s->count[l]);
  }
  return MACKO_OK;
}

/* ---- backward ---- */

/* A lane in the backward pass, which goes from its last segment to the first: the digits that segments behind have been given,
 * and the words and slots of the segment at hand. */
typedef struct {
  uint64_t digits; /* d of the decoder; in between with a word of the stream more */
  uint32_t words[MACKO_DTANS_WORDS];
  unsigned slots[MACKO_DTANS_SEGMENT];
  int next; /* words of the segment after this one; 0 at the end of the lane */
  const uint8_t *flags;    /* of the lane's segments, from its first on */
  const uint16_t *numbers; /* of the lane's symbols */
} lane;

/* Packs the slots of a segment into its three words, slot 0 lowest. */
static void pack(lane *l)
{
  uint64_t low = 0;
  for (int k = 4; k >= 0; k--) low = low << 12 | l->slots[k];
  l->words[0] = (uint32_t)low;
  l->words[1] = (uint32_t)(low >> 32 | l->slots[5] << 28);
  l->words[2] = l->slots[5] >> 4 | l->slots[6] << 8 | l->slots[7] << 20;
}

/* Undoes check g of a lane: takes word g of the next segment into the digits, where a decoder extracts it from them, or writes
 * it; then takes the digits of group g out again, last slot first, which settles the slots. Words are written from the end, and
 * the new beginning is returned. */
static uint32_t *backward_group(const macko_dtans_coder *c, lane *l, int64_t j, int g, uint32_t *out)
{
  const macko_dtans_coding *coding = &c->coding;
  int begin = g ? macko_dtans_group_end(coding->groups, g - 1) : 0;
  if (l->next > g) {
    if (l->flags[j] >> g & 1) l->digits = l->digits << 32 | l->words[g];
    else *--out = l->words[g];
  }
  for (int k = macko_dtans_group_end(coding->groups, g) - 1; k >= begin; k--) {
    const macko_dtans_table *t = c->table[k & (coding->domains - 1)]; /* 1 or 2 of them */
    unsigned number = l->numbers[j * MACKO_DTANS_SEGMENT + k], digit = 0;
    if (l->next > g) {
      unsigned m = multiplicity(t, number);
      digit = (unsigned)(l->digits % m);
      l->digits /= m;
    }
    l->slots[k] = t->first[number] + digit;
  }
  return out;
}

/* Gives digit 0 to all symbols of a lane's last segment, as nobody returns them. */
static void last_segment(const macko_dtans_coder *c, lane *l, int64_t j, int64_t nonzeros)
{
  int64_t symbols = nonzeros * c->coding.domains - j * MACKO_DTANS_SEGMENT;
  for (int k = 0; k < MACKO_DTANS_SEGMENT; k++)
    l->slots[k] = k < symbols ? c->table[k % c->coding.domains]->first[l->numbers[j * MACKO_DTANS_SEGMENT + k]] : 0;
}

/* Writes the raw words of the escapes in segment j of all lanes, the last first, and returns the new beginning. */
static uint32_t *backward_escapes(const macko_dtans_coder *c, const macko_dtans_slice *s, int64_t j, uint32_t *out)
{
  const macko_dtans_coding *coding = &c->coding;
  for (int k = MACKO_DTANS_SEGMENT - 1; k >= 0; k--) {
    int domain = k % coding->domains;
    int64_t place = (j * MACKO_DTANS_SEGMENT + k) / coding->domains;
    if (c->table[domain]->escape < 0) continue;
    for (int word = coding->gap_words[domain] + coding->value_words[domain] - 1; word >= 0; word--)
      for (int l = MACKO_DTANS_LANES - 1; l >= 0; l--) {
        int64_t i = s->start[l] + place, shift = 32 * (word - coding->gap_words[domain]);
        if (place >= s->count[l] || c->numbers[i * coding->domains + domain] != c->table[domain]->escape) continue;
        *--out = shift < 0 ? s->symbols[i].gap : (uint32_t)(s->symbols[i].value >> shift);
      }
  }
  return out;
}

/* Everything is done in the reverse of the decoder's order, lanes included, since the digits of a segment depend on the words of
 * those behind it. */
void macko_dtans_write(const macko_dtans_coder *c, const macko_dtans_slice *s, uint32_t *out, int64_t words)
{
  const macko_dtans_coding *coding = &c->coding;
  lane lanes[MACKO_DTANS_LANES] = {0};
  const uint8_t *flags = c->flags;
  out += words;
  for (int l = 0; l < MACKO_DTANS_LANES; l++) {
    lanes[l].flags = flags, lanes[l].numbers = c->numbers + s->start[l] * coding->domains;
    flags += macko_dtans_segments(coding, s->count[l]);
  }
  /* Segment j + 1 is packed by now; its words go out, and so segment j gets its digits. */
  for (int64_t j = macko_dtans_segments(coding, s->longest) - 1; j >= 0; j--) {
    for (int q = MACKO_DTANS_WORDS - 1; q >= coding->groups; q--)
      for (int l = MACKO_DTANS_LANES - 1; l >= 0; l--)
        if (q < lanes[l].next) *--out = lanes[l].words[q];
    for (int g = coding->groups - 1; g >= 0; g--)
      for (int l = MACKO_DTANS_LANES - 1; l >= 0; l--)
        if (lanes[l].next) out = backward_group(c, &lanes[l], j, g, out);
    for (int l = 0; l < MACKO_DTANS_LANES; l++) {
      int here = macko_dtans_words(coding, s->count[l], j);
      if (!here) continue;
      if (!lanes[l].next) last_segment(c, &lanes[l], j, s->count[l]);
      pack(&lanes[l]);
      lanes[l].next = here;
    }
    out = backward_escapes(c, s, j, out);
  }
  /* The words of the first segments are those that a decoder loads before anything else. */
  for (int q = MACKO_DTANS_WORDS - 1; q >= 0; q--)
    for (int l = MACKO_DTANS_LANES - 1; l >= 0; l--)
      if (q < lanes[l].next) *--out = lanes[l].words[q];
}

/* Four digits of M = 256 or three of M = 1024 fit into a word, so that a segment has two or three groups of digits, each of which
 * may give a word. */
macko_dtans_coding macko_dtans_stream_coding(const int64_t *params, macko_type type, int stream,
                                             macko_dtans_part part[MACKO_DTANS_DOMAINS])
{
  int64_t variant = params[MACKO_DTANS_VARIANT];
  macko_dtans_coding coding = {.domains = variant == MACKO_VARIANT_PAPER ? 2 : 1,
                               .groups = params[MACKO_DTANS_MULTIPLICITY] == 256 ? 2 : 3,
                               .short_tail = variant != MACKO_VARIANT_PAPER};
  part[0] = variant == MACKO_VARIANT_JOINT ? MACKO_DTANS_PAIRS : stream == 0 ? MACKO_DTANS_GAPS : MACKO_DTANS_VALUES;
  part[1] = MACKO_DTANS_VALUES;
  for (int k = 0; k < coding.domains; k++) {
    coding.gap_words[k] = part[k] & MACKO_DTANS_GAPS ? 1 : 0;
    coding.value_words[k] = part[k] & MACKO_DTANS_VALUES ? type == MACKO_F64 ? 2 : 1 : 0;
  }
  return coding;
}

/* Raw words have 32 bits; a symbol in the table takes as many, and 16 for where its slots begin. */
macko_status macko_dtans_open_coder(macko_dtans_input *in, const int64_t *params, int stream, macko_dtans_coder *c,
                                    macko_error *err)
{
  macko_status s = MACKO_OK;
  memset(c, 0, sizeof *c);
  c->coding = macko_dtans_stream_coding(params, in->rows->value_type, stream, c->part);
  for (int k = 0; k < c->coding.domains && !s; k++) {
    const macko_dtans_histogram *h;
    int words = c->coding.gap_words[k] + c->coding.value_words[k];
    /* The paper's tables have one size, whatever is in them. */
    int symbol_bits = params[MACKO_DTANS_VARIANT] == MACKO_VARIANT_PAPER ? 0 : 16 + 32 * words;
    s = macko_dtans_count_symbols(in, c->part[k], &h, err);
    macko_dtans_table_rules rules = {(int)params[MACKO_DTANS_MULTIPLICITY], (int)params[MACKO_DTANS_LEAST], 32 * words,
                                     symbol_bits};
    if (!s) s = macko_dtans_open_table(h, &rules, &c->table[k], err);
  }
  if (s) macko_dtans_close_coder(c);
  return s;
}

/* A coder that holds nothing may be closed, too. */
void macko_dtans_close_coder(macko_dtans_coder *c)
{
  for (int k = 0; k < MACKO_DTANS_DOMAINS; k++) macko_dtans_close_table(&c->table[k]);
  free(c->numbers), free(c->flags);
  c->numbers = NULL, c->flags = NULL;
}
