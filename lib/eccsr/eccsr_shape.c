/* How rows go into blocks, chosen by what some of them come to. The code is the same for a matrix in host memory and one in device
 * memory, and so are the counts, as both must encode to the same bytes. */
#include "eccsr/eccsr.h"

#include <string.h>

/* What a run, and a slot of a run that no entry fills, count beside the bytes of the pattern. With these numbers blocks are those
 * that a GPU was seen to multiply fastest: with 22 to 28 bytes a run they are the nodes' own, for two to six unknowns, but where
 * two of 27 points miss a fifth of their couplings. */
enum { RUN_BYTES = 25, EMPTY_BYTES = 5 };

/* Returns which of the numbers 1 .. n has the highest count, of equals the smallest. */
static int64_t most(const unsigned long long *counts, int n)
{
  int best = 1;
  for (int i = 2; i <= n; i++)
    if (counts[i] > counts[best]) best = i;
  return best;
}

/* Estimates what rows of equal columns come to in all: a slice for 32 rows, and a byte for the gap of a run. */
static void estimate_equal(const macko_facts *f, const macko_eccsr_sampled *c, macko_eccsr_counts *counts, macko_eccsr_work *work)
{
  const double scale = c->entries ? (double)f->nnz / (double)c->entries : 0;
  memset(counts, 0, sizeof *counts), memset(work, 0, sizeof *work);
  work->entries = f->nnz, work->runs = (int64_t)(scale * (double)c->runs), work->reads = (int64_t)(scale * (double)c->reads);
  counts->blocks = counts->rows = (int64_t)(scale * (double)c->blocks);
  counts->slices = f->csr->nrows / MACKO_ECCSR_LANES, counts->words = work->runs / 4;
}

/* Estimates the same for blocks of b aligned rows as if all had masks, which have a word for each column of a slice's runs. */
static void estimate_aligned(const macko_facts *f, const macko_eccsr_groups *c, int b, macko_eccsr_counts *counts,
                             macko_eccsr_work *work)
{
  const double scale = c->entries[b] ? (double)f->nnz / (double)c->entries[b] : 0;
  memset(counts, 0, sizeof *counts), memset(work, 0, sizeof *work);
  work->entries = work->masked = f->nnz, work->runs = (int64_t)(scale * (double)c->runs[b]);
  work->reads = work->runs * b, work->lanes = work->reads * b;
  counts->blocks = counts->rows = f->csr->nrows / b;
  counts->slices = counts->masked = counts->blocks / (MACKO_ECCSR_LANES / b);
  counts->words = work->reads / (MACKO_ECCSR_LANES / b) + work->runs / 4;
}

macko_status macko_eccsr_usual_shape(const macko_facts *f, macko_eccsr_shape *shape, macko_eccsr_counts *counts,
                                     macko_eccsr_work *work, macko_error *err)
{
  const macko_eccsr_facts *ask = macko_eccsr_facts_of(f);
  macko_eccsr_sampled c = {{0}, {0}, 0, 0, 0, 0};
  macko_status s = ask->sample(f->context, &c, err);
  *shape = (macko_eccsr_shape){most(c.rows, MACKO_ECCSR_MOST_EQUAL), most(c.run, MACKO_ECCSR_MAX_RUN), 0};
  estimate_equal(f, &c, counts, work);
  return s;
}

/* Returns what blocks of aligned rows are compared by: what they take to read and multiply, counted in bytes, and the same on any
 * machine, so that the same blocks are chosen. */
static int64_t price(const macko_eccsr_counts *counts, const macko_eccsr_work *work)
{
  return macko_eccsr_pattern_bytes(counts) + RUN_BYTES * work->runs + EMPTY_BYTES * (work->lanes - work->entries);
}

/* Masks need at least half of the lanes to have something to do, and fewer bytes than blocks without. Of those the cheapest are
 * taken; every number of unknowns a node that the number of rows is a multiple of is looked at. */
macko_status macko_eccsr_choose_shape(const macko_facts *f, macko_eccsr_shape *shape, macko_eccsr_counts *counts,
                                      macko_eccsr_work *work, macko_error *err)
{
  macko_eccsr_groups groups;
  macko_status s = macko_eccsr_usual_shape(f, shape, counts, work, err);
  if (s || work->entries >= 2 * work->reads) return s;
  const int64_t unmasked = macko_eccsr_pattern_bytes(counts);
  s = macko_eccsr_facts_of(f)->groups(f->context, &groups, err);
  for (int b = 2; b <= MACKO_ECCSR_MAX_RUN && !s; b++) {
    macko_eccsr_counts tried;
    macko_eccsr_work of_tried;
    if (!groups.entries[b]) continue;
    estimate_aligned(f, &groups, b, &tried, &of_tried);
    if (of_tried.lanes > 2 * of_tried.entries || macko_eccsr_pattern_bytes(&tried) >= unmasked) continue;
    if (shape->aligned && price(&tried, &of_tried) >= price(counts, work)) continue;
    *counts = tried, *work = of_tried, shape->aligned = b;
  }
  return s;
}
