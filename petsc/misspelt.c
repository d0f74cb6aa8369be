/* Options that begin as ours do and are none: a misspelt one would otherwise change nothing and say nothing. */
#include "matmacko.h"
#include "nearest.h"

#include <string.h>

static const char start[] = "mat_macko_";

/* What follows the start: the library's options but the target, and those of the matrix type. */
static const char *const known[] = {
#define MACKO_OPTION(field, LIST, usual, reader, help) #field,
#define MACKO_WITHOUT_TARGET
#include "options.def"
  "after", "backend", "base", "halo", "keep_csr", "piece"};
enum { KNOWN = sizeof known / sizeof *known };

static PetscBool IsKnown(const char *rest)
{
  for (int i = 0; i < KNOWN; i++)
    if (!strcmp(rest, known[i])) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* Whoever asks for an option has it marked as used, by which it is named once. */
PetscErrorCode MackoNameMisspelt(void)
{
  PetscInt    count;
  char      **names, **values, option[256];
  PetscMPIInt rank;
  PetscBool   there;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscOptionsLeftGet(NULL, &count, &names, &values));
  for (PetscInt n = 0; n < count; n++) {
    const char *ours = strstr(names[n], start), *rest = ours ? ours + strlen(start) : NULL;
    if (!rest || IsKnown(rest)) continue;
    PetscCall(PetscSNPrintf(option, sizeof option, "-%s", names[n]));
    PetscCall(PetscOptionsHasName(NULL, NULL, option, &there));
    if (rank == 0)
      PetscCall(PetscFPrintf(PETSC_COMM_SELF, stderr, "macko: the option %s is unknown and changes nothing; the nearest is -%.*s%s\n",
                             option, (int)(rest - names[n]), names[n], known[macko_nearest_name(rest, known, KNOWN)]));
  }
  PetscCall(PetscOptionsLeftRestore(NULL, &count, &names, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}
