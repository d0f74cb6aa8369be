/* The worked example of a format's page, doc/formats/NAME.md: its matrix read, its sections compared with what was encoded. */
#ifndef TEST_MANUAL_H
#define TEST_MANUAL_H

#include "core/format.h"

typedef struct {
  int64_t row_ptr[20], cols[100];
  double values[100];
} test_example;

/* The section of that name, without which the running Check test fails. */
const macko_section *test_section(const macko_matrix *m, const char *name);

/* The matrix of the page's block "matrix": rows and columns, then row, column and value of each entry. It lives in *e. */
macko_csr test_manual_matrix(const char *format, test_example *e);

/* Fails unless m has the sections of the page's block "sections" and no others, with the elements that are listed there: all but
 * the last spare ones of section values. "40:" says where the element behind it is, and that those not listed before it are
 * zero. */
void test_check_manual_sections(const char *format, const macko_matrix *m, int64_t spare);

#endif
