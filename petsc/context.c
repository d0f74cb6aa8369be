/* What a matrix of ours remembers, composed with it in a container, and errors. */
#include "matmacko.h"

static const char key[] = "MatMacko";

Mat_Macko *MackoOf(Mat A)
{
  PetscContainer container = NULL;
  void          *m         = NULL;
  if (PetscObjectQuery((PetscObject)A, key, (PetscObject *)&container) || !container) return NULL;
  if (PetscContainerGetPointer(container, &m)) return NULL;
  return (Mat_Macko *)m;
}

/* argument is what PETSc's version hands out: MackoDestroyed. */
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

PetscErrorCode MackoFree(Mat A)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectCompose((PetscObject)A, key, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool MackoOwns(const Mat_Macko *m, Mat A)
{
  return (PetscBool)(m->owner == A && m->data == A->data);
}

void MackoSetOwner(Mat_Macko *m, Mat A)
{
  m->owner = A, m->data = A->data;
}

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
  case MACKO_DEVICE:
    SETERRQ(comm, PETSC_ERR_GPU, "%s", text);
  default:
    SETERRQ(comm, PETSC_ERR_LIB, "%s", text);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoAgree(MPI_Comm comm, macko_status status, const char *text)
{
  struct {
    int failed, rank;
  } mine, worst;
  char sentence[600] = "";

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &mine.rank));
  mine.failed = (int)status;
  PetscCallMPI(MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MAXLOC, comm));
  if (!worst.failed) PetscFunctionReturn(PETSC_SUCCESS);
  if (mine.rank == worst.rank) PetscCall(PetscSNPrintf(sentence, sizeof sentence, "rank %d: %s", mine.rank, text));
  PetscCallMPI(MPI_Bcast(sentence, sizeof sentence, MPI_CHAR, worst.rank, comm));
  PetscCall(MackoRaise(comm, (macko_status)worst.failed, sentence));
  PetscFunctionReturn(PETSC_SUCCESS);
}
