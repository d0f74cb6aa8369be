/* Files that programs write whole or not at all. */
#include "common/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is replaced, and the new file. These are global because a signal handler needs them; that is why one file at a time is
 * written. `unfinished` points to `name` while there is a new file, else it is NULL. */
static char target[PATH_MAX], name[PATH_MAX + 40];
static char *volatile unfinished;

/* ---- signals that end the program ---- */

/* The signals by which a user or a batch system ends a program, and what they did before they were caught here. `writer` is the
 * thread that opened the file. */
static const int ending[] = {SIGHUP, SIGINT, SIGTERM};
enum { ENDING = sizeof ending / sizeof *ending };
static struct sigaction before[ENDING];
static pthread_t writer;

/* Gives the signals back what they did before. */
static void restore_signals(void)
{
  for (int i = 0; i < ENDING; i++) sigaction(ending[i], &before[i], NULL);
}

/* Removes the new file and gives the signals back what they did before. The signal itself comes again when this returns, so that
 * the program ends as it would have. Another thread hands the signal to the writing one, which may just be between making the
 * file and noting its name with signals blocked, and takes it once that is done. */
static void remove_new(int signal)
{
  if (!pthread_equal(pthread_self(), writer)) {
    pthread_kill(writer, signal);
    return;
  }
  if (unfinished) unlink(unfinished);
  restore_signals();
  raise(signal);
}

/* Installs remove_new. What is ignored, as under nohup, stays so. */
static void catch_signals(void)
{
  struct sigaction caught;
  writer = pthread_self();
  memset(&caught, 0, sizeof caught);
  caught.sa_handler = remove_new;
  for (int i = 0; i < ENDING; i++) {
    sigaction(ending[i], NULL, &before[i]);
    if (before[i].sa_handler != SIG_IGN) sigaction(ending[i], &caught, NULL);
  }
}

/* ---- the new file ---- */

/* How many names are tried for the new file. */
enum { TRIES = 1000 };

/* Sets `name` to one of them. The number avoids files that an earlier process of the same number left. */
static void set_name(int number)
{
  snprintf(name, sizeof name, "%s.%ld-%d.part", target, (long)getpid(), number);
}

/* Makes the new file; returns its descriptor, or -1 with errno. Permissions of an old file are given on before anything is in it,
 * so that nobody reads what was not readable. */
static int create(const struct stat *old)
{
  int file = -1;
  for (int i = 0; i < TRIES && file < 0; i++) {
    set_name(i);
    file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, old ? old->st_mode & 0777 : 0666);
    if (file < 0 && errno != EEXIST) break;
  }
  if (file < 0 || !old || !fchmod(file, old->st_mode & 0777)) return file;
  int bad = errno;
  close(file), unlink(name);
  errno = bad;
  return -1;
}

/* Makes the new file with signals blocked, so that none comes between the file and the note that it is there. */
static FILE *open_new(const struct stat *old, int *bad)
{
  sigset_t all, mask;
  FILE *f = NULL;
  catch_signals();
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &mask);
  int file = create(old);
  *bad = file < 0 ? errno : 0;
  if (file >= 0 && !(f = fdopen(file, "w"))) *bad = errno, close(file), unlink(name);
  if (f) unfinished = name;
  else restore_signals();
  sigprocmask(SIG_SETMASK, &mask, NULL);
  return f;
}

/* The signals are given back last: until the file is gone it is to be cared for. */
void output_abandon(void)
{
  if (!unfinished) return;
  unlink(unfinished);
  unfinished = NULL;
  restore_signals();
}

/* ---- what the programs call ---- */

/* What standard output leads to counts, because replacing that file would lose what was printed. */
int output_is_standard(const char *path)
{
  struct stat file, standard;
  if (!strcmp(path, "-")) return 1;
  return !stat(path, &file) && !fstat(STDOUT_FILENO, &standard) && file.st_dev == standard.st_dev &&
         file.st_ino == standard.st_ino;
}

