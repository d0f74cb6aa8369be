/* CSR-dtANS: what a multiply is predicted to take. */
#include "core/cost.h"
#include "dtans/dtans.h"

#include <math.h>

/* Decoding an entry takes as long as an H200 reads these bytes: where all symbols have equal slots, with one stream, and with
 * two; more where multiplicities are no powers of two. */
enum {
  /* Bytes for each entry. */
  EQUAL_STREAM = 3, ONE_STREAM = 6, TWO_STREAMS = 11, ANY_DIGITS = 2,
  ESCAPES = 3 /* more where one of the warp's 32 symbols is the escape, for which all of them wait */
};

/* Tells whether all symbols of the only stream have as many slots, so that no table is looked up by slot. */
static int all_equal(const macko_plan *plan)
{
  return plan->params[MACKO_DTANS_LEAST] == MACKO_DTANS_EQUAL_SLOTS && !macko_dtans_has_value_stream(plan);
}

/* Returns how likely it is that one of a warp's symbols is the escape, if escapes are spread evenly. */
static double warp_escapes(int64_t nnz, int64_t escapes)
{
  return nnz ? 1 - pow(1 - (double)escapes / (double)nnz, MACKO_DTANS_LANES) : 0;
}

/* Plans of one matrix are compared, so that what they have in common, as rows of uneven length, is left out. */
double macko_dtans_weight(const macko_plan *plan, int64_t nnz, int64_t escapes)
{
  double decoding = all_equal(plan) ? EQUAL_STREAM : macko_dtans_has_value_stream(plan) ? TWO_STREAMS : ONE_STREAM;
  if (!plan->params[MACKO_DTANS_LEAST]) decoding += ANY_DIGITS;
  if (nnz) decoding += ESCAPES * warp_escapes(nnz, escapes);
  return (double)plan->bytes + (double)nnz * decoding;
}

/* Returns the steps that lanes take, with those in which they wait: a warp takes as many as its longest lane has entries. */
static double lane_steps(const macko_dtans_input *in, int64_t rows)
{
  int64_t steps = 0, block = rows * MACKO_DTANS_LANES, nrows = in->rows->nrows;
  for (int64_t first = 0; first < nrows; first += block) {
    int64_t longest = 0;
    for (int l = 0; l < MACKO_DTANS_LANES; l++) {
      int64_t count = 0;
      for (int64_t row = first + l; row < first + block && row < nrows; row += MACKO_DTANS_LANES)
        count += macko_dtans_length(&in->lengths, row);
      longest = count > longest ? count : longest;
    }
    steps += longest;
  }
  return MACKO_DTANS_LANES * (double)steps;
}

/* Returns the time of what does not depend on symbols: rows, and the longest lane, of which no other warp takes a part. It counts
 * what that is longer than others, which fill the wait where there are enough of them. steps: as lane_steps gives them. */
static double row_time(const macko_cost *cost, const macko_dtans_input *in, int64_t rows, double steps, int equal)
{
  const double row = equal ? cost->dtans_equal_row : cost->dtans_row, warps = (double)macko_dtans_slices(in->rows->nrows, rows);
  const double others = warps ? steps / MACKO_DTANS_LANES / warps * fmin(1, warps / MACKO_ENOUGH_WARPS) : 0;
  return (double)in->rows->nrows * row + fmax(0, (double)(in->longest_row * rows) - others) * cost->dtans_step;
}

/* Reading and decoding are added, as for the weight. */
double macko_dtans_time(const macko_dtans_input *in, const macko_options *options, const macko_plan *plan, int64_t escapes)
{
  const macko_cost *cost = macko_cost_of(options);
  const int64_t rows = plan->params[MACKO_DTANS_ROWS];
  const double steps = lane_steps(in, rows);
  int beside = plan->params[MACKO_DTANS_VARIANT] == MACKO_VARIANT_SPLIT && plan->values != MACKO_VALUES_CODED;
  double slot = all_equal(plan) ? cost->dtans_equal : macko_dtans_has_value_stream(plan) ? cost->dtans_two : cost->dtans_one;
  if (beside) slot += macko_codec_cost(cost, plan->stored_type, plan->table);
  slot += cost->dtans_escape * warp_escapes(in->nnz, escapes);
  return cost->launch + (double)plan->bytes * cost->byte + steps * slot + row_time(cost, in, rows, steps, all_equal(plan));
}

/* The fastest kind of tables is not considered: where no table is looked up by slot gaps repeat so much that format macko takes
 * less. */
double macko_dtans_least_time(const macko_dtans_input *in, const macko_options *options)
{
  const macko_cost *cost = macko_cost_of(options);
  const double steps = lane_steps(in, 1);
  return cost->launch + steps * cost->dtans_one + row_time(cost, in, 1, steps, 0);
}

/* Returns the bytes of a value that hardly ever repeats: a plan that has a layout has compared codecs, and found no dictionary. 0
 * where none tells. */
static int64_t raw_bytes(const macko_plan plans[])
{
  for (int i = 0; i < MACKO_FORMAT_AUTO; i++)
    if (plans[i].layout != MACKO_LAYOUT_AUTO && plans[i].values == MACKO_VALUES_RAW) return macko_type_bytes(plans[i].stored_type);
  return 0;
}

/* Spares the planning, which counts all symbols, of matrices for which this format cannot be chosen. By time it may win only for
 * a GPU, and for as many entries as are counted there. */
int macko_dtans_may_win(const macko_facts *f, const macko_options *options, const macko_plan plans[], const macko_plan *best)
{
  const macko_cost *cost = macko_cost_of(options);
  if (!best || options->prefer == MACKO_PREFER_MEMORY) return 1;
  if (options->target == MACKO_TARGET_CPU || !f->nnz || f->nnz > MACKO_DTANS_DEVICE_ENTRIES) return 0;
  double entry = cost->dtans_least + (double)raw_bytes(plans) * cost->byte;
  return cost->launch + (double)f->nnz * entry + (double)f->csr->nrows * cost->dtans_row < best->time;
}
