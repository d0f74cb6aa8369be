/* Blocks of a csr counted: how many have entries, which of them break the pattern, how many patterns there are. */
#include "core/row_source.h"
#include "core/threads.h"
#include "slide/slide.h"

#include <stdlib.h>
#include <string.h>

/* This is what is counted of blocks, by a part or of all: those that have entries, their entries, those that break the pattern,
 * the entries that find no room, the first that breaks it, and which patterns there are. */
typedef struct {
  int64_t cells, entries, broken, rest;
  macko_slide_broken first;
  macko_slide_set found;
} part_counts;

/* This is what parts share while they count. */
typedef struct {
  const macko_csr *a;
  int n, stop; /* blocks have 2n columns; stop: a part ends at a broken block */
  part_counts *parts;
} counting;

/* Adds a block to the counts, and gives 1 if it holds to the pattern. A pattern is what windows hold, without what is left
 * over. */
static int count_block(part_counts *c, int n, int64_t row, int64_t block, uint32_t entries)
{
  uint32_t left = entries;
  int count = __builtin_popcount(entries);
  macko_slide_pack(n, &left);
  c->cells++, c->entries += count;
  macko_slide_add(&c->found, entries & ~left);
  if (!left) return 1;
  if (!c->broken++) c->first = (macko_slide_broken){row, block, count};
  c->rest += __builtin_popcount(left);
  return 0;
}

/* As a macko_part this counts the blocks of rows from .. to - 1, which are rows of the piece. */
static void count_part(void *context, int part, int64_t from, int64_t to)
{
  const counting *all = context;
  part_counts *c = &all->parts[part];
  for (int64_t i = from; i < to; i++)
    for (int64_t p = macko_csr_row(all->a, i), end = macko_csr_row(all->a, i + 1), block; p < end;) {
      uint32_t entries;
      p = macko_slide_next_block(all->a, all->n, p, end, &block, &entries);
      if (!count_block(c, all->n, i, block, entries) && all->stop) return;
    }
}

/* Adds to *sum what the parts of a piece have counted, whose row 0 is row `row` of the matrix. */
static void add_parts(const part_counts *part, int parts, int64_t row, part_counts *sum)
{
  for (int i = 0; i < parts; i++) {
    const part_counts *more = &part[i];
    if (!sum->broken) sum->first = more->first, sum->first.row += row;
    sum->cells += more->cells, sum->entries += more->entries, sum->broken += more->broken, sum->rest += more->rest;
    for (int w = 0; w < 1024; w++) sum->found.words[w] |= more->found.words[w];
  }
}

/* Counts the blocks of a piece in parts. Their sets of patterns are too large for the stack. */
static macko_status count_piece(const macko_rows *rows, const macko_csr *a, int64_t row, int n, int stop, part_counts *sum,
                                macko_error *err)
{
  const macko_cut cut = rows->whole ? macko_cut_rows(a, 1) : (macko_cut){.n = a->nrows};
  const int parts = macko_parts(macko_csr_row(a, a->nrows) - macko_csr_row(a, 0));
  counting all = {a, n, stop, calloc((size_t)parts, sizeof *all.parts)};
  if (!all.parts) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to count the blocks of %lld rows", (long long)a->nrows);
  macko_do_parts(&cut, parts, count_part, &all);
  add_parts(all.parts, parts, row, sum);
  free(all.parts);
  return MACKO_OK;
}

/* Sets all counts but `every` and how codes are stored, and gives how many patterns there are. */
static int64_t set_counts(const part_counts *sum, int n, macko_slide_counts *counts, macko_slide_broken *first)
{
  int64_t patterns = 0;
  *counts = (macko_slide_counts){.n = n, .cells = sum->cells, .broken = sum->broken, .rest = sum->rest};
  counts->empty = counts->cells * (2 * n - 2) - (sum->entries - sum->rest);
  if (first && sum->broken) *first = sum->first;
  for (int w = 0; w < 1024; w++) patterns += __builtin_popcountll(sum->found.words[w]);
  return patterns;
}

/* Chooses codes into a table where the table is small and takes, together with them, fewer bits than positions. */
static void choose_codes(macko_slide_counts *c, int64_t patterns)
{
  int bits = 1;
  while (bits < 16 && (int64_t)1 << bits < patterns) bits++;
  c->bits = 4 * (c->n - 1), c->patterns = 0;
  if (patterns <= MACKO_SLIDE_PATTERNS && c->cells * bits + patterns * 32 < c->cells * c->bits)
    c->bits = bits, c->patterns = patterns;
}

/* A broken block ends the count after its piece, if the caller asks for the first one only. */
macko_status macko_slide_count_rows(void *context, int n, macko_slide_counts *counts, macko_slide_broken *first, macko_error *err)
{
  macko_rows *rows = context;
  part_counts sum = {0};
  macko_csr piece = {0};
  macko_status s = MACKO_OK;
  for (int64_t row = 0; !s && row < rows->nrows && !(first && sum.broken); row += piece.nrows) {
    const int64_t step = macko_rows_step(rows), left = rows->nrows - row;
    s = macko_get_rows(rows, row, step < left ? step : left, &piece, err);
    if (!s) s = count_piece(rows, &piece, row, n, first != NULL, &sum, err);
  }
  if (s) return s;
  const int64_t patterns = set_counts(&sum, n, counts, first), blocks = macko_slide_blocks(rows->ncols, n);
  counts->every = counts->cells > 0 && counts->cells % blocks == 0 && counts->cells / blocks == rows->nrows;
  choose_codes(counts, patterns);
  return MACKO_OK;
}

macko_status macko_slide_host_count(void *context, int n, macko_slide_counts *counts, macko_slide_broken *first, macko_error *err)
{
  macko_rows whole, *rows = macko_found_rows(context, &whole);
  return macko_slide_count_rows(rows, n, counts, first, err);
}
