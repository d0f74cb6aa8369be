/* macko-bench: results as tab-separated values, which it reads back, and as JSON; both with the same names. */
#include "bench/bench.h"
#include "common/json.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is stored ---- */

/* The kinds of members; a FLAG is an int, WHOLE an int64_t, REAL and TIME are doubles. */
enum kind { TEXT, FLAG, WHOLE, REAL, TIME }; /* TIME: empty where it is 0, as nothing was measured */

/* Where a column of the files lies in a bench_result, so that writing and reading go by one list. */
typedef struct {
  const char *name;
  enum kind kind;
  size_t at, room; /* the offset of the member, and its bytes */
} field;

#define FIELD(name, kind, member) {name, kind, offsetof(bench_result, member), sizeof ((bench_result *)0)->member}
static const field fields[] = {
    FIELD("matrix", TEXT, matrix), FIELD("form", TEXT, name), FIELD("format", TEXT, format),
    FIELD("layout", TEXT, layout), FIELD("values", TEXT, values), FIELD("peer", FLAG, peer), FIELD("lossy", FLAG, lossy),
    FIELD("cached", FLAG, cached), FIELD("rows", WHOLE, nrows), FIELD("columns", WHOLE, ncols), FIELD("nonzeros", WHOLE, nnz),
    FIELD("bytes", WHOLE, bytes), FIELD("moved_bytes", WHOLE, moved), FIELD("k", WHOLE, k), FIELD("us", TIME, us),
    FIELD("warm_us", TIME, warm), FIELD("singles_us", TIME, singles), FIELD("predicted_us", TIME, predicted),
    FIELD("pace", TIME, pace), FIELD("plan_s", TIME, plan), FIELD("encode_s", TIME, encode), FIELD("refresh_s", TIME, refresh),
    FIELD("difference", REAL, difference), FIELD("detail", TEXT, detail)};
enum { FIELDS = sizeof fields / sizeof *fields, COLUMNS = 64 }; /* COLUMNS: the most that a file may have */

/* What is computed from the fields and the rest of the table; it is written for those who read the files, and not read back. */
static const struct {
  const char *name;
  double (*of)(const bench_table *table, const bench_settings *settings, const bench_result *r);
} derived[] = {{"bytes_per_nonzero", bench_bytes_per_nonzero}, {"gb_per_s", bench_rate},
               {"percent_of_copy", bench_percent_of_copy}, {"percent_of_triad", bench_percent_of_triad},
               {"x_best_peer", bench_x_best_peer}, {"x_singles", bench_x_singles},
               {"plan_multiplies", bench_plan_multiplies}, {"encode_multiplies", bench_encode_multiplies},
               {"refresh_multiplies", bench_refresh_multiplies}};
enum { DERIVED = sizeof derived / sizeof *derived };

/* A number as both files write it; `nothing` is written for one that is not there. */
static void print_number(FILE *f, double value, const char *nothing)
{
  if (isfinite(value)) fprintf(f, "%.6g", value);
  else fputs(nothing, f);
}

/* ---- tab-separated values ---- */

/* What is not known is left out. */
void bench_print_heading(FILE *f, const bench_settings *settings)
{
  fprintf(f, "# %s; copy %.1f GB/s", settings->machine, settings->copy * 1e-9);
  if (settings->triad > 0) fprintf(f, ", triad %.1f GB/s", settings->triad * 1e-9);
  if (settings->cache) fprintf(f, "; last-level cache %lld KiB", (long long)settings->cache >> 10);
  if (settings->repeats) fprintf(f, "; median of %d", settings->repeats);
  fprintf(f, "\n");
}

/* The number of a field of kind REAL or TIME, NAN where there is none. */
static double real_of(const field *d, const char *at)
{
  double value = *(const double *)at;
  return d->kind == TIME && value == 0 ? NAN : value;
}

/* Writes a field as tab-separated values have it. A tab or the end of a line inside of text would begin another cell, so control
 * characters become blanks. */
