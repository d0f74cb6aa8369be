/* Pipes copied to files. */
#include "common/spool.h"

#include "common/temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Writes all bytes to a descriptor, however many calls that takes. Returns 0, or the system's error number. */
static int WriteAll(int to, const char *bytes, ssize_t count)
{
  while (count > 0) {
    /* A signal may end a call before anything was written, which is no failure, and a nearly full disk may take a part. */
    ssize_t written = write(to, bytes, (size_t)count);
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) bytes += written, count -= written;
  }
  return 0;
}

/* Copies what path gives until it ends to the descriptor `to`. The sentence about a failure, in which `folder` is where the copy
   lies, goes into text, which otherwise stays as it is. */
static void CopyPipe(const char *path, int to, const char *folder, char *text, size_t size)
{
  char bytes[65536];
  ssize_t count;
  int from = open(path, O_RDONLY | O_CLOEXEC), bad = 0;
  if (from < 0) {
    snprintf(text, size, "%s: cannot be opened: %s", path, strerror(errno));
    return;
  }
  do {
    /* A pipe gives what there is, often less than the room; only 0 bytes mean its end. */
    count = read(from, bytes, sizeof bytes);
    if (count > 0) bad = WriteAll(to, bytes, count);
  } while (!bad && (count > 0 || (count < 0 && errno == EINTR)));
  if (bad) snprintf(text, size, "%s: cannot be copied to %s: %s", path, folder, strerror(bad));
  else if (count < 0) snprintf(text, size, "%s: cannot be read: %s", path, strerror(errno));
  close(from);
}

/* Makes the copy and names it in s->name: /dev/fd leads to it as long as it is open. */
static void CopyToFolder(Spool *s, char *text, size_t size)
{
  const char *folder;
  s->copy = temporary_file(&folder);
  if (s->copy < 0) {
    snprintf(text, size, "%s: cannot be copied to %s: %s", s->path, folder, strerror(errno));
    return;
  }
  snprintf(s->name, sizeof s->name, "/dev/fd/%d", s->copy);
  CopyPipe(s->path, s->copy, folder, text, size);
}

/* A device is refused because it may never end, or wait for someone to type. */
PetscErrorCode SpoolOpen(MPI_Comm comm, const char *path, Spool *s)
{
  char text[512] = "";
  struct stat facts;
  PetscMPIInt rank;

  PetscFunctionBegin;
  s->path = path, s->copy = -1;
  PetscCall(PetscStrncpy(s->name, path, sizeof s->name));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  /* Only the first rank looks: what is a pipe there, such as one that a shell makes, need not be there for others. */
  if (rank == 0 && !stat(path, &facts)) {
    if (S_ISCHR(facts.st_mode) || S_ISBLK(facts.st_mode))
      snprintf(text, sizeof text, "%s: is a device; matrices are read from files and pipes", path);
    else if (S_ISFIFO(facts.st_mode)) CopyToFolder(s, text, sizeof text);
  }
  /* An empty sentence means that all went well; all ranks fail together or not at all. */
  PetscCallMPI(MPI_Bcast(text, sizeof text, MPI_BYTE, 0, comm));
  PetscCheck(!text[0], comm, PETSC_ERR_FILE_READ, "%s", text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The copy has no name, so closing it frees its place on the disk. */
PetscErrorCode SpoolClose(Spool *s)
{
  PetscFunctionBegin;
  if (s->copy >= 0) close(s->copy);
  s->copy = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Text that begins with anything else is left as it is, such as a sentence that names no file. What gets too long is cut. */
void SpoolRename(const Spool *s, char *text, size_t size)
{
  char rest[512];
  size_t length = strlen(s->name);
  if (s->copy < 0 || strncmp(text, s->name, length)) return;
  snprintf(rest, sizeof rest, "%s", text + length);
  snprintf(text, size, "%.160s%s", s->path, rest);
}
