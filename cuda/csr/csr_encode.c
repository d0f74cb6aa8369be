/* Format csr on the GPU: encoded from a csr in device memory, and its table of functions. */
#include "core/encoder.h"
#include "csr/csr_blocks.h"

/* Row starts and columns are the csr's, but for their types and what they count from. */
static macko_status write_pattern(macko_encoder *e, macko_device_matrix *d, macko_error *err)
{
  return macko_cuda_status(macko_copy_indices(&e->a, d, e->stream), "copying columns", err);
}

/* This cannot fail: where looking fails planning does without. */
static macko_csr_rows_seen rows(void *context)
{
  static const macko_csr_rows_seen nothing;
  macko_csr_rows_seen seen = nothing;
  macko_encoder *e = context;
  macko_csr_lengths *lengths = &seen.lengths;
  if (macko_encoder_clear(e, NULL) || macko_csr_add_lengths(&e->a, e->answer, e->stream)) return nothing;
  return macko_encoder_read_back(e, lengths, e->answer, sizeof *lengths, NULL) ? nothing : seen;
}

static const macko_csr_facts facts = {rows};

/* Values are all that changes, and every codec of this format stores them entry by entry. */
static macko_status refresh(macko_encoder *e, macko_device_matrix *d, int *moved, int *done, macko_error *err)
{
  *done = 1;
  return macko_refresh_sections(e, d, moved, err);
}

/* Blocks are cut on the device. */
static macko_reads reads(const macko_matrix *m)
{
  (void)m;
  return MACKO_READS_NOTHING;
}

/* The sections are a csr whose values may be narrower than those that were encoded. */
static macko_status diagonal(const macko_device_matrix *d, int64_t first_col, double *to, cudaStream_t stream, macko_error *err)
{
  const macko_section *row_ptr = macko_find_section(&d->m, "row_ptr"), *cols = macko_find_section(&d->m, "cols");
  const macko_device_csr a = {row_ptr->data, cols->data,  macko_device_data(d, "values"), row_ptr->type, cols->type,
                              d->m.plan.stored_type, 0, d->m.nrows, d->m.ncols, d->m.nnz};
  return macko_cuda_status(macko_start_diagonal(&a, first_col, to, stream), "starting to read a diagonal", err);
}

const macko_device_ops macko_csr_device_ops = {
  .prepare = macko_csr_prepare,
  .multiply = macko_csr_multiply,
  .destroy = macko_csr_destroy,
  .diagonal = diagonal,
  .on_host = NULL,
  .facts = &facts,
  .encode = macko_encode_sections,
  .plan_and_encode = NULL,
  .refresh = refresh,
  .close = NULL,
  .write_pattern = write_pattern,
  .write_values = macko_encoder_put_values,
  .move_values = NULL,
  .reads = reads};
