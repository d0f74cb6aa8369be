/* Arguments, errors and exit statuses of PETSc programs. */
#include "common/program.h"
#include "macko.h"
#include "nearest.h"
#include "common/output_file.h"
#include "petscmacko.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ---- errors ---- */

/* What the handler of errors needs to know, and what it finds out. */
typedef struct {
  const char *name;
  PetscBool everywhere; /* all ranks met the error together, so all can end in order */
} Failure;

/* PETSc calls this handler in place of its own, which would print a trace of functions. It prints the sentence of an error where
   it arises (PETSC_ERROR_INITIAL) and keeps still while the error is handed up. A newline at the end of the text is dropped,
   others become blanks. */
static PetscErrorCode PrintSentence(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code,
                                    PetscErrorType type, const char *text, void *context)
{
  Failure *failure = (Failure *)context;
  int rank = 0, size = 1, all = 1, world_rank = 0;
  char sentence[2048];
  (void)line, (void)function, (void)file;
  if (type != PETSC_ERROR_INITIAL) return code;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Comm_size(PETSC_COMM_WORLD, &all);
  MPI_Comm_rank(PETSC_COMM_WORLD, &world_rank);
  failure->everywhere = (PetscBool)(size == all);
  if (rank) return code;
  /* PETSc raises some errors of all ranks on each for itself: the first rank's abort comes before the others have spoken. */
  if (world_rank && size == 1) sleep(1);
  if (text && *text) snprintf(sentence, sizeof sentence, "%s", text);
  else snprintf(sentence, sizeof sentence, "PETSc error %d", (int)code);
  for (char *c = sentence; *c; c++)
    if (*c == '\n') *c = c[1] ? ' ' : 0;
  /* One call writes it at once: what mpiexec says of an abort may come between two. */
  fprintf(stderr, "%s: %s\n", failure->name, sentence);
  return code;
}

/* Ends the program and returns its exit status. After an error PETSc's objects are in an unknown state: only MPI is ended in
   order, where all ranks can do so. */
static int EndAfterError(PetscErrorCode code, const Failure *failure)
{
  int status = code == PETSC_ERR_NOT_CONVERGED ? STATUS_NOT_CONVERGED : STATUS_BAD_INPUT;
  output_abandon();
  if (failure->everywhere) MPI_Finalize();
  else MPI_Abort(PETSC_COMM_WORLD, status);
  return status;
}

/* Ends the program where nothing is wrong but standard output. PETSc would report that at length when it ends, so only MPI is
   ended; other ranks, which know nothing of it, are aborted. */
static int EndUnprinted(void)
{
  int size;
  MPI_Comm_size(PETSC_COMM_WORLD, &size);
  if (size > 1) MPI_Abort(PETSC_COMM_WORLD, STATUS_BAD_INPUT);
  else MPI_Finalize();
  return STATUS_BAD_INPUT;
}

/* Starts PETSc, and returns 0 or the exit status. What can fail is a file of options, on which PETSc reports at length, with all
   of its configuration: one sentence is printed instead. The first rank, which reads the file, may be the only one to know. */
static int Start(const Program *program, int *argc, char ***argv)
{
  PetscErrorCode (*print)(const char *, ...) = PetscErrorPrintf, error;
  Failure failure = {program->name, PETSC_FALSE};
  const char *general = NULL, *text = NULL;
  int initialized = 0;

  PetscErrorPrintf = PetscErrorPrintfNone;
  error = PetscInitialize(argc, argv, NULL, program->help);
  PetscErrorPrintf = print;
  if (!error) return 0;
  (void)PetscErrorMessage(error, &general, (void *)&text); /* versions of PETSc differ in whether that is const */
  MPI_Initialized(&initialized);
  if (!initialized) return fprintf(stderr, "%s: PETSc cannot be started\n", program->name), STATUS_BAD_INPUT;
  if (!text || !*text) text = general;
  (void)PrintSentence(MPI_COMM_SELF, 0, "", "", error, PETSC_ERROR_INITIAL, text, &failure);
  return EndAfterError(error, &failure);
}

