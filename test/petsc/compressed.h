/* Between the files of the suite of type macko. */
#ifndef PETSC_COMPRESSED_H
#define PETSC_COMPRESSED_H

#include "common.h"

/* One of type macko, in pieces of a few rows, and one of plain AIJ, of the same entries. */
void make_both(type_choice type, PetscInt rows, PetscInt cols, Mat *A, Mat *P);
void assert_compressed(Mat A, const char *when);

/* Fails unless x is y but for that part of the largest; x is their difference afterwards. */
void same_vectors(Vec x, Vec y, double tolerance, const char *when);

void add_row_tests(TCase *t);

#endif
