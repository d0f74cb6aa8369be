/* Between the files of type macko, which holds the compressed form and nothing else. */
#ifndef MACKO_COMPRESSED_H
#define MACKO_COMPRESSED_H

#include "halo.h"

/* ---- blocks (block.c): rows of one rank, encoded a piece at a time; failures are statuses, so that ranks can agree ---- */

/* A piece is a matrix of consecutive rows of a block, encoded by itself. At least one of its two forms is there. */
typedef struct {
  PetscInt                    first, count; /* these are its rows in the block: the first one and how many */
  macko_matrix               *rows; /* this is NULL while the rows are on the GPU only */
  struct macko_device_matrix *device; /* this is NULL while they are in host memory only */
} MackoPiece;

/* A block holds this rank's rows in its own columns, or in those of other ranks. Its columns are numbered from 0. */
typedef struct {
  /* There are count pieces, and room for `room` of them; they have `stored` rows. */
  PetscInt    nrows, ncols, count, room, stored;
  /* They are in the order of their rows; rows of the block that are in no piece have no entries. */
  MackoPiece *pieces;
  /* This counts the entries of all pieces. */
  PetscInt64  nnz;

  /* This is the piece whose entries the arrays below hold, where there are arrays; MackoBlockForget frees them. They have so many
     places. */
  PetscInt     decoded;
  int64_t      starts_room, entries_room;
  int64_t     *starts, *cols;
  PetscScalar *values;
} MackoBlock;

/* Rows wait here for enough others to be encoded together. Whoever collects sets what comes before first, and most; the rest is
   zero at first and the collector's own. */
typedef struct {
  MackoBlock          *block;
  const macko_options *options;
  PetscBool            device; /* pieces are encoded on the GPU */
  PetscBool            gaps; /* many rows without entries, one after another, are in no piece */
  /* Sentences of failures name places in the matrix: the block's row 0 is its row `row`, column j its names[j], or else col + j. */
  PetscInt             row, col;
  const PetscInt      *names;
  /* `first` is the block's row that waits first, or comes next; so many rows without entries have come after those that wait. */
  PetscInt             first, empty;
  /* A piece has at most `most` entries and as many rows, unless one row alone has more entries; `rows` rows wait; starts has
     starts_room places, cols and values have `room`. */
  PetscInt64           most, rows, starts_room, room;
  int64_t             *starts;
  PetscInt            *cols;
  PetscScalar         *values;
} MackoCollector;

/* Adds the next row to the block, with n columns numbered as the block's, in any order; those that come twice are added up. The
   arrays are copied. Encodes what waits first, where the row would make the piece too large. */
PETSC_INTERN macko_status MackoCollect(MackoCollector *c, PetscInt n, const PetscInt *cols, const PetscScalar *values,
                                       macko_error *err);

/* Encodes what still waits, unless status says that something has failed before, and returns that or the status of the encoding.
   Frees what the collector holds in all cases; the block stays the caller's to destroy. */
PETSC_INTERN macko_status MackoCollectEnd(MackoCollector *c, macko_status status, macko_error *err);

/* *rows, which is encoded already, becomes the block's next piece, and NULL: the block owns it then. On failure it stays the
   caller's. */
PETSC_INTERN macko_status MackoBlockAdd(MackoBlock *b, macko_matrix **rows, macko_error *err);

/* Y = op(A) X + beta Y of k vectors in host memory. Pieces that are on the GPU only are fetched. */
PETSC_INTERN macko_status MackoBlockMultiply(MackoBlock *b, macko_op op, PetscInt k, MackoArray x, PetscScalar beta, MackoArray y,
                                             macko_error *err);

/* Gives the entries of row i of the block, in ascending order of their columns, valid until the next call; the arrays are the
   block's. The piece that the row is in stays decoded until MackoBlockForget, so that rows are best asked for in order. */
PETSC_INTERN macko_status MackoBlockRow(MackoBlock *b, PetscInt i, PetscInt *n, const int64_t **cols, const PetscScalar **values,
                                        macko_error *err);
PETSC_INTERN void         MackoBlockForget(MackoBlock *b);

