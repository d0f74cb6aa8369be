/* MATAIJMACKO: PETSc's AIJ whose products read a compressed form. Everything that is not a product is AIJ's own, as are the first
 * products, before there were enough to pay for encoding (-mat_macko_after), and on a CPU those with the transpose, both unless an
 * option says how to store.
 * With a PETSc that has CUDA and a GPU, MatCreateVecs gives VECCUDA and products stay on the GPU (-mat_macko_backend cpu: not).
 * From PETSc 3.26 on all such matrices then stand on AIJCUSPARSE instead of AIJ (-mat_macko_base aij: not): values from lists of
 * entries (MatSetValuesCOO, also from GPU memory), products of sparse matrices, factors, sums and scaling are done there, as that
 * type does them, and the first products.
 *
 * Programs that were never rebuilt load it:   ./program -dll_append /path/libpetscmacko.so -mat_type aijmacko
 * Programs that link it call MatMackoInitializePackage() after PetscInitialize(). */
#ifndef PETSCMACKO_H
#define PETSCMACKO_H

#include <petscmat.h>

#define MATAIJMACKO    "aijmacko"
#define MATSEQAIJMACKO "seqaijmacko"
#define MATMPIAIJMACKO "mpiaijmacko"

/* MATMACKO holds the compressed form and nothing else: for matrices that do not fit into memory as AIJ. It comes from
 * MatConvert, MatLoad (PETSc binary; a file of macko_save, whose form one rank takes as it is unless -mat_macko_* ask for
 * another), MatMackoCreateFromRows, MatSetValues or MatSetValuesCOO, encoded in pieces of rows of -mat_macko_piece entries
 * (2097152; for a GPU 33554432), so that never more than one piece is there as CSR. MatSetValues, after MatSetUp, takes
 * entries on the rank that owns their row, all of a row before those of a later one, which is encoded as they come (other
 * orders are PETSC_ERR_SUP); into a matrix that has entries likewise, and both are put together at the end. Lists of
 * MatSetPreallocationCOO are of a rank's own rows, in host memory, and are kept, 12 bytes an entry.
 *
 * It has products with vectors and dense matrices, of both kinds, MatGetDiagonal, MatGetRow, MatNorm, MatScale,
 * MatDiagonalScale, MatShift, MatAXPY, MatCopy, MatZeroEntries, MatDuplicate, MatView, MatConvert. With a PETSc that has CUDA
 * and a GPU, MatCreateVecs gives VECCUDA, pieces are encoded on the GPU, where they then are alone until something asks for
 * entries, and products stay there (-mat_macko_backend cpu: not). Products with the transpose are done there where the matrix
 * is known to be symmetric or the pieces' transposes, each with a row for every column, have no more rows than there are
 * entries, and else on the CPU; products with dense matrices there on one rank. What else AIJ has is PETSC_ERR_SUP: convert to
 * aij, or give a preconditioner such a matrix as Pmat. */
#define MATMACKO    "macko"
#define MATSEQMACKO "seqmacko"
#define MATMPIMACKO "mpimacko"

/* Registers the types and log events; may be called any number of times, and again after a PetscFinalize. Not collective.
 * Errors: PETSC_ERR_SUP where the running PETSc is of another minor version than the one this library was built with. */
PETSC_EXTERN PetscErrorCode MatMackoInitializePackage(void);

/* Brings the compressed form up to date now instead of in the next product, so that its time and errors show here. It does nothing
 * to a matrix of type macko. Collective. Errors: PETSC_ERR_ARG_WRONG if A is of neither type; PETSC_ERR_ARG_WRONGSTATE if it is not
 * assembled on every rank; PETSC_ERR_MEM or PETSC_ERR_SUP with the library's sentence; on all ranks. */
PETSC_EXTERN PetscErrorCode MatMackoEncode(Mat A);

/* Row number `row` of a matrix of type macko that is being made, as MatGetRow gives one: *count entries in columns *cols, numbered
 * from 0 as in the whole matrix, in any order, those of one column added. The arrays are the function's, and are read until its next
 * call. It is called on each rank for the rows of that rank, in ascending order: once on one rank, twice on several, with the same
 * answer. Anything but 0 ends the making on all ranks. */
typedef PetscErrorCode (*MatMackoRowFunction)(void *context, PetscInt row, PetscInt *count, const PetscInt **cols,
                                              const PetscScalar **values);

/* *A becomes a matrix of type macko of m x n rows and columns on this rank, M x N on all (PETSC_DECIDE, PETSC_DETERMINE as for
 * MatSetSizes), with the entries that row gives; the caller destroys it. Collective.
 * Errors: PETSC_ERR_LIB, naming the row, where row failed, gave a column that is not there or not what it gave before;
 * PETSC_ERR_MEM; PETSC_ERR_SUP with the library's sentence; on all ranks. */
PETSC_EXTERN PetscErrorCode MatMackoCreateFromRows(MPI_Comm comm, PetscInt m, PetscInt n, PetscInt M, PetscInt N,
                                                   MatMackoRowFunction row, void *context, Mat *A);

/* What is stored, summed over the ranks of the matrix and its blocks; names and reason are those of this rank's diagonal block
 * and belong to the matrix until it changes. */
typedef struct {
  PetscBool      encoded; /* PETSC_FALSE before the first product that encodes: then the rest is zero */
  const char    *format, *layout, *variant, *values, *reason; /* layout and variant are auto where the format has none */
  int            gap_bits;                                  /* 0 where the width varies or the format has none */
  PetscBool      lossy; /* PETSC_TRUE if any block of any rank is */
  PetscInt64     nnz, bytes, csr_bytes; /* csr_bytes: the same as CSR with 32-bit indices where they suffice */
  PetscInt64     encodes, refreshes;    /* of the rank with most */
  PetscLogDouble encode_seconds, refresh_seconds; /* of the slowest rank, all encodes and refreshes together */
  char           formats[192];  /* of both blocks, and how many ranks have them so: "macko and csr on 3 ranks, csr and csr on 1 rank" */
  PetscInt64     products;      /* by one vector with the present form, on a CPU, of the rank with most */
  PetscLogDouble product_seconds; /* their mean of the slowest rank, measured; 0 where there are none */
  PetscLogDouble predicted_seconds, csr_predicted_seconds; /* of such a product, and of one with csr; 0: not known */
  PetscInt64     break_even; /* products after which encoding has paid for itself against csr; -1: never */
  PetscBool      on_device;    /* PETSC_TRUE if products of vectors in GPU memory run there, on every rank */
  PetscInt64     device_bytes; /* in GPU memory so far, transposes included */
} MatMackoInfo;

/* Fills *info. Of type macko names and reason are those of the first piece. Collective. Errors: PETSC_ERR_ARG_WRONG if A is of
 * neither type. */
PETSC_EXTERN PetscErrorCode MatMackoGetInfo(Mat A, MatMackoInfo *info);

#endif
