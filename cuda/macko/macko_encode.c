/* Format macko on the GPU: encoded from a csr in device memory, and its table of functions. Layout slice is in slice_survey.c. */
#include "macko/row_pieces.h"
#include "macko/slice_survey.h"

#include <stdlib.h>

/* ---- encode ---- */

/* Layout paper is there for comparison with what was published, and has no encoder here. */
static int on_host(const macko_options *options, int64_t nnz)
{
  (void)nnz;
  return options->layout == MACKO_LAYOUT_PAPER;
}

/* Answers plan's question about layout row (macko_column_facts), with kernels that start from empty ranges; context is the
 * encoder. */
static macko_status count_rows(void *context, macko_row_facts *facts, macko_error *err)
{
  macko_encoder *e = context;
  macko_device_row_facts f = {.low = {INT64_MAX, INT64_MAX, INT64_MAX}, .high = {INT64_MIN, INT64_MIN, INT64_MIN}};
  macko_status s = macko_encoder_send(e, e->answer, &f, sizeof f, err);
  if (!s) s = macko_cuda_status(macko_count_rows(&e->a, e->answer, e->stream), "looking at rows", err);
  if (!s) s = macko_encoder_read_back(e, &f, e->answer, sizeof f, err);
  for (int i = 0; i < 33; i++) facts->by_log[i] = (int64_t)f.by_log[i];
  for (int mode = 0; mode < 3; mode++) facts->low[mode] = f.low[mode], facts->high[mode] = f.high[mode];
  facts->longest = (int64_t)f.longest;
  return s;
}

/* It was seen when the csr was checked. */
static int64_t longest_row(void *context)
{
  const macko_encoder *e = context;
  return e->longest;
}

/* No function takes a sample: looking at all slices is as cheap here. */
static const macko_column_facts columns = {macko_survey_slices, NULL, count_rows, macko_survey_sectors, longest_row};

/* Says whether the matrix is of layout slice; of layout row otherwise, as paper is not encoded here. */
static int is_slice(const macko_device_matrix *d)
{
  return d->m.plan.layout == MACKO_LAYOUT_SLICE;
}

/* Layout row needs room for the sums of the numbers of long gaps, see macko_write_rows. */
static macko_status write_pattern(macko_encoder *e, macko_device_matrix *d, macko_error *err)
{
  void *room;
  if (is_slice(d)) return macko_put_slices(e, d, err);
  macko_status s = macko_encoder_room(e, (e->a.nrows / 512 + 64) * 4, &room, err);
  return s ? s : macko_cuda_status(macko_write_rows(&e->a, d, room, e->stream), "encoding rows", err);
}

/* In layout row entry p has slot p; in layout slice slots are where headers say. */
static macko_status write_values(macko_encoder *e, macko_device_matrix *d, macko_error *err)
{
  return is_slice(d) ? macko_put_slice_values(e, d, err) : macko_encoder_put_values(e, d, err);
}

/* Headers of layout slice say where values begin, in units of 128 bytes. */
static macko_status move_values(macko_encoder *e, macko_device_matrix *d, macko_error *err)
{
  return is_slice(d) ? macko_move_slice_values(e, d, err) : MACKO_OK;
}

/* Long rows are cut on the host, which looks at gaps only where there are long rows: row starts tell. */
static macko_reads reads(const macko_matrix *m)
{
  if (m->plan.layout == MACKO_LAYOUT_SLICE) return MACKO_READS_NOTHING;
  return macko_find_section(m, "row_ptr") && macko_has_long_rows(m) ? MACKO_READS_PATTERN : MACKO_READS_ROW_STARTS;
}

/* ---- refresh ---- */

/* Encodes everything anew. Stencils hold values: where these change, blocks change as well. The options that were asked for
 * stay with the matrix, although this encoding asks for its format. */
static macko_status encode_again(macko_encoder *e, macko_device_matrix *d, macko_error *err)
{
  macko_options options = d->m.options, asked = options;
  macko_device_matrix *fresh = NULL;
  options.format = MACKO_FORMAT_MACKO;
  macko_status s = macko_encoder_encode(e, &options, &fresh, err);
  if (s) return s;
  fresh->m.options = asked;
  macko_swap_matrices(d, fresh);
  macko_device_destroy(&fresh);
  return MACKO_OK;
}

/* Stores new values under codec pairs for the gaps that *d has. *fit is 0, and nothing is done, where that makes too many
 * pairs. *done is 0 where there are more values than a dictionary holds, of which stencils may have most: the host counts only
 * the others. */
static macko_status take_pairs(macko_encoder *e, macko_device_matrix *d, int *moved, int *fit, int *done, macko_error *err)
{
  macko_plan plan = d->m.plan;
  int64_t pairs;
  macko_status s = macko_survey_new_pairs(e, d, &pairs, err);
  *fit = pairs >= 0;
  if (!s && e->distinct < 0 && macko_params_of(&plan)->slice.stencils) *done = 0;
  if (s || !*fit) return s;
  macko_add_pairs(&d->m, pairs - plan.table, &plan);
  return macko_put_plan(e, d, &plan, moved, err);
}

/* Sets whether slices of *d have rows of other lengths than the csr, or stencils other values. The pattern's number has been
 * compared before, so that lengths differ only where two patterns share one. */
static macko_status compare(macko_encoder *e, const macko_device_matrix *d, int *rows_differ, int *values_differ, macko_error *err)
{
  int *answer = e->answer, differ[2] = {0};
  if (!is_slice(d)) return MACKO_OK;
  macko_status s = macko_encoder_clear(e, err);
  if (!s) s = macko_cuda_status(macko_compare_slices(&e->a, d, answer, answer + 1, e->stream), "comparing rows", err);
  if (!s) s = macko_encoder_read_back(e, differ, answer, sizeof differ, err);
  *rows_differ = differ[0], *values_differ = differ[1];
  return s;
}

/* New values go into the stream where they can, else everything is encoded again; rows of other lengths are left to the host. */
static macko_status refresh(macko_encoder *e, macko_device_matrix *d, int *moved, int *done, macko_error *err)
{
  int rows_differ = 0, values_differ = 0, fit = 1;
  macko_status s = compare(e, d, &rows_differ, &values_differ, err);
  if (s || rows_differ) return s;
  *done = 1;
  if (!values_differ && d->m.plan.values != MACKO_VALUES_PAIRS) return macko_refresh_sections(e, d, moved, err);
  if (!values_differ) s = take_pairs(e, d, moved, &fit, done, err);
  if (s || !*done || (!values_differ && fit)) return s;
  *moved = 1;
  s = encode_again(e, d, err);
  if (e->mistaken) return *done = 0, MACKO_OK;
  return s;
}

/* Layouts row and paper have no kernel for it. */
static macko_status diagonal(const macko_device_matrix *d, int64_t first_col, double *diagonal, cudaStream_t stream,
                             macko_error *err)
{
  if (is_slice(d)) return macko_slices_diagonal(d, first_col, diagonal, stream, err);
  return macko_fail(err, MACKO_UNSUPPORTED, "of format macko only layout slice gives its diagonal on the GPU");
}

const macko_device_ops macko_macko_device_ops = {
  .prepare = macko_columns_prepare,
  .multiply = macko_columns_multiply,
  .destroy = macko_columns_destroy,
  .diagonal = diagonal,
  .on_host = on_host,
  .facts = &columns,
  .encode = macko_encode_sections,
  .plan_and_encode = NULL,
  .refresh = refresh,
  .close = macko_close_survey,
  .write_pattern = write_pattern,
  .write_values = write_values,
  .move_values = move_values,
  .reads = reads};
