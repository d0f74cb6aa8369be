/* Format eccsr (Lin et al., EC-SpMV, arXiv 2507.12205): rows that share columns are cut into blocks, which store one gap for a run
 * of columns of all their rows. Kept of the paper: blocks of several rows, gaps of few bits, first columns of their own. Apart from
 * it: rows that share columns are found in windows, not by a matrix of similarities; blocks lie in slices of 32 lanes without
 * padding; every row is in one slice, so that sums are made without atomics, in the same order every time.
 *
 * Here is the table of functions; eccsr_blocks.c finds blocks, eccsr_slices.c makes slices of them, eccsr_encode.c and
 * eccsr_values.c write the sections, eccsr_plan.c counts beforehand, eccsr_decode.c and eccsr_multiply.c read them. */
#include "eccsr/eccsr.h"

static const macko_eccsr_facts host_facts = {macko_eccsr_host_estimate, macko_eccsr_host_sample, macko_eccsr_host_count};

macko_eccsr_reader macko_eccsr_open(const macko_matrix *m)
{
  const macko_eccsr_counts *c = &macko_eccsr_params_of(&m->plan)->of.counts;
  return (macko_eccsr_reader){macko_section_data(m, "slices"), macko_section_data(m, "gaps"), macko_section_data(m, "bases"),
                              macko_section_data(m, "rows"), macko_section_data(m, "lengths"), macko_eccsr_length_bytes(c),
                              c->slices};
}

static int sections(const macko_matrix *m, macko_section list[MACKO_MAX_SECTIONS])
{
  const macko_eccsr_counts *c = &macko_eccsr_params_of(&m->plan)->of.counts;
  int n = 0;
  list[n++] = macko_pattern_section("slices", MACKO_U32, c->slices * MACKO_ECCSR_SLICE_WORDS);
  list[n++] = macko_pattern_section("bases", MACKO_I32, c->blocks);
  list[n++] = macko_pattern_section("lengths", macko_eccsr_length_bytes(c) == 2 ? MACKO_U16 : MACKO_U32, c->blocks);
  list[n++] = macko_pattern_section("rows", MACKO_I32, c->rows);
  list[n++] = macko_pattern_section("gaps", MACKO_U32, c->words);
  list[n++] = macko_value_section("values", m->plan.stored_type, macko_eccsr_slots(m->nnz));
  if (m->plan.table) list[n++] = macko_value_section("dict", m->value_type, m->plan.table);
  return n;
}

static const char *const section_names[] = {"slices", "bases", "lengths", "rows", "gaps", "values", "dict", NULL};

const macko_format_ops macko_eccsr_ops = {
  .plan = macko_eccsr_plan,
  .facts = &host_facts,
  .forget = NULL, /* encoding looks again, by the shape in the plan */
  .plan_values = macko_eccsr_plan_values,
  .sections = sections,
  .section_names = section_names,
  .encode = macko_eccsr_encode,
  .refresh = macko_eccsr_refresh,
  .prepare = NULL, /* products read the sections */
  .decode = macko_eccsr_decode,
  .validate = macko_eccsr_validate,
  .multiply = macko_eccsr_multiply,
  .encode_rows = macko_eccsr_encode_rows,
  .may_win = macko_eccsr_may_win,
  .forms = macko_eccsr_forms,
  .nforms = 1};
