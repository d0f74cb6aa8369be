/* CSR-dtANS (arXiv 2603.01915): gaps and values entropy coded, decoded inside the multiply. Here is the table of functions;
 * dtans_rows.c, dtans_histogram.c, dtans_table.c, dtans_coder.c, dtans_plan.c, dtans_predict.c, dtans_time.c and dtans_encode.c
 * write the format, dtans_decode.c and dtans_validate.c read it. */
#include "dtans/dtans.h"

#include <stdlib.h>
#include <string.h>

/* Plans on the host, or lets the plan be made where the arrays are. */
static macko_status plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err)
{
  const macko_dtans_facts *elsewhere = f->of_format[MACKO_FORMAT_DTANS];
  macko_rows whole;
  macko_dtans_input in;
  if (elsewhere) return elsewhere->plan(f->context, options, plan, err);
  macko_status s = macko_dtans_open_input(macko_found_rows(f->context, &whole), &in, err);
  if (!s) s = macko_dtans_plan(&in, options, plan, err);
  macko_dtans_close_input(&in);
  return s;
}

/* Encodes from the csr, or from rows in pieces. First gaps count from where the plan says. */
static macko_status encode(macko_findings *found, macko_matrix *m, macko_error *err)
{
  macko_rows whole;
  macko_dtans_input in;
  macko_status s = macko_dtans_open_input(macko_found_rows(found, &whole), &in, err);
  in.relative = (int)m->plan.params[MACKO_DTANS_RELATIVE];
  if (!s) s = macko_dtans_encode(&in, m, err);
  macko_dtans_close_input(&in);
  return s;
}

/* Plans and encodes with one input, so that row lengths and histograms are counted once. */
static macko_status encode_rows(macko_rows *rows, macko_matrix *m, macko_error *err)
{
  macko_dtans_input in;
  macko_status s = macko_dtans_open_input(rows, &in, err);
  m->nnz = in.nnz;
  if (!s) s = macko_dtans_plan(&in, &m->options, &m->plan, err);
  if (!s) s = macko_dtans_encode(&in, m, err);
  macko_dtans_close_input(&in);
  return s;
}

/* Encodes new values. Gaps of SPLIT stay; where gaps and values share a stream all is planned and coded again, into another
 * matrix first, so that a failure leaves *m unchanged. */
static macko_status refresh_input(macko_dtans_input *in, macko_matrix *m, macko_error *err)
{
  macko_matrix next = *m;
  macko_status s;
  if (m->plan.params[MACKO_DTANS_VARIANT] == MACKO_VARIANT_SPLIT) {
    s = macko_dtans_plan_values(in, &m->options, &next.plan, err);
    if (!s) s = macko_dtans_encode_values(in, &next, err);
    if (!s) *m = next;
    return s;
  }
  next.nsections = 0;
  next.plan = (macko_plan){0};
  s = macko_dtans_plan(in, &m->options, &next.plan, err);
  if (!s) s = macko_dtans_encode(in, &next, err);
  if (s) return s;
  for (int i = 0; i < m->nsections; i++) free(m->sections[i].data);
  *m = next;
  return MACKO_OK;
}

/* Reads the csr anew, whose pattern the caller has proved to be that of m. */
static macko_status refresh(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  macko_rows rows = macko_rows_of(a);
  macko_dtans_input in;
  macko_status s = macko_dtans_open_input(&rows, &in, err);
  if (!s) s = refresh_input(&in, m, err);
  macko_dtans_close_input(&in);
  return s;
}

/* What the format can be asked for. Values that are coded with the gaps cannot be anything else. */
static const macko_form forms[] = {
  {.variant = MACKO_HAS(VARIANT_SPLIT), .values = MACKO_HAS_ALL & ~MACKO_HAS(VALUES_PAIRS), .target = MACKO_HAS_ALL},
  {.variant = MACKO_HAS(VARIANT_JOINT), .values = MACKO_HAS(VALUES_CODED), .target = MACKO_HAS_ALL},
  {.variant = MACKO_HAS(VARIANT_PAPER), .values = MACKO_HAS(VALUES_CODED), .target = MACKO_HAS_ALL}};

/* The sections of all variants; which of them a matrix has depends on its plan. */
static const char *const section_names[] = {"lengths", "stream", "slices", "gap_symbols", "gap_slots", "value_stream",
                                            "value_slices", "value_symbols", "value_slots", "values", "dict", NULL};

const macko_format_ops macko_dtans_ops = {
  .plan = plan,
  .facts = NULL,       /* it counts symbols itself where the arrays are at hand */
  .forget = NULL,
  .plan_values = NULL, /* refresh plans by the symbols that it codes */
  .sections = NULL, /* how long streams and tables are is known once they are written */
  .section_names = section_names,
  .encode = encode,
  .refresh = refresh,
  .prepare = macko_dtans_prepare,
  .decode = macko_dtans_decode,
  .decode_rows = macko_dtans_decode_rows,
  .validate = macko_dtans_validate,
  .multiply = macko_dtans_multiply,
  .encode_rows = encode_rows,
  .may_win = macko_dtans_may_win,
  .forms = forms,
  .nforms = sizeof forms / sizeof *forms,
  .in_pieces = 1};
