/* macko-bench: pictures, by writing a script for gnuplot and running it. */
#include "bench/bench.h"
#include "common/gnuplot.h"
#include "common/output_file.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { FORMS = 32 }; /* forms of ours that are drawn; further ones are not */

/* All that writing the script needs. */
typedef struct {
  FILE *f;
  const char *prefix;
  const bench_table *table;
  const char *forms[FORMS + 1]; /* ours in order of appearance, then the peers as one */
  int drawn[FORMS + 1];         /* those with a point in the picture at hand */
  int count, matrices;
} drawing;

/* Fills *err with "what: why" and returns status. */
static macko_status fail(macko_error *err, macko_status status, const char *what, const char *why)
{
  snprintf(err->text, sizeof err->text, "%.300s: %s", what, why);
  return err->status = status;
}

/* Whether row i is the first of its matrix: rows of one matrix follow each other. */
static int starts_matrix(const bench_table *table, int i)
{
  return !i || strcmp(table->all[i].matrix, table->all[i - 1].matrix);
}

/* Lists our forms and counts matrices. The peers are one form behind them, which is named after cuSPARSE where it is among
 * them. */
static void survey(drawing *d)
{
  const char *peers = "best peer";
  for (int i = 0; i < d->table->count; i++) {
    const bench_result *r = &d->table->all[i];
    int known = r->peer;
    if (!strncmp(r->name, "cusparse", strlen("cusparse"))) peers = "best of cuSPARSE";
    for (int j = 0; j < d->count; j++) known = known || !strcmp(d->forms[j], r->name);
    /* Peers are known from the start, as they are not drawn one by one. */
    if (!known && d->count < FORMS) d->forms[d->count++] = r->name;
    d->matrices += starts_matrix(d->table, i);
  }
  d->forms[d->count] = peers;
}

/* ---- data: one block of points a form ---- */

/* Writes text in the double quotes of gnuplot's data, where nothing is a command, backquotes neither; control characters become
 * blanks. */
static void put_name(FILE *f, const char *text)
{
  putc('"', f);
  for (; *text; text++)
    if (*text == '"' || *text == '\\') fprintf(f, "\\%c", *text);
    else putc((unsigned char)*text < ' ' ? ' ' : *text, f);
  putc('"', f);
}

/* Writes a line for each matrix that the form was measured with: the number of the matrix, its name, and size and time of the
 * best sparse peer over this form's. */
static void write_ratios(drawing *d, int form)
{
  int matrix = -1;
  fprintf(d->f, "$ratios%d << END\n", form);
  for (int i = 0; i < d->table->count; i++) {
    const bench_result *r = &d->table->all[i];
    matrix += starts_matrix(d->table, i);
    double size = bench_best_peer(d->table, r, bench_bytes, 0) / bench_bytes(r);
    double time = bench_best_peer(d->table, r, bench_time, 0) / bench_time(r);
    if (strcmp(r->name, d->forms[form]) || !isfinite(size) || !isfinite(time)) continue;
    fprintf(d->f, "%d ", matrix);
    put_name(d->f, r->matrix);
    fprintf(d->f, " %.6g %.6g\n", size, time);
    d->drawn[form]++;
  }
  fprintf(d->f, "END\n");
}

/* Returns the faster of cuBLAS's ways on r's matrix in microseconds; NAN without them. */
static double dense_time(const bench_table *table, const bench_result *r)
{
  double best = NAN;
  for (int i = 0; i < table->count; i++) {
    const bench_result *dense = &table->all[i];
    if (strcmp(dense->matrix, r->matrix) || strncmp(dense->name, "cublas", strlen("cublas"))) continue;
    if (!(bench_time(dense) >= best)) best = bench_time(dense);
  }
  return best;
}

/* Writes a line for each pruned matrix in f16: its percentage of zeros, and cuBLAS's time over this form's. The form behind ours
 * is the best sparse peer. */
static void write_sweep(drawing *d, int form)
{
  fprintf(d->f, "$sweep%d << END\n", form);
  for (int i = 0; i < d->table->count; i++) {
    const bench_result *r = &d->table->all[i];
    const int peers = form == d->count;
    int percent, end = 0;
    if (peers ? !starts_matrix(d->table, i) : strcmp(r->name, d->forms[form])) continue;
    if (sscanf(r->matrix, "pruned:%*dx%*d:%d%n", &percent, &end) != 1 || r->matrix[end]) continue;
    double ratio = dense_time(d->table, r) / (peers ? bench_best_peer(d->table, r, bench_time, 0) : bench_time(r));
    if (isfinite(ratio)) fprintf(d->f, "%d %.6g\n", percent, ratio), d->drawn[form]++;
  }
  fprintf(d->f, "END\n");
}

/* ---- pictures ---- */

/* gnuplot's markers, filled ones first, so that forms differ without colours too. */
static const int markers[] = {7, 5, 9, 11, 13, 4, 6, 8, 10, 12, 1, 2, 3};
enum { MARKERS = sizeof markers / sizeof *markers };

/* Writes one curve for each form that has points. The data of a form is block<form>, drawn as `how` says with the form's marker
 * and number for its colour; the points of the first one get the names of matrices, if they are wanted. */
