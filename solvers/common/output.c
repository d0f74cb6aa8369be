/* Where the programs write, and what is not replaced there. */
#include "common/output.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int IsStandard(const char *path)
{
  struct stat file, standard;
  if (!strcmp(path, "-")) return 1;
  return !stat(path, &file) && !fstat(STDOUT_FILENO, &standard) && file.st_dev == standard.st_dev &&
         file.st_ino == standard.st_ino;
}

/* 0, or the system's error number. */
static int EndWriting(FILE *f, int close)
{
  int bad = ferror(f) ? EIO : 0;
  errno = 0;
  if (close ? fclose(f) : fflush(f)) bad = errno ? errno : EIO;
  return bad;
}

/* 0, or the system's error number: what a rename will replace is the file behind a link. */
static int WriteFile(const char *path, void (*write)(FILE *f, const void *context), const void *context)
{
  char real[PATH_MAX], part[PATH_MAX + 8];
  struct stat facts;
  FILE *f;
  int bad, there = !stat(path, &facts);

  if (IsStandard(path)) return write(stdout, context), EndWriting(stdout, 0);
  if (there && !S_ISREG(facts.st_mode)) {
    f = fopen(path, "w");
    return f ? (write(f, context), EndWriting(f, 1)) : errno;
  }
  if (!there || !realpath(path, real)) snprintf(real, sizeof real, "%s", path);
  snprintf(part, sizeof part, "%s.part", real);
  if (!(f = fopen(part, "w"))) return errno;
  write(f, context);
  bad = EndWriting(f, 1);
  if (!bad && rename(part, real)) bad = errno;
  if (bad) remove(part);
  return bad;
}

/* 0, or the error number that WriteFile would end with. */
static int CannotWrite(const char *path)
{
  char folder[PATH_MAX];
  struct stat facts;
  char *slash;

  if (IsStandard(path)) return 0;
  if (!stat(path, &facts)) {
    if (S_ISDIR(facts.st_mode)) return EISDIR;
    if (!S_ISREG(facts.st_mode)) return access(path, W_OK) ? errno : 0;
    if (!realpath(path, folder)) return errno;
  } else snprintf(folder, sizeof folder, "%s", path);
  slash = strrchr(folder, '/');
  if (slash) slash[slash == folder] = 0;
  return access(slash ? folder : ".", W_OK | X_OK) ? errno : 0;
}

/* The first rank's error number, raised on all. */
static PetscErrorCode Agree(const char *path, int bad)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Bcast(&bad, 1, MPI_INT, 0, PETSC_COMM_WORLD));
  PetscCheck(!bad, PETSC_COMM_WORLD, PETSC_ERR_FILE_WRITE, "%s: %s", path, strerror(bad));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OutputSave(const char *path, void (*write)(FILE *f, const void *context), const void *context)
{
  PetscMPIInt rank;
  int bad = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0) bad = WriteFile(path, write, context);
  PetscCall(Agree(path, bad));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- options ---- */

PetscErrorCode FileOption(const char *name, char path[PETSC_MAX_PATH_LEN], PetscBool *given)
{
  PetscFunctionBegin;
  path[0] = 0;
  PetscCall(PetscOptionsGetString(NULL, NULL, name, path, PETSC_MAX_PATH_LEN, given));
  PetscCheck(!*given || path[0], PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG, "%s: the name of a file is missing", name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OutputCheck(const char *name)
{
  char path[PETSC_MAX_PATH_LEN];
  PetscBool given;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(FileOption(name, path, &given));
  if (given) PetscCall(Agree(path, rank ? 0 : CannotWrite(path)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OutputIsStandard(const char *name, PetscBool *standard)
{
  char path[PETSC_MAX_PATH_LEN];
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(FileOption(name, path, &given));
  *standard = (PetscBool)(given && !strcmp(path, "-"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
