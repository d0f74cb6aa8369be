/* macko-convert: a matrix from one kind of file into another. */
#include "common/binsparse.h"
#include "common/matrix_file.h"
#include "common/npz.h"
#include "common/option.h"
#include "common/output_file.h"
#include "common/petsc_binary.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The options of .macko files and their choices are listed from options.def, so that the text names all that the library has. */
static const char help[] = "usage: macko-convert IN OUT [--to KIND] [--OPTION CHOICE]...\n"
  "Writes the matrix of file IN to file OUT.\n"
  "  IN           Matrix Market, Harwell- or Rutherford-Boeing, .tar.gz of the SuiteSparse collection, .npz of SciPy (csr), "
  "Binsparse\n"
  "               in HDF5, PETSc binary or .macko, by what it holds; - is standard input\n"
  "  OUT          by its suffix: .mtx, .mtx.gz, .npz, .bsp.h5 (Binsparse in HDF5), .petsc (PETSc binary), .macko\n"
  "  --to KIND    what to write whatever the suffix: mtx npz bsp petsc macko\n"
  "of .macko files, which keep a matrix compressed:\n"
#define MACKO_OPTION(field, LIST, usual, reader, help) "  --" #field "  " help ":"
#define MACKO_CHOICE(LIST, symbol, name, text) " " #name
#define MACKO_OPTION_END(field, LIST) "\n"
#include "options.def"
  "Without any of these a .macko file stays encoded as it is.\n"
  "  --help, --version\n"
  "exit status: 0 written, 1 not written, 2 wrong usage\n";

/* What the command line asks for. */
typedef struct {
  const char *in, *out, *kind; /* kind: what to write, one of those that is_kind knows */
  macko_options options;       /* how a .macko file is encoded */
  const char *asked; /* the name of the last option for .macko files, NULL: none */
} request;

/* ---- writing ---- */

/* Writes the kinds whose writers take a stream. output_open makes them whole or not at all; errno is cleared, because a writer
 * that ends without a sentence of its own leaves the reason there. */
static macko_status write_stream(const request *r, const macko_csr *csr, macko_error *err)
{
  const char *why = NULL;
  int bad;
  FILE *f = output_open(r->out, &bad);
  if (!f) return matrix_file_fail(err, MACKO_IO, r->out, "cannot be created: %s", strerror(bad));
  errno = 0;
  /* Each writer returns whether all was written; only some of them have a sentence about it. */
  int written = !strcmp(r->kind, "npz")   ? npz_write(f, csr, &why)
                : !strcmp(r->kind, "bsp") ? binsparse_write(f, csr, &why)
                                          : petsc_binary_write(f, csr);
  if (!written) {
    matrix_file_fail(err, MACKO_IO, r->out, "cannot be written: %s", why ? why : strerror(errno));
    output_abandon();
    return MACKO_IO;
  }
  bad = output_close(f);
  return bad ? matrix_file_fail(err, MACKO_IO, r->out, "cannot be written: %s", strerror(bad)) : MACKO_OK;
}

/* Prints what was stored and why, as a line for people; rounded says that values had been before. */
static void tell(const request *r, const macko_matrix *m, int rounded)
{
  macko_info info;
  macko_get_info(m, &info);
  printf("%s: %lld bytes, CSR %lld%s; format %s: %s\n", r->out, (long long)info.bytes, (long long)info.csr_bytes,
         info.lossy || rounded ? "; LOSSY values" : "", macko_format_name(info.format), info.reason);
}

/* Writes a .macko file. What comes from such a file and was given no options is written on as it is encoded: encoding again could
 * only make it different. Encoded again, values that were rounded are as lossy as before, which only their origin can say. */
static macko_status write_container(const request *r, matrix_file *f, macko_error *err)
{
  macko_matrix *fresh = NULL;
  macko_status s = MACKO_OK;
  /* macko_encode takes the decoded csr of a .macko file as well. */
  if (!f->matrix || r->asked) s = macko_encode(&f->csr, &r->options, &fresh, err);
  if (s) return s;
  if (fresh && f->matrix) f->origin.lossy = matrix_file_lossy(f);
  /* Only a matrix that was encoded here is to be destroyed here. */
  const macko_matrix *m = fresh ? fresh : f->matrix;
  (void)output_guard(r->out);
  s = macko_save(r->out, m, &f->origin, err);
  output_release();
  if (!s) tell(r, m, f->origin.lossy);
  macko_destroy(&fresh);
  return s;
}

/* Writes Matrix Market. */
static macko_status write_text(const request *r, const macko_csr *csr, macko_error *err)
{
  (void)output_guard(r->out);
  macko_status s = macko_write_matrix_market(r->out, csr, err);
  output_release();
  return s;
}

/* Reads, and writes by kind. All kinds but .macko are written from the csr, which every reader gives. The library writes .macko and
 * Matrix Market, and replaces files whole by itself; only signals are cared for here. */
static macko_status convert(const request *r, macko_error *err)
{
  matrix_file f;
  macko_status s = matrix_file_read(r->in, &f, err);
  if (s) return s;
  if (!strcmp(r->kind, "macko")) s = write_container(r, &f, err);
  else if (!strcmp(r->kind, "mtx")) s = write_text(r, &f.csr, err);
  else s = write_stream(r, &f.csr, err);
  matrix_file_free(&f);
  return s;
}

/* ---- the command line ---- */

