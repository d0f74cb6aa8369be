/* How a matrix is stored, and what its products cost. */
#include "common/stored_matrix.h"
#include "common/json.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* The handler of the alarm. It may use only what is safe in a signal handler: write is, printf is not. */
static void SayEncoding(int signal)
{
  static const char text[] = "\rencoding ... ";
  (void)signal;
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) return;
}

/* Does what -mat_view asks for. PETSc looks at the option itself where it assembles; a type that came out of an assembled AIJ
   matrix in its place, and one that was encoded from rows, were never assembled. */
static PetscErrorCode View(Mat A)
{
  PetscBool unseen;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &unseen, MATSEQAIJ, MATMPIAIJ, MATSEQMACKO, MATMPIMACKO, ""));
  if (unseen) PetscCall(MatViewFromOptions(A, NULL, "-mat_view"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Encoding reports nothing on its way, so an alarm speaks for it after a second, on a terminal. alarm(0) returns 0 if it has
   spoken: then the line is wiped out. */
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
  if (!macko) {
    PetscCall(View(A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  memset(&speak, 0, sizeof speak);
  speak.sa_handler = SayEncoding, speak.sa_flags = SA_RESTART;
  /* SA_RESTART above lets a system call go on that the alarm has come into. */
  if (terminal) sigaction(SIGALRM, &speak, &before), alarm(1);
  PetscCall(PetscTime(&start));
  PetscCall(MatMackoEncode(A));
  PetscCall(PetscTime(&end));
  *seconds = end - start;
  if (terminal) {
    if (alarm(0) == 0) fprintf(stderr, "\r             \r");
    sigaction(SIGALRM, &before, NULL);
  }
  PetscCall(View(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products with any matrix count, by PETSc's own events, which ProgramMain has had recorded from the start. */
PetscErrorCode StorageProductSeconds(PetscLogDouble *seconds)
{
  static const char *const names[] = {"MatMult", "MatMultAdd", "MatMultTranspose", "MatMultTrAdd"};
  PetscLogEvent event;
  PetscEventPerfInfo info;

  PetscFunctionBegin;
  *seconds = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    PetscCall(PetscLogEventGetId(names[i], &event));
    /* An event that no part of PETSc has registered has a negative number. */
    if (event < 0) continue;
    PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
    *seconds += info.time;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For AIJ the bytes are those of the arrays that CSR needs on all ranks: each has one more row pointer than rows. */
PetscErrorCode StorageCollect(const Problem *p, Storage *s)
{
  PetscBool macko, aij;
  PetscInt rows;
  PetscMPIInt ranks;
  MatType type;

  PetscFunctionBegin;
  /* Zero stands for "not known" in every field. */
  memset(s, 0, sizeof *s);
  s->nnz = p->nnz, s->lossy = p->lossy;
  PetscCall(MatGetType(p->A, &type));
  PetscCall(PetscStrncpy(s->type, type, sizeof s->type));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)p->A, &macko, MATSEQAIJMACKO, MATMPIAIJMACKO, MATSEQMACKO, MATMPIMACKO, ""));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)p->A, &aij, MATSEQAIJ, MATMPIAIJ, ""));
  if (macko) {
    /* info.reason is the matrix's own text, which goes with it. */
    PetscCall(MatMackoGetInfo(p->A, &s->info));
    PetscCall(PetscStrncpy(s->reason, s->info.reason ? s->info.reason : "", sizeof s->reason));
    s->bytes = s->info.bytes, s->lossy = (PetscBool)(s->lossy || s->info.lossy);
  } else if (aij) {
    PetscCall(MatGetSize(p->A, &rows, NULL));
    PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)p->A), &ranks));
    s->bytes = p->nnz * (PetscInt64)(sizeof(PetscInt) + sizeof(PetscScalar)) + (rows + ranks) * (PetscInt64)sizeof(PetscInt);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints what products took and after how many of them encoding has paid. Formats of the blocks are told only where there is more
   than one, which shows in the words that join their names. */
