/* Coordinates: row, column and value of each entry, row after row. The format that test/build/toy-format.sh adds to a copy of the
 * sources by what doc/adding-a-format.md lists; no part of the library. */
#include "core/convert.h"
#include "core/cost.h"
#include "core/facts.h"
#include "core/product.h"
#include "core/threads.h"

#include <stdio.h>
#include <string.h>

enum { ROWS, COLS, VALUES, SECTIONS };

static const macko_form forms[] = {{.values = MACKO_HAS(VALUES_RAW)}};

static macko_status plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err)
{
  const macko_csr *a = f->csr;
  const macko_cost *cost = macko_cost_of(options);
  macko_type rows = macko_index_type(a->nrows), cols = macko_index_type(a->ncols);
  (void)err;
  plan->values = MACKO_VALUES_RAW, plan->stored_type = a->value_type;
  plan->bytes = f->nnz * (macko_type_bytes(rows) + macko_type_bytes(cols) + macko_type_bytes(a->value_type));
  plan->work = (double)f->nnz * 2 * cost->csr_entry + (double)a->nrows * cost->csr_row;
  macko_set_time(options, f, plan);
  snprintf(plan->reason, sizeof plan->reason, "coordinates, %s rows, %s columns, values as %s", macko_type_name(rows),
           macko_type_name(cols), macko_type_name(a->value_type));
  return MACKO_OK;
}

static macko_status plan_values(const macko_facts *f, const macko_matrix *m, macko_plan *plan, macko_error *err)
{
  (void)f, (void)err;
  *plan = m->plan;
  return MACKO_OK;
}

static int sections(const macko_matrix *m, macko_section list[MACKO_MAX_SECTIONS])
{
  list[ROWS] = macko_pattern_section("rows", macko_index_type(m->nrows), m->nnz);
  list[COLS] = macko_pattern_section("cols", macko_index_type(m->ncols), m->nnz);
  list[VALUES] = macko_value_section("values", m->plan.stored_type, m->nnz);
  return SECTIONS;
}

static macko_status refresh(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  (void)err;
  if (m->nnz) memcpy(m->sections[VALUES].data, a->values, (size_t)m->sections[VALUES].bytes);
  return MACKO_OK;
}

static macko_status encode(macko_findings *found, macko_matrix *m, macko_error *err)
{
  const macko_csr *a = found->csr;
  macko_status s = macko_add_sections(m, 0, err);
  if (s) return s;
  for (int64_t i = 0; i < m->nrows; i++)
    for (int64_t p = macko_csr_row(a, i); p < macko_csr_row(a, i + 1); p++) {
      macko_put_index(&m->sections[ROWS], p, i);
      macko_put_index(&m->sections[COLS], p, macko_csr_col(a, p));
    }
  return refresh(a, m, err);
}

/* The first entry of row i or of one after it. */
static int64_t first_of_row(const macko_matrix *m, int64_t i)
{
  int64_t low = 0, high = m->nnz;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (macko_index_at(&m->sections[ROWS], middle) < i) low = middle + 1;
    else high = middle;
  }
  return low;
}

static macko_status decode(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err)
{
  (void)err;
  for (int64_t i = 0; row_ptr && i <= m->nrows; i++) row_ptr[i] = first_of_row(m, i);
  for (int64_t p = 0; cols && p < m->nnz; p++) cols[p] = macko_index_at(&m->sections[COLS], p);
  if (values && m->nnz) memcpy(values, m->sections[VALUES].data, (size_t)m->sections[VALUES].bytes);
  return MACKO_OK;
}

static macko_status validate(const macko_matrix *m, macko_error *err)
{
  if (m->plan.stored_type != m->value_type)
    return macko_fail(err, MACKO_CORRUPT, "values of type %s are stored as type %d", macko_type_name(m->value_type),
                      (int)m->plan.stored_type);
  macko_status s = macko_check_sections(m, err);
  for (int64_t p = 0, row = 0, col = -1; !s && p < m->nnz; p++) {
    int64_t last = row, before = col;
    row = macko_index_at(&m->sections[ROWS], p), col = macko_index_at(&m->sections[COLS], p);
    if (row < last || row >= m->nrows || col < 0 || col >= m->ncols || (row == last && col <= before))
      s = macko_fail(err, MACKO_CORRUPT, "entry %lld at %lld, %lld is outside the matrix or not after the one before",
                     (long long)p, (long long)row, (long long)col);
  }
  return s;
}

static void multiply_rows(const macko_matrix *m, const macko_product *q, int64_t from, int64_t to)
{
  for (int64_t j = 0; j < q->k; j++)
    for (int64_t i = from, p = first_of_row(m, from); i < to; i++) {
      double sum = 0;
      for (; p < m->nnz && macko_index_at(&m->sections[ROWS], p) == i; p++) {
        int64_t col = macko_index_at(&m->sections[COLS], p);
        double value = macko_float_at(m->value_type, m->sections[VALUES].data, p);
        if (q->op == MACKO_OP_N) sum += value * macko_x(q->vector_type, q, j, col);
        else macko_add_y(q->vector_type, q, j, col, value * (q->alpha * macko_x(q->vector_type, q, j, i)));
      }
      if (q->op == MACKO_OP_N) macko_put_y(q->vector_type, q, j, i, sum);
    }
}

static macko_status multiply(const macko_matrix *m, const macko_product *p, macko_error *err)
{
  const macko_cut rows = {.n = m->nrows};
  (void)err;
  if (p->op == MACKO_OP_T) macko_scale(p, m->ncols);
  macko_share_product(m, p, multiply_rows, &rows);
  return MACKO_OK;
}

static const char *const section_names[] = {"rows", "cols", "values", NULL};

const macko_format_ops macko_coo_ops = {
  .plan = plan,
  .plan_values = plan_values,
  .sections = sections,
  .section_names = section_names,
  .encode = encode,
  .refresh = refresh,
  .decode = decode,
  .validate = validate,
  .multiply = multiply,
  .forms = forms,
  .nforms = sizeof forms / sizeof *forms};
