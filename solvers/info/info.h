/* Between the parts of macko-info. */
#ifndef INFO_H
#define INFO_H

#include "common/matrix_file.h"
#include "info/statistics.h"

#include <stdio.h>

/* What each format would make of a matrix on each target; status other than MACKO_OK: why not. */
typedef struct {
  macko_status status;
  macko_info info;
  macko_error why;
} prediction;

typedef struct {
  prediction of[MACKO_FORMAT_AUTO][MACKO_TARGET_COUNT];
  prediction chosen[MACKO_TARGET_COUNT]; /* automatic choice by time */
  prediction by_memory;                  /* automatic choice of the fewest bytes */
} predictions;

void predict_all(const macko_csr *csr, predictions *p);

/* All that is known of a matrix, for people and as JSON. */
typedef struct {
  const char *path;
  const matrix_file *file;
  const statistics *s;
  const predictions *p;
} report;
void report_print(FILE *f, const report *r);
void report_json(FILE *f, const report *r);

/* What the header of a file says; stored entries may be one triangle. matrix: known of a .macko file. */
typedef struct {
  char kind[96];
  int64_t nrows, ncols, stored;
  int one_triangle, compressed;
  macko_info info;
} file_head;

/* Reads no more than the header. Errors: IO, PARSE, UNSUPPORTED, where macko_read would have to unpack an archive for it. */
macko_status head_read(const char *path, file_head *h, macko_error *err);
void head_print(FILE *f, const char *path, const file_head *h);
void head_json(FILE *f, const char *path, const file_head *h);

/* A picture of where entries are, by their number in each pixel, and of row lengths, by gnuplot. path ends in .svg or .png.
 * Errors: IO, UNSUPPORTED, OUT_OF_MEMORY. */
macko_status spy_draw(const char *path, const report *r, const macko_csr *csr, macko_error *err);

#endif
