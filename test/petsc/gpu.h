/* Between the files of the suite petsc_gpu. */
#ifndef PETSC_GPU_H
#define PETSC_GPU_H

#include "common.h"

int on_gpu(Vec v);

/* Fails unless the vectors that A hands out, and its product with them, are on the GPU (or not). */
void assert_vectors(Mat A, int gpu, const char *when);

void assert_same_diagonal(Mat A, Mat P, const char *when);

/* Whether the view with format info has a line with this, on all ranks. */
int view_says(Mat A, const char *wanted);

/* A copy in GPU memory, which the caller frees with cudaFree. */
void *on_device(const PetscScalar *values, PetscCount count);

/* A product of two matrices, or of three, with its values. */
Mat product_of(MatProductType type, Mat A, Mat B, Mat C);

/* What ranks exchange; what else is done to matrices there, and products of matrices; solvers, and matrices large enough to be
   encoded on the GPU. */
void add_halo_tests(TCase *t);
void add_setup_tests(TCase *t);
void add_product_tests(TCase *t);
void add_solve_tests(TCase *t);

/* Type macko. */
void add_compressed_tests(TCase *t);

#endif