/* ---- arguments ---- */

/* An option begins with one or two dashes and a letter, so that "-5" and "-" are values. */
static int IsOption(const char *argument)
{
  return argument[0] == '-' && isalpha((unsigned char)argument[1 + (argument[1] == '-')]);
}

/* Sets *matrix to the first argument that is neither an option nor an option's value, and returns how many there are. Which
   options have values is known only to PETSc's parts, so a flag right before the matrix takes it for its value; the matrix is to
   be named first. */
static int FindMatrix(int argc, char **argv, const char **matrix)
{
  int count = 0;
  for (int i = 1; i < argc; i++) {
    if (IsOption(argv[i])) i += i + 1 < argc && !IsOption(argv[i + 1]);
    else if (++count == 1) *matrix = argv[i];
  }
  return count;
}

/* Whether one of the names, a list that NULL ends, is among the arguments. */
static int Asked(int argc, char **argv, const char *const names[])
{
  for (int i = 1; i < argc; i++)
    for (int k = 0; names[k]; k++)
      if (!strcmp(argv[i], names[k])) return 1;
  return 0;
}

/* Says which option has two dashes, as those of other programs have: no part of PETSc would ask for it. Returns whether one has. */
static int TwoDashes(const Program *program, int argc, char **argv)
{
  for (int i = 1; i < argc; i++) {
    const int name = (int)strcspn(argv[i], "=");
    if (!IsOption(argv[i]) || argv[i][1] != '-') continue;
    fprintf(stderr, "%s: the option %.*s is unknown: options have one dash here, as in %.*s; %s -help tells more\n", program->name,
            name, argv[i], name - 1, argv[i] + 1, program->name);
    return 1;
  }
  return 0;
}

/* Whether PETSc looks at an option only when it ends, or has looked before options were counted. */
static int IsOfPETScItself(const char *name)
{
  static const char *const families[] = {"log_", "malloc", "options_"};
  static const char *const names[] = {"h", "help", "info", "objects_dump", "mpi_linear_solver_server"};
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    if (!strncmp(name, families[i], strlen(families[i]))) return 1;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(name, names[i])) return 1;
  return 0;
}

/* Gathers the options of the files that the command line names: PETSc, which has put all options together, no longer says where one
   is from. A file that is gone by now is passed over. */