static void write_curves(const drawing *d, const char *block, const char *how, int named)
{
  int first = 1;
  for (int form = 0; form <= d->count; form++) {
    if (!d->drawn[form]) continue;
    fprintf(d->f, "$%s%d ", block, form);
    fprintf(d->f, how, markers[form % MARKERS], form + 1);
    fprintf(d->f, " title ");
    put_gnuplot_string(d->f, d->forms[form]);
    fprintf(d->f, ", ");
    if (named && first)
      fprintf(d->f, "$%s%d using 3:4:2 with labels left offset 0.7,0.3 font \",7\" textcolor rgb \"gray40\" notitle, ", block,
              form);
    first = 0;
  }
  fprintf(d->f, "1 with lines dashtype 2 linecolor rgb \"gray\" notitle\n");
}

/* Writes what draws the picture as .svg and as .png, once its labels and axes are set. */
static void write_picture(const drawing *d, const char *name, int width, const char *block, const char *how)
{
  char path[1024];
  for (int png = 0; png < 2; png++) {
    if (png) fprintf(d->f, "eval \"set terminal \".png.\" noenhanced size %d,640\"\n", width);
    else fprintf(d->f, "set terminal svg noenhanced size %d,640 background \"white\"\n", width);
    snprintf(path, sizeof path, "%s-%s.%s", d->prefix, name, png ? "png" : "svg");
    put_gnuplot_output(d->f, path);
    fprintf(d->f, "plot ");
    write_curves(d, block, how, !strcmp(name, "time"));
    fprintf(d->f, "set output\n");
  }
}

/* Writes data and all pictures. The width of the first one grows with the matrices, whose names stand along its axis. */
static void write_script(drawing *d)
{
  const char *peers = d->forms[d->count];
  fprintf(d->f, "png = strstrt(GPVAL_TERMINALS, \" pngcairo \") ? \"pngcairo\" : \"png\"\n"
                "set key outside top horizontal\nset grid\nset style data points\nset pointsize 0.9\n");
  for (int form = 0; form < d->count; form++) write_ratios(d, form);
  fprintf(d->f, "set logscale y\nset ylabel \"size, %s / this form (higher: smaller)\"\nset xtics rotate by 60 right\nset offsets "
                "0.5, 0.5, 0, 0\n", peers);
  /* The first picture has the matrices along its axis, the second one their sizes. */
  int width = d->matrices > 40 ? 240 + 18 * d->matrices : 960;
  write_picture(d, "size", width, "ratios", "using 1:3:xtic(2) pointtype %d linecolor %d");
  fprintf(d->f, "unset offsets\nset logscale x\nset xtics norotate autofreq\nset xlabel \"size, %s / this form (further right: "
                "smaller)\"\n"
                "set ylabel \"time, %s / this form (higher: faster)\"\n", peers, peers);
  write_picture(d, "time", 960, "ratios", "using 3:4 pointtype %d linecolor %d");
  /* The third picture has other points, of pruned matrices only, and is left out without any. */
  memset(d->drawn, 0, sizeof d->drawn);
  int points = 0;
  for (int form = 0; form <= d->count; form++) write_sweep(d, form), points += d->drawn[form];
  fprintf(d->f,
          "unset logscale\nset yrange [0:*]\nset xlabel \"zeros, %%\"\nset ylabel \"time, cuBLAS / this form (higher: faster)\"\n");
  if (points) write_picture(d, "sparsity", 960, "sweep", "using 1:2 smooth unique with linespoints pointtype %d linecolor %d");
}

/* Runs gnuplot without a shell, so that the script may have any name. Where gnuplot is not there a sentence says how to draw
 * later. */
macko_status bench_run_gnuplot(char *script, macko_error *err)
{
  extern char **environ;
  char *arguments[] = {"gnuplot", script, NULL};
  pid_t child;
  int status = 0, refused = posix_spawnp(&child, "gnuplot", NULL, NULL, arguments, environ);
  if (refused == ENOENT)
    return fprintf(stderr, "macko-bench: gnuplot is not there; gnuplot %s draws the pictures\n", script), MACKO_OK;
  if (refused) return fail(err, MACKO_IO, "gnuplot", strerror(refused));
  if (waitpid(child, &status, 0) < 0) return fail(err, MACKO_IO, "gnuplot", strerror(errno));
  return status ? fail(err, MACKO_IO, script, "gnuplot fails") : MACKO_OK;
}

/* The script is kept, for those who want other pictures of the same data. */
macko_status bench_plot(const char *prefix, const bench_table *table, macko_error *err)
{
  char script[1024];
  drawing d = {.prefix = prefix, .table = table};
  int pairs = 0, bad;
  if ((size_t)snprintf(script, sizeof script, "%s.gnuplot", prefix) >= sizeof script - 16)
    return fail(err, MACKO_INVALID_ARGUMENT, "--plot", "too long");
  survey(&d);
  for (int i = 0; i < table->count; i++) {
    const bench_result *r = &table->all[i];
    /* A point of the pictures needs both. */
    pairs += !r->peer && isfinite(bench_best_peer(table, r, bench_time, 0));
  }
  if (!pairs) return fail(err, MACKO_INVALID_ARGUMENT, "--plot", "no matrix was multiplied both by a form of ours and by a peer");
  d.f = output_open(script, &bad);
  if (d.f) write_script(&d), bad = output_close(d.f);
  if (bad) return fail(err, MACKO_IO, script, strerror(bad));
  return bench_run_gnuplot(script, err);
}
