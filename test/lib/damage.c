/* Damage to the sections of a matrix, as of one that comes from a file. */
#include "damage.h"
#include "suite.h"

/* Multiplies with the matrix and its transpose; what comes out does not matter. v has room for all of x and y. */
static void multiply(macko_matrix *m, double *v[2])
{
  macko_error err = {0};
  ck_assert_msg(!macko_prepare(m, &err), "%s", err.text);
  ck_assert_msg(!macko_multiply(m, MACKO_OP_N, MACKO_F64, 1, 1, v[0], m->ncols, 0, v[1], m->nrows, &err), "%s", err.text);
  ck_assert_msg(!macko_multiply(m, MACKO_OP_T, MACKO_F64, 1, 1, v[0], m->nrows, 0, v[1], m->ncols, &err), "%s", err.text);
}

void test_change_every_byte(macko_matrix *m, int least)
{
  const size_t most = (size_t)(m->nrows > m->ncols ? m->nrows : m->ncols);
  double *v[2] = {calloc(most, sizeof(double)), calloc(most, sizeof(double))};
  macko_error err;
  int found = 0;
  for (int64_t i = 0; i < m->nsections; i++)
    for (int64_t byte = 0; byte < m->sections[i].bytes; byte++) {
      uint8_t *at = (uint8_t *)m->sections[i].data + byte, old = *at;
      *at ^= (uint8_t)(1u << byte % 8);
      const macko_status s = macko_validate(m, &err);
      ck_assert(s == MACKO_OK || s == MACKO_CORRUPT);
      if (!s) multiply(m, v);
      found += s == MACKO_CORRUPT;
      *at = old;
    }
  ck_assert(!macko_validate(m, &err));
  ck_assert_int_gt(found, least);
  free(v[0]), free(v[1]);
}
