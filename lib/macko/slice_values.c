/* Layout slice: each value of a matrix at least once, from its stencils and the entries of all other slices. */
#include "macko/slice_values.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1 << 16 }; /* entries of a range, as long as a slice has fewer: threads share ranges */

/* Adds entries first .. past - 1 of the csr. Those of slices that follow each other are one range. */
static void add_entries(int64_t first, int64_t past, macko_fewer_values *f)
{
  const int64_t last = f->count - 1;
  f->entries += past - first;
  if (last >= 0 && f->ranges[last].past == first && past - f->ranges[last].first <= LONGEST) f->ranges[last].past = past;
  else f->ranges[f->count].first = first, f->ranges[f->count++].past = past;
}

/* Adds the values of those steps of a stencil that have not been added; added[] has a byte for each step of all blocks. */
static void add_steps(const slice_reader *r, const macko_slice *s, uint8_t *added, macko_fewer_values *f)
{
  uint8_t *here = added + s->block / MACKO_STENCIL_WORDS;
  for (uint32_t k = 0; k < s->steps; k++) {
    if (here[k]) continue;
    here[k] = 1;
    macko_put_bits(f->values.value_type, (void *)f->values.values, f->starts[1]++, macko_stencil_at(s, r->blocks, k).value);
  }
}

/* Adds all values. */
static void add_all(const macko_csr *a, const slice_reader *r, uint8_t *added, macko_fewer_values *f)
{
  for (int64_t i = 0; i < macko_slices_of(a->nrows); i++) {
    const macko_slice s = macko_slice_at(r->headers, i);
    const int64_t first = i * MACKO_SLICE_ROWS;
    if (s.stencil) add_steps(r, &s, added, f);
    else add_entries(macko_csr_row(a, first), macko_csr_row(a, first + macko_slice_lanes(r, i)), f);
  }
}

/* Gives empty room for as many ranges as there are slices, and for so many values. Pages that nothing is written to take no
 * memory. */
static macko_fewer_values *new_values(const macko_csr *a, int64_t steps)
{
  const size_t ranges = (size_t)macko_slices_of(a->nrows) * sizeof(((macko_fewer_values *)0)->ranges[0]);
  macko_fewer_values *f = malloc(sizeof *f + ranges + (size_t)steps * sizeof(uint64_t));
  if (!f) return NULL;
  *f = (macko_fewer_values){.values = {.nrows = 1, .ncols = a->ncols, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                                       .value_type = a->value_type}};
  f->values.row_ptr = f->starts, f->values.values = (char *)f->ranges + ranges;
  return f;
}

/* Stencils must spare an eighth of the values at least. */
macko_status macko_find_fewer_values(const macko_csr *a, const slice_reader *r, int64_t block_words, int64_t slots,
                                     macko_fewer_values **fewer, macko_error *err)
{
  const int64_t steps = block_words / MACKO_STENCIL_WORDS + 1, nnz = macko_csr_nnz(a);
  *fewer = NULL;
  if (steps + slots > nnz - nnz / 8) return MACKO_OK;
  macko_fewer_values *f = new_values(a, steps);
  uint8_t *added = calloc((size_t)steps, 1);
  if (f && added) add_all(a, r, added, f);
  else free(f), f = NULL;
  free(added);
  *fewer = f;
  return f ? MACKO_OK : macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld values of stencils", (long long)steps);
}

/* Rows that come in pieces are not at hand any more. */
macko_status macko_learn_values(const macko_slice_look *look, macko_findings *found, macko_error *err)
{
  const slice_reader r = {.headers = look->headers, .blocks = look->blocks, .nrows = found->csr->nrows};
  const macko_slice_facts *p = &look->facts;
  if (!p->stencils || found->rows || found->values.fewer) return MACKO_OK;
  return macko_find_fewer_values(found->csr, &r, p->block_words, p->streamed, &found->values.fewer, err);
}
