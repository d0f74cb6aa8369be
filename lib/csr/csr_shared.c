/* What is prepared for products on a CPU, after encoding: groups of rows that share their columns, and how uneven rows are. */
#include "csr/csr_shared.h"

#include "csr/csr.h"
#include "csr/csr_foresight.h"

#include <stdlib.h>
#include <string.h>

int macko_csr_alike(const macko_csr *a, int64_t i)
{
  const int64_t begin = macko_csr_row(a, i), end = macko_csr_row(a, i + 1), n = end - begin, size = macko_type_bytes(a->col_type);
  const char *cols = (const char *)a->cols + begin * size;
  return n > 0 && macko_csr_row(a, i + 2) - end == n && !memcmp(cols, cols + n * size, (size_t)(n * size));
}

/* Describes the sections of a matrix as the csr that they are. */
static macko_csr csr_of(const macko_matrix *m)
{
  const macko_section *s = m->sections;
  return (macko_csr){.nrows = m->nrows, .ncols = m->ncols, .row_ptr_type = s[ROW_PTR].type, .col_type = s[COLS].type,
                     .value_type = m->value_type, .row_ptr = s[ROW_PTR].data, .cols = s[COLS].data};
}

/* Tells whether it pays to look at all rows: some pairs of rows, spread over the matrix, are looked at. */
static int looks_shared(const macko_csr *a)
{
  enum { PAIRS = 512 };
  const int64_t step = a->nrows / PAIRS + 1;
  int64_t looked = 0, alike = 0;
  for (int64_t i = 0; i + 2 <= a->nrows; i += step, looked++) alike += macko_csr_alike(a, i);
  return (double)alike >= CSR_SHARE * (double)looked && alike;
}

/* Rows that are alike come so many at a time on average; the columns of each group of them are read once. */
double macko_csr_saved(double alike)
{
  const double most = 1024, rows = alike < 1 - 1 / most ? 1 / (1 - alike) : most;
  if (rows <= CSR_TOGETHER) return alike;
  int groups = 0;
  for (int64_t left = (int64_t)(rows + 0.5); left > 0; left -= macko_csr_group(left)) groups++;
  return 1 - groups / rows;
}

/* Cuts the rows into groups, whose sizes go to `rows`, and counts these and their columns. */
static void cut_groups(const macko_csr *a, uint8_t *rows, int64_t *groups, int64_t *cols)
{
  *groups = *cols = 0;
  for (int64_t i = 0, past; i < a->nrows; i = past) {
    for (past = i + 1; past < a->nrows && macko_csr_alike(a, past - 1);) past++;
    for (int64_t first = i; first < past; first += rows[(*groups)++]) {
      rows[*groups] = (uint8_t)macko_csr_group(past - first);
      *cols += macko_csr_row(a, first + 1) - macko_csr_row(a, first);
    }
  }
}

/* Copies the columns of each group, behind which zeros stay, and sets the marks, of which there is one more than fit into the
 * rows. */
static void fill_groups(const macko_csr *a, int64_t groups, csr_shared *s)
{
  int64_t row = 0, to = 0, mark = 0;
  for (int64_t g = 0; g < groups; row += s->rows[g++]) {
    const int64_t begin = macko_csr_row(a, row), n = macko_csr_row(a, row + 1) - begin;
    for (; mark * CSR_MARK <= row; mark++) s->marks[mark] = (csr_mark){row, g, to};
    if (n) memcpy(s->cols + to, (const int32_t *)a->cols + begin, (size_t)n * sizeof *s->cols);
    to += n;
  }
  for (; mark <= a->nrows / CSR_MARK; mark++) s->marks[mark] = (csr_mark){row, groups, to};
}

int macko_csr_reads_shared(const macko_options *options, const macko_plan *plan, int64_t nrows, int64_t ncols, int64_t nnz)
{
  return options->target == MACKO_TARGET_CPU && nnz > 0 && macko_index_type(ncols) == MACKO_I32 &&
         macko_type_bytes(plan->stored_type) >= 4 && macko_csr_wide_rows(nrows, nnz, plan->bytes);
}

/* Allocates room for so many groups with so many columns, whose sizes are copied. */
static csr_prepared *new_shared(int64_t nrows, const uint8_t *sizes, int64_t groups, int64_t ncols)
{
  const size_t marks = ((size_t)(nrows / CSR_MARK) + 1) * sizeof(csr_mark), cols = (size_t)(ncols + CSR_WIDTH) * sizeof(int32_t);
  const size_t bytes = sizeof(csr_prepared) + marks + cols + (size_t)groups;
  csr_prepared *p = macko_zeros(bytes);
  if (!p) return NULL;
  p->shared.marks = (csr_mark *)(p + 1), p->shared.cols = (int32_t *)((char *)(p + 1) + marks);
  p->shared.rows = (uint8_t *)(p + 1) + marks + cols;
  memcpy(p->shared.rows, sizes, (size_t)groups);
  return p;
}

/* Looks at a sixteenth of the rows, and finds whether they are short and uneven and whether they go in blocks. */
static csr_prepared prepared_rows(const macko_matrix *m, const macko_csr *a)
{
  csr_row_counts c = {0};
  for (int64_t first = 0; first < a->nrows; first += MACKO_CSR_EVERY)
    for (int64_t i = first; i < first + MACKO_CSR_STRETCH && i + CSR_BLOCK <= a->nrows; i += CSR_BLOCK)
      csr_count_rows(a, i, i + CSR_BLOCK, m->plan.bytes >= CSR_CACHED_BYTES, &c);
  return (csr_prepared){{NULL, NULL, NULL}, macko_csr_uneven(m->nrows, m->nnz, c.rows, c.missed),
                        macko_csr_in_blocks(m->nrows, c.blocks, c.one_number)};
}

/* Notes what loops for long rows, or for uneven ones, are to know of the rows. */
static macko_status prepare_rows(macko_matrix *m, const macko_csr *a, macko_error *err)
{
  const int may_be = m->options.target == MACKO_TARGET_CPU && macko_csr_uneven(m->nrows, m->nnz, 0, 0);
  const csr_prepared seen = may_be ? prepared_rows(m, a) : (csr_prepared){0};
  csr_prepared *p;
  if (!seen.in_blocks && (!seen.uneven || macko_csr_wide_rows(m->nrows, m->nnz, m->plan.bytes))) return MACKO_OK;
  if (!(p = malloc(sizeof *p))) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for what is noted of rows");
  *p = seen;
  m->prepared = p;
  return MACKO_OK;
}

/* Makes the groups. */
static macko_status prepare_shared(macko_matrix *m, const macko_csr *a, macko_error *err)
{
  int64_t groups, ncols;
  uint8_t *sizes = malloc((size_t)m->nrows);
  if (sizes) cut_groups(a, sizes, &groups, &ncols);
  csr_prepared *p = sizes ? new_shared(m->nrows, sizes, groups, ncols) : NULL;
  free(sizes);
  if (!p) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for the columns that %lld rows share", (long long)m->nrows);
  fill_groups(a, groups, &p->shared);
  m->prepared = p;
  return MACKO_OK;
}

/* New values leave the pattern as it is, and so what has been prepared. */
macko_status macko_csr_prepare(macko_matrix *m, macko_error *err)
{
  const macko_csr a = csr_of(m);
  const int shared = macko_csr_reads_shared(&m->options, &m->plan, m->nrows, m->ncols, m->nnz);
  if (m->prepared) return MACKO_OK;
  return shared && looks_shared(&a) ? prepare_shared(m, &a, err) : prepare_rows(m, &a, err);
}
