/* By what rows of a matrix are put into blocks, from a sample of its windows. */
#include "eccsr/eccsr.h"

#include <string.h>

enum { EVERY = 16 }; /* windows, one of which is looked at */

/* Entries by how many rows have equal columns, and by the widest run that those columns are cut into. */
typedef struct {
  int64_t rows[MACKO_ECCSR_MOST_EQUAL + 1], run[MACKO_ECCSR_MAX_RUN + 1];
} shape_counts;

static void count_rows(const macko_csr *a, int64_t row, int count, shape_counts *c)
{
  int64_t p = macko_csr_row(a, row), n = macko_csr_row(a, row + 1) - p;
  if (n == 0) return;
  if (count <= MACKO_ECCSR_MOST_EQUAL) c->rows[count] += n * count;
  c->run[macko_eccsr_widest_run(a, p, n)] += n * count;
}

/* The most frequent; of equals the smallest. */
static int64_t most(const int64_t *counts, int n)
{
  int best = 1;
  for (int i = 2; i <= n; i++)
    if (counts[i] > counts[best]) best = i;
  return best;
}

macko_status macko_eccsr_host_sample(void *csr, macko_eccsr_shape *shape, macko_error *err)
{
  const macko_csr *a = csr;
  int64_t windows = (a->nrows + MACKO_ECCSR_WINDOW - 1) / MACKO_ECCSR_WINDOW;
  shape_counts c;
  (void)err;
  memset(&c, 0, sizeof c);
  for (int64_t i = windows > EVERY / 2 ? EVERY / 2 : windows / 2; i < windows; i += EVERY) {
    int64_t row = i * MACKO_ECCSR_WINDOW, past = a->nrows - row < MACKO_ECCSR_WINDOW ? a->nrows : row + MACKO_ECCSR_WINDOW;
    while (row < past) {
      int count = macko_eccsr_equal_rows(a, row, past);
      count_rows(a, row, count, &c);
      row += count;
    }
  }
  *shape = (macko_eccsr_shape){most(c.rows, MACKO_ECCSR_MOST_EQUAL), most(c.run, MACKO_ECCSR_MAX_RUN), 0};
  return MACKO_OK;
}
