/* A file that is written whole or not at all. */
#ifndef MACKO_NEW_FILE_H
#define MACKO_NEW_FILE_H

#include "macko.h"

/* A file that is being written under a temporary name. */
typedef struct {
  const char *name; /* as the caller knows it, for sentences */
  char *path, *temporary; /* what it will replace, and its name until then ("" once there is none); freed by drop */
  int mode, file; /* permissions of what is replaced, -1: there is nothing yet; descriptor to write to, -1: closed */
} macko_new_file;

/* Opens f->file, a new file beside the one that it will replace, with the permissions of that one. Where path is a link the file
 * behind it is replaced, but a link to nothing itself. *f is to be dropped whatever the outcome. Errors: IO, also for what is
 * there and is no regular file; OUT_OF_MEMORY. */
macko_status macko_create_file(const char *path, macko_new_file *f, macko_error *err);

/* Puts what was written to f->file in place of the old file, once the system has stored it. Errors: IO, and then the old file is
 * as it was. */
macko_status macko_keep_file(macko_new_file *f, macko_error *err);

/* Closes and removes the new file unless it has been kept, and frees its names. */
void macko_drop_file(macko_new_file *f);

/* Fills *err with "NAME: what: the reason that errno has" and returns IO. */
macko_status macko_file_fail(const char *name, const char *what, macko_error *err);

#endif
