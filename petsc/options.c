/* -mat_macko_*: one option for each of the library's, with the choices of its lists. */
#include "transpose.h"

#include <limits.h>
#include <stdlib.h>

/* This has an entry for each option of the library, generated from the library's list so that none is forgotten; the help ends
   with the choices. The target is none of them: it follows from where the vectors are. */
static const struct {
  const char *option, *name, *help;
} known[] = {
#define MACKO_OPTION(field, LIST, usual, reader, help) {"-mat_macko_" #field, #field, help
#define MACKO_CHOICE(LIST, symbol, name, text) "; " #name " (" text ")"
#define MACKO_OPTION_END(field, LIST) },
#define MACKO_WITHOUT_TARGET
#include "options.def"
};

/* These number the same options as known does, in the same order, with the target last. */
enum { /* Option_format, ... */
#define MACKO_OPTION(field, LIST, usual, reader, help) Option_##field,
#include "options.def"
};

/* Returns the name of the choice that an option has in *options, as the user would write it: PETSc shows it as the default with
   -help. The option is one of the numbers above. */
static const char *Chosen(const macko_options *options, size_t option)
{
  switch (option) {
#define MACKO_OPTION(field, LIST, usual, reader, help) case Option_##field: switch ((int)options->field) {
#define MACKO_CHOICE(LIST, symbol, name, text) case MACKO_##LIST##_##symbol: return #name;
#define MACKO_NUMBER(LIST, number, name, text) case number: return #name;
#define MACKO_OPTION_END(field, LIST) default: return ""; }
#include "options.def"
  default: return "";
  }
}

/* Options at their defaults leave it to the library, and to -mat_macko_after auto, how and when to compress. The target does not
   count, because nobody sets it. */
PetscBool MackoDefaults(const macko_options *options)
{
  macko_options usual;

  macko_options_init(&usual);
#define MACKO_OPTION(field, LIST, symbol, reader, help) if (usual.field != options->field) return PETSC_FALSE;
#define MACKO_WITHOUT_TARGET
#include "options.def"
  return PETSC_TRUE;
}

/* Another choice makes the present form stale, by giving it no owner, and what was predicted of it. A target alone does not: each
   block of a parallel matrix has its own, which MackoUpdate sets. */
void MackoSetOptions(Mat_Macko *m, const macko_options *options)
{
  macko_options old = m->options;
  PetscBool     same = PETSC_TRUE;

  old.target = options->target;
#define MACKO_OPTION(field, LIST, usual, reader, help) if (old.field != options->field) same = PETSC_FALSE;
#include "options.def"
  if (!same) {
    m->owner = NULL, m->gain_known = PETSC_FALSE;
    MackoForgetTransposed(m);
  }
  m->options      = *options;
  m->options_read = PETSC_TRUE;
}

/* A block of a parallel matrix goes by that one's prefix, also where a preconditioner has given the block another one. */
const char *MackoPrefix(Mat A)
{
  const Mat_Macko *m = MackoOf(A);

  return m && m->is_block ? m->whole_prefix : ((PetscObject)A)->prefix;
}

/* The choices of an option are named in the order of its enumeration; NULL comes behind them. */
typedef const char *const choices[5];

