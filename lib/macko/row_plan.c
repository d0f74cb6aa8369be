/* Layout row planned: what its gaps and base columns would take, at every width, by one count over the rows. */
#include "core/cost.h"
#include "macko/row_lanes.h"
#include "macko/row_parts.h"

#include <stdio.h>
#include <stdlib.h>

/* These are the widths of a code that are tried, in bits. */
enum { WIDTHS = 5 };
static const int widths[WIDTHS] = {1, 2, 4, 8, 16};

/* This is a way to store base columns: base mode, bytes of an offset, what is added to all of them, and the bytes of it all. */
typedef struct {
  int mode, bytes;
  int64_t bias, cost;
} base_choice;

int64_t macko_row_block_first(const macko_csr *a, int64_t block)
{
  int64_t first = INT64_MAX, end = (block + 1) * MACKO_BASE_ROWS;
  for (int64_t i = block * MACKO_BASE_ROWS; i < end && i < a->nrows; i++) {
    int64_t p = macko_csr_row(a, i);
    if (p < macko_csr_row(a, i + 1) && macko_csr_col(a, p) < first) first = macko_csr_col(a, p);
  }
  return first == INT64_MAX ? 0 : first;
}

/* Finds the least and the largest distance of a first column from its reference in rows from .. to - 1; from begins a block.
 * Where all rows are empty *low is above *high. Their difference is what an offset must hold, and *low becomes the bias. */
static void find_distances(const macko_csr *a, int mode, int64_t from, int64_t to, int64_t *low, int64_t *high)
{
  int64_t block = 0;
  *low = INT64_MAX, *high = INT64_MIN;
  for (int64_t i = from; i < to; i++) {
    int64_t p = macko_csr_row(a, i);
    if (mode == MACKO_BASE_BLOCK && i % MACKO_BASE_ROWS == 0) block = macko_row_block_first(a, i / MACKO_BASE_ROWS);
    if (p == macko_csr_row(a, i + 1)) continue;
    int64_t distance = macko_csr_col(a, p) - (mode == MACKO_BASE_DIAGONAL ? i : mode == MACKO_BASE_BLOCK ? block : 0);
    if (distance < *low) *low = distance;
    if (distance > *high) *high = distance;
  }
}

/* Counts the gaps of rows from .. to - 1 by their binary logarithms: a gap is too long for codes of b bits where its logarithm is
 * b or more, so that these counts are enough for every width. Finds the longest of these rows, too. */
static void count_gaps(const macko_csr *a, int64_t from, int64_t to, macko_row_facts *facts)
{
  int64_t *by_log = facts->by_log;
  for (int64_t i = from; i < to; i++) {
    int64_t end = macko_csr_row(a, i + 1), p = macko_csr_row(a, i);
    if (p == end) continue;
    if (end - p > facts->longest) facts->longest = end - p;
    for (int64_t before = macko_csr_col(a, p++); p < end; p++) {
      int64_t col = macko_csr_col(a, p);
      by_log[63 - __builtin_clzll((uint64_t)(col - before))]++;
      before = col;
    }
  }
}

/* This is what parts share while they count: the rows in view, and the facts of each part. */
typedef struct {
  const macko_view *v;
  macko_row_facts *of_parts;
} counting;

/* As a macko_part this counts into facts on its stack first, which other parts do not write beside. */
static void count_part(void *context, int part, int64_t from, int64_t to)
{
  const counting *c = context;
  const macko_csr *a = &c->v->view;
  macko_row_facts facts = {0};
  from = macko_row_of_item(a, c->v->first, from), to = macko_row_of_item(a, c->v->first, to);
  count_gaps(a, from, to, &facts);
  for (int mode = MACKO_BASE_ABSOLUTE; mode <= MACKO_BASE_BLOCK; mode++)
    find_distances(a, mode, from, to, &facts.low[mode], &facts.high[mode]);
  c->of_parts[part] = facts;
}

/* Adds the facts of a part to those of all. */
static void add_facts(macko_row_facts *facts, const macko_row_facts *more)
{
  for (int l = 0; l <= 32; l++) facts->by_log[l] += more->by_log[l];
  if (more->longest > facts->longest) facts->longest = more->longest;
  for (int mode = MACKO_BASE_ABSOLUTE; mode <= MACKO_BASE_BLOCK; mode++) {
    if (more->low[mode] < facts->low[mode]) facts->low[mode] = more->low[mode];
    if (more->high[mode] > facts->high[mode]) facts->high[mode] = more->high[mode];
  }
}

