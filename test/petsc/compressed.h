/* Between the files of the suite of type macko. */
#ifndef PETSC_COMPRESSED_H
#define PETSC_COMPRESSED_H

#include "common.h"

#include <string.h>

/* One of type macko, in pieces of a few rows, and one of plain AIJ, of the same entries. */
void make_both(type_choice type, PetscInt rows, PetscInt cols, Mat *A, Mat *P);
void assert_compressed(Mat A, const char *when);

/* Fails unless x is y but for that part of the largest; x is their difference afterwards. */
void same_vectors(Vec x, Vec y, double tolerance, const char *when);

/* The sentence of the last error while this is PETSc's error handler. */
extern char    message[2048];
PetscErrorCode keep_message(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code,
                            PetscErrorType type, const char *text, void *context);

/* Every rank gets the error, whose sentence holds that text on those that raised it. */
#define REFUSED(call, expected, part) \
  do { \
    message[0] = 0; \
    OK(PetscPushErrorHandler(keep_message, NULL)); \
    PetscErrorCode refused_ = (call); \
    OK(PetscPopErrorHandler()); \
    ASSERT_ALL(refused_ == (expected), "error %d from %s: %s", (int)refused_, #call, message); \
    ASSERT_ALL(strstr(message, part) != NULL, "%s says: %s", #call, message); \
  } while (0)

/* The name of a file of this run's own, the same on all ranks; the file is removed when all are done with it. */
void path_of(char *path, size_t size);
void remove_file(const char *path);

/* An empty matrix of that type. */
void new_matrix(const char *type, Mat *A);

/* An empty matrix of that type with so many rows, and as many columns, on this rank. A parallel AIJ gets room for entries: without,
 * PETSc 3.26 does not let it change between inserting and adding. */
Mat         empty(const char *type, PetscInt local);
PetscMPIInt my_rank(void);
void        assemble(Mat A, MatAssemblyType how);

/* Sets one entry of this rank's row i, counted from its first, in a column as far from the diagonal. */
void set(Mat A, PetscInt i, PetscInt distance, PetscScalar value, InsertMode mode);

/* *A becomes what the file holds; after, if it is not NULL, the vector that follows. */
PetscErrorCode load(const char *path, Mat *A, Vec after);

/* Draws square pictures of that many pixels a side, which stay in memory. The caller destroys it. */
PetscViewer picture_viewer(MPI_Comm comm, int width);

/* Says so, and returns 0, where the library was built without what files of macko_save need. */
int can_save(void);

void add_draw_tests(TCase *t);
void add_file_tests(TCase *t);
void add_layout_tests(TCase *t);
void add_norm_tests(TCase *t);
void add_row_tests(TCase *t);
void add_rule_tests(TCase *t);
void add_memory_tests(TCase *t);
void add_change_tests(TCase *t);
void add_refusal_tests(TCase *t);

#endif