/* Writes them as a sentence lists them. */
static PetscErrorCode ListChoices(choices names, char *text, size_t size)
{
  PetscFunctionBegin;
  text[0] = 0;
  for (int i = 0; names[i]; i++) {
    PetscCall(PetscStrlcat(text, i == 0 ? "" : names[i + 1] ? ", " : " and ", size));
    PetscCall(PetscStrlcat(text, names[i], size));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Refuses an option that was given without a value: PETSc takes that for an empty one. */
static PetscErrorCode NeedValue(Mat A, const char *option, PetscBool given, const char *text)
{
  PetscFunctionBegin;
  PetscCheck(!given || text[0], PetscObjectComm((PetscObject)A), PETSC_ERR_USER_INPUT, "-%s%s needs a value",
             MackoPrefix(A) ? MackoPrefix(A) : "", option + 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads an option with choices; *choice stays as it is where the option was not given. Without items, which exist only
   within MatSetFromOptions, the options database is asked directly, with A's own prefix. */
static PetscErrorCode ReadChoice(Mat A, MackoOptionItems items, const char *option, const char *help, choices names, int *choice)
{
  char      text[64], all[64];
  PetscBool given = PETSC_FALSE, same = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(text, names[*choice], sizeof text)); /* what -help shows as the default */
  if (items) {
    MackoOptionItems PetscOptionsObject = items;
    PetscCall(PetscOptionsString(option, help, "MATAIJMACKO", text, text, sizeof text, &given));
  } else {
    PetscCall(PetscOptionsGetString(((PetscObject)A)->options, MackoPrefix(A), option, text, sizeof text, &given));
  }
  PetscCall(NeedValue(A, option, given, text));
  for (int i = 0; given && !same && names[i]; i++) {
    PetscCall(PetscStrcmp(text, names[i], &same));
    if (same) *choice = i;
  }
  PetscCall(ListChoices(names, all, sizeof all));
  PetscCheck(!given || same, PetscObjectComm((PetscObject)A), PETSC_ERR_USER_INPUT, "-%s%s: \"%s\" is none of %s",
             MackoPrefix(A) ? MackoPrefix(A) : "", option + 1, text, all);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads -mat_macko_after: auto, or the number of products with the same values that the type below does before they are
   compressed. *after stays as it is where the option was not given. */
static PetscErrorCode ReadAfter(Mat A, MackoOptionItems items, PetscInt64 *after)
{
  const char *prefix = MackoPrefix(A) ? MackoPrefix(A) : "";
  char        text[64] = "auto", *end = text; /* the choice at hand is what -help shows as the default */
  PetscBool   given = PETSC_FALSE, automatic;
  long long   number;

  PetscFunctionBegin;
  if (*after != MACKO_AFTER_AUTO) PetscCall(PetscSNPrintf(text, sizeof text, "%" PetscInt64_FMT, *after));
  if (items) {
    MackoOptionItems PetscOptionsObject = items;
    PetscCall(PetscOptionsString("-mat_macko_after",
                                 "Products with the same values before they are compressed: auto (as many as compressing costs) "
                                 "or a number", "MATAIJMACKO", text, text, sizeof text, &given));
  } else {
    PetscCall(PetscOptionsGetString(((PetscObject)A)->options, MackoPrefix(A), "-mat_macko_after", text, sizeof text,
                                    &given));
  }
  if (!given) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(NeedValue(A, "-mat_macko_after", given, text));
  PetscCall(PetscStrcmp(text, "auto", &automatic));
  *after = MACKO_AFTER_AUTO;
  if (automatic) PetscFunctionReturn(PETSC_SUCCESS);
  number = strtoll(text, &end, 10);
  PetscCheck(end != text && !*end && number >= 0 && number <= INT_MAX, PetscObjectComm((PetscObject)A),
             PETSC_ERR_USER_INPUT, "-%smat_macko_after: \"%s\" is neither auto nor a number from 0 to %d", prefix, text,
             INT_MAX);
  *after = number;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The number is read as text, because PETSc would take one that does not fit for another. */
PetscErrorCode MackoReadRanksPerNode(MPI_Comm comm, int *each)
{
  char      text[64] = "", *end = text;
  PetscBool given;
  long long number;

  PetscFunctionBegin;
  *each = 0;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_macko_ranks_per_node", text, sizeof text, &given));
  if (!given) PetscFunctionReturn(PETSC_SUCCESS);
  number = strtoll(text, &end, 10);
  PetscCheck(end != text && !*end && number >= 1 && number <= INT_MAX, comm, PETSC_ERR_USER_INPUT,
             "-mat_macko_ranks_per_node: \"%s\" is no number from 1 to %d", text, INT_MAX);
  *each = (int)number;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Refuses an option with the value that it was given, because vectors are on the CPU and why they are. */
#define REFUSE_WITHOUT_GPU(A, option, value, why) \
  SETERRQ(PetscObjectComm((PetscObject)(A)), PETSC_ERR_SUP, "-%smat_macko_" option ": vectors are on the CPU: %s", \
          MackoPrefix(A) ? MackoPrefix(A) : "", value, why)

/* What asks for more than is so without a GPU is refused: entries go by MPI there, and no arrays are kept in GPU memory, so that
   host, mpi and no are harmless. The number of ranks is for all matrices of a program, and refused where none of them can be on a
   GPU. A matrix that the program has bound to the CPU is no reason. With a GPU AIJ keeps nothing there either. */
PetscErrorCode MackoRefuseWithoutGpu(Mat A)
{
  const Mat_Macko *m   = MackoOf(A);
  const char      *why = NULL;
  int              each, mine = MackoDeviceAllowed(A, &why);
  PetscBool        all, usable, cusparse;

  PetscFunctionBegin;
  PetscCall(MackoReadBase(A, &cusparse));
  PetscCall(MackoReadRanksPerNode(PetscObjectComm((PetscObject)A), &each));
  if (mine && !MackoDeviceVectors()) mine = 0, why = "this PETSc has none on the GPU";
  if (MackoBoundToCPU(A) || !(each || m->halo_path == MACKO_HALO_PEER || m->keep_csr == MACKO_KEEP_YES))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoOnAll(A, mine, &all));
  PetscCall(MackoOnAll(A, MackoDeviceFound() && MackoDeviceVectors(), &usable));
  PetscCheck(!all || m->keep_csr != MACKO_KEEP_YES || cusparse, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "-%smat_macko_keep_csr yes: the type below is aij, which keeps nothing on the GPU; aijcusparse does, -mat_macko_base",
             MackoPrefix(A) ? MackoPrefix(A) : "");
  if (all) PetscFunctionReturn(PETSC_SUCCESS);
  if (mine) why = "another rank has no GPU";
  if (m->halo_path == MACKO_HALO_PEER) REFUSE_WITHOUT_GPU(A, "halo %s", "peer", why);
  if (m->keep_csr == MACKO_KEEP_YES) REFUSE_WITHOUT_GPU(A, "keep_csr %s", "yes", why);
  if (each && !usable)
    SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "-mat_macko_ranks_per_node %d: vectors are on the CPU: %s", each, why);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was read under another prefix does not count: a program may give a matrix its prefix after its type. */
static PetscErrorCode ForgetOtherPrefix(Mat A, Mat_Macko *m)
{
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(MackoPrefix(A), m->read_prefix, &same));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  m->backend = MACKO_BACKEND_AUTO, m->halo_path = MACKO_HALO_AUTO, m->keep_csr = MACKO_KEEP_AUTO, m->after = MACKO_AFTER_AUTO;
  PetscCall(PetscFree(m->read_prefix));
  PetscCall(PetscStrallocpy(MackoPrefix(A), &m->read_prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* These options are read before all others, when a matrix becomes ours: where products run decides on what type ours stands. */
PetscErrorCode MackoReadBackend(Mat A, MackoOptionItems items)
{
  static choices backends = {"auto", "cpu", "cuda"}, paths = {"auto", "host", "peer", "mpi"}, keeps = {"auto", "yes", "no"};
  Mat_Macko     *m;
  int            backend, path, keep, each;

  PetscFunctionBegin;
  PetscCall(MackoReadRanksPerNode(PetscObjectComm((PetscObject)A), &each)); /* for the refusal alone: exchanges ask again */
  PetscCall(MackoGet(A, &m));
  PetscCall(ForgetOtherPrefix(A, m));
  backend = (int)m->backend, path = (int)m->halo_path, keep = (int)m->keep_csr;
  PetscCall(ReadChoice(A, items, "-mat_macko_backend",
                       "Where products run: auto (where the vectors are); cpu; cuda (copies vectors)", backends,
                       &backend));
  PetscCall(ReadChoice(A, items, "-mat_macko_halo",
                       "How ranks exchange entries of vectors on GPUs: auto (from GPU to GPU within a node, else by MPI); host "
                       "(through its memory); peer (from GPU to GPU or not at all); mpi (by MPI from GPU memory)", paths, &path));
  PetscCall(ReadChoice(A, items, "-mat_macko_keep_csr",
                       "Whether rows, columns and values of aijcusparse stay in GPU memory beside the compressed form: auto (where "
                       "more than first products use them); yes; no", keeps, &keep));
  m->backend = (MackoBackend)backend, m->halo_path = (MackoHaloPath)path, m->keep_csr = (MackoKeep)keep;
  PetscCall(ReadAfter(A, items, &m->after));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each option starts from what *set has. All are read and checked together before *set changes, so that a refusal leaves it
   whole. Misspelt options are named here because every matrix of ours comes by. */
PetscErrorCode MackoReadEncoding(Mat A, MackoOptionItems items, macko_options *set)
{
  macko_options options = *set;
  macko_error   err;

  PetscFunctionBegin;
  PetscCall(MackoNameMisspelt());
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    char        text[64];
    PetscBool   given    = PETSC_FALSE;
    PetscCall(PetscStrncpy(text, Chosen(&options, i), sizeof text));
    if (items) {
      MackoOptionItems PetscOptionsObject = items; /* PETSc's macro expects this name */
      PetscCall(PetscOptionsString(known[i].option, known[i].help, "MATAIJMACKO", text, text, sizeof text, &given));
    } else {
      PetscCall(PetscOptionsGetString(((PetscObject)A)->options, MackoPrefix(A), known[i].option, text,
                                      sizeof text, &given));
    }
    PetscCall(NeedValue(A, known[i].option, given, text));
    /* The library's own reader checks the name, so that its sentence about the choices is the same everywhere. */
    if (given && macko_options_set(&options, known[i].name, text, &err))
      SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_USER_INPUT, "-%s%s: %s",
              MackoPrefix(A) ? MackoPrefix(A) : "", known[i].option + 1, err.text);
  }
  if (macko_options_check(&options, &err))
    SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_USER_INPUT, "-%smat_macko_...: %s",
            MackoPrefix(A) ? MackoPrefix(A) : "", err.text);
  *set = options;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options are read once, by the first product at the latest, since a program need not call MatSetFromOptions; within that
   function they are read again. The backend may change with them, and with it where vectors live. */
PetscErrorCode MackoReadOptions(Mat A, MackoOptionItems items)
{
  Mat_Macko    *m;
  macko_options options;

  PetscFunctionBegin;
  PetscCall(MackoGet(A, &m));
  if (m->options_read && !items) PetscFunctionReturn(PETSC_SUCCESS);
  options = m->options;
  PetscCall(MackoReadEncoding(A, items, &options));
  MackoSetOptions(m, &options);
  PetscCall(MackoReadBackend(A, items));
  PetscCall(MackoRefuseWithoutGpu(A));
  PetscCall(MackoChooseVectors(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
