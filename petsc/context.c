/* What a matrix of ours remembers, composed with it in a container. */
#include "halo.h"
#include "transpose.h"

/* The container is found by this name among the objects that are composed with a matrix. */
static const char key[] = "MatMacko";

/* Looking a struct up takes as long as multiplying with some fifty entries, and a product of a parallel matrix asks a dozen times.
   So a thread remembers the last ones, by the address of the matrix and its number, which no other one ever has. Each of them
   belongs to a count of structs that were let go, and is forgotten when that has changed. */
enum { REMEMBERED = 16 };
static _Thread_local struct {
  Mat           A;
  PetscObjectId id;
  unsigned      gone;
  Mat_Macko    *m;
} remembered[REMEMBERED];
static unsigned gone;

static void Forget(void)
{
  __atomic_fetch_add(&gone, 1, __ATOMIC_RELAXED);
}

/* The struct is composed with the matrix, and not put into its spptr, because AIJCUSPARSE uses that. Errors of the look-up count
   as "not ours": this is asked of matrices of any type. */
Mat_Macko *MackoOf(Mat A)
{
  const PetscObjectId id        = ((PetscObject)A)->id;
  const unsigned      now       = __atomic_load_n(&gone, __ATOMIC_RELAXED), i = (unsigned)id % REMEMBERED;
  PetscContainer      container = NULL;
  void               *m         = NULL;
  if (remembered[i].m && remembered[i].A == A && remembered[i].id == id && remembered[i].gone == now) return remembered[i].m;
  if (PetscObjectQuery((PetscObject)A, key, (PetscObject *)&container) || !container) return NULL;
  if (PetscContainerGetPointer(container, &m)) return NULL;
  remembered[i].A = A, remembered[i].id = id, remembered[i].gone = now, remembered[i].m = (Mat_Macko *)m;
  return (Mat_Macko *)m;
}

/* PETSc calls this when the last reference to the container goes. What argument points to depends on PETSc's version, which
   MackoDestroyed hides. */
static PetscErrorCode Free(void *argument)
{
  Mat_Macko *m = (Mat_Macko *)MackoDestroyed(argument);

  PetscFunctionBegin;
  Forget();
  PetscCall(MackoHaloFree(m));
  MackoDeviceFree(m);
  macko_destroy(&m->compressed);
  PetscCall(MackoFreeTransposed(m));
  PetscCall(PetscFree(m->whole_prefix));
  PetscCall(PetscFree(m->read_prefix));
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
  Forget(); /* another matrix may hold the container, too */
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
