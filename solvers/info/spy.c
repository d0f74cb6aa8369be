/* macko-info -o: where entries are, and how long rows are, drawn by gnuplot. */
#include "info/info.h"

#include "common/arrays.h"
#include "common/gnuplot.h"
#include "common/output_file.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Pixels of the picture each way at most, and bars of the histogram at most. */
enum { PIXELS = 240,
       BINS = 60 };

/* A pixel is the mean of its cells, of all of which some may be outside the matrix. */
typedef struct {
  int64_t rows, cols; /* cells of a pixel */
  int height, width;  /* pixels */
  int64_t count[PIXELS][PIXELS]; /* entries in each */
} grid;

/* Cuts the matrix, which has rows and columns, into pixels of equal size, PIXELS each way at most, and counts the entries in
 * each. The counts of *g must be 0 before. */
static void fill(const macko_csr *a, grid *g)
{
  g->rows = (a->nrows + PIXELS - 1) / PIXELS, g->cols = (a->ncols + PIXELS - 1) / PIXELS;
  g->height = (int)((a->nrows + g->rows - 1) / g->rows), g->width = (int)((a->ncols + g->cols - 1) / g->cols);
  for (int64_t i = 0; i < a->nrows; i++)
    for (int64_t p = row_at(a, i); p < row_at(a, i + 1); p++) g->count[i / g->rows][col_at(a, p) / g->cols]++;
}

/* Writes the pixels that have entries as gnuplot's data: the middle of each, and the share of its cells that hold entries. */
static void put_grid(FILE *f, const grid *g)
{
  fprintf(f, "$spy << END\n");
  for (int i = 0; i < g->height; i++)
    for (int j = 0; j < g->width; j++)
      if (g->count[i][j])
        fprintf(f, "%g %g %g\n", ((double)j + 0.5) * (double)g->cols, ((double)i + 0.5) * (double)g->rows,
                (double)g->count[i][j] / ((double)g->rows * (double)g->cols));
  fprintf(f, "END\n");
}

/* Writes how many rows have which length, a bar for every length or for several of them where there are more than BINS.
 * s->row_lengths is sorted, so its ends are the shortest and the longest row. */
static void put_lengths(FILE *f, const statistics *s, int64_t nrows)
{
  const int64_t least = s->row_lengths[0], span = s->row_lengths[nrows - 1] - least + 1, wide = (span + BINS - 1) / BINS;
  int64_t count[BINS] = {0};
  for (int64_t i = 0; i < nrows; i++) count[(s->row_lengths[i] - least) / wide]++;
  fprintf(f, "$lengths << END\n");
  for (int i = 0; i < BINS && i * wide < span; i++)
    fprintf(f, "%g %lld\n", (double)least + ((double)i + 0.5) * (double)wide - 0.5, (long long)count[i]);
  fprintf(f, "END\nset boxwidth %lld\n", (long long)wide);
}

/* Writes all that gnuplot has to do. Shares are drawn on a logarithmic scale, as most pixels of a sparse matrix are nearly empty,
 * and the picture of a long matrix is not drawn longer than 4 to 1. Files have names of their users' choice, hence noenhanced,
 * without which gnuplot would take an underscore for a subscript. */
static void put_script(FILE *f, const char *output, int png, const report *r, const macko_csr *a, const grid *g)
{
  const double ratio = (double)a->nrows / (double)a->ncols;
  /* Not every gnuplot has the better of its two terminals for .png. */
  if (png) fprintf(f, "eval \"set terminal \".(strstrt(GPVAL_TERMINALS, \" pngcairo \") ? \"pngcairo\" : \"png\")."
                      "\" noenhanced size 1200,600\"\n");
  else fprintf(f, "set terminal svg noenhanced size 1200,600 background \"white\"\n");
  put_gnuplot_output(f, output);
  put_grid(f, g), put_lengths(f, r->s, a->nrows);
  fprintf(f, "set multiplot layout 1,2 title "), put_gnuplot_string(f, r->path);
  /* The scale of colours goes from a tenth of one entry a pixel to a full pixel. */
  fprintf(f, "\nset title \"%lld x %lld, %lld nonzeros: their share of each pixel\"\nset logscale cb\nset cbrange [%g:1]\n",
          (long long)a->nrows, (long long)a->ncols, (long long)r->s->nnz, 0.1 / ((double)g->rows * (double)g->cols));
  fprintf(f, "set palette defined (0 \"#9ecae1\", 1 \"#08306b\")\nset style fill solid noborder\n");
  fprintf(f, "set xrange [0:%lld]\nset yrange [%lld:0]\nset size ratio %g\n", (long long)a->ncols, (long long)a->nrows,
          ratio > 4 ? 4 : ratio < 0.25 ? 0.25 : ratio);
  fprintf(f, "plot $spy using 1:2:(%g):(%g):3 with boxxyerror linecolor palette notitle\n", 0.5 * (double)g->cols,
          0.5 * (double)g->rows);
  fprintf(f, "set size noratio\nset xrange [*:*]\nset yrange [0.5:*]\nset title \"rows by their nonzeros\"\nset logscale y\n"
             "set xlabel \"nonzeros of a row\"\nset ylabel \"rows\"\n"
             "plot $lengths using 1:2 with boxes linecolor rgb \"#08306b\" notitle\nunset multiplot\nset output\n");
}

/* Hands the script to gnuplot's standard input; returns NULL if it did its work, or why there is no picture. SIGPIPE is ignored
 * meanwhile, as gnuplot may not be there: the shell is asked first, which would say so in words of its own. */
static const char *run_gnuplot(const char *output, int png, const report *r, const macko_csr *a, const grid *g)
{
  void (*before)(int) = signal(SIGPIPE, SIG_IGN);
  FILE *f = popen("command -v gnuplot >/dev/null || exit 127; exec gnuplot", "w");
  int bad = 1, status = -1;
  struct stat facts;
  if (f) {
    put_script(f, output, png, r, a, g);
    bad = ferror(f);
    status = pclose(f);
  }
  signal(SIGPIPE, before);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return "gnuplot is not there (Debian package: gnuplot-nox)";
  if (bad || status) return "gnuplot fails";
  return stat(output, &facts) || !facts.st_size ? "gnuplot ends without an error and has drawn nothing" : NULL;
}

/* gnuplot writes to a name of its own, which is renamed when it has succeeded: a failure or a signal leaves an older picture as it
 * is. */
macko_status spy_draw(const char *path, const report *r, const macko_csr *a, macko_error *err)
{
  const size_t length = strlen(path);
  const int png = length > 4 && !strcasecmp(path + length - 4, ".png");
  if (a->nrows == 0 || a->ncols == 0)
    return matrix_file_fail(err, MACKO_UNSUPPORTED, path, "%lld x %lld: there is nothing to draw", (long long)a->nrows,
                            (long long)a->ncols);
  grid *g = calloc(1, sizeof *g);
  if (!g) return matrix_file_fail(err, MACKO_OUT_OF_MEMORY, path, "no memory for a picture");
  fill(a, g);
  const char *why = run_gnuplot(output_guard(path), png, r, a, g);
  const int bad = why ? 0 : output_replace();
  output_abandon();
  free(g);
  macko_status s = MACKO_OK;
  if (why) s = matrix_file_fail(err, MACKO_UNSUPPORTED, path, "not drawn: %s", why);
  else if (bad) s = matrix_file_fail(err, MACKO_IO, path, "cannot be written: %s", strerror(bad));
  return s;
}