static void print_cell(FILE *f, const field *d, const bench_result *r)
{
  const char *at = (const char *)r + d->at;
  if (d->kind == FLAG) fprintf(f, "%d", *(const int *)at);
  else if (d->kind == WHOLE) fprintf(f, "%lld", (long long)*(const int64_t *)at);
  else if (d->kind >= REAL) print_number(f, real_of(d, at), "");
  else
    for (; *at; at++) putc((unsigned char)*at < ' ' ? ' ' : *at, f);
}

/* It is flushed, so that a run that is cut short leaves what it measured. */
void bench_print_tsv(FILE *f, const bench_table *table, const bench_settings *settings, int from)
{
  if (from < 0) {
    bench_print_heading(f, settings);
    for (int c = 0; c < FIELDS; c++) fprintf(f, "%s%s", c ? "\t" : "", fields[c].name);
    for (int c = 0; c < DERIVED; c++) fprintf(f, "\t%s", derived[c].name);
    fprintf(f, "\n");
  }
  for (int i = from < 0 ? 0 : from; i < table->count; i++) {
    for (int c = 0; c < FIELDS; c++) {
      if (c) putc('\t', f);
      print_cell(f, &fields[c], &table->all[i]);
    }
    for (int c = 0; c < DERIVED; c++) {
      putc('\t', f);
      print_number(f, derived[c].of(table, settings, &table->all[i]), "");
    }
    fprintf(f, "\n");
  }
  fflush(f);
}

/* ---- reading them back ---- */

/* Fails with the line that is wrong. */
static macko_status refuse(macko_error *err, macko_status status, const char *path, int line, const char *why)
{
  snprintf(err->text, sizeof err->text, "%.300s: line %d: %s", path, line, why);
  return err->status = status;
}

/* Takes back what bench_print_heading wrote; the first file's machine stays, as tables have only one. */
static void read_heading(const char *line, bench_settings *settings)
{
  const char *end = strstr(line, "; copy "), *triad = strstr(line, ", triad "), *cache = strstr(line, "last-level cache ");
  const char *repeats = strstr(line, "median of ");
  /* The line begins with a mark and a blank, and the machine ends where the ceilings begin. */
  if (!end || settings->copy > 0) return;
  snprintf(settings->machine, sizeof settings->machine, "%.*s", (int)(end - line - 2), line + 2);
  settings->copy = 1e9 * strtod(end + strlen("; copy "), NULL);
  if (triad) settings->triad = 1e9 * strtod(triad + strlen(", triad "), NULL);
  if (cache) settings->cache = strtoll(cache + strlen("last-level cache "), NULL, 10) << 10;
  if (repeats) settings->repeats = atoi(repeats + strlen("median of "));
}

/* Which field each column of the line of names holds, -1 for one that is derived or unknown. */
static int read_names(char *line, int columns[COLUMNS])
{
  int count = 0;
  for (char *name; (name = strsep(&line, "\t")) && count < COLUMNS; count++) {
    columns[count] = -1;
    if (!strcmp(name, "flushed_us")) name = "us"; /* as files of before have it */
    for (int c = 0; c < FIELDS; c++)
      if (!strcmp(name, fields[c].name)) columns[count] = c;
  }
  return count;
}

/* Takes a field from text; returns 0 for what is no number. An empty cell is what was not measured. */
static int read_cell(const char *text, const field *d, bench_result *r)
{
  char *at = (char *)r + d->at, *end = NULL;
  if (d->kind == TEXT) return snprintf(at, d->room, "%s", text), 1;
  if (d->kind == FLAG) *(int *)at = (int)strtol(text, &end, 10);
  else if (d->kind == WHOLE) *(int64_t *)at = strtoll(text, &end, 10);
  else *(double *)at = *text ? strtod(text, &end) : d->kind == TIME ? 0 : NAN;
  return !*text || !*end;
}

/* Takes a line apart; returns 0 for one with more or fewer cells than there are names, or without the names of matrix and
 * form. */
