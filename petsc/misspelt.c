/* Options that begin as ours do and are none: a misspelt one would otherwise change nothing and say nothing. */
#include "matmacko.h"
#include "nearest.h"

#include <string.h>

/* All our options begin like this, after a prefix that the program may have given its matrix. */
static const char start[] = "mat_macko_";

/* These are the names of our options without that start: first the library's without the target, then those of the matrix
   types. */
static const char *const known[] = {
#define MACKO_OPTION(field, LIST, usual, reader, help) #field,
#define MACKO_WITHOUT_TARGET
#include "options.def"
  "after", "backend", "base", "halo", "keep_csr", "piece", "ranks_per_node"};
enum { KNOWN = sizeof known / sizeof *known };

/* rest is what follows the start in the name of an option. */
static PetscBool IsKnown(const char *rest)
{
  for (int i = 0; i < KNOWN; i++)
    if (!strcmp(rest, known[i])) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* Goes through the options that nobody has asked for yet. Asking for an option marks it as used, which is done here to each one
   that is named, so that it is named once. Not collective: every rank has the same options, and the first one prints. */
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
      PetscCall(PetscFPrintf(PETSC_COMM_SELF, stderr,
                             "macko: the option %s is unknown and changes nothing; the nearest is -%.*s%s\n", option,
                             (int)(rest - names[n]), names[n], known[macko_nearest_name(rest, known, KNOWN)]));
  }
  PetscCall(PetscOptionsLeftRestore(NULL, &count, &names, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}