/* One pass over the rows counts all that every width and every base mode needs. */
macko_status macko_host_rows(void *context, macko_row_facts *facts, macko_error *err)
{
  macko_rows whole, *rows = macko_found_rows(context, &whole);
  macko_view view = macko_open_view(rows, MACKO_BASE_ROWS);
  int parts = macko_parts(macko_found_nnz(context));
  counting c = {&view, calloc((size_t)parts, sizeof *c.of_parts)};
  macko_status s = MACKO_OK;
  if (!c.of_parts) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to count the gaps of %lld rows", (long long)rows->nrows);
  *facts = (macko_row_facts){.low = {INT64_MAX, INT64_MAX, INT64_MAX}, .high = {INT64_MIN, INT64_MIN, INT64_MIN}};
  while (macko_next_view(&view, &s, err)) {
    const macko_cut cut = macko_cut_view(&view);
    macko_do_parts(&cut, parts, count_part, &c);
    for (int part = 0; part < parts; part++) add_facts(facts, &c.of_parts[part]);
  }
  macko_close_view(&view);
  free(c.of_parts);
  return s;
}

int64_t macko_host_longest_row(void *context)
{
  const macko_findings *found = context;
  int64_t longest = 0;
  for (int64_t i = 0; !found->rows && i < found->csr->nrows; i++) {
    const int64_t length = macko_csr_row(found->csr, i + 1) - macko_csr_row(found->csr, i);
    if (length > longest) longest = length;
  }
  return longest;
}

/* ---- plan ---- */

/* Gives what base columns take by that mode. */
static base_choice try_base(int64_t nrows, const macko_row_facts *facts, int mode)
{
  int64_t low = facts->low[mode], high = facts->high[mode];
  if (low > high) low = high = 0;
  base_choice c = {mode, macko_unsigned_bytes((uint64_t)(high - low)), low, 0};
  c.cost = c.bytes * nrows + (mode == MACKO_BASE_BLOCK ? 4 * macko_base_blocks(nrows) : 0);
  return c;
}

/* Gives the mode that takes the fewest bytes, the simpler one where two take as many. */
static base_choice choose_base(int64_t nrows, const macko_row_facts *facts)
{
  base_choice best = try_base(nrows, facts, MACKO_BASE_ABSOLUTE);
  for (int mode = MACKO_BASE_DIAGONAL; mode <= MACKO_BASE_BLOCK; mode++) {
    base_choice c = try_base(nrows, facts, mode);
    if (c.cost < best.cost) best = c;
  }
  return best;
}

/* Counts in escapes[w] the gaps that a code of widths[w] bits cannot hold: it holds gaps from 1 to 2^b - 1, as the last code is
 * the escape. */
static void count_escapes(const macko_row_facts *facts, int64_t escapes[WIDTHS])
{
  for (int w = 0; w < WIDTHS; w++) {
    escapes[w] = 0;
    for (int l = widths[w]; l <= 32; l++) escapes[w] += facts->by_log[l];
  }
}

/* Gives the bytes of codes of b bits, with the lists of so many long gaps. */
static int64_t gap_cost(const macko_facts *f, int b, int64_t escapes)
{
  return macko_gap_bytes(f->nnz, b) + (escapes ? 4 * (f->csr->nrows + 1 + escapes) : 0);
}

/* Gives the time in nanoseconds that gaps of b bits take beside that of their bytes. */
static double gap_time(const macko_facts *f, const macko_cost *cost, int b, int64_t escapes)
{
  return (double)escapes * cost->row_escape + (b < 4 ? (double)f->nnz * cost->row_thin : 0);
}

/* Gives what widths are compared by: bytes or nanoseconds. */
static double width_cost(const macko_facts *f, const macko_options *options, int b, int64_t escapes)
{
  const macko_cost *cost = macko_cost_of(options);
  double bytes = (double)gap_cost(f, b, escapes);
  return options->prefer == MACKO_PREFER_MEMORY ? bytes : bytes * cost->byte + gap_time(f, cost, b, escapes);
}

/* Says how a GPU takes the rows of *a, as far as its values are stored in their own type. */
static macko_row_lanes lanes_of(const macko_csr *a, int64_t nnz)
{
  return macko_lanes_of_rows(a->nrows, nnz, macko_lane_entries(a->value_type));
}

