/* Between the files of type macko, which holds the compressed form and nothing else. */
#ifndef MACKO_COMPRESSED_H
#define MACKO_COMPRESSED_H

#include "matmacko.h"

/* ---- blocks: block.c. Rows of one rank, encoded a piece at a time. Failures come back as statuses, so that ranks can agree. ---- */

typedef struct {
  PetscInt                    first, count; /* of its rows, in the block */
  macko_matrix               *rows;         /* NULL while they are on the GPU only */
  struct macko_device_matrix *device;       /* NULL while they are in host memory only */
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
  PetscBool            device; /* pieces are encoded on the GPU */
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

/* *rows, encoded already, become the next piece, and NULL. */
PETSC_INTERN macko_status MackoBlockAdd(MackoBlock *b, macko_matrix **rows, macko_error *err);

/* Y = op(A) X + beta Y of k vectors in host memory. */
PETSC_INTERN macko_status MackoBlockMultiply(MackoBlock *b, macko_op op, PetscInt k, const PetscScalar *x, PetscInt ldx,
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

PETSC_INTERN void MackoPieceInfo(const MackoPiece *piece, macko_info *info);

/* ---- columns of other ranks: build.c ---- */

typedef struct {
  PetscInt  count, room;
  PetscInt *cols; /* the caller frees them, unless MackoSetHalo has taken them over */
} MackoColumns;

PETSC_INTERN macko_status   MackoColumnsAdd(MackoColumns *c, PetscInt col, macko_error *err);
PETSC_INTERN void           MackoColumnsSort(MackoColumns *c);                         /* each is there once then */
PETSC_INTERN PetscInt       MackoColumnsFind(const MackoColumns *c, PetscInt col);     /* where, after sorting; -1: nowhere */
PETSC_INTERN PetscErrorCode MackoSetHalo(Mat A, MackoColumns *c);                      /* A's from now on. Collective. */

/* ---- pieces on the GPU: device.c, or no_device.c in a build without CUDA ---- */

/* *device becomes the csr, which is in host memory, encoded there; NULL where the host encodes sooner or the GPU lacks the room. */
PETSC_INTERN macko_status MackoPieceEncode(const macko_csr *csr, const macko_options *options, struct macko_device_matrix **device,
                                           macko_error *err);

/* What products in host memory, on the GPU, or there with the transpose need of every piece of a block. */
typedef enum {
  MACKO_READY_HOST,
  MACKO_READY_DEVICE,
  MACKO_READY_TRANSPOSED,
  MACKO_READY_COUNT
} MackoReady;
PETSC_INTERN macko_status MackoBlockPrepare(MackoBlock *b, MackoReady what, macko_error *err);

/* The piece in host memory as well. */
PETSC_INTERN macko_status MackoPieceFetch(MackoPiece *piece, macko_error *err);

PETSC_INTERN void       MackoPieceDeviceInfo(const MackoPiece *piece, macko_info *info);
PETSC_INTERN PetscInt64 MackoPieceDeviceBytes(const MackoPiece *piece);
PETSC_INTERN void       MackoPieceDeviceFree(MackoPiece *piece);

/* Whether there is room for all transposes: each has a row for every column of the block. */
static inline PetscBool MackoBlockTransposable(const MackoBlock *b)
{
  return (PetscBool)((PetscInt64)b->count * b->ncols <= b->nnz);
}

/* Y = op(A) X + beta Y of k vectors, wherever they are, of a block of A that is prepared. */
PETSC_INTERN PetscErrorCode MackoBlockDeviceMultiply(Mat A, MackoBlock *b, macko_op op, PetscInt k, MackoArray x, PetscScalar beta,
                                                     MackoArray y);

/* Whether a product of A with these vectors is done on the GPU: the same on all ranks. */
PETSC_INTERN PetscErrorCode MackoCompressedOnDevice(Mat A, Vec x, Vec y, PetscBool *device);

/* ---- matrices ---- */

typedef struct {
  macko_options options;
  PetscBool     options_read;
  PetscInt64    piece; /* most entries that are encoded together */
  PetscBool     piece_given, device; /* device: every rank may use a GPU */
  PetscBool     ready[MACKO_READY_COUNT]; /* on every rank */

  MackoBlock own, off; /* off has no rows on a single rank */
  PetscInt   ghosts;   /* columns of off, by their numbers in the whole matrix */
  PetscInt  *ghost_cols;
  Vec        halo; /* NULL on a single rank */
  VecScatter exchange;

  PetscBool             taken;      /* there are entries, or it is known that there are none */
  PetscBool             by_columns; /* MatSetValues gets values by columns */
  struct MackoAssembly *assembly;   /* rows that have come by MatSetValues; NULL before */
  struct MackoList     *list;       /* entries of MatSetPreallocationCOO; NULL without */

  PetscInt     row_room; /* the row that MatGetRow has given out */
  PetscInt    *row_cols;
  PetscScalar *row_values;

  PetscInt64     encodes, products; /* products: with one vector, of those that are timed */
  PetscLogDouble encode_seconds, product_seconds;
} Mat_Compressed;

PETSC_INTERN PetscErrorCode MatCreate_SeqMacko(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIMacko(Mat);

/* -mat_macko_* with A's prefix; items is NULL outside MatSetFromOptions. */
PETSC_INTERN PetscErrorCode MackoCompressedOptions(Mat A, MackoOptionItems items);

/* What A, whose sizes are known, holds becomes what row gives for the rows of each rank, in ascending order, in parallel twice.
   *reason, if it is not NULL, is what row says where it fails. On failure A stays as it is. Collective. */
PETSC_INTERN PetscErrorCode MackoCompressedBuild(Mat A, MatMackoRowFunction row, void *context, const macko_error *reason);

/* Copies of both blocks, with changed values or without a change the same, on all ranks or on none. Collective. */
PETSC_INTERN PetscErrorCode MackoCompressedCopy(Mat A, MackoChange *change, void *of_own, void *of_off, MackoBlock *own, MackoBlock *off);

/* What change does to all values that are none. */
PETSC_INTERN void MackoClear(void *context, PetscInt row, PetscInt n, const int64_t *cols, PetscScalar *values);

/* to, of the sizes of from, exchanges entries of vectors as that does. */
PETSC_INTERN PetscErrorCode MackoCopyHalo(const Mat_Compressed *from, Mat_Compressed *to);

/* Takes over two blocks that belong to columns which A has already. */
PETSC_INTERN PetscErrorCode MackoCompressedTake(Mat A, MackoBlock *own, MackoBlock *off);

/* Row i of this rank, columns numbered as in the whole matrix, ascending, until the next call. */
PETSC_INTERN macko_status MackoCompressedRow(Mat A, PetscInt i, PetscInt *n, const PetscInt **cols, const PetscScalar **values,
                                             macko_error *err);
PETSC_INTERN void         MackoCompressedForget(Mat A);

/* Vectors that A hands out, and those of its halo, where its products want them; whether that is a GPU. Collective. */
PETSC_INTERN PetscErrorCode MackoCompressedPlace(Mat A);

/* Both blocks are ready for such a product, on all ranks or on none. Collective. */
PETSC_INTERN PetscErrorCode MackoCompressedPrepare(Mat A, MackoReady what);

/* Operations, by the files that they are in. */
PETSC_INTERN void           MackoCompressedProducts(Mat A);
PETSC_INTERN void           MackoCompressedEntries(Mat A);
PETSC_INTERN void           MackoCompressedChanges(Mat A);
PETSC_INTERN PetscErrorCode MackoCompressedAssembly(Mat A, PetscBool in); /* into A, or out of it, with all that it holds */
PETSC_INTERN PetscErrorCode MackoCompressedList(Mat A, PetscBool in);
PETSC_INTERN PetscErrorCode MatLoad_Macko(Mat A, PetscViewer viewer);
PETSC_INTERN PetscErrorCode MackoLoadContainer(Mat A, const char *path);

/* Those that a file has, for a matrix without sizes; refused for one with others. */
PETSC_INTERN PetscErrorCode MackoSetSizes(Mat A, const char *path, int64_t rows, int64_t cols);
PETSC_INTERN PetscErrorCode MatView_Macko(Mat A, PetscViewer viewer);
PETSC_INTERN PetscErrorCode MackoIsCompressed(Mat A, PetscBool *compressed);

/* MatMackoGetInfo of this type. */
PETSC_INTERN PetscErrorCode MackoCompressedInfo(Mat A, MatMackoInfo *info);

PETSC_INTERN PetscErrorCode MatConvert_Any_Macko(Mat A, MatType type, MatReuse reuse, Mat *B);
/* The entries of A into B, of any type with the same rows on this rank. */
PETSC_INTERN PetscErrorCode MackoCompressedFill(Mat A, Mat B);
PETSC_INTERN PetscErrorCode MatConvert_Macko_Any(Mat A, MatType type, MatReuse reuse, Mat *B);
PETSC_INTERN PetscErrorCode MackoCompressedProduct(Mat C);

/* C = op(A) B with B and C dense. */
PETSC_INTERN PetscErrorCode MackoCompressedDense(Mat A, macko_op op, Mat B, Mat C);

/* "Not supported for this type", with what to do instead: for factors and for products with sparse matrices. */
PETSC_INTERN PetscErrorCode MatGetFactor_Macko(Mat A, MatFactorType type, Mat *F);
PETSC_INTERN PetscErrorCode MackoCompressedRefuseProduct(Mat C);
PETSC_INTERN void           MackoCompressedRefusals(Mat A);

#endif
