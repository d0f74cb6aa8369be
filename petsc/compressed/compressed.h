/* Between the files of type macko, which holds the compressed form and nothing else. */
#ifndef MACKO_COMPRESSED_H
#define MACKO_COMPRESSED_H

#include "matmacko.h"

/* ---- blocks: block.c. Rows of one rank, encoded a piece at a time. Failures come back as statuses, so that ranks can agree. ---- */

typedef struct {
  PetscInt      first; /* of its rows, in the block */
  macko_matrix *rows;
} MackoPiece;

typedef struct {
  PetscInt    nrows, ncols, count, room;
  MackoPiece *pieces; /* count of them, in the order of their rows; rows beyond have no entries */
  PetscInt64  nnz;

  PetscInt     decoded; /* the piece that is in the arrays below as well, where there are arrays */
  int64_t     *starts, *cols;
  PetscScalar *values;
} MackoBlock;

/* Rows that wait for enough others to be encoded together. */
typedef struct {
  MackoBlock          *block;
  const macko_options *options;
  PetscInt64           most, rows, starts_room, room; /* entries and rows of a piece; waiting rows; places of the arrays */
  int64_t             *starts;
  PetscInt            *cols;
  PetscScalar         *values;
} MackoCollector;

/* Adds the next row to the block, with n columns of the block in any order. */
PETSC_INTERN macko_status MackoCollect(MackoCollector *c, PetscInt n, const PetscInt *cols, const PetscScalar *values,
                                       macko_error *err);

/* Encodes what still waits. Frees what the collector holds, also after a failure. */
PETSC_INTERN macko_status MackoCollectEnd(MackoCollector *c, macko_status status, macko_error *err);

/* Y = op(A) X + beta Y of k vectors in host memory. */
PETSC_INTERN macko_status MackoBlockMultiply(const MackoBlock *b, macko_op op, PetscInt k, const PetscScalar *x, PetscInt ldx,
                                             PetscScalar beta, PetscScalar *y, PetscInt ldy, macko_error *err);

/* The entries of row i, sorted, until the next call; the piece that it is in stays decoded until MackoBlockForget. */
PETSC_INTERN macko_status MackoBlockRow(MackoBlock *b, PetscInt i, PetscInt *n, const int64_t **cols, const PetscScalar **values,
                                        macko_error *err);
PETSC_INTERN void         MackoBlockForget(MackoBlock *b);

/* Changes value by value what a row of the block holds. */
typedef void MackoChange(void *context, PetscInt row, PetscInt n, const int64_t *cols, PetscScalar *values);

/* *to becomes a block of the same pattern, with changed values or, without a change, the same. */
PETSC_INTERN macko_status MackoBlockCopy(MackoBlock *from, MackoChange *change, void *context, MackoBlock *to, macko_error *err);
PETSC_INTERN void         MackoBlockDestroy(MackoBlock *b);

/* ---- matrices ---- */

typedef struct {
  macko_options options;
  PetscBool     options_read;
  PetscInt64    piece; /* most entries that are encoded together */

  MackoBlock own, off; /* off has no rows on a single rank */
  PetscInt   ghosts;   /* columns of off, by their numbers in the whole matrix */
  PetscInt  *ghost_cols;
  Vec        halo; /* NULL on a single rank */
  VecScatter exchange;

  PetscInt     row_room; /* the row that MatGetRow has given out */
  PetscInt    *row_cols;
  PetscScalar *row_values;

  PetscInt64     encodes;
  PetscLogDouble encode_seconds;
} Mat_Compressed;

PETSC_INTERN PetscErrorCode MatCreate_SeqMacko(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIMacko(Mat);

/* -mat_macko_* with A's prefix; items is NULL outside MatSetFromOptions. */
PETSC_INTERN PetscErrorCode MackoCompressedOptions(Mat A, MackoOptionItems items);

/* What A, whose sizes are known, holds becomes what row gives for the rows of each rank, in ascending order, in parallel twice.
   *reason, if it is not NULL, is what row says where it fails. On failure A stays as it is. Collective. */
PETSC_INTERN PetscErrorCode MackoCompressedBuild(Mat A, MatMackoRowFunction row, void *context, const macko_error *reason);

/* Takes over two blocks that belong to columns which A has already. */
PETSC_INTERN PetscErrorCode MackoCompressedTake(Mat A, MackoBlock *own, MackoBlock *off);

/* Row i of this rank, columns numbered as in the whole matrix, ascending, until the next call. */
PETSC_INTERN macko_status MackoCompressedRow(Mat A, PetscInt i, PetscInt *n, const PetscInt **cols, const PetscScalar **values,
                                             macko_error *err);
PETSC_INTERN void         MackoCompressedForget(Mat A);

/* Operations, by the files that they are in. */
PETSC_INTERN void           MackoCompressedProducts(Mat A);
PETSC_INTERN void           MackoCompressedEntries(Mat A);
PETSC_INTERN PetscErrorCode MatLoad_Macko(Mat A, PetscViewer viewer);
PETSC_INTERN PetscErrorCode MatView_Macko(Mat A, PetscViewer viewer);
PETSC_INTERN PetscErrorCode MackoIsCompressed(Mat A, PetscBool *compressed);

/* MatMackoGetInfo of this type. */
PETSC_INTERN PetscErrorCode MackoCompressedInfo(Mat A, MatMackoInfo *info);

PETSC_INTERN PetscErrorCode MatConvert_Any_Macko(Mat A, MatType type, MatReuse reuse, Mat *B);
PETSC_INTERN PetscErrorCode MatConvert_Macko_Any(Mat A, MatType type, MatReuse reuse, Mat *B);
PETSC_INTERN PetscErrorCode MackoCompressedProduct(Mat C);

/* "Not supported for this type", with what to do instead: for factors and for products with sparse matrices. */
PETSC_INTERN PetscErrorCode MatGetFactor_Macko(Mat A, MatFactorType type, Mat *F);
PETSC_INTERN PetscErrorCode MackoCompressedRefuseProduct(Mat C);

#endif
