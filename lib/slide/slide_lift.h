/* Where the windows of format slide lie once they are lifted: side by side, four columns each, so that the matrix has two entries
 * in every four columns, and elements of X are repeated for the windows that they are in (SlideSparse, section 4). For host and
 * kernels. */
#ifndef MACKO_SLIDE_LIFT_H
#define MACKO_SLIDE_LIFT_H

#include "core/inline.h"

#include <math.h>
#include <stdint.h>

/* Sparse tensor cores take rows, lifted columns and columns of X in multiples of this. */
enum { MACKO_LIFT_STEP = 32 };

/* Gives a count rounded up to such a multiple. */
MACKO_INLINE int64_t macko_lift_padded(int64_t count) { return (count + MACKO_LIFT_STEP - 1) / MACKO_LIFT_STEP * MACKO_LIFT_STEP; }

/* Gives the windows of a row of so many columns; and the lifted columns that these take, with those that pad them. */
MACKO_INLINE int64_t macko_lift_windows(int64_t ncols, int n) { return (ncols + 2 * n - 1) / (2 * n) * (n - 1); }
MACKO_INLINE int64_t macko_lift_columns(int64_t ncols, int n) { return macko_lift_padded(4 * macko_lift_windows(ncols, n)); }

/* Gives the column that a window of a row begins with: two columns behind the one before, four where a block ends. It may lie
 * behind the last column of the matrix. */
MACKO_INLINE int64_t macko_lift_column(int n, int64_t window) { return 2 * (window + window / (n - 1)); }

/* Gives the number, among the windows of a row, of window w of a block. */
MACKO_INLINE int64_t macko_lift_window(int n, int64_t block, int w) { return block * (n - 1) + w; }

/* Gives the scale by which numbers up to a magnitude are rounded to those up to `most`. No number that is rounded is larger than
 * most times the scale, tiny ones included. It is 1 where all are 0, and NaN where the magnitude is Inf or NaN: that is what
 * comes of it. */
MACKO_INLINE float macko_lift_scale(float magnitude, float most)
{
  const float least = 1.17549435e-38f, scale = magnitude / most; /* the least is the smallest that is normal */
  if (!(magnitude - magnitude == 0)) return magnitude - magnitude;
  if (magnitude == 0) return 1;
  return scale < least ? least : scale;
}

/* Gives what numbers are multiplied by before they are rounded, which is quicker than to divide; NaN for NaN. */
MACKO_INLINE float macko_lift_inverse(float scale) { return 1 / scale; }

/* Gives x times the inverse of a scale as an integer of 8 bits, rounded to nearest, ties to even; 0 where that is NaN, as the
 * scale brings the NaN back. */
MACKO_INLINE int macko_lift_i8(float x, float inverse)
{
  const float q = rintf(x * inverse);
  return q >= 127 ? 127 : q <= -128 ? -128 : q == q ? (int)q : 0;
}

#endif