/* Prints a sentence and the word that it is about; returns the exit status for wrong usage. */
static int usage(const char *sentence, const char *word)
{
  fprintf(stderr, "macko-convert: %s%s; --help tells more\n", sentence, word);
  return 2;
}

/* Returns the kind that the suffix of a path stands for, whatever its case, or NULL. */
static const char *kind_of(const char *path)
{
  static const char *const suffixes[][2] = {{".mtx", "mtx"}, {".mtx.gz", "mtx"}, {".npz", "npz"}, {".bsp.h5", "bsp"},
                                            {".petsc", "petsc"}, {".macko", "macko"}};
  const size_t length = strlen(path);
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
    const size_t n = strlen(suffixes[i][0]);
    if (length > n && !strcasecmp(path + length - n, suffixes[i][0])) return suffixes[i][1];
  }
  return NULL;
}

/* Whether --to knows the name. */
static int is_kind(const char *name)
{
  static const char *const kinds[] = {"mtx", "npz", "bsp", "petsc", "macko"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (!strcmp(name, kinds[i])) return 1;
  return 0;
}

/* Takes an option of .macko files. Returns -1 to go on, else the exit status. */
static int take_encoding(request *r, const char *name, const char *choice)
{
  macko_error err;
  r->asked = name;
  if (!macko_options_set(&r->options, name, choice, &err)) return -1;
  fprintf(stderr, "macko-convert: %s\n", err.text);
  return 2;
}

/* Takes options, which may stand before and behind the files; most are the library's, so that new ones need no change here. Returns
 * -1 to go on, else the exit status. */
static int take_options(int argc, char **argv, request *r)
{
  /* Each has a number of its own, or getopt_long would take one that may be one of two for the first of them. */
  enum {
    BEFORE = UCHAR_MAX,
#define MACKO_OPTION(field, LIST, usual, reader, help) OPTION_##field,
#include "options.def"
  };
  static const struct option known[] = {
#define MACKO_OPTION(field, LIST, usual, reader, help) {#field, required_argument, NULL, OPTION_##field},
#include "options.def"
    {"to", required_argument, NULL, 't'}, {"help", no_argument, NULL, 'h'}, {"version", no_argument, NULL, 'v'}, {0}};
  int bad = -1;
  opterr = 0; /* the sentences are ours */
  for (int c, at = 0; bad < 0 && (c = getopt_long(argc, argv, ":h", known, &at)) != -1;)
    switch (c) {
    case 't': r->kind = optarg; break;
    case 'h': return fputs(help, stdout), output_printed("macko-convert");
    case 'v': return puts("macko-convert " MACKO_VERSION_STRING), output_printed("macko-convert");
    case '?': case ':': return option_refuse("macko-convert", c, argv, known);
    default: bad = take_encoding(r, known[at].name, optarg);
    }
  return bad;
}

/* Takes the command line apart. Returns -1 to go on, else the exit status. */
static int parse(int argc, char **argv, request *r)
{
  const int bad = take_options(argc, argv, r), files = argc - optind;
  if (bad >= 0) return bad;
  if (files > 2) return usage("a third file: ", argv[optind + 2]);
  if (r->kind && !is_kind(r->kind)) return usage("--to is mtx, npz, bsp, petsc or macko, not ", r->kind);
  /* Nothing is read before the whole command line is right. */
  if (files < 2) return usage("two files are needed: IN and OUT", "");
  r->in = argv[optind], r->out = argv[optind + 1];
  if (!r->kind) r->kind = kind_of(r->out);
  if (!r->kind) return usage("OUT should end in .mtx, .mtx.gz, .npz, .bsp.h5, .petsc or .macko, or --to say what it is: ", r->out);
  /* The library writes these, and only files, so that one named - would be made. */
  if (!strcmp(r->out, "-") && (!strcmp(r->kind, "mtx") || !strcmp(r->kind, "macko")))
    return usage(r->kind, " is not written to standard output: OUT has to be a file");
  if (output_is_same(r->out, r->in))
    return fprintf(stderr, "macko-convert: %s: is read, too, so it is not written\n", r->out), 2;
  if (!r->asked || !strcmp(r->kind, "macko")) return -1;
  return fprintf(stderr, "macko-convert: --%s is for .macko files; --help tells more\n", r->asked), 2;
}

/* Prints why it failed. Places count from 1, as in the files that people look at. */
static void refuse(macko_error *err)
{
  macko_error_place(err, err->row, err->col, 1);
  fprintf(stderr, "macko-convert: %s\n", err->text);
}

/* Says what is wrong with options that do not go with each other, here or anywhere; NULL where nothing is. */
static const char *contradiction(const macko_options *options, macko_error *err)
{
  if (macko_options_check(options, err)) return err->text;
  return options->target == MACKO_TARGET_GPU && options->prefer == MACKO_PREFER_MEASURED
             ? "target gpu and prefer measured cannot go together: products are not timed on a GPU here; prefer is time or memory"
             : NULL;
}

/* Options are checked together before anything is read. */
int main(int argc, char **argv)
{
  request r = {0};
  macko_error err = {0};
  macko_options_init(&r.options);
  int status = parse(argc, argv, &r);
  if (status >= 0) return status;
  const char *wrong = contradiction(&r.options, &err);
  if (wrong) return fprintf(stderr, "macko-convert: %s\n", wrong), 2;
  if (convert(&r, &err)) return refuse(&err), 1;
  return output_printed("macko-convert");
}