static PetscErrorCode OptionsOfFiles(int argc, char **argv, PetscOptions *options)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsCreate(options));
  for (int i = 1; i + 1 < argc; i++)
    if (!strcmp(argv[i], "-options_file")) PetscCall(PetscOptionsInsertFile(PETSC_COMM_WORLD, *options, argv[i + 1], PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds the option of the program's own that a name is near enough to; NULL if it is near to none. */
static const char *NearOwn(const Program *program, const char *name)
{
  int count = 0;
  while (program->options[count]) count++;
  return macko_near_name(name, program->options, count);
}

/* Warns of options that nothing has asked for: a misspelt option would otherwise change nothing and say nothing. Those from the
   environment and from files that the command line does not name are passed over, as they may be meant for other programs. */
static PetscErrorCode NameUnusedOptions(const Program *program, int argc, char **argv)
{
  PetscInt count;
  char **names, **values, option[256];
  PetscOptions files;
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(OptionsOfFiles(argc, argv, &files));
  PetscCall(PetscOptionsLeftGet(NULL, &count, &names, &values));
  for (PetscInt n = 0; n < count; n++) {
    PetscCall(PetscSNPrintf(option, sizeof option, "-%s", names[n]));
    PetscCall(PetscOptionsHasName(files, NULL, option, &given));
    for (int i = 1; i < argc; i++) given = (PetscBool)(given || (IsOption(argv[i]) && !strcasecmp(argv[i], option)));
    if (!given || IsOfPETScItself(names[n])) continue;
    const char *near = NearOwn(program, names[n]);
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, stderr, "%s: nothing used the option -%s%s%s\n", program->name, names[n],
                           near ? "; the nearest is -" : "", near ? near : ""));
  }
  PetscCall(PetscOptionsLeftRestore(NULL, &count, &names, &values));
  PetscCall(PetscOptionsDestroy(&files));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- standard output ---- */

/* Flushes standard output. What could not be printed is an error, not a success that nobody saw. */
static int Flushed(const char *name)
{
  int before = ferror(stdout);
  errno = 0;
  if (!fflush(stdout) && !before) return 1;
  fprintf(stderr, "%s: standard output: %s\n", name, errno ? strerror(errno) : "cannot be written, as on a full disk");
  return 0;
}

/* Prints text and returns the exit status of having done so. */
static int Print(const char *name, const char *text)
{
  fputs(text, stdout);
  return Flushed(name) ? STATUS_FINE : STATUS_BAD_INPUT;
}

/* ---- main ---- */

/* Runs the program inside PETSc. Logging is switched on because the programs report the time of products from PETSc's events. */
static PetscErrorCode Run(const Program *program, const char *matrix, int argc, char **argv, int *status)
{
  PetscFunctionBegin;
  PetscCall(PetscLogDefaultBegin());
  PetscCall(MatMackoInitializePackage());
  PetscCall(MatMackoCountFrom(1)); /* as in the files that people look at */
  PetscCall(program->run(matrix, status));
  PetscCall(NameUnusedOptions(program, argc, argv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Answers without PETSc, whose own help is hundreds of lines and comes with a matrix only, and whose version is another, and
   refuses what cannot be run. Returns whether there is nothing more to do; *status is the exit status then. */
static int Answered(const Program *program, int argc, char **argv, int count, const char *matrix, int *status)
{
  static const char *const help[] = {"-help", "-h", NULL}, *const version[] = {"-version", NULL};
  static const char *const plain_help[] = {"--help", NULL}, *const plain_version[] = {"--version", NULL};
  if (Asked(argc, argv, plain_version) || (count != 1 && Asked(argc, argv, version)))
    return printf("%s ", program->name), *status = Print(program->name, MACKO_VERSION_STRING "\n"), 1;
  if (Asked(argc, argv, plain_help) || (count != 1 && Asked(argc, argv, help)))
    return *status = Print(program->name, program->help), 1;
  *status = STATUS_BAD_INPUT;
  if (TwoDashes(program, argc, argv)) return 1;
  if (count == 0)
    fprintf(stderr, "%s: no matrix: name the file before the options; %s -help tells more\n", program->name, program->name);
  if (count > 1)
    fprintf(stderr, "%s: %d matrices (the first is '%s'): one at a time; %s\n", program->name, count, matrix, program->second);
  return count != 1;
}

/* PETSc's handler of signals is left out: it would report the end of `macko-solve ... | head` as a crash, and it calls MPI_Abort,
 * which allocates memory, so that a signal within malloc, as of a terminal that is closed while a matrix is read, would leave the
 * program waiting for itself for ever. */
int ProgramMain(const Program *program, int argc, char **argv)
{
  const char *matrix = NULL;
  Failure failure = {program->name, PETSC_FALSE};
  PetscErrorCode error;
  int status, count = FindMatrix(argc, argv, &matrix);

  if (Answered(program, argc, argv, count, matrix, &status)) return status;
  if (PetscOptionsSetValue(NULL, "-no_signal_handler", NULL)) return STATUS_BAD_INPUT;
  if ((status = Start(program, &argc, &argv))) return status;
  if (PetscPushErrorHandler(PrintSentence, &failure)) return STATUS_BAD_INPUT;
  error = Run(program, matrix, argc, argv, &status);
  if (error) return EndAfterError(error, &failure);
  if (!Flushed(program->name)) return EndUnprinted();
  if (PetscPopErrorHandler()) return STATUS_BAD_INPUT;
  return PetscFinalize() ? STATUS_BAD_INPUT : status;
}