/* /dev/null is standard output where that leads to it. */
int output_both_standard(const char *path, const char *other)
{
  struct stat nothing, standard;
  if (!output_is_standard(path) || !output_is_standard(other)) return 0;
  return stat("/dev/null", &nothing) || fstat(STDOUT_FILENO, &standard) || nothing.st_dev != standard.st_dev ||
         nothing.st_ino != standard.st_ino;
}

int output_printed(const char *program)
{
  if (!fflush(stdout) && !ferror(stdout)) return 0;
  return fprintf(stderr, "%s: standard output: %s\n", program, strerror(errno)), 1;
}

/* Sets *facts to those of the folder of a path, and returns the name in it, or NULL where there is no such folder. */
static const char *split(const char *path, struct stat *facts)
{
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/');
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
  if (stat(folder, facts)) return NULL;
  return slash ? slash + 1 : path;
}

/* Of files that are not there yet the folder and the name in it decide. */
int output_is_same(const char *path, const char *other)
{
  struct stat one, two;
  const char *name_of_one, *name_of_two;
  if (output_is_standard(path) || output_is_standard(other)) return 0;
  const int there = !stat(path, &one), other_there = !stat(other, &two);
  if (there && other_there) return S_ISREG(one.st_mode) && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
  if (there || other_there || !(name_of_one = split(path, &one)) || !(name_of_two = split(other, &two))) return 0;
  return one.st_dev == two.st_dev && one.st_ino == two.st_ino && !strcmp(name_of_one, name_of_two);
}

/* Sets `target` to what a rename has to replace, which is the file behind a link; returns whether it is there, with its facts. */
static int resolve(const char *path, struct stat *facts)
{
  int there = !stat(path, facts);
  if (!there || !realpath(path, target)) snprintf(target, sizeof target, "%s", path);
  return there;
}

/* A file is replaced by renaming, so that the folder must be writable, not the old file. The slash that ends the folder is kept
 * where it is the root's. */
int output_refusal(const char *path)
{
  struct stat facts;
  int there = resolve(path, &facts);
  char *slash = strrchr(target, '/');
  if (output_is_standard(path)) return 0;
  if (there && S_ISDIR(facts.st_mode)) return EISDIR;
  if (there && !S_ISREG(facts.st_mode)) return access(path, W_OK) ? errno : 0;
  if (slash) slash[slash == target] = 0;
  return access(slash ? target : ".", W_OK | X_OK) ? errno : 0;
}

/* A pipe or a device cannot be replaced by a file, so it is opened as it is. */
FILE *output_open(const char *path, int *bad)
{
  struct stat facts;
  int there = resolve(path, &facts);
  *bad = 0;
  if (output_is_standard(path)) return stdout;
  if (!there || S_ISREG(facts.st_mode)) return open_new(there ? &facts : NULL, bad);
  FILE *f = fopen(path, "w");
  if (!f) *bad = errno;
  return f;
}

/* The library tries the same names in the same order, and makes the first file that is not there. */
const char *output_guard(const char *path)
{
  struct stat facts;
  int number = 0;
  (void)resolve(path, &facts);
  do set_name(number++);
  while (!lstat(name, &facts) && number < TRIES);
  catch_signals();
  unfinished = name;
  return name;
}

void output_release(void)
{
  if (!unfinished) return;
  unfinished = NULL;
  restore_signals();
}

int output_replace(void)
{
  int bad = rename(unfinished, target) ? errno : 0;
  if (bad) output_abandon();
  else output_release();
  return bad;
}

/* fclose may meet an error that ferror did not know of, as on a full disk; errno may still be 0 then, and EIO stands for it. */
int output_close(FILE *f)
{
  int bad = ferror(f) ? EIO : 0;
  errno = 0;
  if (f == stdout ? fflush(f) : fclose(f)) bad = errno ? errno : EIO;
  if (!bad && unfinished) return output_replace();
  output_abandon();
  return bad;
}
