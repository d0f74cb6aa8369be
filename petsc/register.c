/* Registration: as a plugin (-dll_append) and for programs that link the library. */
#include "compressed/compressed.h"

#include <stdio.h>

/* PETSc gives these numbers out anew after each PetscInitialize. */
PetscLogEvent MACKO_Encode, MACKO_Refresh, MACKO_Upload, MACKO_Mult;

/* This is reset when PETSc ends, because a program may initialize it again and the tables of types are empty then. */
static PetscBool registered = PETSC_FALSE;

/* PETSc calls this from PetscFinalize. */
static PetscErrorCode MatMackoFinalizePackage(void)
{
  PetscFunctionBegin;
  registered = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Refuses a PETSc that this library was not built for: PETSc's table of matrix operations moves between minor releases, so that
   functions would land in other places. The width of integers is compared first: where it differs, even the version number would
   be written past its place. */
static PetscErrorCode CheckVersion(void)
{
  PetscInt major, minor, subminor;
  size_t   index;

  PetscFunctionBegin;
  PetscCall(PetscDataTypeGetSize(PETSC_INT, &index));
  PetscCheck(index == sizeof(PetscInt), PETSC_COMM_SELF, PETSC_ERR_SUP,
             "libpetscmacko was built for a PETSc with %d-bit indices and cannot work with the running one, which has %d-bit "
             "indices: build it with --with-petsc of that one",
             (int)(8 * sizeof(PetscInt)), (int)(8 * index));
  PetscCall(PetscGetVersionNumber(&major, &minor, &subminor, NULL));
  PetscCheck(major == PETSC_VERSION_MAJOR && minor == PETSC_VERSION_MINOR, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "libpetscmacko was built for PETSc %d.%d and cannot work with the running PETSc %d.%d: build it with --with-petsc "
             "of that one",
             PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, (int)major, (int)minor);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Registers type macko. Its factors go by a name of their own, not PETSc's, so that no preconditioner chooses them by itself;
   whoever asks for them gets a sentence that tells what to do. */
static PetscErrorCode RegisterCompressed(void)
{
  static const MatFactorType factors[] = {MAT_FACTOR_LU, MAT_FACTOR_CHOLESKY, MAT_FACTOR_ILU, MAT_FACTOR_ICC};

  PetscFunctionBegin;
  PetscCall(MatRegisterRootName(MATMACKO, MATSEQMACKO, MATMPIMACKO));
  PetscCall(MatRegister(MATSEQMACKO, MatCreate_SeqMacko));
  PetscCall(MatRegister(MATMPIMACKO, MatCreate_MPIMacko));
  for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
    PetscCall(MatSolverTypeRegister(MATMACKO, MATSEQMACKO, factors[i], MatGetFactor_Macko));
    PetscCall(MatSolverTypeRegister(MATMACKO, MATMPIMACKO, factors[i], MatGetFactor_Macko));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The events belong to the class of matrices, so that PETSc's own package comes first. Options are looked at when all is
   registered. */
PetscErrorCode MatMackoInitializePackage(void)
{
  PetscFunctionBegin;
  if (registered) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CheckVersion());
  PetscCall(MatInitializePackage());
  PetscCall(MatRegisterRootName(MATAIJMACKO, MATSEQAIJMACKO, MATMPIAIJMACKO));
  PetscCall(MatRegister(MATSEQAIJMACKO, MatCreate_SeqAIJMacko));
  PetscCall(MatRegister(MATMPIAIJMACKO, MatCreate_MPIAIJMacko));
  PetscCall(MatSeqAIJRegister(MATSEQAIJMACKO, MackoConvertNew));
  PetscCall(MackoWrapDerived());
  PetscCall(MackoCusparseRegister());
  PetscCall(RegisterCompressed());
  PetscCall(PetscLogEventRegister("MatMackoEncode", MAT_CLASSID, &MACKO_Encode));
  PetscCall(PetscLogEventRegister("MatMackoRefresh", MAT_CLASSID, &MACKO_Refresh));
  PetscCall(PetscLogEventRegister("MatMackoUpload", MAT_CLASSID, &MACKO_Upload));
  PetscCall(PetscLogEventRegister("MatMackoMult", MAT_CLASSID, &MACKO_Mult));
  PetscCall(PetscRegisterFinalize(MatMackoFinalizePackage));
  registered = PETSC_TRUE;
  PetscCall(MackoNameMisspelt());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Says whether the PETSc that was found is the program's. PETSc has its communicator as soon as it is initialized, and plugins
   are loaded later; where there is none, another PETSc was found, whose error messages would not reach anyone. So the sentence
   goes to stderr. */
static PetscBool IsOfProgram(void)
{
  if (PETSC_COMM_WORLD != MPI_COMM_NULL) return PETSC_TRUE;
  fputs("libpetscmacko: this program keeps its PETSc to itself, so that another was found: link the program with -rdynamic, or "
        "load its libraries with RTLD_GLOBAL (Python: sys.setdlopenflags(sys.getdlopenflags() | os.RTLD_GLOBAL) before petsc4py is "
        "imported)\n", stderr);
  return PETSC_FALSE;
}

/* PETSc calls this function after it has loaded the plugin; it derives the name from the file's name. */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_petscmacko(void)
{
  PetscFunctionBegin;
  if (!IsOfProgram()) PetscFunctionReturn(PETSC_ERR_SUP);
  PetscCall(MatMackoInitializePackage());
  PetscFunctionReturn(PETSC_SUCCESS);
}
