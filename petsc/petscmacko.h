/* MATAIJMACKO is PETSc's AIJ whose products read a compressed form. Everything that is not a product is AIJ's own. So are the
 * first products, before there were enough to pay for encoding (-mat_macko_after), and on a CPU those with the transpose, until
 * they pay for a compressed form of that as well, which -mat_macko_prefer memory does without.
 *
 * With a PETSc that has CUDA, and a GPU, MatCreateVecs gives VECCUDA and products stay on the GPU; -mat_macko_backend cpu
 * keeps them off it. From PETSc 3.26 on all such matrices then stand on AIJCUSPARSE instead of AIJ, unless -mat_macko_base aij
 * says otherwise: values from lists of entries (MatSetValuesCOO, also from GPU memory), products of sparse matrices, factors,
 * sums, scaling and the first products are done on the GPU as that type does them.
 *
 * Programs that were never rebuilt load it:   ./program -dll_append /path/libpetscmacko.so -mat_type aijmacko
 * Programs that link it call MatMackoInitializePackage() after PetscInitialize(). */
#ifndef PETSCMACKO_H
#define PETSCMACKO_H

#include <petscmat.h>

#define MATAIJMACKO    "aijmacko"
#define MATSEQAIJMACKO "seqaijmacko"
#define MATMPIAIJMACKO "mpiaijmacko"

/* MATMACKO holds the compressed form and nothing else: it is for matrices that do not fit into memory as AIJ.
 *
 * Such a matrix comes from MatConvert, MatLoad, MatMackoCreateFromRows, MatSetValues or MatSetValuesCOO. It is encoded in
 * pieces of rows of -mat_macko_piece entries (2097152; for a GPU 33554432), so that never more than one piece is there as CSR.
 * - MatLoad reads PETSc's binary files and files of macko_save. One rank takes the form of the latter as it is, unless
 *   -mat_macko_* ask for another.
 * - MatSetValues is called after MatSetUp, on the rank that owns the row. All entries of a row come before those of a later
 *   one, because rows are encoded as they come; other orders are PETSC_ERR_SUP. A matrix that has entries takes new ones in
 *   the same way, and both are put together at the end of the assembly.
 * - Lists of MatSetPreallocationCOO are of a rank's own rows and in host memory. They are kept, at 12 bytes an entry.
 * - MatSeqAIJSetPreallocationCSR (MATSEQMACKO) and MatMPIAIJSetPreallocationCSR (MATMPIMACKO) make a matrix of a rank's arrays,
 *   which are not kept. Entries that come twice are added up. Other preallocation has no effect and is no MatSetUp.
 *
 * It has products with vectors and dense matrices, also with its transpose, and MatGetDiagonal, MatGetRow, MatNorm, MatScale,
 * MatDiagonalScale, MatShift, MatAXPY, MatCopy, MatZeroEntries, MatDuplicate, MatView and MatConvert. What else AIJ has is
 * PETSC_ERR_SUP: convert to aij, or give a preconditioner such a matrix as Pmat.
 *
 * With a PETSc that has CUDA, and a GPU, MatCreateVecs gives VECCUDA and pieces are encoded on the GPU. They are there alone
 * until something asks for entries, and products stay there, unless -mat_macko_backend cpu says otherwise. Products with the
 * transpose are done there if the matrix is known to be symmetric, or if the transposes of the pieces, each with a row for
 * every column, have no more rows together than there are entries; otherwise on the CPU. Products with dense matrices that are
 * there are done as those with vectors are, if the entries that other ranks hold of all columns find room, too. Ranks exchange
 * entries, and sums of products with the transpose, as those of MATAIJMACKO do (-mat_macko_halo). */
#define MATMACKO    "macko"
#define MATSEQMACKO "seqmacko"
#define MATMPIMACKO "mpimacko"

/* Registers the types and log events. It may be called any number of times, and again after a PetscFinalize. Not collective.
 * Errors: PETSC_ERR_SUP where the running PETSc is of another minor version, or has integers of another width, than the one
 * that this library was built for. */
PETSC_EXTERN PetscErrorCode MatMackoInitializePackage(void);

/* Sentences that name a place in a matrix, and say what they count from, count rows and columns from `first` from now on, which is
 * 0, as PETSc does and as it is before any call, or 1, as in Matrix Market files. Not collective, for all matrices.
 * Errors: PETSC_ERR_ARG_OUTOFRANGE for any other number. */
