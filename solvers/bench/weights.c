/* Pruned weights whose columns matter unlike, as where pruning goes by the inputs of a layer. */
#include "bench/weights.h"
#include "common/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OUTLIERS = 256, LARGER = 16 }; /* of so many columns one is so many times larger */

/* Returns a sum of eight numbers of 16 bits around 0, which is an integer or half of one. */
static double draw_sum(uint64_t *state)
{
  double sum = 8 * -32767.5;
  for (int i = 0; i < 2; i++)
    for (uint64_t bits = draw(state), k = 0; k < 4; k++, bits >>= 16) sum += (double)(bits & 0xffff);
  return sum;
}

/* Returns e^x, nearly. Functions of the math library differ in their last bits from machine to machine. */
static double power(double x)
{
  double y = 1 + x / 1024;
  for (int i = 0; i < 10; i++) y *= y;
  return y;
}

int weights_open(int64_t ncols, int64_t percent, pruned_weights *w)
{
  const size_t bytes = (size_t)ncols * sizeof *w->norms;
  const double deviation = 65536 * sqrt(8.0 / 12); /* of the sums */
  *w = (pruned_weights){ncols, (ncols * (100 - percent) + 50) / 100, malloc(bytes), malloc(bytes), malloc(bytes)};
  if (!w->norms || !w->scores || !w->order) return 0;
  for (int64_t j = 0; j < ncols; j++) {
    uint64_t state = mix((uint64_t)j + 0xc01);
    w->norms[j] = power(draw_sum(&state) / deviation / 2) * (draw(&state) % OUTLIERS ? 1 : LARGER);
  }
  return 1;
}

void weights_close(pruned_weights *w)
{
  free(w->norms), free(w->scores), free(w->order);
  *w = (pruned_weights){0};
}

/* Returns the k-th largest of n numbers, k from 1 to n, and changes their order (Hoare's selection). */
static double select_largest(double *x, int64_t n, int64_t k)
{
  int64_t low = 0, high = n - 1;
  while (low < high) {
    const double middle = x[low + (high - low) / 2];
    int64_t i = low, j = high;
    while (i <= j) {
      while (x[i] > middle) i++;
      while (x[j] < middle) j--;
      if (i > j) break;
      const double other = x[i];
      x[i++] = x[j], x[j--] = other;
    }
    if (k - 1 <= j) high = j;
    else if (k - 1 >= i) low = i;
    else break;
  }
  return x[k - 1];
}

/* Every row has a generator of its own, seeded by its number, so that it does not depend on the rows before. */
double weights_row(pruned_weights *w, int64_t i)
{
  uint64_t state = mix((uint64_t)i + 1);
  for (int64_t j = 0; j < w->ncols; j++) w->scores[j] = fabs(draw_sum(&state)) * w->norms[j];
  if (!w->kept) return INFINITY;
  memcpy(w->order, w->scores, (size_t)w->ncols * sizeof *w->order);
  return select_largest(w->order, w->ncols, w->kept);
}
