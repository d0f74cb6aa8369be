/* Which entries a block of threads takes: as many whole rows as fit, so that most blocks need nothing of each other. */
#include "csr/csr_blocks.h"

#include <stdlib.h>

/* This is about the number of blocks that run at once: nine on each of 120 multiprocessors. The number does not depend on the
 * GPU, so that a matrix is cut in the same way on all of them. */
enum { RUNNING = 9 * 120 };

/* Gives the number of entries of a block. Where blocks of the usual size would be too few to fill a GPU they are smaller, so
 * that about all of them run at once; but no row should have to be cut because of that, so that up to the usual size a block
 * holds four of the longest rows, which are looked for only then. These rules were measured from 0.1 to 30 million nonzeros. */
static int64_t entries_for(const macko_matrix *m, const macko_section *row_ptr)
{
  int64_t longest = 0, entries = m->nnz / RUNNING, most = macko_csr_block_entries(m->nnz);
  if (entries >= most) return most;
  for (int64_t i = 0; i < m->nrows; i++) {
    int64_t length = macko_index(row_ptr->type, row_ptr->data, i + 1) - macko_index(row_ptr->type, row_ptr->data, i);
    if (length > longest) longest = length;
  }
  if (entries < 4 * longest) entries = 4 * longest;
  entries = (entries / MACKO_CSR_THREADS + 1) * MACKO_CSR_THREADS;
  return entries < most ? entries : most;
}

/* Gives the least number of entries a thread that blocks of `limit` entries do with. */
static int items_for(int64_t limit)
{
  if (limit <= MACKO_CSR_FEW * MACKO_CSR_THREADS) return MACKO_CSR_FEW;
  return limit <= MACKO_CSR_SOME * MACKO_CSR_THREADS ? MACKO_CSR_SOME : MACKO_CSR_MOST;
}

/* Gives the logarithm of the lanes that a row gets: as many, up to a warp, as let all rows of a block be added up at the same
 * time. */
static int16_t log_lanes_for(int64_t rows)
{
  int log = 5;
  while (log > 0 && rows << log > MACKO_CSR_THREADS) log--;
  return (int16_t)log;
}

/* Gives the number of entries of a row that a block of threads takes as a whole, or as a piece: up to six times as many as of
 * several rows, because whoever adds up pieces empties its first-level cache; but no piece should take longer than the other
 * blocks one after the other. */
static int64_t piece_for(const macko_matrix *m, int64_t limit)
{
  int64_t rounds = m->nnz / ((int64_t)RUNNING * MACKO_CSR_MOST * MACKO_CSR_THREADS);
  return limit * (rounds < 1 ? 1 : rounds > 6 ? 6 : rounds);
}

/* Cuts row i, whose entries are begin .. end - 1 and too many for one block, into pieces that end at multiples of
 * MACKO_CSR_ALIGN, so that all but the first start there. */
static void cut_long_row(macko_csr_cut *cut, int64_t i, int64_t begin, int64_t end, int64_t limit)
{
  int64_t stop = begin / MACKO_CSR_ALIGN * MACKO_CSR_ALIGN + limit, first = cut->npieces;
  for (int64_t p = begin; p < end; p = stop, stop += limit, cut->nblocks++, cut->npieces++)
    if (cut->blocks)
      cut->blocks[cut->nblocks] = (macko_csr_block){.begin = p, .row = i, .entries = (int16_t)((stop < end ? stop : end) - p),
                                                    .long_row = (int32_t)cut->nlong, .piece = (int32_t)cut->npieces};
  if (cut->blocks) cut->long_rows[cut->nlong] = (macko_csr_long_row){(int32_t)first, (int32_t)(cut->npieces - first)};
  cut->nlong++;
}

/* Row starts low .. high, of which the first is no more than `stop`: the last that is not is looked for among them. */
typedef struct {
  int64_t low, high, stop;
} search;

/* Looks at row start i, if it is among them, and leaves out those that cannot be it any more. */
static void look_at(search *s, const macko_section *row_ptr, int64_t i)
{
  if (i <= s->low || i > s->high) return;
  if (macko_index_at(row_ptr, i) <= s->stop) s->low = i;
  else s->high = i - 1;
}

/* Gives that row start. It is near `guess` most often. */
static int64_t last_start(search s, const macko_section *row_ptr, int64_t guess)
{
  enum { NEAR = 8 };
  look_at(&s, row_ptr, guess + NEAR), look_at(&s, row_ptr, guess - NEAR);
  while (s.low < s.high) look_at(&s, row_ptr, s.high - (s.high - s.low) / 2);
  return s.low;
}

/* Goes through the rows and cuts them into blocks, or only counts blocks, pieces and long rows where cut->blocks is NULL:
 * counts come first, then memory, then the cut. */
static void walk(const macko_matrix *m, const macko_section *row_ptr, int64_t limit, macko_csr_cut *cut)
{
  int64_t rows = 0; /* of the block before */
  cut->nblocks = cut->nlong = cut->npieces = 0;
  for (int64_t i = 0; i < m->nrows;) {
    const int64_t first = i, begin = macko_index_at(row_ptr, i), stop = begin / MACKO_CSR_ALIGN * MACKO_CSR_ALIGN + limit;
    const int64_t past = first + limit < m->nrows ? first + limit : m->nrows;
    i = last_start((search){first, past, stop}, row_ptr, first + rows);
    if (i > first) {
      const int64_t end = macko_index_at(row_ptr, i);
      if (cut->blocks)
        cut->blocks[cut->nblocks] = (macko_csr_block){.begin = begin, .row = first, .entries = (int16_t)(end - begin),
                                                      .rows = (int16_t)(i - first), .log_lanes = log_lanes_for(i - first)};
      cut->nblocks++, rows = i - first;
      continue;
    }
    cut_long_row(cut, i++, begin, macko_index_at(row_ptr, first + 1), piece_for(m, limit));
  }
}

/* Blocks of threads are numbered in 31 bits in a launch, which is the limit. */
macko_status macko_csr_cut_blocks(const macko_matrix *host, macko_csr_cut *cut, macko_error *err)
{
  const macko_section *row_ptr = macko_find_section(host, "row_ptr");
  int64_t limit = entries_for(host, row_ptr);
  *cut = (macko_csr_cut){.items = items_for(limit)};
  walk(host, row_ptr, limit, cut);
  if (cut->nblocks > INT32_MAX)
    return macko_fail(err, MACKO_LIMIT, "%lld blocks of %d nonzeros, more than %d", (long long)cut->nblocks, (int)limit, INT32_MAX);
  cut->blocks = malloc((size_t)cut->nblocks * sizeof *cut->blocks);
  cut->long_rows = malloc((size_t)(cut->nlong + 1) * sizeof *cut->long_rows);
  if (!cut->blocks || !cut->long_rows) {
    free(cut->blocks), free(cut->long_rows);
    *cut = (macko_csr_cut){0};
    return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld blocks of a matrix", (long long)cut->nblocks);
  }
  walk(host, row_ptr, limit, cut);
  return MACKO_OK;
}
