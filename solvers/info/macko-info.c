/* macko-info: what a matrix is like, and what it would take in every format. */
#include "info/info.h"

#include "common/option.h"
#include "common/output_file.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char help[] = "usage: macko-info [--json] [--dry-run] [-o PICTURE] FILE\n"
  "Says what the matrix of a file is like: size, symmetry, bandwidth, lengths of rows and columns, and what each format would\n"
  "take, in bytes and time of a product, as predicted, on a CPU and on a GPU.\n"
  "  FILE         whatever macko-convert reads; - is standard input\n"
  "  --json       the same for machines; lengths have the keys of Ginkgo's matrix_statistics\n"
  "  --dry-run    reads no more than the header of the file\n"
  "  -o PICTURE   .svg or .png: where entries are, and rows by their lengths, through gnuplot\n"
  "  --help, --version\n"
  "exit status: 0 said, 1 not, 2 wrong usage\n";

/* What the command line asks for. */
typedef struct {
  const char *path, *picture; /* picture is NULL without -o */
  int json, dry;
} request;

/* Does --dry-run: prints what the header says. */
static macko_status tell_head(const request *r, macko_error *err)
{
  file_head h;
  macko_status s = head_read(r->path, &h, err);
  if (!s) (r->json ? head_json : head_print)(stdout, r->path, &h);
  return s;
}

/* Reads the matrix, counts, predicts, and prints the report. The picture comes last, so that its failure loses nothing that was
 * found. */
static macko_status tell(const request *r, macko_error *err)
{
  matrix_file file;
  statistics s;
  predictions p;
  macko_status status = matrix_file_read(r->path, &file, err);
  if (status) return status;
  /* The report points to these three, and is used only while they are here. */
  const report all = {r->path, &file, &s, &p};
  if (!statistics_make(&file.csr, &s)) status = matrix_file_fail(err, MACKO_OUT_OF_MEMORY, r->path, "no memory to count its rows");
  else {
    predict_all(&file.csr, !s.no_columns, &p);
    (r->json ? report_json : report_print)(stdout, &all);
    if (r->picture) status = spy_draw(r->picture, &all, &file.csr, err);
    statistics_free(&s);
  }
  matrix_file_free(&file);
  return status;
}

/* Prints a sentence; returns the exit status for wrong usage. */
static int usage(const char *sentence)
{
  fprintf(stderr, "macko-info: %s; --help tells more\n", sentence);
  return 2;
}

/* Whether the suffix of a path is one that gnuplot is asked to draw. */
static int is_picture(const char *path)
{
  const size_t length = strlen(path);
  return length > 4 && (!strcasecmp(path + length - 4, ".svg") || !strcasecmp(path + length - 4, ".png"));
}

/* Takes the command line apart, and refuses a picture that could not be written before anything is read for it. Returns -1 to go
 * on, else the exit status. */
static int parse(int argc, char **argv, request *r)
{
  /* getopt_long takes options before and after the file. */
  static const struct option known[] = {{"json", 0, NULL, 'j'}, {"dry-run", 0, NULL, 'd'}, {"help", 0, NULL, 'h'},
                                        {"version", 0, NULL, 'v'}, {0}};
  opterr = 0; /* the sentences are ours */
  for (int c; (c = getopt_long(argc, argv, ":o:h", known, NULL)) != -1;)
    switch (c) {
    case 'j': r->json = 1; break;
    case 'd': r->dry = 1; break;
    case 'o': r->picture = optarg; break;
    case 'h': return fputs(help, stdout), output_printed("macko-info");
    case 'v': return puts("macko-info " MACKO_VERSION_STRING), output_printed("macko-info");
    default: return option_refuse("macko-info", c, argv, known);
    }
  if (optind + 1 != argc) return usage(optind == argc ? "no file is named" : "one file is looked at at a time");
  r->path = argv[optind];
  if (r->picture && !is_picture(r->picture)) return usage("the picture of -o should end in .svg or .png");
  if (r->picture && r->dry) return usage("--dry-run reads no entries that -o could draw");
  if (r->picture && output_is_same(r->picture, r->path))
    return fprintf(stderr, "macko-info: %s: is read, too, so it is not written\n", r->picture), 2;
  /* Without this a long computation could end with a picture that cannot be written. */
  int bad = r->picture ? output_refusal(r->picture) : 0;
  if (bad) return fprintf(stderr, "macko-info: %s: %s\n", r->picture, strerror(bad)), 1;
  return -1;
}

/* Either function returns the first error; what was printed until then stays printed. */
int main(int argc, char **argv)
{
  request r = {0};
  macko_error err = {0};
  int status = parse(argc, argv, &r);
  if (status >= 0) return status;
  macko_status s = (r.dry ? tell_head : tell)(&r, &err);
  if (s) return fprintf(stderr, "macko-info: %s\n", err.text), 1;
  return output_printed("macko-info");
}
