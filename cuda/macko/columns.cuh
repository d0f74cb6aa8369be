/* What a matrix of format macko has on the device besides its sections. */
#ifndef MACKO_COLUMNS_CUH
#define MACKO_COLUMNS_CUH

#include "core/side_by_side.cuh"
#include "macko/row_pieces.h"
#include "macko/stencil.cuh"

struct shared_x_unit;
struct unit_row;

/* These are the units of layout row where rows are long (row_shared_x_units.cuh), and where in a product's work space they put
 * what they leave each other. */
struct device_row_units {
  void *memory;
  int64_t bytes;
  const shared_x_unit *units;
  const unit_row *rows; /* one more than the matrix has */
  /* The following point into the work space of a product. */
  unsigned long long *pairs; /* of the row that begins in a unit and ends in the next: the sum left there first, and bit 32 */
  unsigned *done;       /* units that have left their sum of the row that begins in this one; as pairs 0 but during a product */
  float *partials;      /* of rows in more units, two a unit: of the row that goes on there, of the one that does not end */
  int64_t zeroed, partial_bytes; /* bytes of pairs and done together, which are zero between products; of partials */
  int entries, count;   /* entries of a unit; how many units there are, 0 without a kernel that takes them */
  int shared_bytes;     /* that a block of the kernel may have */
};

/* This is what a matrix of layout row or paper has besides its sections: long rows cut into pieces, and units. */
struct device_rows {
  macko_cut cut;    /* on the host, for as long as a copy of it may be under way */
  void *memory;     /* the pieces and rows of cut, on the device */
  const macko_piece *pieces; /* on the device */
  int64_t bytes;
  macko_gpu gpu; /* that holds it */
  device_row_units row_units;
  macko_work_space *space; /* what row_units has zeroed, then sums of pieces or of units: a kernel needs one of both */
  int64_t space_bytes;
};

/* This is what a matrix of format macko owns. */
struct device_macko {
  device_tables tables;
  device_rows rows;
  int64_t longest; /* steps of the longest slice, of layout slice */
  device_stencils stencils;
  macko_work_space *beside; /* for vectors side by side */
};

/* Makes *r, zeroed before, from the sections on the host that macko_reads asked for. What it holds after a failure
 * macko_rows_destroy frees. Errors: OUT_OF_MEMORY, LIMIT, DEVICE. */
macko_status macko_rows_prepare(const macko_device_matrix *d, device_rows *r, const macko_matrix *host, cudaStream_t stream,
                                macko_error *err);
void macko_rows_destroy(device_rows *r);

#endif
