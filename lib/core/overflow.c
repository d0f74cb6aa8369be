/* Rounding to a narrower type (values f32, f16, bf16) makes a finite value infinite only where that was asked for. */
#include "core/convert.h"
#include "core/row_source.h"

/* Names entry p of *a, whose row 0 is row `first` of the matrix; base is what the sentence counts from. */
static macko_status refuse(const macko_csr *a, macko_type to, int64_t p, int64_t first, int base, macko_error *err)
{
  int64_t row = 0;
  while (macko_csr_row(a, row + 1) <= p) row++;
  return macko_fail_at(err, MACKO_UNSUPPORTED, first + row, macko_csr_col(a, p), base,
                       "%.9g is beyond the range of %s and becomes infinite only with option overflow set to allow",
                       macko_float_at(a->value_type, a->values, p), macko_type_name(to));
}

/* Looks at all values of the rows of *a. A piece need not begin at entry 0. */
static macko_status check_rows(const macko_csr *a, macko_type to, int64_t first, int base, macko_error *err)
{
  for (int64_t p = macko_csr_row(a, 0), past = macko_csr_row(a, a->nrows); p < past; p++)
    if (macko_overflows(a->value_type, to, a->values, p)) return refuse(a, to, p, first, base, err);
  return MACKO_OK;
}

macko_status macko_check_overflow(const macko_csr *a, const macko_options *options, int base, macko_error *err)
{
  return macko_may_overflow(options, a->value_type) ? check_rows(a, macko_rounded_type(options), 0, base, err) : MACKO_OK;
}

/* Sentences count from 0 here, because rows of a source have no index base in common. */
macko_status macko_check_overflow_of_rows(macko_rows *r, const macko_options *options, macko_error *err)
{
  macko_status s = MACKO_OK;
  macko_csr piece;
  if (!macko_may_overflow(options, r->value_type)) return MACKO_OK;
  for (int64_t first = 0, step = macko_rows_step(r); !s && first < r->nrows; first += step) {
    s = macko_get_rows(r, first, step < r->nrows - first ? step : r->nrows - first, &piece, err);
    if (!s) s = check_rows(&piece, macko_rounded_type(options), first, 0, err);
  }
  return s;
}
