/* Encodes a matrix that is never in memory as CSR: the rows of a 27-point stencil on N x N x N points are made when they are
 * asked for, and encoded in pieces. The matrix is then multiplied, and the product is compared with the stencil itself.
 * usage: rows [N], where 431 gives more than 2^31 nonzeros, of which CSR would take 26 GB
 * compile: cc rows.c $(pkg-config --cflags --libs macko) -o rows */
#include <macko.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { PIECE = 4096, POINTS = 27 };

typedef struct {
  int64_t n, row_ptr[PIECE + 1], cols[PIECE * POINTS];
  double values[PIECE * POINTS];
} stencil;

/* The columns of a row and their values: 26 on the diagonal, -1 beside it. */
static int make_row(int64_t n, int64_t row, int64_t *cols, double *values)
{
  int64_t x = row % n, y = row / n % n, z = row / n / n;
  int count = 0;
  for (int64_t c = z - 1; c <= z + 1; c++)
    for (int64_t b = y - 1; b <= y + 1; b++)
      for (int64_t a = x - 1; a <= x + 1; a++) {
        if (a < 0 || b < 0 || c < 0 || a >= n || b >= n || c >= n) continue;
        cols[count] = (c * n + b) * n + a;
        values[count] = cols[count] == row ? 26 : -1;
        count++;
      }
  return count;
}

static macko_status give(void *context, int64_t first, int64_t count, macko_csr *piece, macko_error *err)
{
  stencil *s = context;
  (void)err;
  for (int64_t i = 0; i < count; i++)
    s->row_ptr[i + 1] = s->row_ptr[i] + make_row(s->n, first + i, s->cols + s->row_ptr[i], s->values + s->row_ptr[i]);
  *piece = (macko_csr){.nrows = count, .ncols = s->n * s->n * s->n, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                       .value_type = MACKO_F64, .row_ptr = s->row_ptr, .cols = s->cols, .values = s->values};
  return MACKO_OK;
}

/* Small integers, so that every sum is exact. */
static double x_at(int64_t i)
{
  return (double)(i * 7919 % 13);
}

static int64_t wrong_rows(const stencil *s, const double *y)
{
  int64_t wrong = 0, cols[POINTS];
  double values[POINTS];
  for (int64_t row = 0; row < s->n * s->n * s->n; row++) {
    double sum = 0;
    for (int i = 0, count = make_row(s->n, row, cols, values); i < count; i++) sum += values[i] * x_at(cols[i]);
    wrong += sum != y[row];
  }
  return wrong;
}

int main(int argc, char **argv)
{
  char *end = "";
  const int64_t n = argc > 1 ? strtoll(argv[1], &end, 10) : 20;
  if (n < 1 || n > 2000000 || *end) return fprintf(stderr, "usage: rows [N], a grid of N x N x N points\n"), 1;
  const int64_t rows = n * n * n;
  stencil *s = calloc(1, sizeof *s);
  double *x = malloc((size_t)rows * sizeof *x), *y = malloc((size_t)rows * sizeof *y);
  if (!s || !x || !y) return fprintf(stderr, "rows: no memory for %lld rows\n", (long long)rows), 1;
  s->n = n;
  for (int64_t i = 0; i < rows; i++) x[i] = x_at(i);
  macko_row_source source = {.nrows = rows, .ncols = rows, .value_type = MACKO_F64, .piece_rows = PIECE, .rows = give,
                             .context = s};
  macko_options options;
  macko_matrix *matrix = NULL;
  macko_error err;
  macko_options_init(&options);
  options.format = MACKO_FORMAT_DTANS;
  macko_status status = macko_encode_rows(&source, &options, &matrix, &err);
  if (!status) status = macko_multiply(matrix, MACKO_OP_N, MACKO_F64, 1, 1, x, rows, 0, y, rows, &err);
  if (status) return fprintf(stderr, "rows: %s\n", err.text), 1;
  macko_info info;
  struct rusage usage;
  macko_get_info(matrix, &info);
  getrusage(RUSAGE_SELF, &usage);
  printf("%lld nonzeros, CSR %.1f MB, encoded %.1f MB, vectors %.1f MB, most memory %.1f MB\n", (long long)info.nnz,
         1e-6 * (double)info.csr_bytes, 1e-6 * (double)info.bytes, 16e-6 * (double)rows, 1024e-6 * (double)usage.ru_maxrss);
  printf("rows that differ from the stencil: %lld\n", (long long)wrong_rows(s, y));
  macko_destroy(&matrix);
  free(s), free(x), free(y);
  return 0;
}