/* Changes, in place, the n values of a row of the block; cols are their columns. context is what was given along. */
typedef void MackoChange(void *context, PetscInt row, PetscInt n, const int64_t *cols, PetscScalar *values);

/* *to becomes a new block of the same pattern, with values as change (which may be NULL) has changed them. *from stays as it is;
   on failure *to is empty. */
PETSC_INTERN macko_status MackoBlockCopy(MackoBlock *from, MackoChange *change, void *context, MackoBlock *to, macko_error *err);
PETSC_INTERN void         MackoBlockDestroy(MackoBlock *b);

/* Gives the facts of a piece, wherever it is. */
PETSC_INTERN void MackoPieceInfo(const MackoPiece *piece, macko_info *info);

/* ---- columns of other ranks: build.c ---- */

/* This is a growing list of columns by their numbers in the whole matrix. */
typedef struct {
  PetscInt  count, room;
  /* The caller frees them with free, unless MackoSetHalo has taken them over. */
  PetscInt *cols;
} MackoColumns;

PETSC_INTERN macko_status   MackoColumnsAdd(MackoColumns *c, PetscInt col, macko_error *err);
PETSC_INTERN void           MackoColumnsSort(MackoColumns *c);                         /* each is there once then */
PETSC_INTERN PetscInt       MackoColumnsFind(const MackoColumns *c, PetscInt col); /* its place, after sorting, or -1 */
PETSC_INTERN PetscErrorCode MackoSetHalo(Mat A, MackoColumns *c); /* they are A's from now on. Collective. */

/* ---- pieces on the GPU: device.c, or no_device.c in a build without CUDA ---- */

/* *device becomes the csr, which is in host memory with 64-bit row pointers, encoded on the GPU. It is NULL, with status
   MACKO_OK, where the host encodes sooner or the GPU lacks the room: the caller then encodes on the host. */
PETSC_INTERN macko_status MackoPieceEncode(const macko_csr *csr, const macko_options *options, struct macko_device_matrix **device,
                                           macko_error *err);

/* Products need something of every piece of a block: to have it in host memory, on the GPU, or there with its transpose. */
typedef enum {
  MACKO_READY_HOST,
  MACKO_READY_DEVICE,
  MACKO_READY_TRANSPOSED,
  MACKO_READY_COUNT
} MackoReady;
/* Makes all pieces of a block ready for such products. */
PETSC_INTERN macko_status MackoBlockPrepare(MackoBlock *b, MackoReady what, macko_error *err);

/* Gives the rows of a piece in host memory: its own, or fetched from the GPU where they are there only. Return, which is called
   after a failure, too, frees those that are not the piece's own. */
PETSC_INTERN macko_status MackoPieceBorrow(const MackoPiece *piece, macko_matrix **rows, macko_error *err);
PETSC_INTERN void         MackoPieceReturn(const MackoPiece *piece, macko_matrix **rows);

/* Brings a piece to host memory, where it stays then, if it is on the GPU only. */
static inline macko_status MackoPieceFetch(MackoPiece *piece, macko_error *err)
{
  return MackoPieceBorrow(piece, &piece->rows, err);
}

PETSC_INTERN void       MackoPieceDeviceInfo(const MackoPiece *piece, macko_info *info);
PETSC_INTERN PetscInt64 MackoPieceDeviceBytes(const MackoPiece *piece);
PETSC_INTERN void       MackoPieceDeviceFree(MackoPiece *piece);

/* Says whether there is room for the transposes of all pieces. Each has a row for every column of the block, which together shall
   not be more than there are entries, or rows. */
static inline PetscBool MackoBlockTransposable(const MackoBlock *b)
{
  return (PetscBool)((PetscInt64)b->count * b->ncols <= PetscMax(b->nnz, b->nrows));
}

/* Says whether the products of all pieces write every element of Y = op(A) X. */
static inline PetscBool MackoBlockFills(const MackoBlock *b, macko_op op)
{
  return (PetscBool)(op == MACKO_OP_N ? b->stored == b->nrows : b->count > 0);
}

/* Y = op(A) X + beta Y of k vectors, in host or GPU memory, done on the GPU with a block of A that MackoBlockPrepare has made
   ready. Arrays in host memory are copied; those in GPU memory are used in place, and the product is only queued. */
