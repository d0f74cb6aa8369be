/* Layout slice: each value of a matrix at least once, from its stencils and the entries of all other slices. */
#include "macko/slice_values.h"

#include <stdlib.h>
#include <string.h>

enum { FEWER = 8 }; /* one value in so many is worth gathering, as gathering it and looking at it again takes longer */

/* This is the csr that is made, with its arrays behind it. Those of its columns are never asked for. */
typedef struct {
  macko_csr csr;
  int64_t starts[2];
  uint64_t values[];
} fewer_values;

/* Adds the entries of a slice that is no stencil; 0 where there is no room. */
static int add_entries(const macko_csr *a, int64_t first, int64_t past, int64_t room, fewer_values *f)
{
  const int64_t p = macko_csr_row(a, first), n = macko_csr_row(a, past) - p, size = macko_type_bytes(a->value_type);
  if (n > room - f->starts[1]) return 0;
  if (n) memcpy((char *)f->values + f->starts[1] * size, (const char *)a->values + p * size, (size_t)(n * size));
  f->starts[1] += n;
  return 1;
}

/* Adds the values of the steps of a stencil; 0 where there is no room. */
static int add_steps(const macko_csr *a, const slice_reader *r, const macko_slice *s, int64_t room, fewer_values *f)
{
  if (s->steps > room - f->starts[1]) return 0;
  for (uint32_t k = 0; k < s->steps; k++)
    macko_put_bits(a->value_type, f->values, f->starts[1]++, macko_stencil_at(s, r->blocks, k).value);
  return 1;
}

/* Adds all values; 0 where there is no room. In *added there is a byte for each place where a stencil may begin. */
static int add_all(const macko_csr *a, const slice_reader *r, int64_t room, uint8_t *added, fewer_values *f)
{
  for (int64_t i = 0; i < macko_slices_of(a->nrows); i++) {
    const macko_slice s = macko_slice_at(r->headers, i);
    const int64_t first = i * MACKO_SLICE_ROWS;
    if (!s.stencil && !add_entries(a, first, first + macko_slice_lanes(r, i), room, f)) return 0;
    if (!s.stencil || added[s.block / MACKO_STENCIL_WORDS] >= s.steps) continue;
    if (!add_steps(a, r, &s, room, f)) return 0;
    added[s.block / MACKO_STENCIL_WORDS] = (uint8_t)s.steps;
  }
  return 1;
}

/* Pages of the room that nothing is written to take no memory. Where slots alone tell that there is no room nothing is gathered. */
macko_status macko_fewer_values(const macko_csr *a, const slice_reader *r, int64_t block_words, int64_t slots, macko_csr **fewer,
                                macko_error *err)
{
  const int64_t room = macko_csr_nnz(a) / FEWER;
  *fewer = NULL;
  if (slots > room) return MACKO_OK;
  fewer_values *f = malloc(sizeof *f + (size_t)(room * macko_type_bytes(a->value_type)));
  uint8_t *added = calloc((size_t)(block_words / MACKO_STENCIL_WORDS) + 1, 1);
  const int there = f && added;
  if (f) *f = (fewer_values){.csr = {.nrows = 1, .ncols = a->ncols, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                                     .value_type = a->value_type, .row_ptr = f->starts, .values = f->values}};
  const int made = there && add_all(a, r, room, added, f);
  free(added);
  if (!made) free(f);
  *fewer = made ? &f->csr : NULL;
  return there ? MACKO_OK : macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld values of stencils", (long long)room);
}

/* Rows that come in pieces are not at hand any more. */
macko_status macko_learn_values(const macko_slice_look *look, macko_findings *found, macko_error *err)
{
  const slice_reader r = {.headers = look->headers, .blocks = look->blocks, .nrows = found->csr->nrows};
  if (!look->facts.stencils || found->rows || found->values.fewer) return MACKO_OK;
  return macko_fewer_values(found->csr, &r, look->facts.block_words, look->facts.streamed, &found->values.fewer,
                            err);
}
