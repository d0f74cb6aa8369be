/* Between the files of the matrix type. */
#ifndef MATMACKO_H
#define MATMACKO_H

#include "petscmacko.h"
#include "compat.h"
#include "failure.h"
#include "macko.h"

#include <unistd.h>

/* Where products run. auto: on the GPU where the vectors are there; cuda: on the GPU, with copies if need be. */
typedef enum {
  MACKO_BACKEND_AUTO,
  MACKO_BACKEND_CPU,
  MACKO_BACKEND_CUDA
} MackoBackend;

/* How ranks exchange entries of vectors on GPUs. auto: from GPU to GPU within a node where that works on all ranks, else by MPI. */
typedef enum {
  MACKO_HALO_AUTO,
  MACKO_HALO_HOST,
  MACKO_HALO_PEER,
  MACKO_HALO_MPI
} MackoHaloPath;

/* Whether rows, columns and values of AIJCUSPARSE stay in GPU memory beside the compressed form. auto: where more than first
   products use them. */
typedef enum {
  MACKO_KEEP_AUTO,
  MACKO_KEEP_YES,
  MACKO_KEEP_NO
} MackoKeep;

/* What a matrix keeps room in GPU memory for: vectors x and y of the host, and the halo's entries of a dense matrix. */
typedef enum {
  MACKO_ROOM_X,
  MACKO_ROOM_Y,
  MACKO_ROOM_HALOS,
  MACKO_ROOMS
} MackoRoomFor;

typedef struct MackoKind MackoKind;

/* Counts products with the values that a matrix has, known by their state: how many the type below does, and how many there were,
   and those of the values before; how many would pay for renewing, and how many beyond that earlier values of the pattern had. */
typedef struct {
  PetscInt64       worth, products, before, renewal, lost;
  Mat              owner;
  PetscObjectState state, nonzerostate;
} MackoCount;

/* Composed with both the sequential and the parallel matrix: spptr may belong to the type that ours stands on. */
typedef struct {
  const MackoKind *kind;
  PetscBool        born_as_factor; /* was one when it became ours */

  macko_options options;
  MackoBackend  backend;
  MackoHaloPath halo_path;
  MackoKeep     keep_csr;
  PetscBool     csr_used; /* by a product of sparse matrices, a factor or a list of values, which will want it again */
  PetscBool     csr_bound; /* its type keeps with it what a later call needs */
  PetscBool     csr_gone; /* given back, and not copied again by MackoCusparseRetrieve */
  PetscBool     options_read;
  PetscBool     is_block; /* of a parallel matrix, whose prefix is whole_prefix, which may be NULL */
  char         *whole_prefix, *read_prefix; /* read_prefix: under which the backend and the like were read last */

  /* The compressed form of a sequential matrix, NULL while it is on the GPU only, and what it was made from: owner is this
     matrix's address and data that of its arrays, because MatHeaderMerge gives a matrix another's arrays, or its struct to
     another matrix, whose state counters say nothing about it. */
  macko_matrix    *compressed;
  Mat              owner;
  const void      *data;
  PetscObjectState state, nonzerostate;
  PetscInt         ncols, nonempty_rows;
  PetscInt64       nnz;


  /* The same in GPU memory, with the counts below that it was made from, and room there. */
  struct macko_device_matrix *device;
  PetscInt64                  device_encodes, device_refreshes;
  void                       *staged[MACKO_ROOMS];
  size_t                      staged_bytes[MACKO_ROOMS];

  /* Of a parallel matrix, what its ranks exchange for a product on the GPU, and of aijmacko the rows of the off-diagonal block that
     have entries, where these are few: NULL before the first such product. Whole says that the off-diagonal block itself is up to
     date as well, on all ranks. */
  struct MackoHalo     *halo;
  struct MackoHaloRows *halo_rows;
  PetscBool             whole;

  PetscInt64     encodes, refreshes;
  PetscLogDouble encode_seconds, refresh_seconds;

  /* Products by one vector that the CPU has done with the present form of a sequential matrix. */
  PetscInt64     multiplied, timed; /* of small matrices not every one is timed */
  PetscLogDouble multiply_seconds;  /* of those that are */

  /* after.c: -mat_macko_after; products with the values that the matrix has, and all that the type below did. */
  PetscInt64 after, products_below;
  MackoCount count;
  PetscBool  held; /* a block whose parallel matrix waits */
  PetscBool  gain_known, gains_little; /* for these values: whether a form is hardly faster than csr for one vector */

  /* transpose.c: of a sequential matrix, NULL before the first product with its transpose that is counted. */
  struct MackoTransposed *transposed;
} Mat_Macko;

