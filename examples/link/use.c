/* Computes y = A x with a 2 x 2 matrix, as a program of somebody else's does that is linked with the installed library. */
#include <macko.h>

#include <stdio.h>

int main(void)
{
  const int32_t row_ptr[] = {0, 2, 3}, cols[] = {0, 1, 1};
  const double values[] = {1, 2, 3}, x[] = {10, 1};
  double y[2];
  macko_csr csr = {.nrows = 2, .ncols = 2, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                   .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_matrix *matrix = NULL;
  macko_error err;
  if (macko_encode(&csr, NULL, &matrix, &err) || macko_multiply(matrix, MACKO_OP_N, MACKO_F64, 1, 1, x, 0, 0, y, 0, &err)) {
    fprintf(stderr, "%s\n", err.text);
    return 1;
  }
  macko_destroy(&matrix);
  printf("%g %g\n", y[0], y[1]);
  return y[0] != 12 || y[1] != 3;
}
