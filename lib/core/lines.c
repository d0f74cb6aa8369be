/* The lines of x that a core does not find in its own caches, counted in a sample of the rows of a csr in host memory. */
#include "core/beside.h"
#include "core/facts.h"
#include "core/row_source.h"

#include <math.h>
#include <stdlib.h>

/* A window is as many entries as bring about half as many bytes as the second-level cache has: what was loaded for one of them is
 * still there for the others. Windows are spread over the matrix, and there are at most MOST_WINDOWS. */
enum { LINE = 64, BYTES_OF_ENTRY = 32, MOST_WINDOWS = 4 };

/* Counts the lines that entries begin .. end - 1, a window, ask for and none of them before had. seen[] has a byte for each line of
 * x, behind one more: the window that has met it last, from 1. */
static void count_lines(const macko_csr *a, int64_t begin, int64_t end, int64_t columns, uint8_t window, uint8_t *seen,
                        macko_lines *lines)
{
  for (int64_t p = begin; p < end; p++) {
    uint8_t *line = &seen[1 + macko_csr_col(a, p) / columns];
    lines->all += *line != window;
    lines->stray += *line != window && line[-1] != window;
    *line = window;
  }
}

/* Gives the shares of entries that ask for such lines; 0 where memory is short or rows cannot be had. */
static macko_lines share_of_lines(macko_findings *found, int64_t nnz, int64_t entries, uint8_t *seen)
{
  const macko_csr *csr = found->csr;
  const int64_t columns = LINE / (csr->value_type == MACKO_F64 ? 8 : 4), step = (csr->nrows + MOST_WINDOWS - 1) / MOST_WINDOWS;
  int64_t rows = nnz > csr->nrows ? entries / (nnz / csr->nrows) + 1 : entries, met = 0;
  macko_lines lines = {0};
  if (rows > step) rows = step;
  macko_rows whole, *source = macko_found_rows(found, &whole);
  macko_assembly room = {0};
  macko_csr a;
  for (int64_t first = 0, window = 1; first < csr->nrows; first += step, window++) {
    const int64_t count = csr->nrows - first < rows ? csr->nrows - first : rows;
    if (macko_view_rows(source, first, count, &room, &a, NULL)) break; /* the next pass over the rows tells why */
    const int64_t begin = macko_csr_row(&a, first), all = macko_csr_row(&a, first + count) - begin;
    const int64_t n = all < entries ? all : entries;
    count_lines(&a, begin, begin + n, columns, (uint8_t)window, seen, &lines);
    met += n;
  }
  macko_free_assembly(&room);
  return met ? (macko_lines){.all = lines.all / (double)met, .stray = lines.stray / (double)met} : lines;
}

/* Counts the lines of the matrix by those of its windows, whose entries bring lines of one vector or, where that stays in the cache,
 * of a group of them. */
static macko_lines lines_of(macko_findings *found)
{
  const macko_csr *csr = found->csr;
  const int64_t nnz = macko_found_nnz(found), size = csr->value_type == MACKO_F64 ? 8 : 4, middle = macko_machine_caches().middle;
  const double lost = macko_lost_share((double)size * (double)csr->ncols, middle, 1);
  const int64_t entries = middle / BYTES_OF_ENTRY / (lost > 0 ? 1 : MACKO_GROUP);
  /* A matrix with more lines of x than bytes of its own has hardly two entries in one, and is no matter of time. */
  if ((lost == 0 && macko_stays_in_middle(csr->ncols, MACKO_GROUP, MACKO_F64)) || csr->ncols / LINE > nnz) return (macko_lines){0};
  uint8_t *seen = macko_zeros((size_t)(csr->ncols * size / LINE + 2));
  if (!seen) return (macko_lines){0};
  const macko_lines share = share_of_lines(found, nnz, entries, seen);
  free(seen);
  return (macko_lines){lost * share.all * (double)nnz, lost * share.stray * (double)nnz, share.all};
}

macko_lines macko_host_lines(void *findings)
{
  macko_findings *found = findings;
  if (!found->lines_known) found->lines = lines_of(found), found->lines_known = 1;
  return found->lines;
}

double macko_steps_that_wait(double steps, double share, double together)
{
  return steps * (1 - pow(share < 1 ? 1 - share : 0, together));
}