static void PrintProducts(const MatMackoInfo *info)
{
  if (strstr(info->formats, ", ") || strstr(info->formats, " and ")) printf("          formats of the blocks: %s\n", info->formats);
  printf("products  ");
  /* Only products by one vector on a CPU are timed, by the matrix itself. */
  if (info->products) printf("%lld measured, %.3g us in the mean", (long long)info->products, 1e6 * info->product_seconds);
  else printf("none measured (those of one vector on a CPU are)");
  if (info->predicted_seconds > 0) printf("; predicted %.3g us", 1e6 * info->predicted_seconds);
  printf(", %.3g us with csr", 1e6 * info->csr_predicted_seconds);
  /* It is negative where the prediction sees no gain in time. */
  if (info->break_even >= 0) printf("; encoding pays after %lld", (long long)info->break_even);
  else if (info->bytes < info->csr_bytes) printf("; not faster than csr: encoding pays in bytes only");
  else printf(strcmp(info->format, "csr") ? "; neither faster nor smaller than csr" : "; stored as csr itself");
  printf("\n");
}

/* Of types that are not ours there is the type and, for AIJ, the bytes; of ours also what was chosen and why. A second line says
   what products cost. */
void StoragePrint(const Storage *s)
{
  printf("storage   %s", s->type);
  if (s->info.encoded) printf(": format %s", s->info.format);
  if (s->bytes)
    printf("%s %lld bytes, %.2f a nonzero", s->info.encoded ? "," : ":", (long long)s->bytes,
           s->nnz ? (double)s->bytes / (double)s->nnz : 0.);
  if (s->info.encoded) printf("; CSR takes %.2f times as many", s->bytes ? (double)s->info.csr_bytes / (double)s->bytes : 1.);
  if (s->lossy) printf("; LOSSY values");
  if (s->info.encoded) printf("\n          %s", s->reason);
  printf("\n");
  if (s->info.encoded) PrintProducts(&s->info);
}

/* Writes a member of the JSON, with null where the format has no such choice, for which the library says auto. */
static void WriteName(FILE *f, const char *member, const char *name)
{
  if (strcmp(name, "auto")) fprintf(f, "\"%s\": \"%s\", ", member, name);
  else fprintf(f, "\"%s\": null, ", member);
}

/* Writes what encoding and products took. put_json_number makes null of NAN, which stands here for what was not measured. */
static void WriteCosts(FILE *f, const MatMackoInfo *info)
{
  fprintf(f, ", \"formats\": ");
  put_json_string(f, info->formats);
  fprintf(f, ", \"encodes\": %lld, \"refreshes\": %lld, ", (long long)info->encodes, (long long)info->refreshes);
  put_json_number(f, "encode_seconds", info->encode_seconds, ", "),
      put_json_number(f, "refresh_seconds", info->refresh_seconds, ", ");
  fprintf(f, "\"products_measured\": %lld, ", (long long)info->products);
  put_json_number(f, "product_seconds", info->products ? info->product_seconds : NAN, ", ");
  put_json_number(f, "predicted_seconds", info->predicted_seconds > 0 ? info->predicted_seconds : NAN, ", ");
  put_json_number(f, "csr_predicted_seconds", info->csr_predicted_seconds, ", ");
  if (info->break_even >= 0) fprintf(f, "\"break_even_products\": %lld", (long long)info->break_even);
  else fprintf(f, "\"break_even_products\": null");
}

/* Members that a type does not have are left out; in those of our types, null stands for a number that is not known. */
void StorageWrite(FILE *f, const Storage *s)
{
  fprintf(f, "{\"type\": \"%s\", \"lossy\": %s", s->type, s->lossy ? "true" : "false");
  if (s->bytes) fprintf(f, ", \"bytes\": %lld", (long long)s->bytes);
  if (s->info.encoded) {
    fprintf(f, ", \"csr_bytes\": %lld, \"format\": \"%s\", ", (long long)s->info.csr_bytes, s->info.format);
    WriteName(f, "layout", s->info.layout), WriteName(f, "variant", s->info.variant);
    fprintf(f, "\"gap_bits\": %d, ", s->info.gap_bits);
    fprintf(f, "\"values\": \"%s\", \"reason\": ", s->info.values);
    put_json_string(f, s->reason);
    WriteCosts(f, &s->info);
  }
  fprintf(f, "}");
}
