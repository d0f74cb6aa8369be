/* Random sequences of operations on one of our matrices and on a plain one: after each the products must agree. What fails is
 * made as short as it still fails, and printed with its seed.
 *
 * MACKO_RANDOM_SEED (default 1) is the seed of the first sequence, the next ones count on from it; MACKO_RANDOM_SEQUENCES (67) is
 * how many are run, for each number of ranks; with MACKO_RANDOM_TRACE set each is printed before it runs, for those that
 * crash. */
#include "changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 12, TEXT = 2000 };

/* Everything that a seed decides. */
typedef struct {
  unsigned    seed;
  const char *storage; /* options */
  int         few;     /* few values to begin with, so that pairs of a gap and a value repeat */
  way         how;
  type_choice type;
  PetscInt    rows;
  int         count, changes[LONGEST];
} sequence;

/* Every format, layout and variant with the values and gap widths it can have. */
static const char *const storages[] = {
#define MACKO_FORMAT(symbol, name, text) "format " #name,
#include "formats.def"
#undef MACKO_FORMAT
  "", "format macko values raw", "format macko layout row", "format macko layout row values raw",
  "format macko layout row values narrow", "format macko layout row values dict", "format macko layout row values f32",
  "format macko layout row values bf16", "format macko layout row gap_bits 1", "format macko layout row gap_bits 2",
  "format macko layout row gap_bits 4", "format macko layout row gap_bits 8", "format macko layout row gap_bits 16",
  "format macko layout slice", "format macko layout slice values raw", "format macko layout slice values narrow",
  "format macko layout slice values dict", "format macko layout slice values pairs", "values pairs halo host",
  "format macko layout slice prefer memory", "format macko prefer memory", "halo host",
  "format macko layout slice values f32", "format macko layout slice values bf16", "format macko layout paper",
  "format macko layout paper gap_bits 1", "format macko layout paper gap_bits 8",
  "format dtans variant split", "format dtans variant joint", "format dtans variant paper",
  "format dtans variant split values raw", "format dtans variant split values narrow", "format dtans variant split values dict",
  "format dtans variant split values coded", "format dtans variant split values f32"};
enum { STORAGES = sizeof storages / sizeof *storages };

static unsigned long state;

static unsigned draw(unsigned limit)
{
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33) % limit;
}

/* Debian's PETSc 3.18 frees arrays that COO assembly made as one, also of plain matrices. */
static int coo_is_safe(void)
{
#if PETSC_VERSION_LT(3, 19, 0)
  return ranks() == 1;
#else
  return 1;
#endif
}

static sequence make_sequence(unsigned seed)
{
  sequence s = {.seed = seed};
  int      changes = 0;
  while (change_at(changes)) changes++;
  state     = seed * 0x9e3779b97f4a7c15u;
  s.storage = storages[draw(STORAGES)];
  s.few     = draw(3) == 0;
  do s.how = (way)draw(WAYS);
  while (s.how == COO && !coo_is_safe());
  s.type  = (type_choice)draw(ranks() == 1 ? TYPES : 1);
  s.rows  = 12 + (PetscInt)draw(strstr(s.storage, "values pairs") ? 4 : 60); /* pairs has codes for all entries of 15 rows */
  s.count = 1 + (int)draw(LONGEST);
  for (int i = 0; i < s.count; i++) s.changes[i] = (int)draw((unsigned)changes);
  return s;
}

