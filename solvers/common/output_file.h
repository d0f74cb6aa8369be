/* Files that programs write whole or not at all. */
#ifndef OUTPUT_FILE_H
#define OUTPUT_FILE_H

#include <stdio.h>

/* Returns 0, or the system's error number that output_open would end with for path. It changes nothing, so that a program can ask
 * before a long computation. */
int output_refusal(const char *path);

/* Whether path is standard output: the name "-", or a name of what standard output leads to, as /dev/stdout is. */
int output_is_standard(const char *path);

/* Whether both paths are standard output, and that keeps what is written: /dev/null may be given any number of times. */
int output_both_standard(const char *path, const char *other);

/* Returns the exit status of having printed: what could not be printed is a failure, with a sentence that begins with the program's
 * name. */
int output_printed(const char *program);

/* Whether two paths lead to one regular file, which may not be there yet. What can be written to twice, as standard output, is
 * none. */
int output_is_same(const char *path, const char *other);

/* Opens path for writing, one file at a time. A new file is made beside path, under a name of its own, and output_close puts it
 * in path's place. Until then what path holds stays as it is, and SIGHUP, SIGINT and SIGTERM remove the new file before they act.
 * Of a link the file behind it is replaced, and a link to nothing itself; permissions are those of the old file. Pipes and
 * devices are written to as they are, and so is standard output, also by the name "-". Returns NULL after an error, and *bad is
 * the system's error number. */
FILE *output_open(const char *path, int *bad);

/* Closes f and puts it in its place. Returns 0, or the system's error number: then an old file is as it was. */
int output_close(FILE *f);

/* For a file that someone else writes for this program: from now on SIGHUP, SIGINT and SIGTERM remove the file of the name that is
 * returned before they act. It is a name beside path that nothing has, the one under which macko_save and macko_write_matrix_market
 * write the file until it is whole. Then comes output_release, which cares for it no longer, or, for who writes to that name,
 * output_replace, which puts the file in path's place as output_close does, or output_abandon. */
const char *output_guard(const char *path);
void output_release(void);
int output_replace(void);

/* Removes a new file that was not closed, before the program ends, and does nothing without one. */
void output_abandon(void);

#endif
