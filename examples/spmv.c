/* Reads a matrix, compresses it and multiplies it with a vector of ones, on the C library alone.
 * usage: spmv MATRIX
 * compile: cc spmv.c $(pkg-config --cflags --libs macko) -o spmv */
#include <macko.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
  macko_csr csr;
  macko_matrix *matrix = NULL;
  macko_info info;
  macko_error err;
  double sum = 0;

  if (argc != 2) {
    fprintf(stderr, "usage: spmv MATRIX\n");
    return 1;
  }
  if (macko_read(argv[1], NULL, &csr, NULL, &err)) {
    fprintf(stderr, "%s\n", err.text);
    return 1;
  }
  if (macko_encode(&csr, NULL, &matrix, &err)) { /* NULL: what should multiply fastest, nothing lossy */
    fprintf(stderr, "%s\n", err.text);
    macko_free_csr(&csr);
    return 1;
  }
  macko_free_csr(&csr); /* the compressed form stands on its own */
  macko_get_info(matrix, &info);

  double *x = malloc((size_t)info.ncols * sizeof *x), *y = malloc((size_t)info.nrows * sizeof *y);
  for (int64_t i = 0; x && i < info.ncols; i++) x[i] = 1;
  int failed = !x || !y || macko_multiply(matrix, MACKO_OP_N, MACKO_F64, 1, 1.0, x, 0, 0.0, y, 0, &err);
  for (int64_t i = 0; !failed && i < info.nrows; i++) sum += y[i];
  if (!failed)
    printf("%s: %lld bytes instead of %lld (%s)\nsum of all entries: %.10g\n", macko_format_name(info.format),
           (long long)info.bytes, (long long)info.csr_bytes, info.reason, sum);
  free(x), free(y);
  macko_destroy(&matrix);
  return failed;
}