enum { MACKO_AFTER_AUTO = -1 };

/* What the type does that ours stands on, taken from a matrix of it that is fresh or assembled. */
typedef struct {
  PetscBool      saved;
  struct _MatOps ops;
  PetscErrorCode (*storevalues)(Mat);
  PetscErrorCode (*retrievevalues)(Mat);
  PetscErrorCode (*kron)(Mat, Mat, MatReuse, Mat *);
  PetscErrorCode (*setpreallocation)(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[]);
  PetscErrorCode (*preallocatecoo)(Mat, PetscCount, PetscInt[], PetscInt[]);
  PetscErrorCode (*setvaluescoo)(Mat, const PetscScalar[], InsertMode);
  PetscErrorCode (*copysubarray)(Mat, PetscInt, const PetscInt[], PetscScalar[]);
  PetscErrorCode (*getlocalmerge)(Mat, MatReuse, IS *, Mat *);
} MackoBase;

/* A type of ours on one that it stands on: AIJ, or with a GPU AIJCUSPARSE, which keeps the arrays in GPU memory as well. */
struct MackoKind {
  MatType    name, base;
  PetscBool  device;
  MackoBase *does;
};

PETSC_INTERN const MackoKind MackoSeqHost, MackoSeqDevice, MackoMPIHost, MackoMPIDevice;

/* Fills kind->does, once, from A if that is of type kind->base, else from a new matrix. A is not collecting entries in a hash. */
PETSC_INTERN PetscErrorCode MackoFindBase(const MackoKind *kind, Mat A);

/* Gives A those functions of base that any kind of ours replaces. */
PETSC_INTERN PetscErrorCode MackoSetBase(Mat A, const MackoBase *base);

/* A is of type kind->base again, and nothing of ours is left to it. */
PETSC_INTERN PetscErrorCode MackoRestoreBase(Mat A);

/* What a conversion starts with: *B, unless it is A itself, becomes a copy of A, still of A's type, or, with MAT_REUSE_MATRIX,
   takes A's entries, and is done. */
PETSC_INTERN PetscErrorCode MackoBeginConversion(Mat A, MatReuse reuse, Mat *B);

/* A, an AIJ that may still collect its entries in a hash, no longer does: the end of that would put AIJ's functions over ours. */
PETSC_INTERN PetscErrorCode MackoEndHashing(Mat A);

/* Whether A, of which nobody has asked yet, is to stand on AIJCUSPARSE: PETSc has it, and products of all ranks may run on a GPU.
   Collective. */
PETSC_INTERN PetscErrorCode MackoWantsDeviceBase(Mat A, PetscBool *device);

/* In what both types do alike (viewing, options, stored values, where vectors live) A, which is of type kind->base, does as
   ours. */
PETSC_INTERN PetscErrorCode MackoTakeOver(Mat A, const MackoKind *kind);

/* A, sequential, has our functions again where PETSc finds them by name. With -mat_seqaij_type seqaijmacko a copy of a plain AIJ
   becomes ours as it is made, and MatDuplicate then gives it those of the plain one, one of which changes values without a new
   state. */
PETSC_INTERN PetscErrorCode MackoKeepComposed(Mat A);

/* While MackoStayPlain was called more often with PETSC_TRUE than with PETSC_FALSE, -mat_seqaij_type seqaijmacko does not make a
   new AIJ ours. MackoWrapDerived has it called while PETSc creates a matrix of another type that it derives from AIJ. */
PETSC_INTERN void           MackoStayPlain(PetscBool plain);
PETSC_INTERN PetscBool      MackoStaysPlain(void);
PETSC_INTERN PetscErrorCode MackoWrapDerived(void);

/* Has parts of A, of type MPIAIJ or made from one, that are made again noticed where they are ours. */
PETSC_INTERN void MackoWatchParts(Mat A);

/* Does a call meanwhile, whose error, if any, is handed on. */
#define MACKO_STAYING_PLAIN(call) \
  do { \
    PetscErrorCode error_; \
    MackoStayPlain(PETSC_TRUE); \
    error_ = (call); \
    MackoStayPlain(PETSC_FALSE); \
    PetscCall(error_); \
  } while (0)

/* A, a sequential AIJ or AIJCUSPARSE, assembled or not, becomes ours on the one or the other. */
PETSC_INTERN PetscErrorCode MackoTakeSeq(Mat A, PetscBool device);

