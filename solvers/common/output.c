/* Where the programs write, and what is not replaced there. */
#include "common/output.h"
#include "common/output_file.h"

#include <string.h>

/* Raises the first rank's error number `bad`, 0 for none, on all ranks, so that the program can end in order instead of by
   MPI_Abort. What other ranks give is not looked at. */
static PetscErrorCode Agree(const char *path, int bad)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Bcast(&bad, 1, MPI_INT, 0, PETSC_COMM_WORLD));
  PetscCheck(!bad, PETSC_COMM_WORLD, PETSC_ERR_FILE_WRITE, "%s: %s", path, strerror(bad));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Only the first rank writes, because all files of these programs are small or gathered there. */
PetscErrorCode OutputOpen(const char *path, FILE **f)
{
  PetscMPIInt rank;
  int bad = 0;

  PetscFunctionBegin;
  *f = NULL;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0) *f = output_open(path, &bad);
  PetscCall(Agree(path, bad));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* f is NULL on all ranks but the first: they have nothing to close, and learn what came of it. */
PetscErrorCode OutputClose(const char *path, FILE *f)
{
  PetscFunctionBegin;
  PetscCall(Agree(path, f ? output_close(f) : 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* write cannot fail by itself: whatever it could not write shows when the stream is closed. */
PetscErrorCode OutputSave(const char *path, void (*write)(FILE *f, const void *context), const void *context)
{
  FILE *f;

  PetscFunctionBegin;
  PetscCall(OutputOpen(path, &f));
  if (f) write(f, context);
  PetscCall(OutputClose(path, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- options ---- */

/* path is empty if the option is not there. */
PetscErrorCode FileOption(const char *name, char path[PETSC_MAX_PATH_LEN], PetscBool *given)
{
  PetscFunctionBegin;
  path[0] = 0;
  PetscCall(PetscOptionsGetString(NULL, NULL, name, path, PETSC_MAX_PATH_LEN, given));
  PetscCheck(!*given || path[0], PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG, "%s: the name of a file is missing", name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A file system can look different from other ranks, so only the first one, which will write, is asked. */
PetscErrorCode OutputCheck(const char *name)
{
  char path[PETSC_MAX_PATH_LEN];
  PetscBool given;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(FileOption(name, path, &given));
  if (given) PetscCall(Agree(path, rank ? 0 : output_refusal(path)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Refuses two options that name one file, or standard output. As for OutputCheck only the first rank looks. */
static PetscErrorCode CheckApart(const char *name, const char *other)
{
  char path[PETSC_MAX_PATH_LEN], second[PETSC_MAX_PATH_LEN];
  PetscBool given, also;
  PetscMPIInt rank;
  int same[2] = {0, 0}; /* one file; standard output */

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(FileOption(name, path, &given));
  PetscCall(FileOption(other, second, &also));
  if (rank == 0 && given && also) same[0] = output_is_same(path, second), same[1] = output_both_standard(path, second);
  PetscCallMPI(MPI_Bcast(same, 2, MPI_INT, 0, PETSC_COMM_WORLD));
  PetscCheck(!same[0], PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG, "%s and %s name one file, %s, which can hold one of them only", name,
             other, path);
  PetscCheck(!same[1], PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG,
             "%s and %s both go to standard output, which can hold one of them only", name, other);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OutputsApart(int count, const char *const names[])
{
  PetscFunctionBegin;
  for (int i = 0; i < count; i++)
    for (int k = i + 1; k < count; k++) PetscCall(CheckApart(names[i], names[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OutputsSpare(int count, const char *const names[], const char *input)
{
  char path[PETSC_MAX_PATH_LEN];
  PetscBool given;
  PetscMPIInt rank;
  int same;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (int i = 0; i < count; i++) {
    PetscCall(FileOption(names[i], path, &given));
    same = rank == 0 && given && output_is_same(path, input);
    PetscCallMPI(MPI_Bcast(&same, 1, MPI_INT, 0, PETSC_COMM_WORLD));
    PetscCheck(!same, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG, "%s would overwrite %s, which is read", names[i], input);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Programs print the summary for people or the JSON, so they ask this before they print. */
PetscErrorCode OutputIsStandard(const char *name, PetscBool *standard)
{
  char path[PETSC_MAX_PATH_LEN];
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(FileOption(name, path, &given));
  *standard = (PetscBool)(given && !strcmp(path, "-"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
