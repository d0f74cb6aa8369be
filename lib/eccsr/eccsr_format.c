/* Format eccsr (Lin et al., EC-SpMV, arXiv 2507.12205): rows that share columns are cut into blocks, which store one gap for a run
 * of columns of all their rows. Kept of the paper: blocks of several rows, gaps of few bits, first columns of their own. Apart from
 * it: rows that share columns are found in windows, not by a matrix of similarities; blocks lie in slices of 32 lanes without
 * padding; every row is in one slice, so that sums are made without atomics, in the same order every time.
 *
 * Here is the table of functions; eccsr_blocks.c finds blocks, eccsr_slices.c makes slices of them, eccsr_encode.c and
 * eccsr_values.c write the sections, eccsr_plan.c counts beforehand, eccsr_decode.c and eccsr_multiply.c read them. Variants paper
 * and shared, where rows are in several blocks, have sections and files of their own, eccsr_paper_*.c. */
#include "eccsr/eccsr.h"
#include "eccsr/eccsr_paper.h"

/* The answers of the host. Variants paper and shared are planned only where it is these that answer, as they read the csr
 * itself. */
static const macko_eccsr_facts host_facts = {macko_eccsr_host_sample, macko_eccsr_host_groups, macko_eccsr_host_count,
                                             macko_eccsr_host_apart};

/* This reads sections of blocks of whole rows; variants paper and shared have macko_eccsr_paper_open. */
macko_eccsr_reader macko_eccsr_open(const macko_matrix *m)
{
  const macko_eccsr_counts *c = &macko_eccsr_params_of(&m->plan)->of.counts;
  return (macko_eccsr_reader){macko_section_data(m, "slices"), macko_section_data(m, "gaps"), macko_section_data(m, "bases"),
                              macko_section_data(m, "rows"), macko_section_data(m, "lengths"), macko_eccsr_length_bytes(c),
                              c->slices};
}

/* Lists the sections of a matrix whose rows are each in one block, as its plan has counted them. */
static int block_sections(const macko_matrix *m, macko_section list[MACKO_MAX_SECTIONS])
{
  const macko_eccsr_counts *c = &macko_eccsr_params_of(&m->plan)->of.counts;
  int n = 0;
  list[n++] = macko_pattern_section("slices", MACKO_U32, c->slices * MACKO_ECCSR_SLICE_WORDS);
  list[n++] = macko_pattern_section("bases", MACKO_I32, c->blocks);
  list[n++] = macko_pattern_section("lengths", macko_eccsr_length_bytes(c) == 2 ? MACKO_U16 : MACKO_U32, c->blocks);
  list[n++] = macko_pattern_section("rows", MACKO_I32, c->rows);
  list[n++] = macko_pattern_section("gaps", MACKO_U32, c->words);
  return macko_list_values(m, macko_eccsr_slots(m->nnz), list, n);
}

/* The names of both kinds of sections: those in files must be among them. */
static const char *const section_names[] = {"slices", "bases", "lengths", "rows", "gaps", "bundles", "masks", "granules",
                                            "values", "dict", NULL};

/* ---- one of the two ---- */

/* Tells whether rows are to be in several blocks. Widths of gaps can be asked for of these variants alone. */
static int asks_for_paper(const macko_options *options)
{
  return options->variant || options->gap_bits;
}

/* Tells whether the rows of a matrix are in several blocks. */
static int is_paper(const macko_matrix *m)
{
  return m->plan.variant == MACKO_VARIANT_PAPER || m->plan.variant == MACKO_VARIANT_SHARED;
}

/* Plans the variant that the options ask for. The functions below choose by the variant that has been planned. */
static macko_status plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err)
{
  if (!asks_for_paper(options)) return macko_eccsr_plan(f, options, plan, err);
  if (f->of_format[MACKO_FORMAT_ECCSR] != &host_facts)
    return macko_fail(err, MACKO_UNSUPPORTED,
                      "variants paper and shared of format eccsr are planned where the host has the matrix");
  return macko_eccsr_paper_plan(f, options, plan, err);
}

static macko_status plan_values(const macko_facts *f, const macko_matrix *m, macko_plan *plan, macko_error *err)
{
  return (is_paper(m) ? macko_eccsr_paper_plan_values : macko_eccsr_plan_values)(f, m, plan, err);
}

static int sections(const macko_matrix *m, macko_section list[MACKO_MAX_SECTIONS])
{
  return is_paper(m) ? macko_eccsr_paper_sections(m, list) : block_sections(m, list);
}

static macko_status encode(macko_findings *found, macko_matrix *m, macko_error *err)
{
  return (is_paper(m) ? macko_eccsr_paper_encode : macko_eccsr_encode)(found, m, err);
}

static macko_status refresh(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  return (is_paper(m) ? macko_eccsr_paper_refresh : macko_eccsr_refresh)(a, m, err);
}

static macko_status decode(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err)
{
  return (is_paper(m) ? macko_eccsr_paper_decode : macko_eccsr_decode)(m, row_ptr, cols, values, err);
}

static void decode_rows(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols, void *values)
{
  (is_paper(m) ? macko_eccsr_paper_decode_rows : macko_eccsr_decode_rows)(m, starts, first, past, cols, values);
}

static macko_status validate(const macko_matrix *m, macko_error *err)
{
  return (is_paper(m) ? macko_eccsr_paper_validate : macko_eccsr_validate)(m, err);
}

static macko_status multiply(const macko_matrix *m, const macko_product *p, macko_error *err)
{
  return (is_paper(m) ? macko_eccsr_paper_multiply : macko_eccsr_multiply)(m, p, err);
}

/* Leaves variants paper and shared to matrices for which nothing else has what is asked for: automatic choice would have to
 * extract all blocks to compare them. */
static int may_win(const macko_facts *f, const macko_options *options, const macko_plan plans[], const macko_plan *best)
{
  return asks_for_paper(options) ? !best : macko_eccsr_may_win(f, options, plans, best);
}

/* Nothing is promised where the variants are asked for, or where the matrix is out of the host's reach. */
static macko_status promise(const macko_facts *f, const macko_options *options, double *time, macko_error *err)
{
  const int known = !asks_for_paper(options) && f->of_format[MACKO_FORMAT_ECCSR] == &host_facts;
  return known ? macko_eccsr_promise(f, options, time, err) : MACKO_OK;
}

const macko_format_ops macko_eccsr_ops = {
  .plan = plan,
  .facts = &host_facts,
  .forget = macko_eccsr_forget,
  .plan_values = plan_values,
  .sections = sections,
  .section_names = section_names,
  .encode = encode,
  .refresh = refresh,
  .prepare = NULL, /* products read the sections */
  .decode = decode,
  .decode_rows = decode_rows,
  .validate = validate,
  .multiply = multiply,
  .encode_rows = NULL, /* what planning has counted is not looked at again */
  .may_win = may_win,
  .promise = promise,
  .forms = macko_eccsr_forms,
  .nforms = 2,
  .in_pieces = 1};
