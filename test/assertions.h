/* The assertions of Check, but that one that holds costs nothing: Check's own write a message to the process that watches, every
 * time, which takes most of the time of tests that look at every element. What is lost is the line after which a test crashed. */
#ifndef TEST_ASSERTIONS_H
#define TEST_ASSERTIONS_H

#include <check.h>

#undef ck_assert_msg
#undef ck_assert
#define ck_assert_msg(expr, ...) ((expr) ? (void)0 : ck_abort_msg(__VA_ARGS__))
#define ck_assert(expr) ck_assert_msg(expr, "%s", "Assertion '" #expr "' failed")

#endif
