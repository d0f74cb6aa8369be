/* What the suites of the PETSc matrix type share: matrices made in every way PETSc has, and the comparison with plain AIJ.
 * A suite runs on every rank; each assertion is agreed on by all ranks first, so that none is left waiting. */
#ifndef PETSC_COMMON_H
#define PETSC_COMMON_H

#include "petscmacko.h"
#include "../assertions.h"
#include "../memory.h"

#include <petscksp.h>

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

/* An error of PETSc fails the test: PETSc has printed where. */
#define OK(call) \
  do { \
    PetscErrorCode error_ = (call); \
    ck_assert_msg(error_ == 0, "error %d from %s", (int)error_, #call); \
  } while (0)

/* True on every rank if true on every rank. */
int everywhere(int condition);
#define ASSERT_ALL(condition, ...) ck_assert_msg(everywhere(condition), __VA_ARGS__)

typedef enum { PREALLOCATED, NOT_PREALLOCATED, LOADED, COO, WAYS } way;
extern const char *const way_names[WAYS];

int ranks(void);

/* No options but -mat_macko_after 0, which suites start with: few of their matrices are multiplied so often that compressing them
 * would pay, and the products are what they look at. */
PetscErrorCode clear_options(void);

/* "aijmacko" as the number of ranks has it, and the parallel type also on one rank. */
typedef enum { ROOT_TYPE, PARALLEL_TYPE, TYPES } type_choice;
const char *our_type(type_choice choice);
const char *plain_type(type_choice choice);

/* The entry of a pseudo-random matrix; false where it has none. Rows of 3 modulo 7 have only their diagonal. */
int entry(PetscInt i, PetscInt j, unsigned seed, PetscScalar *value);

/* An assembled rows x cols matrix of those entries; a third of them is set by a rank that does not own the row. */
PetscErrorCode make_matrix(way how, const char *type, PetscInt rows, PetscInt cols, unsigned seed, Mat *A);

/* One of our type and one of plain AIJ, of the same entries. */
PetscErrorCode make_pair(way how, type_choice type, PetscInt rows, PetscInt cols, unsigned seed, Mat *A, Mat *P);

/* Destroys as many matrices as are given. */
#define DESTROY(...) destroy_matrices((Mat *const[]){__VA_ARGS__, NULL})
void destroy_matrices(Mat *const matrices[]);

/* A dense matrix of random entries, with sizes as MatSetSizes takes them. */
PetscErrorCode make_dense(const char *type, PetscInt m, PetscInt n, PetscInt rows, PetscInt cols, Mat *B);

/* Writes A as a PETSc binary file, alone in it and without one of options beside it. */
PetscErrorCode write_matrix(Mat A, const char *path);

/* The same entries written to a file and read from it into A, which has a type and may have values. */
PetscErrorCode load_matrix(Mat A, PetscInt rows, PetscInt cols, unsigned seed);

/* A solver of that method for A with that preconditioner, which is made from P. */
KSP new_solver(Mat A, Mat P, const char *method, const char *preconditioner);

/* Fails unless A and both its blocks are ours. */
void assert_ours(Mat A, const char *when);

/* Rounding of the stored values, relative: 0 but for a lossy codec. Added to the bound below. */
extern double stored_unit;

/* NULL where every product of A agrees with that of the plain matrix P, as below; else what does not, until the next call. */
const char *difference(Mat A, Mat P);

/* The same with vectors of the kind that a third matrix hands out, not A: in GPU memory or not. */
const char *difference_with(Mat A, Mat P, Mat like);

/* Fails unless every product of A agrees with that of the plain matrix P within twice the bound of one product. */
void assert_same_products(Mat A, Mat P, const char *when);

/* X x = Y x for a random x, but for rounding; sentences name what was made by which number. */
void assert_same_action(Mat X, Mat Y, const char *what, int which);

/* Fails unless X is Y, both of any type, up to that part of Y's norm. */
void assert_same_entries(Mat X, Mat Y, double tolerance, const char *when);

/* Fails unless A B and A' B are those of P, with a dense B of that type and so many columns, and of its type. */
void assert_same_dense_products(Mat A, Mat P, const char *type, PetscInt columns, const char *when);

/* Runs the suite in that many PetscInitialize .. PetscFinalize cycles of one program. */
int run_suite(int argc, char **argv, Suite *(*suite)(void), int cycles);

#endif
