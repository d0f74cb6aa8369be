/* Files written under another name until they are whole. */
#include "core/new_file.h"

#include "core/format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* errno is read here, so that callers must not do anything in between that may change it. */
macko_status macko_file_fail(const char *name, const char *what, macko_error *err)
{
  return macko_fail(err, MACKO_IO, "%s: %s: %s", name, what, errno ? strerror(errno) : "unknown reason");
}

/* Finds the path that rename will replace, and its permissions: the file behind a link, but of a link to nothing the link itself.
 * What is there and no regular file, such as a device, is refused, because rename would put a file in its place. */
static macko_status resolve(macko_new_file *f, macko_error *err)
{
  struct stat facts;
  int there = !stat(f->name, &facts);
  f->mode = there ? (int)(facts.st_mode & 0777) : -1;
  if (!there) f->path = strdup(f->name);
  else if (!S_ISREG(facts.st_mode))
    return macko_fail(err, MACKO_IO, "%s: is not a regular file, so it is not replaced", f->name);
  else f->path = realpath(f->name, NULL);
  size_t size = f->path ? strlen(f->path) + 40 : 0;
  if (size) f->temporary = malloc(size);
  return f->temporary ? MACKO_OK : macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a file name");
}

/* Creates a new file beside the old one, so that rename stays inside one file system, with the old one's permissions before it
 * holds anything. Its name has the process in it; where a file of that name was left behind another number is tried. Gives a
 * descriptor, or -1 with errno set. */
static int create_temporary(macko_new_file *f)
{
  enum { TRIES = 1000 };
  int file = -1;
  for (int i = 0; i < TRIES && file < 0; i++) {
    snprintf(f->temporary, strlen(f->path) + 40, "%s.%ld-%d.part", f->path, (long)getpid(), i);
    file = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, f->mode < 0 ? 0666 : f->mode);
    if (file < 0 && errno != EEXIST) break;
  }
  if (file < 0 || f->mode < 0 || !fchmod(file, (mode_t)f->mode)) return file;
  int reason = errno;
  close(file), unlink(f->temporary);
  errno = reason;
  return -1;
}

macko_status macko_create_file(const char *path, macko_new_file *f, macko_error *err)
{
  *f = (macko_new_file){.name = path, .file = -1};
  macko_status s = resolve(f, err);
  if (s) return s;
  f->file = create_temporary(f);
  if (f->file >= 0) return MACKO_OK;
  *f->temporary = 0;
  return macko_file_fail(path, "cannot be created", err);
}

/* Waits until the bytes are stored, so that a crash of the system leaves the old file or the new one. Some file systems cannot be
 * asked, which is no failure. */
static int sync_file(int file)
{
  return !fsync(file) || errno == EINVAL || errno == ENOTSUP;
}

/* Stores the folder as well, because the new name is in it. Where it cannot be opened that is left to the system: the name is
 * there all the same. It cuts f->path at the folder, which nobody needs any more. */
static void sync_folder(macko_new_file *f)
{
  char *slash = strrchr(f->path, '/');
  if (slash) slash[slash == f->path] = 0;
  int folder = open(slash ? f->path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  fsync(folder);
  close(folder);
}

macko_status macko_keep_file(macko_new_file *f, macko_error *err)
{
  int synced = sync_file(f->file), reason = errno;
  int closed = !close(f->file);
  f->file = -1;
  if (!synced) errno = reason;
  if (!synced || !closed) return macko_file_fail(f->name, "cannot be written", err);
  if (rename(f->temporary, f->path)) return macko_file_fail(f->name, "cannot be replaced", err);
  *f->temporary = 0;
  sync_folder(f);
  return MACKO_OK;
}

void macko_drop_file(macko_new_file *f)
{
  if (f->file >= 0) close(f->file);
  if (f->temporary && *f->temporary) unlink(f->temporary);
  free(f->path), free(f->temporary);
}
