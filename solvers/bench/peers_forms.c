/* The forms in which macko-bench's peers of cuSPARSE have a matrix: CSR, also with values in f32, COO, sliced ELL (32 rows) and
 * BSR. */
#include "bench/peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLICE = 32 };

/* Each of these makes a form in p->arrays and describes it; the csr itself needs no change. */
macko_status peer_csr(peer *p, const macko_csr *a, bench_contender *c, macko_error *err)
{
  int64_t nnz = ((const int32_t *)a->row_ptr)[a->nrows];
  macko_status s = peer_upload(p, 0, a->row_ptr, (a->nrows + 1) * 4, c, err);
  if (!s) s = peer_upload(p, 1, a->cols, nnz * 4, c, err);
  if (!s) s = peer_upload(p, 2, a->values, nnz * macko_type_bytes(a->value_type), c, err);
  if (s) return s;
  return peer_sparse(cusparseCreateCsr(&p->matrix, a->nrows, a->ncols, nnz, p->arrays[0], p->arrays[1], p->arrays[2],
                                  CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                        CUSPARSE_INDEX_BASE_ZERO, p->type),
                "describing CSR", err);
}

/* Makes the row of every entry beside its column. */
macko_status peer_coo(peer *p, const macko_csr *a, bench_contender *c, macko_error *err)
{
  const int32_t *row_ptr = a->row_ptr;
  int64_t nnz = row_ptr[a->nrows];
  int32_t *rows = malloc((size_t)nnz * 4 + 4);
  if (!rows) return peer_fail(err, MACKO_OUT_OF_MEMORY, "COO", "no memory");
  for (int64_t i = 0; i < a->nrows; i++)
    for (int64_t q = row_ptr[i]; q < row_ptr[i + 1]; q++) rows[q] = (int32_t)i;
  macko_status s = peer_upload(p, 0, rows, nnz * 4, c, err);
  free(rows);
  if (!s) s = peer_upload(p, 1, a->cols, nnz * 4, c, err);
  if (!s) s = peer_upload(p, 2, a->values, nnz * macko_type_bytes(a->value_type), c, err);
  if (s) return s;
  return peer_sparse(cusparseCreateCoo(&p->matrix, a->nrows, a->ncols, nnz, p->arrays[0], p->arrays[1], p->arrays[2],
                                  CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, p->type), "describing COO", err);
}

/* Rounds values to f32, which is told by c->rounding: a peer for lossy forms of ours. x and y stay f64. */
macko_status peer_csr_f32(peer *p, const macko_csr *a, bench_contender *c, macko_error *err)
{
  int64_t nnz = ((const int32_t *)a->row_ptr)[a->nrows];
  macko_csr half = *a;
  if (a->value_type != MACKO_F64) return snprintf(c->detail, sizeof c->detail, "for f64 matrices only"), MACKO_OK;
  float *values = malloc((size_t)nnz * sizeof *values + 4);
  if (!values) return peer_fail(err, MACKO_OUT_OF_MEMORY, c->name, "no memory");
  for (int64_t q = 0; q < nnz; q++) values[q] = (float)((const double *)a->values)[q];
  half.values = values, half.value_type = MACKO_F32;
  p->type = CUDA_R_32F;
  c->rounding = bench_unit(MACKO_F32);
  macko_status s = peer_csr(p, &half, c, err);
  free(values);
  return s;
}

/* Makes sliced ELL: slots of every slice, column by column; -1 marks padding. A matrix of which that would be mostly padding is
 * left out. */
macko_status peer_sell(peer *p, const macko_csr *a, bench_contender *c, macko_error *err)
{
  const int32_t *row_ptr = a->row_ptr, *cols = a->cols;
  int64_t slices = (a->nrows + SLICE - 1) / SLICE, size = macko_type_bytes(a->value_type), slots = 0;
  int32_t *starts = malloc((size_t)(slices + 1) * 4), *sell_cols = NULL;
  char *values = NULL;
  for (int64_t i = 0; starts && i < slices; i++) {
    int64_t longest = 0;
    for (int64_t r = i * SLICE; r < (i + 1) * SLICE && r < a->nrows; r++)
      if (row_ptr[r + 1] - row_ptr[r] > longest) longest = row_ptr[r + 1] - row_ptr[r];
    starts[i] = (int32_t)slots;
    slots += longest * SLICE;
  }
  /* Most of the memory would be padding, or offsets would not fit. */
  if (slots > INT32_MAX || slots > 8 * (int64_t)row_ptr[a->nrows] + 1000000) {
    free(starts);
    return snprintf(c->detail, sizeof c->detail, "%lld slots of padding", (long long)(slots - row_ptr[a->nrows])), MACKO_OK;
  }
  if (starts) {
    starts[slices] = (int32_t)slots;
    sell_cols = malloc((size_t)slots * 4 + 4), values = calloc((size_t)slots + 1, (size_t)size);
  }
  if (!starts || !sell_cols || !values)
    return free(starts), free(sell_cols), free(values), peer_fail(err, MACKO_OUT_OF_MEMORY, "SELL", "no memory");
  /* These bits are -1, which marks padding; the values there are 0. */
  memset(sell_cols, 0xff, (size_t)slots * 4);
  for (int64_t r = 0; r < a->nrows; r++)
    for (int64_t q = row_ptr[r]; q < row_ptr[r + 1]; q++) {
      /* Slot k of all rows of a slice lie together: a warp reads them at once. */
      int64_t slot = starts[r / SLICE] + (q - row_ptr[r]) * SLICE + r % SLICE;
      sell_cols[slot] = cols[q];
      memcpy(values + slot * size, (const char *)a->values + q * size, (size_t)size);
    }
  macko_status s = peer_upload(p, 0, starts, (slices + 1) * 4, c, err);
  if (!s) s = peer_upload(p, 1, sell_cols, slots * 4, c, err);
  if (!s) s = peer_upload(p, 2, values, slots * size, c, err);
  free(starts), free(sell_cols), free(values);
  if (s) return s;
  return peer_sparse(cusparseCreateSlicedEll(&p->matrix, a->nrows, a->ncols, row_ptr[a->nrows], slots, SLICE, p->arrays[0],
                                        p->arrays[1], p->arrays[2], CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                        CUSPARSE_INDEX_BASE_ZERO, p->type),
                "describing SELL", err);
}

