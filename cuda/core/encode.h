/* Between the files that encode a csr in device memory: what reads it, kernel by kernel. cuda/core/encode.c puts them together. */
#ifndef MACKO_ENCODE_H
#define MACKO_ENCODE_H

#include "core/device.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "core/facts.h"
#include "core/value_set.h"
#include "values/codecs.h"

/* A csr in device memory, as kernels see it. */
typedef struct {
  const void *row_ptr, *cols, *values;
  int row_ptr_type, col_type, value_type, base;
  int64_t nrows, ncols, nnz;
} macko_device_csr;

/* What encoders read first. */
typedef struct {
  unsigned long long longest; /* entries of the longest row */
  int invalid;                /* columns out of range, unsorted or twice in a row, or row_ptr wrong */
} macko_device_check;

/* Longer rows are the host's. */
enum { MACKO_DEVICE_LONGEST = 1 << 24 };

cudaError_t macko_check_device_csr(const macko_device_csr *a, macko_device_check *check, cudaStream_t stream);

/* *number, in device memory, becomes the sum for macko_pattern_number of a csr there that is fit to be read. */
cudaError_t macko_sum_pattern(const macko_csr *a, int64_t nnz, unsigned long long *number, cudaStream_t stream);

/* ---- the transpose ---- */

/* Room for it and for making it, in device memory. */
typedef struct {
  uint32_t *columns[2], *entries[2]; /* one more than there are entries, as cols */
  int32_t *row_ptr, *cols;           /* of the transpose */
  void *values, *work;
  size_t work_bytes;
} macko_device_transposition;

cudaError_t macko_transpose_work(const macko_device_csr *a, size_t *bytes);

/* The csr must be fit to be read, of fewer than 2^31 - 8 rows, columns and entries. */
cudaError_t macko_transpose_csr(const macko_device_csr *a, const macko_device_transposition *t, cudaStream_t stream);

/* ---- row_ptr and cols as they are ---- */

/* Section row_ptr, and cols as well, counted from 0 in the types of the sections. */
cudaError_t macko_copy_row_ptr(const macko_device_csr *a, const macko_device_matrix *d, cudaStream_t stream);
cudaError_t macko_copy_indices(const macko_device_csr *a, const macko_device_matrix *d, cudaStream_t stream);

/* ---- values ---- */

/* Bit i of *misfits: a value does not come back with the same bits from type i; bit MACKO_OVERFLOWS + i: a finite one is infinite
 * as that type, a float. */
enum { MACKO_OVERFLOWS = 16 };
cudaError_t macko_find_misfits(const macko_device_csr *a, unsigned *misfits, cudaStream_t stream);

enum { MACKO_DEVICE_HASH_SLOTS = 4 * MACKO_DICT_LIMIT };

/* A set of values by their bits, with one slot more for the bits that mark free slots; device pointers. */
typedef struct {
  unsigned long long *keys;
  unsigned long long *ranks; /* of its first appearance */
  uint32_t *codes;
  unsigned *used;
  macko_hash_key key;        /* of the set alone, so that nobody can choose values that meet in one slot */
} macko_device_dictionary;

/* Empties the set, then puts all values in; *used goes beyond MACKO_DICT_LIMIT where there is no room. */
cudaError_t macko_collect_values(const macko_device_csr *a, const macko_device_dictionary *dictionary, cudaStream_t stream);

/* Of entries in their order: ranks of the elements of the set, in which the host would meet them; and the value stream of *d, by
 * its plan. */
cudaError_t macko_rank_values(const macko_device_csr *a, const macko_device_dictionary *set, cudaStream_t stream);
cudaError_t macko_write_stream(const macko_device_csr *a, const macko_device_matrix *d, const macko_device_dictionary *set,
                               cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
