/* What a matrix of ours remembers, composed with it in a container, and errors. */
#include "halo.h"

/* The container is found by this name among the objects that are composed with a matrix. */
static const char key[] = "MatMacko";

/* The struct is composed with the matrix, and not put into its spptr, because AIJCUSPARSE uses that. Errors of the look-up count
   as "not ours": this is asked of matrices of any type. */
Mat_Macko *MackoOf(Mat A)
{
  PetscContainer container = NULL;
  void          *m         = NULL;
  if (PetscObjectQuery((PetscObject)A, key, (PetscObject *)&container) || !container) return NULL;
  if (PetscContainerGetPointer(container, &m)) return NULL;
  return (Mat_Macko *)m;
}

/* PETSc calls this when the last reference to the container goes. What argument points to depends on PETSc's version, which
   MackoDestroyed hides. */
static PetscErrorCode Free(void *argument)
{
  Mat_Macko *m = (Mat_Macko *)MackoDestroyed(argument);

  PetscFunctionBegin;
  PetscCall(MackoHaloFree(m));
  MackoDeviceFree(m);
  macko_destroy(&m->compressed);
  PetscCall(PetscFree(m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A new struct is all zero but for the library's defaults and -mat_macko_after auto. The matrix holds the only reference to the
   container, so that the struct goes with it. */
PetscErrorCode MackoGet(Mat A, Mat_Macko **m)
{
  PetscContainer container;

  PetscFunctionBegin;
  *m = MackoOf(A);
  if (*m) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(m));
  macko_options_init(&(*m)->options);
  (*m)->after = MACKO_AFTER_AUTO;
  PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
  PetscCall(PetscContainerSetPointer(container, *m));
  PetscCall(MackoContainerSetDestroy(container, Free));
  PetscCall(PetscObjectCompose((PetscObject)A, key, (PetscObject)container));
  PetscCall(PetscContainerDestroy(&container));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Taking the container away drops its last reference, which calls Free. */
PetscErrorCode MackoFree(Mat A)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectCompose((PetscObject)A, key, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both addresses are compared: MatHeaderMerge moves the arrays from one matrix to another, and a matrix that is made later may
   get the address of one that is gone. */
PetscBool MackoOwns(const Mat_Macko *m, Mat A)
{
  return (PetscBool)(m->owner == A && m->data == A->data);
}

/* This is called when what m remembers has been made from A as it is. */
void MackoSetOwner(Mat_Macko *m, Mat A)
{
  m->owner = A, m->data = A->data;
}

/* Each status of the library has PETSc's error class that is nearest to it; text becomes the message. MACKO_OK raises nothing. */
PetscErrorCode MackoRaise(MPI_Comm comm, macko_status status, const char *text)
{
  PetscFunctionBegin;
  switch (status) {
  case MACKO_OK:
    break;
  case MACKO_OUT_OF_MEMORY:
    SETERRQ(comm, PETSC_ERR_MEM, "%s", text);
  case MACKO_UNSUPPORTED:
  case MACKO_LIMIT:
    SETERRQ(comm, PETSC_ERR_SUP, "%s", text);
  case MACKO_PARSE:
    SETERRQ(comm, PETSC_ERR_FILE_UNEXPECTED, "%s", text);
  case MACKO_DEVICE:
    SETERRQ(comm, PETSC_ERR_GPU, "%s", text);
  default:
    SETERRQ(comm, PETSC_ERR_LIB, "%s", text);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What sentences about places count from. */
static PetscInt first_number;

PetscErrorCode MatMackoCountFrom(PetscInt first)
{
  PetscFunctionBegin;
  PetscCheck(first == 0 || first == 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "rows are counted from 0 or 1, not %lld",
             (long long)first);
  first_number = first;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void MackoPlaceError(PetscInt row, PetscInt col, const PetscInt *cols, macko_error *err)
{
  const int64_t j = err->col;
  if (!err->place) return;
  macko_error_place(err, err->row + row, j < 0 ? -1 : cols ? cols[j] : j + col, (int)first_number);
}

PetscErrorCode MackoOnAll(Mat A, int mine, PetscBool *all)
{
  int every;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&mine, &every, 1, MPI_INT, MPI_LAND, PetscObjectComm((PetscObject)A)));
  *all = (PetscBool)every;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoOnAny(Mat A, int mine, PetscBool *any)
{
  int some;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&mine, &some, 1, MPI_INT, MPI_LOR, PetscObjectComm((PetscObject)A)));
  *any = (PetscBool)some;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One reduction decides where nothing failed, which is nearly always. Otherwise the lowest rank with the greatest failure tells the
   others its sentence. */
PetscErrorCode MackoWorst(MPI_Comm comm, int failed, const char *text, int *greatest, char sentence[MACKO_SENTENCE])
{
  struct {
    int failed, rank;
  } mine = {.failed = failed}, worst;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &mine.rank));
  PetscCallMPI(MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MAXLOC, comm));
  *greatest = worst.failed;
  if (!worst.failed) PetscFunctionReturn(PETSC_SUCCESS);
  if (mine.rank == worst.rank) PetscCall(PetscSNPrintf(sentence, MACKO_SENTENCE, "rank %d: %s", mine.rank, text));
  PetscCallMPI(MPI_Bcast(sentence, MACKO_SENTENCE, MPI_CHAR, worst.rank, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All ranks raise the same, so that a program that catches errors goes the same way on all of them. */
PetscErrorCode MackoAgree(MPI_Comm comm, macko_status status, const char *text)
{
  char sentence[MACKO_SENTENCE] = "";
  int  worst;

  PetscFunctionBegin;
  PetscCall(MackoWorst(comm, (int)status, text, &worst, sentence));
  PetscCall(MackoRaise(comm, (macko_status)worst, sentence));
  PetscFunctionReturn(PETSC_SUCCESS);
}