/* Compares two int32_t for qsort. */
static int compare_columns(const void *a, const void *b)
{
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/* Puts the block columns of a block row, sorted, into `found` and returns how many there are; where[] of each is its number among
 * them. What where[] holds from earlier rows does no harm, because found[] has to agree. */
static int32_t find_blocks(const macko_csr *a, int block, int64_t row, int32_t *found, int32_t *where)
{
  const int32_t *row_ptr = a->row_ptr, *cols = a->cols;
  int32_t count = 0;
  for (int64_t q = row_ptr[row * block]; q < row_ptr[(row + 1) * block]; q++) {
    int32_t col = cols[q] / block;
    if (where[col] < count && found[where[col]] == col) continue;
    where[col] = count, found[count++] = col;
  }
  qsort(found, (size_t)count, sizeof *found, compare_columns);
  for (int32_t k = 0; k < count; k++) where[found[k]] = k;
  return count;
}

/* A matrix in blocks, in host memory. */
typedef struct {
  int block;               /* rows and columns of a block */
  int64_t rows, count;     /* of blocks */
  int32_t *starts, *cols;
  char *values;
} bsr;

/* Makes blocks row after row, and each of them row after row, with zeros where the matrix has no entry. The arrays are the
 * caller's to free. Returns 0 without memory. */
static int fill_bsr(const macko_csr *a, bsr *m)
{
  const int32_t *row_ptr = a->row_ptr, *cols = a->cols;
  const int64_t size = macko_type_bytes(a->value_type), block = m->block, area = block * block;
  int32_t *where = calloc((size_t)(a->ncols / block) + 1, 4);
  m->rows = a->nrows / block;
  m->starts = malloc((size_t)(m->rows + 1) * 4), m->cols = malloc((size_t)row_ptr[a->nrows] * 4 + 4);
  for (int64_t i = 0; where && m->starts && m->cols && i <= m->rows; i++) {
    m->starts[i] = (int32_t)m->count;
    if (i < m->rows) m->count += find_blocks(a, m->block, i, m->cols + m->count, where);
  }
  m->values = calloc((size_t)(m->count * area * size) + 1, 1);
  int there = where && m->starts && m->cols && m->values;
  for (int64_t r = 0; there && r < a->nrows; r++) {
    const int64_t i = r / block;
    /* At the first row of a block row, where[] is set to the places of its blocks. */
    for (int64_t k = m->starts[i]; r % block == 0 && k < m->starts[i + 1]; k++) where[m->cols[k]] = (int32_t)k;
    for (int64_t q = row_ptr[r]; q < row_ptr[r + 1]; q++) {
      int64_t slot = where[cols[q] / block] * area + r % block * block + cols[q] % block;
      memcpy(m->values + slot * size, (const char *)a->values + q * size, (size_t)size);
    }
  }
  free(where);
  return there;
}

/* Makes blocks of the size that suits the matrix, and leaves it out where none does. */
macko_status peer_bsr(peer *p, const macko_csr *a, bench_contender *c, macko_error *err)
{
  bsr m = {.block = bench_block_size(a)};
  const int64_t area = m.block * m.block * macko_type_bytes(a->value_type);
  /* c->run stays NULL and detail says why: that is no error. */
  if (m.block == 1) return snprintf(c->detail, sizeof c->detail, "no blocks"), MACKO_OK;
  snprintf(c->detail, sizeof c->detail, "blocks of %d x %d", m.block, m.block);
  macko_status s = fill_bsr(a, &m) ? MACKO_OK : peer_fail(err, MACKO_OUT_OF_MEMORY, "BSR", "no memory");
  if (!s) s = peer_upload(p, 0, m.starts, (m.rows + 1) * 4, c, err);
  if (!s) s = peer_upload(p, 1, m.cols, m.count * 4, c, err);
  if (!s) s = peer_upload(p, 2, m.values, m.count * area, c, err);
  free(m.starts), free(m.cols), free(m.values);
  if (s) return s;
  return peer_sparse(cusparseCreateBsr(&p->matrix, m.rows, a->ncols / m.block, m.count, m.block, m.block, p->arrays[0], p->arrays[1],
                                  p->arrays[2], CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, p->type,
                                  CUSPARSE_ORDER_ROW),
                "describing BSR", err);
}