/* The same of a parallel one; of its blocks, where PETSc made new ones. */
PETSC_INTERN PetscErrorCode MackoTakeMPI(Mat A, PetscBool device);
PETSC_INTERN PetscErrorCode MackoEnsureBlocks(Mat A);

/* The opposite: A, a sequential matrix of ours, becomes AIJCUSPARSE or AIJ. */
PETSC_INTERN PetscErrorCode MackoReleaseSeq(Mat A, PetscBool device);

PETSC_INTERN PetscLogEvent MACKO_Encode, MACKO_Refresh, MACKO_Upload, MACKO_Mult;

PETSC_INTERN PetscErrorCode MatCreate_SeqAIJMacko(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIAIJMacko(Mat);
PETSC_INTERN PetscErrorCode MatConvert_SeqAIJ_SeqAIJMacko(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MackoConvertNew(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_SeqAIJMacko_SeqAIJ(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_SeqAIJMacko_SeqAIJCUSPARSE(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_MPIAIJ_MPIAIJMacko(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_MPIAIJMacko_MPIAIJ(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_MPIAIJMacko_MPIAIJCUSPARSE(Mat, MatType, MatReuse, Mat *);

/* *plain becomes a new matrix of type aij, which is MATAIJ, MATSEQAIJ or MATMPIAIJ, with the entries that PETSc's conversion of A,
   of any type, gives it. */
PETSC_INTERN PetscErrorCode MackoToAIJ(Mat A, MatType aij, Mat *plain);

/* Converts a matrix of a type for which there is no other way, through AIJ. */
PETSC_INTERN PetscErrorCode MatConvert_Any_AIJMacko(Mat A, MatType type, MatReuse reuse, Mat *B);

/* The struct of A, NULL where A is not ours; the same, made where there is none. */
PETSC_INTERN Mat_Macko     *MackoOf(Mat A);
PETSC_INTERN PetscErrorCode MackoGet(Mat A, Mat_Macko **m);
PETSC_INTERN PetscErrorCode MackoFree(Mat A);

/* Whether what m remembers was made from A as it is, but for its counters; from now on it is. */
PETSC_INTERN PetscBool MackoOwns(const Mat_Macko *m, Mat A);
PETSC_INTERN void      MackoSetOwner(Mat_Macko *m, Mat A);

/* Gives the prefix of A's options, which may be NULL. */
PETSC_INTERN const char *MackoPrefix(Mat A);

/* -mat_macko_* with A's prefix; items is NULL outside MatSetFromOptions. */
PETSC_INTERN PetscErrorCode MackoReadOptions(Mat A, MackoOptionItems items);

/* Those of them that say how to encode. */
PETSC_INTERN PetscErrorCode MackoReadEncoding(Mat A, MackoOptionItems items, macko_options *options);

/* -mat_macko_backend, -mat_macko_halo, -mat_macko_keep_csr and -mat_macko_after with A's prefix as they are now. */
PETSC_INTERN PetscErrorCode MackoReadBackend(Mat A, MackoOptionItems items);

/* Reads -mat_macko_base into *cusparse: whether A, with a GPU, is to stand on AIJCUSPARSE. */
PETSC_INTERN PetscErrorCode MackoReadBase(Mat A, PetscBool *cusparse);

/* Refuses those of them that cannot be honoured where products of A run on the CPU, or by the type below. Collective. */
PETSC_INTERN PetscErrorCode MackoRefuseWithoutGpu(Mat A);

/* Reads -mat_macko_ranks_per_node, which has no prefix; *each is 0 where it was not given. */
PETSC_INTERN PetscErrorCode MackoReadRanksPerNode(MPI_Comm comm, int *each);

/* Whether the library's options are all its defaults. */
PETSC_INTERN PetscBool MackoDefaults(const macko_options *options);

/* What is encoded from now on; the present form is stale if it was made with other options. */
PETSC_INTERN void MackoSetOptions(Mat_Macko *m, const macko_options *options);

/* Facts of the compressed form, wherever it is; PETSC_FALSE where there is none. */
PETSC_INTERN PetscBool MackoInfo(const Mat_Macko *m, macko_info *info);

/* Counts n rows that begin where ia says and have entries. */
PETSC_INTERN PetscInt MackoNonemptyRows(PetscInt n, const PetscInt *ia);

/* The counters by which a change of A is noticed: of its entries, and of its pattern. */
PETSC_INTERN PetscErrorCode MackoCurrentState(Mat A, PetscObjectState *state, PetscObjectState *nonzerostate);

/* PETSC_TRUE if the compressed form of a sequential matrix belongs to its present values. */
PETSC_INTERN PetscErrorCode MackoIsFresh(Mat A, PetscBool *fresh);

/* Whether the form of a sequential matrix is wanted in GPU memory. */
PETSC_INTERN PetscBool MackoWantsDevice(Mat A, const Mat_Macko *m);

/* Brings the compressed form of a sequential matrix up to date; a refusal of the library comes back in *status and *err, so that
   the caller can agree with other ranks before raising an error. */
PETSC_INTERN PetscErrorCode MackoUpdate(Mat A, macko_status *status, macko_error *err);

/* The same, with a refusal raised as an error: where there is nobody to agree with. */
PETSC_INTERN PetscErrorCode MackoUpdateSeq(Mat A);

/* The same for all blocks of a parallel matrix: fails on every rank if it fails on one. Collective where the matrix changed. */
PETSC_INTERN PetscErrorCode MackoUpdateMPI(Mat A);

/* Makes A hand out vectors where its products want them, on the GPU or not; on the CPU again. Other kinds stay as they are. */
PETSC_INTERN PetscErrorCode MackoChooseVectors(Mat A);
PETSC_INTERN PetscErrorCode MackoPlainVectors(Mat A);

/* An array with so many elements from one column to the next, in host or GPU memory. */
typedef struct {
  PetscScalar *data;
  PetscMemType where;
  PetscInt     ld;
} MackoArray;

/* Y = op(A) X + beta Y for k columns, wherever they are; A is sequential and up to date. */
PETSC_INTERN PetscErrorCode MackoProduct(Mat A, macko_op op, PetscInt k, MackoArray x, PetscScalar beta, MackoArray y);

/* The arrays of two vectors of a product, on the GPU if the matrix may multiply there and they are there; y's is read, or only
   written. */
typedef struct {
  MackoArray x, y;
  PetscBool  device, reads;
} MackoVectors;

/* Opens them for y = op(A) x + beta y; gives them back. */
PETSC_INTERN PetscErrorCode MackoOpenVectors(Mat A, Vec x, PetscScalar beta, Vec y, MackoVectors *v);
PETSC_INTERN PetscErrorCode MackoCloseVectors(Vec x, Vec y, MackoVectors *v);

/* Sets up the product C = A B or A^T B with B dense, if C is such a one; the others as for AIJ. */
PETSC_INTERN PetscErrorCode MackoDenseProduct(Mat C);
PETSC_INTERN PetscErrorCode MackoDenseSymbolic(Mat C); /* of all types that are ours */
PETSC_INTERN PetscErrorCode MackoForwardProduct(Mat C);

/* *f is what PETSc would call for the product C if ours were of the type that it stands on, or AIJ; NULL if nothing. */
PETSC_INTERN PetscErrorCode MackoFindProduct(Mat C, PetscErrorCode (**f)(Mat));

/* Hooks the products with and conversions to other types into A, or out of it. */
PETSC_INTERN PetscErrorCode MackoComposeSeq(Mat A, PetscBool in);
PETSC_INTERN PetscErrorCode MackoComposeMPI(Mat A, PetscBool in);

/* ---- AIJCUSPARSE, the type that ours stands on where products may run on a GPU: aijcusparse*.c. Its functions on the GPU ask
   matrices for its own name, to which those of ours answer while such a function runs. Elsewhere all of this does nothing. ---- */

/* A, a sequential AIJ or AIJCUSPARSE, becomes the other one, with its values; *device is PETSC_FALSE where it cannot. */
PETSC_INTERN PetscErrorCode MackoCusparseBase(Mat A, PetscBool *device);

/* The same of a parallel one, and of its blocks, which are no longer ours. */
PETSC_INTERN PetscErrorCode MackoCusparseBaseMPI(Mat A, PetscBool *device);

/* What stays that type's own in A is called under its name. */
PETSC_INTERN PetscErrorCode MackoCusparseSetOperations(Mat A);
PETSC_INTERN PetscErrorCode MackoCusparseSetOperationsMPI(Mat A);

/* f, which PETSc would call for the product C of matrices of the type that ours stands on, and what it sets up; the result is
   ours. Without that type: f alone. */
PETSC_INTERN PetscErrorCode MackoCusparseProduct(Mat C, PetscErrorCode (*f)(Mat));
PETSC_INTERN PetscErrorCode MackoCusparseProductOf(Mat C); /* of matrices that are all ours */

/* z = A^T x + y, or z = A^T x where y is NULL, and the diagonal, with vectors on the GPU; *done says whether. */
PETSC_INTERN PetscErrorCode MackoCusparseMultTranspose(Mat A, Vec x, Vec y, Vec z, PetscBool *done);
PETSC_INTERN PetscErrorCode MackoCusparseGetDiagonal(Mat A, Vec v, PetscBool *done);

/* z = op(A) x + y with y NULL or z itself, by that type; *done says whether the vectors are on the GPU. */
PETSC_INTERN PetscErrorCode MackoCusparseProductWith(Mat A, macko_op op, Vec x, Vec y, Vec z, PetscBool *done);

/* Values that are on the GPU only are brought to the host; of a sequential matrix, those on the host are the newer ones. */
PETSC_INTERN PetscErrorCode MackoValuesToHost(Mat A);
PETSC_INTERN PetscErrorCode MackoChangedOnHost(Mat A);

/* Gives back the arrays in GPU memory of a sequential matrix whose compressed form is there, where -mat_macko_keep_csr says so; the
   next function of that type that wants them copies them again. */
PETSC_INTERN PetscErrorCode MackoCusparseRelease(Mat A);

/* Adds the bytes of the arrays in GPU memory that a sequential matrix has there beside the compressed form. */
PETSC_INTERN PetscErrorCode MackoCusparseAddBytes(Mat A, PetscInt64 *bytes);

/* The arrays in GPU memory of a sequential matrix whose present values are there, valid until A changes; *there says whether. */
PETSC_INTERN PetscErrorCode MackoCusparseArrays(Mat A, const PetscInt **starts, const PetscInt **cols, const PetscScalar **values,
                                                PetscBool *there);

/* The values of one go to another that has the same entries in the same order, where both are on the GPU; *done says whether. */
PETSC_INTERN PetscErrorCode MackoCusparseCopyValues(Mat from, Mat to, PetscBool *done);

/* Factors on the GPU for matrices of ours, as for that type. */
PETSC_INTERN PetscErrorCode MackoCusparseRegister(void);

/* ---- the GPU: device.c, or no_device.c in a build without CUDA ---- */

/* Whether A may use a GPU; if not, *why (may be NULL) is a sentence. */
PETSC_INTERN PetscBool MackoDeviceAllowed(Mat A, const char **why);

/* Whether vectors can live on the GPU too: PETSc has CUDA. */
PETSC_INTERN PetscBool MackoDeviceVectors(void);

/* Whether v is on the GPU and used there; in a PETSc with CUDA. */
PETSC_INTERN PetscErrorCode MackoOnDevice(Vec v, PetscBool *on);

/* Whether this process has encoded nothing on its GPU yet, so that the first encoding waits for its kernels to be loaded. */
PETSC_INTERN PetscBool MackoDeviceLoads(void);

/* A GPU that this process can use. */
PETSC_INTERN PetscBool MackoDeviceFound(void);

/* AIJ's arrays, all in host or all in GPU memory. */
typedef struct {
  macko_csr  csr;
  PetscInt64 nnz;
  PetscBool  device;
} MackoRows;

/* Where the present values are on the GPU and wanted there, the arrays there; else those on the host. */
PETSC_INTERN PetscErrorCode MackoOpenRows(Mat A, PetscBool device, MackoRows *rows);
PETSC_INTERN PetscErrorCode MackoCloseRows(Mat A, MackoRows *rows);

/* Encodes there, or takes new values there; *done says whether: not where the GPU lacks the room, and not small matrices on the
   host, which the CPU encodes sooner. The host has no compressed form then. */
PETSC_INTERN PetscErrorCode MackoDeviceEncode(Mat_Macko *m, const MackoRows *rows, PetscBool refresh, PetscBool *done,
                                              macko_status *status, macko_error *err);

/* Makes m->compressed from the form in GPU memory where there is none. */
PETSC_INTERN PetscErrorCode MackoDeviceFetch(Mat_Macko *m, macko_status *status, macko_error *err);

/* PETSC_TRUE if the form in GPU memory is what the last encoding or refresh gave; its facts. */
PETSC_INTERN PetscBool MackoDeviceCurrent(const Mat_Macko *m);
PETSC_INTERN void      MackoDeviceInfo(const Mat_Macko *m, macko_info *info);

/* Brings the copy in GPU memory up to date with the compressed form. */
PETSC_INTERN PetscErrorCode MackoDeviceUpdate(Mat_Macko *m, macko_status *status, macko_error *err);
PETSC_INTERN PetscErrorCode MackoDeviceProduct(Mat A, macko_op op, PetscInt k, MackoArray x, PetscScalar beta, MackoArray y);
/* The diagonal of a sequential matrix that is up to date, into an array on the GPU; *done says whether its layout can. */
PETSC_INTERN PetscErrorCode MackoDeviceDiagonal(Mat A, PetscScalar *diagonal, PetscBool *done);
/* The diagonal of rows in GPU memory, into a vector there. */
PETSC_INTERN PetscErrorCode MackoDeviceRowsDiagonal(const MackoRows *rows, Vec v);

/* Counts the rows that have entries, of rows in GPU memory. */
PETSC_INTERN PetscErrorCode MackoDeviceNonemptyRows(const MackoRows *rows, PetscInt *count);
PETSC_INTERN PetscInt64     MackoDeviceBytes(const Mat_Macko *m);
PETSC_INTERN void           MackoDeviceFree(Mat_Macko *m);

/* The products that run in PETSc's log are to leave out seconds that have just gone by. */
PETSC_INTERN PetscErrorCode MackoLogOutsideProduct(PetscLogDouble seconds);

/* Names each -mat_macko_ option that is none, once, on the first rank's stderr. */
PETSC_INTERN PetscErrorCode MackoNameMisspelt(void);

PETSC_INTERN PetscErrorCode MackoView(Mat A, PetscViewer viewer);

/* The sequential matrices of this rank: A itself, or its two blocks. */
PETSC_INTERN PetscErrorCode MackoBlocks(Mat A, Mat blocks[2], int *count);

/* Facts of the compressed form of a block; PETSC_FALSE before its first product that encodes. */
PETSC_INTERN PetscBool MackoBlockInfo(Mat block, macko_info *info);

/* Mean of the products that were measured; 0 without any. */
PETSC_INTERN double MackoProductSeconds(const Mat_Macko *m);

/* ---- what views of both types print: view.c ---- */

/* What one kind of block is told with. */
typedef struct {
  PetscViewer viewer;
  /* Each line begins with the kind; it is empty where there is one block only. */
  const char *name;
  PetscMPIInt size; /* of ranks; MackoViewStored sets it */
} MackoViewLine;

/* Says in words what this rank stores of a block. Ranks with equal words are counted together, so bytes and times, which differ
   from rank to rank, are printed apart. */
PETSC_INTERN void MackoDescribe(const macko_info *info, char *text, size_t room);

/* Prints the words that each rank has for a block, why it is stored so, and the bytes of all ranks. Collective. */
PETSC_INTERN PetscErrorCode MackoViewStored(MPI_Comm comm, const char *text, const macko_info *info, MackoViewLine *line);

/* Prints what a product is predicted to take, and the mean of so many products that were measured. Collective. */
PETSC_INTERN PetscErrorCode MackoViewProducts(MPI_Comm comm, const macko_info *info, PetscInt64 products, double seconds,
                                              const MackoViewLine *line);

/* What a rank has spent on a matrix. */
typedef struct {
  PetscInt64     encodes, refreshes;
  PetscLogDouble encode_seconds, refresh_seconds;
} MackoEffort;

/* Prints that, and after how many products encoding pays by *info. Collective. */
PETSC_INTERN PetscErrorCode MackoViewEffort(MPI_Comm comm, const MackoEffort *effort, const MatMackoInfo *info, PetscViewer viewer);

/* Prints the options that were given for products on a GPU, of which there are none. Collective. */
PETSC_INTERN PetscErrorCode MackoViewIdle(Mat A, PetscViewer viewer);

/* Fills info->formats with the formats of all ranks, of which this one's blocks have `mine`. Collective. */
PETSC_INTERN PetscErrorCode MackoCountFormats(MPI_Comm comm, const char *mine, MatMackoInfo *info);

/* Calls say for each text that ranks have (at most 191 characters count), in the order of ranks, with how many have it.
   Collective. */
PETSC_INTERN PetscErrorCode MackoCountRanks(MPI_Comm comm, const char *mine, PetscErrorCode (*say)(void *, const char *, int),
                                            void *context);

/* Why products of this process are not on a GPU where it has none, or the fault that keeps it from one. */
static inline const char *MackoWithoutGpu(const char *fault)
{
  return access("/dev/nvidiactl", F_OK) && access("/dev/dxg", F_OK) ? "no GPU here" : fault;
}

#endif
