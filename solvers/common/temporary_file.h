/* Copies of what can be read only once. */
#ifndef TEMPORARY_FILE_H
#define TEMPORARY_FILE_H

/* Opens a new file for reading and writing in the folder TMPDIR, or in /tmp, which *folder is set to, and gives its descriptor, the
 * caller's to close; -1 with errno where there can be none. Only this user can read it, and no folder lists it: its one name is
 * /dev/fd/N, so that it goes with the process whatever ends that. */
int temporary_file(const char **folder);

#endif
