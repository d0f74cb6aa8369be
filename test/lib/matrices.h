/* Small matrices that every suite runs over, and the reference they are checked against. */
#ifndef TEST_MATRICES_H
#define TEST_MATRICES_H

#include "macko.h"

typedef struct {
  const char *name;
  int64_t nrows, ncols, *row_ptr, *cols;
  macko_type type;
  void *values;   /* of that type */
  double *exact;  /* the same numbers as double */
} test_matrix;

enum { TEST_PATTERNS = 18, TEST_VALUES = 5 };

/* Pattern 0 .. TEST_PATTERNS - 1 with values of kind 0 .. TEST_VALUES - 1 (any bits, few distinct, small integers,
 * floats, the same along diagonals). */
test_matrix test_make(int pattern, int values, macko_type type);
void test_free(test_matrix *a);
macko_csr test_view(const test_matrix *a);

/* Kinds of values with the types in which codecs make something else of them. */
typedef struct {
  int values;
  macko_type type;
} test_kind;
enum { TEST_COMBINATIONS = 14 };
extern const test_kind test_kinds[TEST_COMBINATIONS];

/* Gap widths in bits, 0 for one that is chosen. */
enum { TEST_WIDTHS = 6 };
extern const int test_widths[TEST_WIDTHS];

/* Options number n of all combinations of the choices in lib/options.def; 0 where there are not so many. */
int test_options(int64_t n, macko_options *options);

/* Fresh values of a kind on the same pattern. */
void test_fill(test_matrix *a, int values);

void test_seed(uint64_t seed);
uint64_t test_draw(void);

/* Fails the running Check test unless m gives back *a bit for bit. */
void test_check_decode(const test_matrix *a, const macko_matrix *m, const char *what);

/* The arguments of a multiply. */
typedef struct {
  macko_op op;
  macko_type type;
  int64_t k;
  double alpha, beta;
  const void *x;
  int64_t ldx;
  void *y;
  int64_t ldy;
} test_product;

/* Products prepared once a matrix: op N and T, f64 and f32, one and several vectors, beta 0 (y full of NaN), Inf and NaN in x. */
typedef struct test_products test_products;
test_products *test_products_make(const test_matrix *a);
void test_products_free(test_products *p);

/* Fails unless every product with m is within the bound of plain CSR's error, and bit for bit the same when run again. */
void test_check_products(const test_products *p, const macko_matrix *m, const char *what);

/* The same for another multiply with the same vectors in host memory; matrix is its first argument. */
typedef macko_status (*test_multiply)(const void *matrix, const test_product *product, macko_error *err);
void test_check_products_by(const test_products *p, test_multiply multiply, const void *matrix, const char *what);

#endif
