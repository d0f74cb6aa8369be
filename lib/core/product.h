/* The vector side of every multiply: y = alpha op(A) x + beta y for k vectors, taken in groups that read the matrix once. */
#ifndef MACKO_PRODUCT_H
#define MACKO_PRODUCT_H

#include "core/format.h"

/* How many vectors are multiplied in one pass over the matrix, at most. */
enum { MACKO_GROUP = 4 };

/* Gives *p with x and y moved on to vector j; k stays what it was, so that a caller counts the vectors itself. */
static inline macko_product macko_product_from(const macko_product *p, int64_t j)
{
  int64_t size = macko_type_bytes(p->vector_type);
  macko_product q = *p;
  q.x = (const char *)p->x + j * p->ldx * size;
  q.y = (char *)p->y + j * p->ldy * size;
  return q;
}

/* Gives element i of vector j of X. Types are constants in every caller from here on, so that each instance is a plain load or
 * store. */
static inline __attribute__((always_inline)) double macko_x(macko_type type, const macko_product *p, int64_t j, int64_t i)
{
  return type == MACKO_F64 ? ((const double *)p->x)[j * p->ldx + i] : (double)((const float *)p->x)[j * p->ldx + i];
}

/* Sets element i of vector j of Y to alpha sum + beta y. It is not read where beta is 0, so that a NaN which was there does not
 * stay. */
static inline __attribute__((always_inline)) void macko_put_y(macko_type type, const macko_product *p, int64_t j, int64_t i,
                                                              double sum)
{
  if (type == MACKO_F64) {
    double *y = (double *)p->y + j * p->ldy + i;
    *y = p->beta == 0 ? p->alpha * sum : p->alpha * sum + p->beta * *y;
  } else {
    float *y = (float *)p->y + j * p->ldy + i;
    *y = (float)(p->beta == 0 ? p->alpha * sum : p->alpha * sum + p->beta * *y);
  }
}

/* Adds a term to element i of vector j of Y: for op T, after macko_scale has multiplied Y by beta. The term has alpha in it. */
static inline __attribute__((always_inline)) void macko_add_y(macko_type type, const macko_product *p, int64_t j, int64_t i,
                                                              double term)
{
  if (type == MACKO_F64) ((double *)p->y)[j * p->ldy + i] += term;
  else ((float *)p->y)[j * p->ldy + i] += (float)term;
}

/* Give the first element of vector j of X and of Y. */
static inline __attribute__((always_inline)) const void *macko_x_of(macko_type type, const macko_product *p, int64_t j)
{
  return type == MACKO_F64 ? (const void *)((const double *)p->x + j * p->ldx) : (const float *)p->x + j * p->ldx;
}

static inline __attribute__((always_inline)) void *macko_y_of(macko_type type, const macko_product *p, int64_t j)
{
  return type == MACKO_F64 ? (void *)((double *)p->y + j * p->ldy) : (float *)p->y + j * p->ldy;
}

/* Sets Y = beta Y over vectors of n elements; beta = 0 does not read Y. */
void macko_scale(const macko_product *p, int64_t n);

/* Expands to body(vector_type, op, group) with all three as constants, so that a body compiles to a loop for each combination and
 * no loop asks for types. */
#define MACKO_ONE_GROUP(p, body, group) \
  do { \
    if ((p)->vector_type == MACKO_F64 && (p)->op == MACKO_OP_N) { body(MACKO_F64, MACKO_OP_N, group); } \
    else if ((p)->vector_type == MACKO_F64) { body(MACKO_F64, MACKO_OP_T, group); } \
    else if ((p)->op == MACKO_OP_N) { body(MACKO_F32, MACKO_OP_N, group); } \
    else { body(MACKO_F32, MACKO_OP_T, group); } \
  } while (0)

/* Runs body over all k vectors, MACKO_GROUP, two or one at a time; three that are left go as two and one, because there is no
 * loop for them. For body the product of the group at hand is called q. */
#define MACKO_FOR_GROUPS(p, q, body) \
  for (int64_t group_ = 0, now_; group_ < (p)->k; group_ += now_) { \
    const macko_product q = macko_product_from(p, group_); \
    now_ = (p)->k - group_ >= MACKO_GROUP ? MACKO_GROUP : (p)->k - group_ >= 2 ? 2 : 1; \
    if (now_ == 1) MACKO_ONE_GROUP(p, body, 1); \
    else if (now_ == 2) MACKO_ONE_GROUP(p, body, 2); \
    else MACKO_ONE_GROUP(p, body, MACKO_GROUP); \
  }

#endif
