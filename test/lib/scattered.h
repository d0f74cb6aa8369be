/* A matrix for tests of predictions, and what is predicted of it. */
#ifndef SCATTERED_H
#define SCATTERED_H

#include "macko.h"
#include "suite.h"

#include <stdint.h>

enum { ROWS = 40000, LENGTH = 8, COLS = 4 * ROWS };

/* A matrix whose rows have their entries in 2, 4 or 8 sectors of four elements, which no row nearby shares. */
typedef struct {
  int64_t *row_ptr;
  int32_t *cols;
  double *values;
} scattered;

/* Make such a matrix, free it, and give a csr of its arrays. */
scattered scattered_make(int sectors);
void scattered_free(scattered *a);
macko_csr scattered_view(const scattered *a);

/* Gives what is predicted of a csr. */
macko_info scattered_predict(const macko_csr *c, macko_format format, macko_target target);

/* Gives the seconds that are predicted for the matrix, and those of plain CSR beside them. */
double scattered_seconds(const scattered *a, macko_format format, macko_target target, double *csr);

/* Gives options for a GPU: all formats, or layout slice alone. */
macko_options gpu_options(int slices);

/* Gives the same number every time, which looks like chance. */
uint64_t by_chance(int64_t i);

#endif
