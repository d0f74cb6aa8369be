/* Files that programs write whole or not at all. */
#ifndef OUTPUT_FILE_H
#define OUTPUT_FILE_H

#include <stdio.h>

/* 0, or the system's error number that output_open would end with for path. Changes nothing. */
int output_refusal(const char *path);

/* Opens path, one file at a time: a new file beside it, of a name of its own, which output_close puts in path's place. Until then
 * what path holds stays as it is, and SIGHUP, SIGINT and SIGTERM remove the new file before they act. Of a link the file behind it
 * is replaced, and a link to nothing itself; permissions are those of the old file. Pipes and devices are written to as they are,
 * and so is standard output, by the name "-" too. NULL: *bad is the system's error number. */
FILE *output_open(const char *path, int *bad);

/* 0, or the system's error number: then an old file is as it was. */
int output_close(FILE *f);

/* Removes a new file that was not closed, before the program ends. */
void output_abandon(void);

#endif
