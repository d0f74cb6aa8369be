/* What all bundles of a matrix come to, by those of a sample, and how far that may be off. */
#include "eccsr/eccsr_paper_sample.h"

#include <math.h>

/* What a bundle of the sample takes for what it weighs. */
typedef struct {
  double blocks, granules, rows, bytes;
} rate;

/* Returns what bundle k weighs, which is not 0: the row that was drawn has entries. */
static double weight_of(const macko_csr *sample, const macko_eccsr_paper_shape *weighed, int64_t k)
{
  int64_t weight = 0;
  for (int64_t i = k * MACKO_ECCSR_BUNDLE; i < (k + 1) * MACKO_ECCSR_BUNDLE; i++)
    weight += macko_eccsr_row_weight(sample, weighed, i);
  return (double)weight;
}

/* Returns the rates of bundle k. */
static rate rate_of(const macko_csr *sample, const macko_eccsr_paper_counted *c, int64_t k)
{
  const int64_t *own = c->bundles + 3 * k;
  const macko_eccsr_paper_counts of = {own[0], own[1], own[2], c->shape.lanes};
  const double weight = weight_of(sample, &c->weighed, k);
  const int64_t bytes = macko_eccsr_paper_block_bytes(&of, c->shape.bits) + macko_eccsr_paper_slots(&of) * c->shape.value;
  return (rate){(double)own[0] / weight, (double)own[1] / weight, (double)own[2] / weight, (double)bytes / weight};
}

/* What the bytes are off by, at most, because rows of a sample are put into bundles in its own way, which a spread does not tell:
 * of ten kinds of generated matrices that were counted both ways the worst one's bytes were off by 0.7 % more than the spread
 * says. */
static const double bias = 0.01;

/* As bundles are drawn as often as they weigh, the mean of their rates is the rate of the matrix (Hansen and Hurwitz), and the
 * error is that of a mean. There are never fewer slots than entries. */
macko_eccsr_paper_counts macko_eccsr_paper_scale(const macko_eccsr_paper_sample *sample, const macko_eccsr_paper_counted *counted,
                                                 int64_t nnz, double *error)
{
  const int64_t n = sample->bundles, granule = macko_eccsr_granule(counted->shape.lanes);
  const double each = (double)sample->weight / (double)n;
  rate sum = {0};
  double squares = 0;
  for (int64_t k = 0; k < n; k++) {
    const rate r = rate_of(&sample->a, counted, k);
    sum.blocks += r.blocks, sum.granules += r.granules, sum.rows += r.rows, sum.bytes += r.bytes;
  }
  for (int64_t k = 0; k < n; k++) {
    const double off = rate_of(&sample->a, counted, k).bytes - sum.bytes / (double)n;
    squares += off * off;
  }
  *error = bias + 2 * sqrt(squares / (double)((n - 1) * n)) / (sum.bytes / (double)n);
  const int64_t rows = llround(sum.rows * each), least = (nnz + granule - 1) / granule;
  return (macko_eccsr_paper_counts){llround(sum.blocks * each), llround(sum.granules * each), rows < least ? least : rows,
                                    counted->shape.lanes};
}
