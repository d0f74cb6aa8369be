/* Format slide (SlideSparse, 2026): matrices of which 2n - 2 of every 2n columns have entries, as windows of two entries in four
 * columns, which sparse tensor cores multiply. Blocks, windows and how they are packed are the paper's. Apart from it, only
 * blocks with entries are stored, with their columns, so that any matrix has a form; the entries of a block that find no room are
 * kept beside, as CSR; what a block holds is a code into a table where that takes fewer bits; a slot that holds nothing is told
 * apart from an explicit zero and multiplies nothing.
 *
 * Here is the table of functions; slide_count.c and slide_plan.c choose the pattern, slide_encode.c writes the sections,
 * slide_decode.c and slide_multiply.c read them. */
#include "slide/slide.h"

/* This is the answer to what planning asks, for a csr in host memory. */
static const macko_slide_facts host_facts = {macko_slide_host_count};

/* Format slide has all codecs but two: coded is dtans' own, and pairs that of layout slice. */
static const macko_form forms[] = {{.values = MACKO_HAS_ALL & ~MACKO_HAS(VALUES_CODED) & ~MACKO_HAS(VALUES_PAIRS),
                                    .variant = MACKO_HAS(VARIANT_STRICT), .target = MACKO_HAS_ALL}};

/* Sections that the matrix does not need leave their fields 0, by which readers know. */
macko_slide_reader macko_slide_open(const macko_matrix *m)
{
  const macko_slide_counts *c = macko_slide_counts_of(&m->plan);
  const macko_section *blocks = macko_find_section(m, "blocks"), *starts = macko_find_section(m, "starts");
  const macko_section *rest = macko_find_section(m, "rest_ptr");
  int per = macko_slide_per(macko_type_bytes(m->plan.stored_type));
  macko_slide_reader r = {.n = (int)c->n, .per = per, .bits = (int)c->bits, .starts = *starts};
  r.blocks = c->every ? macko_slide_blocks(m->ncols, c->n) : 0;
  r.first_rest = macko_slide_slots(r.n, per, c->cells);
  if (rest) r.rest_ptr = *rest, r.rest_cols = macko_section_data(m, "rest_cols");
  if (blocks) r.wide = blocks->type == MACKO_I32, r.block_cols = blocks->data;
  r.codes = macko_section_data(m, "positions"), r.patterns = macko_section_data(m, "patterns");
  return r;
}

/* Lists the sections that the numbers of the plan ask for, and gives how many. Numbers of blocks are missing where every row has
 * all, the table of patterns where it would take more than it spares, the rest where there is none. */
static int sections(const macko_matrix *m, macko_section list[MACKO_MAX_SECTIONS])
{
  const macko_slide_counts *c = macko_slide_counts_of(&m->plan);
  int64_t slots = macko_slide_slots((int)c->n, macko_slide_per(macko_type_bytes(m->plan.stored_type)), c->cells) + c->rest;
  int n = 0;
  list[n++] = macko_pattern_section("starts", macko_index_type(c->cells), m->nrows + 1);
  if (!c->every)
    list[n++] = macko_pattern_section("blocks", macko_slide_blocks(m->ncols, c->n) > 65536 ? MACKO_I32 : MACKO_U16, c->cells);
  list[n++] = macko_pattern_section("positions", MACKO_U32, macko_slide_words((int)c->bits, c->cells));
  if (c->patterns) list[n++] = macko_pattern_section("patterns", MACKO_U32, c->patterns);
  if (c->rest) list[n++] = macko_pattern_section("rest_ptr", macko_index_type(c->rest), m->nrows + 1);
  if (c->rest) list[n++] = macko_pattern_section("rest_cols", MACKO_I32, c->rest);
  return macko_list_values(m, slots, list, n);
}

/* These are the names of all sections that a matrix may have. */
static const char *const section_names[] = {"starts", "blocks", "positions", "patterns", "rest_ptr", "rest_cols", "values", "dict",
                                            NULL};

const macko_format_ops macko_slide_ops = {
  .plan = macko_slide_plan,
  .facts = &host_facts,
  .forget = NULL, /* encoding looks again, by the pattern in the plan */
  .plan_values = macko_slide_plan_values,
  .sections = sections,
  .section_names = section_names,
  .encode = macko_slide_encode,
  .refresh = macko_slide_refresh,
  .prepare = NULL, /* products read the sections */
  .decode = macko_slide_decode,
  .decode_rows = macko_slide_decode_rows,
  .validate = macko_slide_validate,
  .multiply = macko_slide_multiply,
  .encode_rows = macko_slide_encode_rows,
  .may_win = macko_slide_may_win,
  .forms = forms,
  .nforms = sizeof forms / sizeof *forms,
  .in_pieces = 1};
