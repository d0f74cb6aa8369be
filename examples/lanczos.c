/* Finds the smallest and the largest eigenvalue of a symmetric matrix by the Lanczos method, on the C library alone. Of the
 * matrix the method needs nothing but products with vectors, which the compressed form gives.
 * usage: lanczos MATRIX [STEPS]
 * compile: cc lanczos.c $(pkg-config --cflags --libs macko) -lm -o lanczos */
#include <macko.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double dot(int64_t n, const double *x, const double *y)
{
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

/* Eigenvalue number k, counted from 0, of the tridiagonal matrix with diagonal a[m] and b[m - 1] beside it, by bisection: a Sturm
 * sequence has as many negative members as there are eigenvalues below. */
static double eigenvalue(int m, const double *a, const double *b, int k)
{
  double high = 0, low;
  for (int i = 0; i < m; i++) high = fmax(high, fabs(a[i]) + (i ? b[i - 1] : 0) + (i < m - 1 ? b[i] : 0));
  low = -high;
  for (int halving = 0; halving < 100; halving++) {
    double middle = (low + high) / 2, d = 1;
    int below = 0;
    for (int i = 0; i < m; i++) {
      d = a[i] - middle - (i ? b[i - 1] * b[i - 1] / d : 0);
      if (d == 0) d = DBL_MIN;
      below += d < 0;
    }
    *(below > k ? &high : &low) = middle;
  }
  return low;
}

/* a and b from at most `steps` vectors, each kept and made orthogonal to all before; returns how many it took, -1 on error. */
static int lanczos(const macko_matrix *matrix, int64_t n, int steps, double *v, double *a, double *b, macko_error *err)
{
  for (int64_t i = 0; i < n; i++) v[i] = 1 + (double)(i * 7919 % 1009) / 1009;
  double norm = sqrt(dot(n, v, v));
  for (int j = 0; j < steps; j++) {
    double *q = v + j * n, *w = q + n;
    for (int64_t i = 0; i < n; i++) q[i] /= norm;
    if (macko_multiply(matrix, MACKO_OP_N, MACKO_F64, 1, 1.0, q, n, 0.0, w, n, err)) return -1;
    a[j] = dot(n, q, w);
    for (int k = 0; k < 2 * (j + 1); k++) { /* twice, because once leaves rounding errors that grow */
      double *u = v + k % (j + 1) * n, h = dot(n, u, w);
      for (int64_t i = 0; i < n; i++) w[i] -= h * u[i];
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
  int64_t n = csr.nrows, steps = argc > 2 ? atoi(argv[2]) : 100;
  if (steps > n) steps = n;
  double *v = calloc((size_t)((steps + 1) * n), sizeof *v), *a = calloc((size_t)steps, sizeof *a);
  double *b = calloc((size_t)steps, sizeof *b);
  int m = -1;
  if (!file.symmetric) snprintf(err.text, sizeof err.text, "%s: not stored as a symmetric matrix", argv[1]);
  else if (steps < 1 || !v || !a || !b) snprintf(err.text, sizeof err.text, "no memory, or nothing to do");
  else if (!macko_encode(&csr, NULL, &matrix, &err)) m = lanczos(matrix, n, (int)steps, v, a, b, &err);
  if (m > 0) printf("%d steps: smallest %.12g, largest %.12g\n", m, eigenvalue(m, a, b, 0), eigenvalue(m, a, b, m - 1));
  else fprintf(stderr, "%s\n", err.text);
  free(v), free(a), free(b);
  macko_free_csr(&csr);
  macko_destroy(&matrix);
  return m < 0;
}