static int read_row(char *line, const int columns[COLUMNS], int count, bench_result *r)
{
  int c = 0;
  for (char *text; (text = strsep(&line, "\t")); c++)
    if (c >= count || (columns[c] >= 0 && !read_cell(text, &fields[columns[c]], r))) return 0;
  return c == count && r->matrix[0] && r->name[0];
}

/* A file may have its columns in another order, or others, but matrix and form come first: that tells such a file from any
 * other. */
macko_status bench_read_tsv(const char *path, bench_table *table, bench_settings *settings, macko_error *err)
{
  int columns[COLUMNS], count = 0, number = 0;
  char *line = NULL;
  size_t room = 0;
  macko_status s = MACKO_OK;
  FILE *f = fopen(path, "r");
  if (!f) return bench_fail(err, MACKO_IO, "%.300s: %s", path, strerror(errno));
  while (!s && getline(&line, &room, f) >= 0) {
    number++;
    const int whole = strchr(line, '\n') != NULL;
    line[strcspn(line, "\r\n")] = 0;
    /* The heading is marked so that other programs take it for a comment. */
    if (!whole) s = refuse(err, MACKO_PARSE, path, number, "cut short: this line does not end");
    else if (*line == '#') read_heading(line, settings);
    else if (!count) {
      count = strncmp(line, "matrix\tform\t", strlen("matrix\tform\t")) ? 0 : read_names(line, columns);
      if (!count) s = refuse(err, MACKO_PARSE, path, number, "no names of columns");
    } else {
      bench_result *r = bench_add(table);
      if (!r) s = refuse(err, MACKO_OUT_OF_MEMORY, path, number, "no memory for results");
      else if (!read_row(line, columns, count, r)) {
        s = refuse(err, MACKO_PARSE, path, number, "no row of results");
        table->count--;
      }
    }
  }
  if (!s && ferror(f)) s = bench_fail(err, MACKO_IO, "%.300s: %s", path, strerror(errno));
  if (!s && !number) s = bench_fail(err, MACKO_PARSE, "%.300s: the file is empty", path);
  if (!s && !count) s = refuse(err, MACKO_PARSE, path, number, "no names of columns");
  free(line);
  fclose(f);
  return s;
}

/* ---- JSON ---- */

/* Writes a result as an object; what a file of tab-separated values leaves empty is null. */
static void json_result(FILE *f, const bench_table *table, const bench_settings *settings, const bench_result *r)
{
  for (int c = 0; c < FIELDS; c++) {
    const field *d = &fields[c];
    const char *at = (const char *)r + d->at;
    fprintf(f, "%s\"%s\": ", c ? ", " : "{", d->name);
    if (d->kind == TEXT) put_json_string(f, at);
    else if (d->kind == FLAG) fputs(*(const int *)at ? "true" : "false", f);
    else if (d->kind >= REAL) print_number(f, real_of(d, at), "null");
    else print_cell(f, d, r);
  }
  for (int c = 0; c < DERIVED; c++) {
    fprintf(f, ", \"%s\": ", derived[c].name);
    print_number(f, derived[c].of(table, settings, r), "null");
  }
  fprintf(f, "}");
}

/* What the heading says in words are numbers here, in bytes and bytes a second. */
void bench_print_json(FILE *f, const bench_table *table, const bench_settings *settings)
{
  fprintf(f, "{\"machine\": ");
  put_json_string(f, settings->machine);
  fprintf(f, ", \"copy_bytes_per_s\": %.6g, \"triad_bytes_per_s\": %.6g, \"cache_bytes\": %lld, \"repeats\": %d, \"results\": [",
          settings->copy, settings->triad, (long long)settings->cache, settings->repeats);
  for (int i = 0; i < table->count; i++) {
    fprintf(f, "%s\n", i ? "," : "");
    json_result(f, table, settings, &table->all[i]);
  }
  fprintf(f, "\n]}\n");
}
