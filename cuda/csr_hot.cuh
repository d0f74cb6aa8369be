/* Format csr where few columns have many of the entries, as in graphs with a power law: copies of their elements of x lie side by
 * side, in the order of how often they occur, so that a line of the first-level cache is full of what is needed again. */
#ifndef MACKO_CSR_HOT_CUH
#define MACKO_CSR_HOT_CUH

#include "device.h"

struct hot_columns {
  int *cols;    /* of every entry: its column, or ~ the place of that in list */
  int *list;    /* the most frequent columns */
  void *x;      /* their elements of x, of 8 bytes or fewer */
  int count;    /* 0: without */
  void *memory; /* one allocation */
  int64_t bytes;
};

/* Counts the columns of a matrix in device memory and lists the most frequent ones; *h is without where that does not pay or
 * there is no memory for it. padding entries more are column 0. Waits for the stream. Errors: DEVICE. */
macko_status macko_find_hot_columns(const macko_device_matrix *d, int64_t padding, cudaStream_t stream, hot_columns *h,
                                    macko_error *err);

/* Copies their elements of x, which have so many bytes. */
void macko_gather_hot(const hot_columns &h, const void *x, int64_t bytes, cudaStream_t stream);

#endif
