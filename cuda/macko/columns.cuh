/* What a matrix of format macko has on the device besides its sections. */
#ifndef MACKO_COLUMNS_CUH
#define MACKO_COLUMNS_CUH

#include "core/product.cuh"
#include "macko/row_pieces.h"

struct near_unit;
struct near_row;

/* Layout row where rows are long: see near_units.cuh. */
struct device_near {
  void *memory;
  int64_t bytes;
  const near_unit *units;
  const near_row *rows; /* one more than the matrix has */
  unsigned long long *pairs; /* of the row that begins in a unit and ends in the next: the sum left there first, and bit 32 */
  float *partials;      /* of rows in more units, two a unit: of the row that goes on there, of the one that does not end */
  unsigned *done;       /* units that have left their sum of the row that begins in this one; as pairs 0 between multiplies */
  int entries, count;   /* of a unit; units, 0 without a kernel that takes them */
};

/* The long rows of layouts row and paper. */
struct device_rows {
  macko_cut cut;    /* on the host, for as long as a copy of it may be under way */
  void *memory;     /* its pieces and rows, and the pieces' sums */
  const macko_piece *pieces; /* on the device, as what follows */
  double *partials;
  int64_t bytes;
  int multiprocessors; /* of the device */
  device_near near;
};

/* What a matrix of format macko owns. */
struct device_macko {
  device_tables tables;
  device_rows rows;
};

macko_status macko_rows_prepare(const macko_device_matrix *d, device_rows *r, const macko_matrix *host, cudaStream_t stream,
                                macko_error *err);
void macko_rows_destroy(device_rows *r);

#endif
