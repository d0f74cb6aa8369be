/* The Lanczos method on the C library alone: the largest and smallest eigenvalue of a symmetric matrix.
 * usage: lanczos MATRIX [STEPS]            cc lanczos.c $(pkg-config --cflags --libs macko) -lm */
#include <macko.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double dot(int64_t n, const double *x, const double *y)
{
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

/* Number of eigenvalues below x of the tridiagonal matrix with diagonal a[m] and b[m - 1] beside it: signs of a Sturm sequence. */
static int below(int m, const double *a, const double *b, double x)
{
  int count = 0;
  double d = 1;
  for (int i = 0; i < m; i++) {
    d = a[i] - x - (i ? b[i - 1] * b[i - 1] / d : 0);
    if (d == 0) d = DBL_MIN;
    count += d < 0;
  }
  return count;
}

/* Eigenvalue number k of it, counted from 0, by bisection of an interval that holds them all. */
static double eigenvalue(int m, const double *a, const double *b, int k)
{
  double low = 0, high = 0;
  for (int i = 0; i < m; i++) {
    double reach = (i ? fabs(b[i - 1]) : 0) + (i < m - 1 ? fabs(b[i]) : 0);
    low = fmin(low, a[i] - reach), high = fmax(high, a[i] + reach);
  }
  for (int i = 0; i < 200; i++) {
    double middle = low / 2 + high / 2;
    if (below(m, a, b, middle) > k) high = middle;
    else low = middle;
  }
  return low / 2 + high / 2;
}

/* a and b from at most `steps` vectors, each kept and each made orthogonal to all before; returns how many it took. */
static int lanczos(const macko_matrix *matrix, int64_t n, int steps, double *v, double *a, double *b, macko_error *err)
{
  for (int64_t i = 0; i < n; i++) v[i] = 1 + (double)(i * 7919 % 1009) / 1009;
  double norm = sqrt(dot(n, v, v));
  for (int j = 0; j < steps; j++) {
    double *q = v + j * n, *w = q + n;
    for (int64_t i = 0; i < n; i++) q[i] /= norm;
    if (macko_multiply(matrix, MACKO_OP_N, MACKO_F64, 1, 1.0, q, n, 0.0, w, n, err)) return -1;
    a[j] = dot(n, q, w);
    for (int twice = 0; twice < 2; twice++)
      for (int k = 0; k <= j; k++) {
        double h = dot(n, v + k * n, w);
        for (int64_t i = 0; i < n; i++) w[i] -= h * v[k * n + i];
      }
    b[j] = norm = sqrt(dot(n, w, w));
    if (norm <= 1e-14 * fabs(a[0])) return j + 1; /* the vectors span an invariant subspace */
  }
  return steps;
}

int main(int argc, char **argv)
{
  macko_csr csr;
  macko_file_info file;
  macko_matrix *matrix = NULL;
  macko_error err;
  if (argc < 2) return fprintf(stderr, "usage: lanczos MATRIX [STEPS]\n"), 1;
  if (macko_read(argv[1], NULL, &csr, &file, &err)) return fprintf(stderr, "%s\n", err.text), 1;
  if (!file.symmetric) strcpy(err.text, "this Lanczos method needs a file that stores a symmetric matrix");
  else if (!macko_encode(&csr, NULL, &matrix, &err)) err.text[0] = 0;
  int64_t n = csr.nrows, steps = argc > 2 ? atoi(argv[2]) : 100;
  if (steps > n) steps = n;
  macko_free_csr(&csr);

  double *v = malloc((size_t)((steps + 1) * n) * sizeof *v), *a = malloc((size_t)steps * sizeof *a), *b = malloc((size_t)steps * sizeof *b);
  int m = matrix && v && a && b ? lanczos(matrix, n, (int)steps, v, a, b, &err) : -1;
  if (m > 0) printf("%d steps: smallest %.12g, largest %.12g\n", m, eigenvalue(m, a, b, 0), eigenvalue(m, a, b, m - 1));
  else fprintf(stderr, "%s\n", err.text[0] ? err.text : "no memory, or an empty matrix");
  free(v), free(a), free(b);
  macko_destroy(&matrix);
  return m <= 0;
}
