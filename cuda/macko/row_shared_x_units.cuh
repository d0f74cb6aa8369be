/* Layout row where rows are long, between the kernel (row_shared_x.cu) and what it needs beside the matrix
 * (row_shared_x_units.cu). A unit is a part of the entries, as long as every other, for one warp; it may begin and end inside a
 * row. What warps would wait for one after the other is gathered here once, so that a warp can ask for all it needs at the same
 * time. */
#ifndef MACKO_ROW_SHARED_X_UNITS_CUH
#define MACKO_ROW_SHARED_X_UNITS_CUH

#include "macko/row_codes.cuh"

/* This is the number of entries of a chunk, which a warp takes at once; units are whole chunks. */
enum { CHUNK = MACKO_ROW_CHUNK };

/* Rows row .. row + rows - 1 have entries in the unit or are empty there. */
struct shared_x_unit {
  int row, rows;
  uint32_t base, next_long; /* column of its first entry; number of the first long gap after that entry */
};

/* This is a row's first entry, and the column of that. */
struct unit_row {
  uint32_t begin, base;
};

#endif