PETSC_INTERN macko_status MackoBlockDeviceMultiply(Mat A, MackoBlock *b, macko_op op, PetscInt k, MackoArray x, PetscScalar beta,
                                                   MackoArray y, macko_error *err);

/* Puts a row's entry in the column of the same number, 0 where there is none, for all rows of a block into diagonal, an array in
   GPU memory: queued on PETSc's stream. *done says whether all pieces are on the GPU and have layouts that give it; nothing is
   wrong where not. */
PETSC_INTERN macko_status MackoBlockDeviceDiagonal(const MackoBlock *b, PetscScalar *diagonal, PetscBool *done, macko_error *err);

/* Makes room in GPU memory for k columns of as many elements as A's halo has, or finds what there is from before, and says whether
   there is as much. It stays A's; *halos is NULL where the halo is empty or the room lacks. */
PETSC_INTERN PetscBool MackoHalosOnDevice(Mat A, PetscInt k, PetscScalar **halos);

/* Says whether a product of A with these vectors is done on the GPU, the same on all ranks: where both vectors are there, or the
   user has asked for it. */
PETSC_INTERN PetscErrorCode MackoCompressedOnDevice(Mat A, Vec x, Vec y, PetscBool *device);

/* ---- matrices ---- */

/* MatSetOption says what becomes of an entry where the assembled matrix has none. */
typedef enum {
  MACKO_NEW_TAKEN,
  MACKO_NEW_IGNORED,
  MACKO_NEW_REFUSED
} MackoNewPlaces;

/* This is what it says of the entries that MatSetValues gets. */
typedef struct {
  PetscBool      by_columns;     /* a block's values come column by column */
  PetscBool      others_ignored; /* rows of other ranks are left out, not refused */
  PetscBool      zeros_ignored;  /* zeros beside the diagonal make no new entries */
  MackoNewPlaces new_places;
  PetscBool      at_once; /* places are new from now on, not from the end of the first assembly on */
} MackoRules;

/* These arrays have room for so many entries of a row. They come from realloc. */
typedef struct {
  PetscInt     room;
  PetscInt    *cols;
  PetscScalar *values;
} MackoRowRoom;

/* This is what a matrix of type macko holds, in the data of PETSc's struct. */
typedef struct {
  macko_options options;
  PetscBool     options_read;
  /* At most so many entries are encoded together. */
  PetscInt64    piece;
  /* The user has chosen piece; every rank may use a GPU. */
  PetscBool     piece_given, device;
  /* MackoCompressedPrepare has made both blocks ready for such products, on every rank. */
  PetscBool     ready[MACKO_READY_COUNT];

  /* These are the blocks of own columns and of other ranks'; off has no rows on a single rank. */
  MackoBlock own, off;
  /* There are so many columns of off, listed by their numbers in the whole matrix, ascending. */
  PetscInt   ghosts;
  PetscInt  *ghost_cols;
  /* The vector has an entry for each column of off, and exchange fills it from a vector of the whole matrix; both are NULL on a
     single rank. Products with vectors on GPUs have another exchange (MackoHaloGet). */
  Vec        halo;
  VecScatter exchange;
  /* There is room in the GPU memory of every rank for the halo's entries of so many columns of a dense matrix. */
  PetscInt   halo_columns;

  PetscBool             taken;      /* there are entries, or it is known that there are none */
  PetscBool             settled;    /* an assembly has come to its end: places without entries are new from then on */
  MackoRules            rules;
  struct MackoAssembly *assembly; /* these rows have come by MatSetValues; NULL before */
  struct MackoList     *list; /* these entries have come by MatSetPreallocationCOO; NULL without */

  /* These arrays hold the row that was asked for last, of row_n entries; row_held is its number in this rank and 1, or 0 where they
     are not to be relied on. */
  PetscInt     row_n, row_held;
  MackoRowRoom row;
  /* MatGetRow gives out a row in arrays of its own, because a program may ask for anything else while it holds them. */
  MackoRowRoom given;
  PetscBool    is_given; /* and has not come back */

  /* products counts those with one vector that are timed, which are those on the CPU. */
  PetscInt64     encodes, products;
  PetscLogDouble encode_seconds, product_seconds;
} Mat_Compressed;

