/* CSR-dtANS (arXiv 2603.01915): gaps and values entropy coded, decoded inside the multiply. Here is the table of functions;
 * dtans_histogram.c, dtans_table.c, dtans_coder.c, dtans_plan.c and dtans_encode.c write the format, dtans_decode.c and
 * dtans_validate.c read it. */
#include "dtans.h"

#include <stdlib.h>
#include <string.h>

/* Gaps of SPLIT stay; where gaps and values share a stream all is coded again. */
static macko_status refresh(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  macko_matrix next = *m;
  macko_status s;
  if (m->plan.params[MACKO_DTANS_VARIANT] == MACKO_VARIANT_SPLIT) {
    s = macko_dtans_plan_values(a, &m->options, &next.plan, err);
    if (!s) s = macko_dtans_encode_values(a, &next, err);
    if (!s) *m = next;
    return s;
  }
  next.nsections = 0;
  next.plan = (macko_plan){0};
  s = macko_dtans_plan(a, &m->options, &next.plan, err);
  if (!s) s = macko_dtans_encode(a, &next, err);
  if (s) return s;
  for (int i = 0; i < m->nsections; i++) free(m->sections[i].data);
  *m = next;
  return MACKO_OK;
}

const macko_format_ops macko_dtans_ops = {macko_dtans_plan,     macko_dtans_encode,
                                          refresh,              macko_dtans_decode,
                                          macko_dtans_validate, macko_dtans_multiply,
                                          "decoding takes longer on a CPU than reading plain CSR"};
