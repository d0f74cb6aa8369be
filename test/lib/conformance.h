/* Between the files of the suite conformance, which test/lib/limits compiles with narrow_limits.h too. */
#ifndef TEST_CONFORMANCE_H
#define TEST_CONFORMANCE_H

#include "matrices.h"
#include "../assertions.h"

/* 1 for the refusal of what is beyond narrow_limits.h; nothing here is beyond the real limits. */
int beyond_limit(macko_status s, const macko_error *err);

/* Fail the running test unless m is valid and reports what it is; check_all: and gives back and multiplies as *a, whose products
 * are *p. */
void check_info(const macko_matrix *m, const test_matrix *a, const char *what);
void check_all(const test_matrix *a, const test_products *p, const macko_matrix *m, const char *what);

TCase *new_values_case(void);

/* New values of codec pairs, a part of that case. */
void add_pairs_tests(TCase *t);

#endif
