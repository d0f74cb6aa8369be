/* Golden files: compressed matrices as text, in the form that doc/formats/macko.md describes. */
#ifndef TEST_GOLDEN_H
#define TEST_GOLDEN_H

#include "core/format.h"

#include <stdio.h>

/* FOLDER/NAME.mtx with values of that type, in which they are exact. Free it with macko_free_csr. */
macko_csr test_golden_matrix(const char *folder, const char *name, macko_type type);

/* The first so many parameters of the plan, then all sections. */
void test_write_golden(const macko_matrix *m, int parameters, FILE *out);

/* The matrix of a text, up to its end or a line of ```. */
macko_matrix *test_read_golden(FILE *in);

/* Fails unless m is valid and decodes to a: every bit, or what rounding of its codec allows. */
void test_check_golden(const macko_matrix *m, const macko_csr *a, const char *what);

/* A file of the source tree; in room. */
const char *test_source_path(const char *path, char room[500]);

#endif
