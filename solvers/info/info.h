/* Between the parts of macko-info. */
#ifndef INFO_H
#define INFO_H

#include "common/matrix_file.h"
#include "info/statistics.h"

#include <stdio.h>

/* What a format, or the automatic choice, would make of a matrix. Where status is not MACKO_OK there is no info, and `why` says
 * why not. */
typedef struct {
  macko_status status;
  macko_info info;
  macko_error why;
} prediction;

/* What all formats would make of a matrix. */
typedef struct {
  prediction of[MACKO_FORMAT_AUTO][MACKO_TARGET_COUNT]; /* by format and by what the time is predicted for */
  prediction chosen[MACKO_TARGET_COUNT]; /* automatic choice by time */
  prediction by_memory; /* automatic choice of the fewest bytes, for a CPU */
  double pace; /* what csr takes on this CPU over what is predicted of it (macko_measure_pace); NAN where that cannot be timed */
} predictions;

/* Fills *p for a csr that is sorted and free of duplicates. A format that cannot take the matrix is no error: its status says
 * so. timed: there is memory for vectors, so that products can be timed. */
void predict_all(const macko_csr *csr, int timed, predictions *p);

/* All that is known of a matrix. It only borrows what it points to. */
typedef struct {
  const char *path;
  const matrix_file *file;
  const statistics *s;
  const predictions *p;
} report;
/* Print it to f, for people and as JSON. */
void report_print(FILE *f, const report *r);
void report_json(FILE *f, const report *r);

/* What the header of a file says. `stored` counts the entries in the file, which may be those of one triangle; `info` is known of
 * a .macko file only, where `compressed` is 1. */
typedef struct {
  char kind[96];
  int64_t nrows, ncols, stored;
  int one_triangle, compressed;
  macko_info info;
} file_head;

/* Fills *h, reading no more than the header; path "-" is standard input. Errors: IO, PARSE, UNSUPPORTED where an archive would
 * have to be unpacked for it. */
macko_status head_read(const char *path, file_head *h, macko_error *err);
/* Print *h to f, for people and as JSON; path is what the user calls the file. */
void head_print(FILE *f, const char *path, const file_head *h);
void head_json(FILE *f, const char *path, const file_head *h);

/* Draws through gnuplot where entries are, by their number in each pixel, and how many rows have which length, into path, which
 * ends in .svg or .png and is written whole or not at all. Errors: IO, UNSUPPORTED, OUT_OF_MEMORY. */
macko_status spy_draw(const char *path, const report *r, const macko_csr *csr, macko_error *err);

#endif