/* Says whether a GPU has x in shared memory, with gaps of so many bits: where rows are wide and sums are in f32. */
static int shares_x(const macko_csr *a, int64_t nnz, int bits)
{
  enum { SHARED_COLUMNS = 56000 }; /* so many elements of x or fewer */
  return a->value_type != MACKO_F64 && (bits == 4 || bits == 8) && a->ncols <= SHARED_COLUMNS && lanes_of(a, nnz).wide;
}

/* Gives what the time of a product is counted in: entries, and on a GPU the slots of the chunks that rows are taken in, one chunk a
 * row. Where rows are longer than a warp's chunk lanes load what follows while they wait for the first one, so that an entry beyond
 * the first half of it, which is what alignment leaves, takes a fifth of a slot. */
static double slots_of(const macko_options *options, const macko_csr *a, int64_t nnz)
{
  const int entries = macko_lane_entries(a->value_type);
  const double chunks = (double)lanes_of(a, nnz).lanes * entries * (double)a->nrows, all = (double)nnz;
  if (options->target != MACKO_TARGET_GPU) return all;
  return all + entries / 2 * (double)a->nrows <= chunks ? chunks : chunks + (all - chunks / 2) / 5;
}

/* Where x is shared, rows cost no more than their entries. */
double macko_row_work(const macko_options *options, const macko_csr *a, int64_t nnz, int bits)
{
  const macko_cost *cost = macko_cost_of(options);
  const int size = macko_type_bytes(a->value_type);
  if (cost->row_staged > 0 && shares_x(a, nnz, bits))
    return cost->row_staged + (double)nnz * (cost->row_shared + (size == 4 ? cost->row_shared_single : 0));
  const double slot = size == 8 ? cost->row_wide : size == 4 ? cost->row_single : cost->row_narrow;
  return slots_of(options, a, nnz) * slot + (double)a->nrows * cost->row_row;
}

/* Gives the nanoseconds that a GPU takes longer where it cuts long rows, whose pieces another kernel adds up. */
static double cut_time(const macko_cost *cost, const macko_csr *a, int64_t nnz, int64_t longest, int bits)
{
  return longest > lanes_of(a, nnz).longest && !shares_x(a, nnz, bits) ? cost->row_cut : 0;
}

/* Takes the width that costs least, or the one asked for, and then the base mode; neither depends on the other. A width that
 * leaves more than INT32_MAX long gaps is none, because starts in the list have 32 bits. */
macko_status macko_row_plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err)
{
  const macko_csr *a = f->csr;
  int64_t escapes[WIDTHS], nnz = f->nnz;
  double least = 0;
  macko_row_facts facts;
  int best = -1;
  macko_status s = macko_columns_of(f)->rows(f->context, &facts, err);
  if (s) return s;
  count_escapes(&facts, escapes);
  for (int w = 0; w < WIDTHS; w++) {
    if ((options->gap_bits && options->gap_bits != widths[w]) || escapes[w] > INT32_MAX) continue;
    double cost = width_cost(f, options, widths[w], escapes[w]);
    if (best < 0 || cost < least) best = w, least = cost;
  }
  if (best < 0)
    return macko_fail(err, MACKO_LIMIT, "layout row has room for %d long gaps; %d bits would leave more", INT32_MAX,
                      options->gap_bits ? options->gap_bits : 16);
  base_choice base = choose_base(a->nrows, &facts);
  macko_params *params = macko_set_params(plan);
  plan->gap_bits = widths[best];
  params->row.base_mode = base.mode, params->row.base_bias = base.bias, params->row.base_bytes = base.bytes;
  params->row.long_gaps = escapes[best];
  plan->bytes = (a->nrows + 1) * macko_type_bytes(macko_index_type(nnz)) + base.cost + gap_cost(f, widths[best], escapes[best]);
  const macko_cost *cost = macko_cost_of(options);
  plan->work = macko_row_work(options, a, nnz, widths[best]) + gap_time(f, cost, widths[best], escapes[best]) +
               cut_time(cost, a, nnz, facts.longest, widths[best]);
  snprintf(plan->reason, sizeof plan->reason,
           "layout row: gaps of %d bits %s, %lld long gaps in a list, base columns of %d bytes", widths[best],
           options->gap_bits ? "as asked for" : "cost least", (long long)escapes[best], base.bytes);
  return MACKO_OK;
}
