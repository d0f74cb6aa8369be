/* The library's failures as PETSc's errors, on one rank or on all alike, and what else all ranks agree on. */
#include "failure.h"
#include "petscmacko.h"

/* Each status has the class that is nearest to it. */
static PetscErrorCode ClassOf(macko_status status)
{
  switch (status) {
  case MACKO_OUT_OF_MEMORY:
    return PETSC_ERR_MEM;
  case MACKO_UNSUPPORTED:
  case MACKO_LIMIT:
    return PETSC_ERR_SUP;
  case MACKO_PARSE:
    return PETSC_ERR_FILE_UNEXPECTED;
  case MACKO_DEVICE:
    return PETSC_ERR_GPU;
  default:
    return PETSC_ERR_LIB;
  }
}

PetscErrorCode MackoRaise(MPI_Comm comm, macko_status status, const char *text)
{
  PetscFunctionBegin;
  PetscCheck(status == MACKO_OK, comm, ClassOf(status), "%s", text);
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
