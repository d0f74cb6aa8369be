/* How a matrix is stored, and what its products cost. */
#include "common/stored_matrix.h"
#include "common/json.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static void SayEncoding(int signal)
{
  static const char text[] = "\rencoding ... ";
  (void)signal;
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) return;
}

/* Encoding reports nothing on its way, so an alarm speaks for it after a second, on a terminal. */
PetscErrorCode StorageEncode(Mat A, PetscLogDouble *seconds)
{
  struct sigaction speak, before;
  PetscLogDouble start, end;
  PetscBool terminal = (PetscBool)isatty(STDERR_FILENO), macko, compressed;
  MatMackoInfo info;

  PetscFunctionBegin;
  *seconds = 0;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &compressed, MATSEQMACKO, MATMPIMACKO, ""));
  if (compressed) { /* while it was read or converted */
    PetscCall(MatMackoGetInfo(A, &info));
    *seconds = info.encode_seconds;
  }
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &macko, MATSEQAIJMACKO, MATMPIAIJMACKO, ""));
  if (!macko) PetscFunctionReturn(PETSC_SUCCESS);
  memset(&speak, 0, sizeof speak);
  speak.sa_handler = SayEncoding, speak.sa_flags = SA_RESTART;
  if (terminal) sigaction(SIGALRM, &speak, &before), alarm(1);
  PetscCall(PetscTime(&start));
  PetscCall(MatMackoEncode(A));
  PetscCall(PetscTime(&end));
  *seconds = end - start;
  if (terminal) {
    if (alarm(0) == 0) fprintf(stderr, "\r             \r");
    sigaction(SIGALRM, &before, NULL);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode StorageProductSeconds(PetscLogDouble *seconds)
{
  static const char *const names[] = {"MatMult", "MatMultAdd", "MatMultTranspose", "MatMultTrAdd"};
  PetscLogEvent event;
  PetscEventPerfInfo info;

  PetscFunctionBegin;
  *seconds = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    PetscCall(PetscLogEventGetId(names[i], &event));
    if (event < 0) continue;
    PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
    *seconds += info.time;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode StorageCollect(const Problem *p, Storage *s)
{
  PetscBool macko, aij;
  PetscInt rows;
  PetscMPIInt ranks;
  MatType type;

  PetscFunctionBegin;
  memset(s, 0, sizeof *s);
  s->nnz = p->nnz;
  PetscCall(MatGetType(p->A, &type));
  PetscCall(PetscStrncpy(s->type, type, sizeof s->type));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)p->A, &macko, MATSEQAIJMACKO, MATMPIAIJMACKO, MATSEQMACKO, MATMPIMACKO, ""));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)p->A, &aij, MATSEQAIJ, MATMPIAIJ, ""));
  if (macko) {
    PetscCall(MatMackoGetInfo(p->A, &s->info));
    PetscCall(PetscStrncpy(s->reason, s->info.reason ? s->info.reason : "", sizeof s->reason));
    s->bytes = s->info.bytes;
  } else if (aij) {
    PetscCall(MatGetSize(p->A, &rows, NULL));
    PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)p->A), &ranks));
    s->bytes = p->nnz * (PetscInt64)(sizeof(PetscInt) + sizeof(PetscScalar)) + (rows + ranks) * (PetscInt64)sizeof(PetscInt);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void StoragePrint(const Storage *s)
{
  printf("storage   %s", s->type);
  if (s->info.encoded) printf(": format %s", s->info.format);
  if (s->bytes)
    printf("%s %lld bytes, %.2f a nonzero", s->info.encoded ? "," : ":", (long long)s->bytes,
           s->nnz ? (double)s->bytes / (double)s->nnz : 0.);
  if (s->info.encoded)
    printf("; CSR takes %.2f times as many%s\n          %s", s->bytes ? (double)s->info.csr_bytes / (double)s->bytes : 1.,
           s->info.lossy ? "; LOSSY values" : "", s->reason);
  printf("\n");
}

void StorageWrite(FILE *f, const Storage *s)
{
  fprintf(f, "{\"type\": \"%s\"", s->type);
  if (s->bytes) fprintf(f, ", \"bytes\": %lld", (long long)s->bytes);
  if (s->info.encoded) {
    fprintf(f, ", \"csr_bytes\": %lld, \"format\": \"%s\", \"layout\": \"%s\", \"variant\": \"%s\", \"gap_bits\": %d, ",
            (long long)s->info.csr_bytes, s->info.format, s->info.layout, s->info.variant, s->info.gap_bits);
    fprintf(f, "\"values\": \"%s\", \"lossy\": %s, \"reason\": ", s->info.values, s->info.lossy ? "true" : "false");
    json_string(f, s->reason);
    fprintf(f, ", \"encodes\": %lld, \"refreshes\": %lld", (long long)s->info.encodes, (long long)s->info.refreshes);
  }
  fprintf(f, "}");
}