PETSC_EXTERN PetscErrorCode MatMackoCountFrom(PetscInt first);

/* Brings the compressed form up to date at once instead of in the next product, so that its time and errors show here. It does
 * nothing to a matrix of type macko, which is compressed from the start. Collective.
 * Errors, on all ranks: PETSC_ERR_ARG_WRONG if A is of neither type; PETSC_ERR_ARG_WRONGSTATE if A is not assembled on every
 * rank; PETSC_ERR_MEM, or PETSC_ERR_SUP with the library's sentence. */
PETSC_EXTERN PetscErrorCode MatMackoEncode(Mat A);

/* Gives one row of a matrix of type macko that is being made, as MatGetRow does: row is its number in the whole matrix, and it
 * has *count entries in columns *cols, numbered from 0 as in the whole matrix, with *values. They may be in any order; those
 * of one column are added. The arrays are the function's own, in host memory, and are read until its next call. It is called
 * on each rank for the rows of that rank, in ascending order: once on one rank, twice on several, where it must give the same
 * answer again. Anything but 0 ends the making on all ranks. */
typedef PetscErrorCode (*MatMackoRowFunction)(void *context, PetscInt row, PetscInt *count, const PetscInt **cols,
                                              const PetscScalar **values);

/* Makes *A a matrix of type macko with the entries that row gives; the caller destroys it. It has m rows and n columns on this
 * rank, M and N on all; PETSC_DECIDE and PETSC_DETERMINE stand for sizes as in MatSetSizes. context is handed to row.
 * Collective.
 * Errors, on all ranks: PETSC_ERR_LIB, naming the row, where row failed, gave a column that is not in the matrix, or did not
 * give what it gave before; PETSC_ERR_MEM; PETSC_ERR_SUP with the library's sentence. */
PETSC_EXTERN PetscErrorCode MatMackoCreateFromRows(MPI_Comm comm, PetscInt m, PetscInt n, PetscInt M, PetscInt N,
                                                   MatMackoRowFunction row, void *context, Mat *A);

/* This says what is stored and what it costs. Numbers are sums over the blocks of all ranks unless they say otherwise; names
 * and reason are those of this rank's diagonal block, or of its first piece, and belong to the matrix until it changes. */
typedef struct {
  /* PETSC_FALSE before the first product that encodes: the rest is zero then. */
  PetscBool      encoded;
  /* layout and variant are "auto" where the format has none; reason says why this form was chosen. */
  const char    *format, *layout, *variant, *values, *reason;
  /* A column gap takes so many bits; 0 where the width varies or the format has none. */
  int            gap_bits;
  /* PETSC_TRUE if any block of any rank stores rounded values. */
  PetscBool      lossy;
  /* csr_bytes is what CSR would take, with 32-bit indices where they suffice. A form of the transpose on a CPU is in neither: a view
     tells of it. */
  PetscInt64     nnz, bytes, csr_bytes;
  /* These are the counts of the rank with most. */
  PetscInt64     encodes, refreshes;
  /* These are the seconds of all encodes and all refreshes together, on the slowest rank. */
  PetscLogDouble encode_seconds, refresh_seconds;
  /* These are the formats of both blocks, or of the first piece of each ("none" where there is no piece), and how many ranks have
     them so: "macko and csr on 3 ranks, csr and csr on 1 rank". */
  char           formats[192];
  /* So many products by one vector were done with the present form on a CPU, on the rank with most. */
  PetscInt64     products;
  /* This is their measured mean on the slowest rank; 0 where there are none. */
  PetscLogDouble product_seconds;
  /* These are predicted for such a product, and for one with csr; 0 where it is not known. */
  PetscLogDouble predicted_seconds, csr_predicted_seconds;
  /* After so many products encoding has paid for itself against csr; -1 if it never does. */
  PetscInt64     break_even;
  /* PETSC_TRUE if products of vectors in GPU memory run there, on every rank. */
  PetscBool      on_device;
  /* So many bytes are in GPU memory so far, transposes included. */
  PetscInt64     device_bytes;
} MatMackoInfo;

/* Fills *info, which is the caller's. Collective. Errors: PETSC_ERR_ARG_WRONG if A is of neither type. */
PETSC_EXTERN PetscErrorCode MatMackoGetInfo(Mat A, MatMackoInfo *info);

#endif
