/* Layout slice: what planning finds, looks above all, is kept for the encoding that may follow. */
#include "macko/slice_look.h"
#include "macko/slice_values.h"

#include <stdlib.h>

/* Gives where the look for those kinds is kept. */
static macko_slice_look *place_of(macko_slice_findings *found, int sorted, int kinds)
{
  return &found->looks[(sorted ? 1 : 0) + 2 * kinds];
}

/* For a plan without stencils or masked slices a look that searched for them in vain will do. */
macko_slice_look *macko_look_for(macko_slice_findings *found, const macko_plan *plan)
{
  const macko_params *params = macko_params_of(plan);
  const int sorted = params->slice.window > 0, pairs = plan->values == MACKO_VALUES_PAIRS;
  const int stencils = params->slice.stencils > 0, masked = params->slice.masked > 0;
  for (int i = 0; found && i < MACKO_SLICE_LOOKS; i++) {
    macko_slice_look *look = &found->looks[i];
    if (look->blocks && look->sorted == sorted && (look->kinds & MACKO_PAIRS) / MACKO_PAIRS == pairs &&
        (look->facts.stencils > 0) == stencils && (look->facts.masked > 0) == masked)
      return look;
  }
  return NULL;
}

void macko_forget_slices(void *own)
{
  macko_slice_findings *found = own;
  for (int i = 0; i < MACKO_SLICE_LOOKS; i++) macko_drop_look(&found->looks[i]);
  free(found);
}

macko_slice_findings *macko_slice_findings_of(macko_findings *found)
{
  void **own = &found->own[MACKO_FORMAT_MACKO];
  if (!*own) *own = calloc(1, sizeof(macko_slice_findings));
  return *own;
}

/* Gives the words that blocks of looks may still take: all together no more than f64 values would, which are written when they are
 * gone; where rows are not in memory, no more than values of a byte; where only the plan is wanted, a few, which tell of values. */
static int64_t words_left(const macko_findings *f, const macko_slice_findings *found)
{
  enum { FEW_WORDS = 1 << 18 };
  int64_t words = f->rows ? f->rows->nnz / 4 : 2 * macko_csr_nnz(f->csr);
  if (!f->handed_on && words > FEW_WORDS) words = FEW_WORDS;
  for (int i = 0; words > 0 && i < MACKO_SLICE_LOOKS; i++) words -= found->looks[i].blocks ? found->looks[i].room : 0;
  return words > 0 ? words : 0;
}

/* Keeps the look for encoding, if there is room for its blocks. */
macko_status macko_host_slices(void *context, int sorted, int kinds, macko_slice_facts *p, macko_error *err)
{
  macko_findings *f = context;
  macko_slice_findings *found = macko_slice_findings_of(f);
  macko_slice_look look = {.sorted = sorted, .kinds = kinds};
  macko_rows whole, *rows = macko_found_rows(f, &whole);
  if (!found) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to look at slices");
  macko_slice_look *place = place_of(found, sorted, kinds);
  const macko_slice_look *masked = place_of(found, sorted, MACKO_STENCILS | MACKO_MASKED);
  const macko_slice_look *stencils = masked->blocks ? masked : place_of(found, sorted, MACKO_STENCILS);
  if (kinds == (MACKO_STENCILS | MACKO_PAIRS) && stencils->blocks) look.stencils = stencils;
  macko_status s = macko_take_look(rows, macko_found_nnz(f), words_left(f, found), 0, &look, err);
  look.stencils = NULL;
  *p = look.facts;
  if (!s && look.blocks) s = macko_learn_values(&look, f, err);
  if (s || !look.blocks || p->pairs < 0 || place->blocks) macko_drop_look(&look);
  else macko_trim_look(&look), *place = look;
  return s;
}
