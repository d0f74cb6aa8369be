/* Between the files that encode a csr in device memory: what reads it, kernel by kernel. cuda/core/encode.c puts them
 * together. */
#ifndef MACKO_ENCODE_H
#define MACKO_ENCODE_H

#include "core/device.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "core/facts.h"
#include "core/stretches.h"
#include "core/value_set.h"
#include "values/codecs.h"

/* This is a csr in device memory, as kernels see it. */
typedef struct {
  const void *row_ptr, *cols, *values; /* device pointers, the caller's */
  int row_ptr_type, col_type, value_type, base; /* macko_types; what row starts and columns count from, 0 or 1 */
  int64_t nrows, ncols, nnz;
} macko_device_csr;

/* Gives a csr whose arrays are in device memory in that form, as yet without its number of entries. */
static inline macko_device_csr macko_device_view(const macko_csr *c)
{
  const macko_device_csr view = {c->row_ptr,    c->cols,       c->values, c->row_ptr_type, c->col_type,
                                 c->value_type, c->index_base, c->nrows,  c->ncols,        0};
  return view;
}

/* This is what the first look at a csr answers, which comes before all else. Rows are sorted and without duplicates where every
 * entry that is no step up from the one before it in the array is the first of its row. */
typedef struct {
  unsigned long long longest;   /* entries of the longest row */
  unsigned long long falls;     /* entries whose column is not greater than that of the entry before */
  unsigned long long row_falls; /* those of them that are the first of a row */
  unsigned long long pattern;   /* of which macko_pattern_number makes the number of the pattern */
  int invalid;                  /* columns out of range, or row_ptr wrong */
} macko_device_look;

/* Rows of so many entries and more are left to the host: kernels of layout slice number the entries of a row in 24 bits. */
enum { MACKO_DEVICE_LONGEST = 1 << 24 };

/* Sets *look, in device memory, by one pass over row starts and columns; *csr is the same as *a. Nothing about the csr need be
 * right but its sizes and a->nnz. */
cudaError_t macko_look_at_csr(const macko_csr *csr, const macko_device_csr *a, macko_device_look *look, cudaStream_t stream);

/* Sets counts[0] and [1], in device memory, to the entries of the sample and the sectors that they ask for (lib/core/stretches.h);
 * the key is any. The csr must be fit to be read. */
cudaError_t macko_count_sectors(const macko_device_csr *a, const macko_stretches *s, macko_hash_key key,
                                unsigned long long counts[2], cudaStream_t stream);

/* ---- the transpose ---- */

/* This is room for the transpose and for making it, in device memory. */
typedef struct {
  uint32_t *columns[2], *entries[2]; /* keys and numbers of entries, twice for sorting; one more than there are, as cols */
  int32_t *row_ptr, *cols;           /* of the transpose */
  void *values, *work;
  size_t work_bytes; /* of work, which is what sorting needs */
} macko_device_transposition;

/* Sets *bytes to what sorting needs as work. Nothing is read of the arrays. */
cudaError_t macko_transpose_work(const macko_device_csr *a, size_t *bytes);

/* Writes the transpose to t->row_ptr, t->cols and t->values. The csr must be fit to be read, of fewer than 2^31 - 8 rows,
 * columns and entries. */
cudaError_t macko_transpose_csr(const macko_device_csr *a, const macko_device_transposition *t, cudaStream_t stream);

/* Writes the entries (i, first_col + i) of *a to diagonal, in device memory; 0 where there is none. */
cudaError_t macko_start_count_rows(const macko_device_csr *a, unsigned long long *count, cudaStream_t stream);
cudaError_t macko_start_diagonal(const macko_device_csr *a, int64_t first_col, double *diagonal, cudaStream_t stream);

/* ---- row_ptr and cols as they are ---- */

/* The first writes section "row_ptr" of *d, the second section "cols" as well: the arrays of the csr, counted from 0 in the
 * types of the sections. */
cudaError_t macko_copy_row_ptr(const macko_device_csr *a, const macko_device_matrix *d, cudaStream_t stream);
cudaError_t macko_copy_indices(const macko_device_csr *a, const macko_device_matrix *d, cudaStream_t stream);

/* ---- values ---- */

/* Answers about all values in one word, in device memory and zeroed before. Bit i of *misfits: a value does not come back with
 * the same bits from type i. Bit MACKO_OVERFLOWS + i, where `overflows` is set: a finite value is infinite as type i, a float. */
enum { MACKO_OVERFLOWS = 16 };
cudaError_t macko_find_misfits(const macko_device_csr *a, int overflows, unsigned *misfits, cudaStream_t stream);

/* This is the largest number of slots of a set: at most a quarter of them are taken by as many elements as a dictionary holds, so
 * that searches are short. */
enum { MACKO_DEVICE_HASH_SLOTS = 4 * MACKO_DICT_LIMIT };

/* This is a set of values by their bits, with one slot more for the bits that mark free slots; device pointers. */
typedef struct {
  unsigned slots; /* without that one: a power of two, of which the entries of the matrix cannot take more than a quarter */
  unsigned long long *keys;  /* bits of the element in a slot; all ones where it is free */
  unsigned long long *ranks; /* of its first appearance */
  uint32_t *codes; /* of the element in a slot, once they are numbered */
  unsigned *used;  /* elements; in e->answer, and read back before that is cleared */
  macko_hash_key key;        /* of the set alone, so that nobody can choose values that meet in one slot */
} macko_device_dictionary;

/* Empties the set, then puts in all values of the csr. Where there is no room for them *used goes beyond MACKO_DICT_LIMIT, and
 * the set is of no use. */
cudaError_t macko_collect_values(const macko_device_csr *a, const macko_device_dictionary *dictionary, cudaStream_t stream);

/* These are for values whose slots are the entries in their order. The first sets the rank of each element of the set: the
 * place where the host, which goes through the entries in order, meets it first. The second writes section "values" of *d by
 * its plan, as codes of *set under a dictionary; without one *set is not looked at. */
cudaError_t macko_rank_values(const macko_device_csr *a, const macko_device_dictionary *set, cudaStream_t stream);
cudaError_t macko_write_stream(const macko_device_csr *a, const macko_device_matrix *d, const macko_device_dictionary *set,
                               cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