PETSC_INTERN PetscErrorCode MatCreate_SeqMacko(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIMacko(Mat);

/* Reads -mat_macko_* with A's prefix, once, or again within MatSetFromOptions; items is NULL outside of that. Collective. */
PETSC_INTERN PetscErrorCode MackoCompressedOptions(Mat A, MackoOptionItems items);

/* Raises an error where MatSetUp has not been called. */
PETSC_INTERN PetscErrorCode MackoCheckSetUp(Mat A);

/* What A holds becomes what row gives for the rows of each rank, in ascending order, in parallel twice; A's sizes must be known.
   *reason, if it is not NULL, is the status and the sentence that are raised where row fails. On failure A stays as it is.
   Collective. */
PETSC_INTERN PetscErrorCode MackoCompressedBuild(Mat A, MatMackoRowFunction row, void *context, const macko_error *reason);

/* Makes copies of both blocks of A, with values as change has changed them (NULL: the same), on all ranks or on none. change gets
   of_own as its context for the one block, of_off for the other. The caller owns *own and *off. Collective. */
PETSC_INTERN PetscErrorCode MackoCompressedCopy(Mat A, MackoChange *change, void *of_own, void *of_off, MackoBlock *own,
                                                MackoBlock *off);

/* This change sets all values to zero and needs no context. */
PETSC_INTERN void MackoClear(void *context, PetscInt row, PetscInt n, const int64_t *cols, PetscScalar *values);

/* Makes to, of the sizes of from, exchange entries of vectors as from does; the two share the exchange, which does not change. */
PETSC_INTERN PetscErrorCode MackoCopyHalo(const Mat_Compressed *from, Mat_Compressed *to);

/* Makes the two blocks, for whose columns A is set up already, A's own, in place of those it had; the caller must not destroy
   them. A counts as assembled and changed. */
PETSC_INTERN PetscErrorCode MackoCompressedTake(Mat A, MackoBlock *own, MackoBlock *off);

/* Gives row i of this rank, counted from its first one, with columns numbered as in the whole matrix, ascending. The arrays are
   A's and valid until the next call. MackoCompressedForget frees what was decoded for it. */
PETSC_INTERN macko_status MackoCompressedRow(Mat A, PetscInt i, PetscInt *n, const PetscInt **cols, const PetscScalar **values,
                                             macko_error *err);
PETSC_INTERN void         MackoCompressedForget(Mat A);

/* Puts the vectors that A hands out, and that of its halo, where its products want them: on the GPU if m->device, else on the
   host. Collective. */
PETSC_INTERN PetscErrorCode MackoCompressedPlace(Mat A);

/* Makes both blocks ready for such a product, on all ranks or on none. Collective the first time. */
PETSC_INTERN PetscErrorCode MackoCompressedPrepare(Mat A, MackoReady what);

/* Y = op(A) X + beta Y of one block of A, which is ready, and k columns: on the GPU, if device says so, wherever the arrays are, or
   on the CPU. A refusal comes back in *status and *err, so that the caller can agree with other ranks before raising an error. */
PETSC_INTERN PetscErrorCode MackoBlockProduct(Mat A, MackoBlock *b, PetscBool device, macko_op op, PetscInt k, MackoArray x,
                                              PetscScalar beta, MackoArray y, macko_status *status, macko_error *err);

/* Says whether there is room on the GPU of every rank for a product op(A) X of k columns of a dense matrix: for their halos, where
   it makes the room, and for MACKO_OP_T for the transposes of all pieces, unless these are there. A k of 0 is for a product with a
   vector, which needs no such halos. Collective where the answer is not known from before. */
PETSC_INTERN PetscErrorCode MackoCompressedFits(Mat A, macko_op op, PetscInt k, PetscBool *fits);

/* Each of these sets the operations of A that are in one file; the two with in set or end what has to be composed, or freed, as
   well. */
PETSC_INTERN void           MackoCompressedProducts(Mat A);
PETSC_INTERN void           MackoCompressedEntries(Mat A);
PETSC_INTERN void           MackoCompressedRowNumbers(Mat A);
PETSC_INTERN void           MackoCompressedChanges(Mat A);
PETSC_INTERN PetscErrorCode MackoCompressedAssembly(Mat A, PetscBool in); /* A gets them, or goes with all that they hold */
PETSC_INTERN PetscErrorCode MackoCompressedList(Mat A, PetscBool in);

/* An entry has come for a row of this rank. zero says whether it is one that MAT_IGNORE_ZERO_ENTRIES speaks of. */
typedef struct {
  PetscInt   row, col;
  InsertMode mode;
  PetscBool  zero;
} MackoNewEntry;
/* Says whether the row that entries come for at present has got one in that column since the last assembly (assemble.c). */
PETSC_INTERN PetscBool MackoCame(const struct MackoAssembly *a, PetscInt col);
/* Sets *admitted to whether A takes the entry by its rules, or raises the error that these ask for (rules.c). */
PETSC_INTERN PetscErrorCode MackoAdmits(Mat A, MackoNewEntry e, PetscBool *admitted);
PETSC_INTERN PetscErrorCode MackoCompressedSetOption(Mat A, MatOption option, PetscBool on);
/* A becomes what the CSR of each rank's rows says, columns numbered as in the whole matrix; values may be NULL. Collective. */
PETSC_INTERN PetscErrorCode MackoCompressedFromCSR(Mat A, const PetscInt starts[], const PetscInt cols[],
                                                   const PetscScalar values[]);
PETSC_INTERN PetscErrorCode MatLoad_Macko(Mat A, PetscViewer viewer);
PETSC_INTERN PetscErrorCode MackoLoadContainer(Mat A, const char *path);

/* Gives A the sizes that the file at path has, where A has none yet; refuses a matrix of other sizes. Collective. */
PETSC_INTERN PetscErrorCode MackoSetSizes(Mat A, const char *path, int64_t rows, int64_t cols);
PETSC_INTERN PetscErrorCode MatView_Macko(Mat A, PetscViewer viewer);
PETSC_INTERN PetscErrorCode MackoIsCompressed(Mat A, PetscBool *compressed);

/* Draws where A has entries, coloured by sign, or by size where the viewer's format is PETSC_VIEWER_DRAW_CONTOUR. Collective. */
PETSC_INTERN PetscErrorCode MackoCompressedDraw(Mat A, PetscViewer viewer);

/* This is MatMackoGetInfo for a matrix of this type, but for the break-even. Collective. */
PETSC_INTERN PetscErrorCode MackoCompressedInfo(Mat A, MatMackoInfo *info);

/* Converts a matrix of any type to type macko: from its rows, or through AIJ. */
PETSC_INTERN PetscErrorCode MatConvert_Any_Macko(Mat A, MatType type, MatReuse reuse, Mat *B);
/* Puts the entries of A into B and assembles it. B is of any type, has the same rows on this rank and room for the entries.
   Collective. */
PETSC_INTERN PetscErrorCode MackoCompressedFill(Mat A, Mat B);
/* Converts to AIJ, and from there to the type that is asked for. */
PETSC_INTERN PetscErrorCode MatConvert_Macko_Any(Mat A, MatType type, MatReuse reuse, Mat *B);
/* Sets up the product of matrices C if its second operand is dense, and refuses others. */
PETSC_INTERN PetscErrorCode MackoCompressedProduct(Mat C);

/* C = op(A) B with B and C dense, set up, and in the layouts that the product wants. Collective. */
PETSC_INTERN PetscErrorCode MackoCompressedDense(Mat A, macko_op op, Mat B, Mat C);

/* These refuse with PETSc's "not supported for this type" and what to do instead: factors, products with sparse matrices, and all
   the operations that the last one sets. */
PETSC_INTERN PetscErrorCode MatGetFactor_Macko(Mat A, MatFactorType type, Mat *F);
PETSC_INTERN PetscErrorCode MackoCompressedRefuseProduct(Mat C);
PETSC_INTERN void           MackoCompressedRefusals(Mat A);

#endif