/* Options for all matrices that the sequence makes; or away with them. */
static PetscErrorCode set_options(const char *storage, PetscBool set)
{
  char name[20], value[20], option[40];
  int  used;

  PetscFunctionBegin;
  stored_unit = strstr(storage, "f32") ? 0x1p-24 : strstr(storage, "bf16") ? 0x1p-8 : 0;
  for (; sscanf(storage, "%19s %19s%n", name, value, &used) == 2; storage += used) {
    snprintf(option, sizeof option, "-mat_macko_%s", name);
    if (set) PetscCall(PetscOptionsSetValue(NULL, option, value));
    else PetscCall(PetscOptionsClearValue(NULL, option));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's matrices refuse some new entries after some operations; here none do. */
static PetscErrorCode allow_new_entries(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_NO_OFF_PROC_ENTRIES, PETSC_FALSE)); /* COO assembly may set it */
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode complete_diagonal(Mat A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) PetscCall(MatSetValue(A, i, i, 0, ADD_VALUES));
  PetscCall(assemble(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values rounded to halves and moved by a quarter: few, and none of them 0. */
static PetscErrorCode round_values(Mat A)
{
  Mat          blocks[2] = {A, NULL};
  PetscBool    mpi;
  PetscScalar *a;
  MatInfo      info;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &mpi, MATMPIAIJ, MATMPIAIJMACKO, ""));
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int b = 0; b < 2 && blocks[b]; b++) {
    PetscCall(MatGetInfo(blocks[b], MAT_LOCAL, &info));
    PetscCall(MatSeqAIJGetArray(blocks[b], &a));
    for (PetscInt k = 0; k < (PetscInt)info.nz_used; k++) a[k] = PetscFloorReal(2 * PetscRealPart(a[k])) / 2 + 0.25;
    PetscCall(MatSeqAIJRestoreArray(blocks[b], &a));
  }
  PetscCall(assemble(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products grow: numbers stay where no codec overflows. */
static PetscErrorCode tame(Mat A, Mat P)
{
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(MatNorm(P, NORM_FROBENIUS, &norm));
  if (norm > 1e4) {
    PetscCall(MatScale(A, (PetscScalar)(1 / norm)));
    PetscCall(MatScale(P, (PetscScalar)(1 / norm)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The pattern when values were stored first; 0: not yet. */
static PetscObjectState stored_pattern;

static int applies(const change *c, Mat P)
{
  PetscObjectState pattern = 0;
  if (!coo_is_safe() && !strcmp(c->name, "COO again")) return 0;
  if (c->stores) {
    if (MatGetNonzeroState(P, &pattern)) return 0;
    if (stored_pattern && stored_pattern != pattern + 1) return 0;
    stored_pattern = pattern + 1;
  }
  return size_of(P) >= c->least;
}

/* A and P after one more operation; *why is what is wrong then. */
static PetscErrorCode step(const sequence *s, int place, Mat *A, Mat *P, const char **why)
{
  const change *c = change_at(s->changes[place]);

  PetscFunctionBegin;
  if (!applies(c, *P)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(allow_new_entries(*A));
  PetscCall(allow_new_entries(*P));
  if (c->diagonal) {
    PetscCall(complete_diagonal(*A));
    PetscCall(complete_diagonal(*P));
  }
  PetscCall((*c->run)(P));
  PetscCall((*c->run)(A));
  if (c->plain_type) PetscCall(MatConvert(*A, our_type(s->type), MAT_INPLACE_MATRIX, A));
  PetscCall(tame(*A, *P));
  *why = difference(*A, *P);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NULL, or what is wrong at the first place that something is. */
static const char *run(const sequence *s)
{
  Mat            A, P;
  const char    *why;
  static char    sentence[100];
  PetscErrorCode error = 0;
  OK(set_options(s->storage, PETSC_TRUE));
  OK(make_pair(s->how, s->type, s->rows, s->rows, 1, &A, &P));
  if (s->few) {
    OK(round_values(A));
    OK(round_values(P));
  }
  why            = difference(A, P);
  stored_pattern = 0;
  for (int i = 0; i < s->count && !why && !error; i++) {
    error = step(s, i, &A, &P, &why);
    if (!error && !why) assert_ours(A, change_at(s->changes[i])->name);
  }
  OK(set_options(s->storage, PETSC_FALSE));
  if (error) { /* the matrices may be in any state */
    snprintf(sentence, sizeof sentence, "PETSc error %d", (int)error);
    return sentence;
  }
  DESTROY(&A, &P);
  return why;
}

/* Leaves out whatever the failure does not need. */
static void shrink(sequence *s)
{
  for (int i = s->count - 1; i >= 0; i--) {
    sequence shorter = *s;
    memmove(&shorter.changes[i], &shorter.changes[i + 1], (size_t)(s->count - i - 1) * sizeof s->changes[0]);
    shorter.count--;
    if (!everywhere(run(&shorter) == NULL)) *s = shorter;
  }
}

static void describe(const sequence *s, char text[TEXT])
{
  int n = snprintf(text, TEXT, "seed %u, %d ranks, %d rows, %s, %s%s, options '%s':", s->seed, ranks(), (int)s->rows,
                   our_type(s->type), way_names[s->how], s->few ? ", few values" : "", s->storage);
  for (int i = 0; i < s->count && n < TEXT; i++)
    n += snprintf(text + n, (size_t)(TEXT - n), "%s %s", i ? "," : "", change_at(s->changes[i])->name);
}

static unsigned number(const char *variable, unsigned otherwise)
{
  const char *text = getenv(variable);
  return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

START_TEST(products_agree)
{
  unsigned first = number("MACKO_RANDOM_SEED", 1), count = number("MACKO_RANDOM_SEQUENCES", 67);
  char     whole[TEXT], text[TEXT];
  for (unsigned seed = first; seed < first + count; seed++) {
    sequence s = make_sequence(seed);
    describe(&s, whole);
    if (getenv("MACKO_RANDOM_TRACE")) PetscCallVoid(PetscPrintf(PETSC_COMM_WORLD, "%s\n", whole));
    const char *why = run(&s);
    if (!why) continue;
    char reason[200];
    snprintf(reason, sizeof reason, "%s", why);
    shrink(&s);
    describe(&s, text);
    ck_abort_msg("%s: %s\n(shortened from: %s)", text, reason, whole);
  }
  PetscCallVoid(PetscPrintf(PETSC_COMM_WORLD, "%u sequences from seed %u on %d ranks agree\n", count, first, ranks()));
}
END_TEST

static Suite *random_suite(void)
{
  Suite *s = suite_create("random sequences of operations");
  TCase *t = tcase_create("sequences");
  tcase_add_test(t, products_agree);
  suite_add_tcase(s, t);
  return s;
}

int main(int argc, char **argv)
{
  return run_suite(argc, argv, random_suite, 1);
}
