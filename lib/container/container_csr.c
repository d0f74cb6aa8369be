/* macko_read of a container: the matrix decoded, as readers give matrices. */
#include "container/container.h"

#include "core/convert.h"

#include <stdio.h>
#include <stdlib.h>

/* Makes doubles of values of the matrix's own type, in place. It goes from the last to the first, because no type is wider than
 * f64: what is still to be read lies before what is written. */
static void widen_values(const macko_matrix *m, void *values)
{
  for (int64_t p = m->nnz - 1; m->value_type != MACKO_F64 && p >= 0; p--)
    ((double *)values)[p] = macko_float_at(m->value_type, values, p);
}

/* Makes indices of that type of 64-bit ones, in place, from the first to the last. The array keeps its size. */
static void narrow_indices(macko_type type, int64_t *indices, int64_t count)
{
  for (int64_t i = 0; type == MACKO_I32 && i < count; i++) {
    const int32_t index = (int32_t)indices[i];
    memcpy((char *)indices + 4 * i, &index, sizeof index);
  }
}

/* Decodes *m to new arrays in the types that all readers give. On failure nothing is left to free. */
static macko_status decode(const macko_matrix *m, macko_csr *csr, macko_error *err)
{
  int64_t *row_ptr = malloc((size_t)(m->nrows + 1) * sizeof *row_ptr), *cols = malloc((size_t)(m->nnz + 1) * sizeof *cols);
  double *values = malloc((size_t)(m->nnz + 1) * sizeof *values);
  macko_csr a = {.nrows = m->nrows, .ncols = m->ncols, .row_ptr_type = macko_index_type(m->nnz),
                 .col_type = macko_index_type(m->ncols), .value_type = MACKO_F64, .row_ptr = row_ptr, .cols = cols,
                 .values = values};
  macko_status s = MACKO_OK;
  if (!row_ptr || !cols || !values)
    s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld rows and %lld nonzeros", (long long)m->nrows, (long long)m->nnz);
  if (!s) s = macko_decode(m, row_ptr, cols, values, err);
  if (s) {
    macko_free_csr(&a);
    return s;
  }
  narrow_indices(a.row_ptr_type, row_ptr, m->nrows + 1);
  narrow_indices(a.col_type, cols, m->nnz);
  widen_values(m, values);
  *csr = a;
  return MACKO_OK;
}

/* A container holds both triangles, whatever the file was like that the matrix came from, so that info->symmetric stays 0. */
macko_status macko_read_container(const char *path, macko_csr *csr, macko_file_info *info, macko_error *err)
{
  macko_matrix *m = NULL;
  macko_status s = macko_load(path, &m, NULL, err);
  if (!s) s = decode(m, csr, err);
  if (!s) {
    *info = (macko_file_info){.stored_entries = m->nnz};
    snprintf(info->kind, sizeof info->kind, "macko file, format %s, values %s", macko_format_name(m->format),
             macko_type_name(m->value_type));
  }
  macko_destroy(&m);
  return s;
}
