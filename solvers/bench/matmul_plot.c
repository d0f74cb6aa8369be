/* macko-bench --from a table of --matmul: the picture of it, speed-up over the dense product against shape and pattern. */
#include "bench/bench.h"
#include "common/gnuplot.h"
#include "common/output_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 4096, NAMES = 64, NAME = 40 };

/* What the table has: of each shape, pattern and type the first row, which is the form that the library takes. */
typedef struct {
  int shape, kept, type; /* numbers of names below */
  double ratio;          /* dense time over this form's */
} row;

typedef struct {
  char all[NAMES][NAME];
  int count;
} names;

typedef struct {
  row rows[ROWS];
  int count;
  names shapes, kept, types; /* in order of appearance */
} table;

int bench_is_matmul_table(const char *path)
{
  char line[64] = "";
  FILE *f = fopen(path, "r");
  const int is = f && fgets(line, sizeof line, f) && !strncmp(line, "m\tk\tn\tkept\ttype\t", 16);
  if (f) fclose(f);
  return is;
}

/* Gives the number of a name, which is new or not; -1 where there are too many. */
static int number_of(names *n, const char *name)
{
  for (int i = 0; i < n->count; i++)
    if (!strcmp(n->all[i], name)) return i;
  if (n->count == NAMES) return -1;
  snprintf(n->all[n->count], NAME, "%s", name);
  return n->count++;
}

/* Takes a line of the table; 0 where it is none. */
static int take(table *t, const char *line)
{
  long long m, k, n;
  char kept[NAME], type[NAME], shape[NAME], ratio[NAME];
  if (sscanf(line, "%lld\t%lld\t%lld\t%39s\t%39s\t%*s\t%39s", &m, &k, &n, kept, type, ratio) != 6) return 0;
  if (!strcmp(kept, "dense")) return 1;
  if (snprintf(shape, sizeof shape, "%lldx%lldx%lld", m, k, n) >= (int)sizeof shape || t->count == ROWS) return 0;
  const row r = {number_of(&t->shapes, shape), number_of(&t->kept, kept), number_of(&t->types, type), strtod(ratio, NULL)};
  for (int i = 0; i < t->count; i++)
    if (t->rows[i].shape == r.shape && t->rows[i].kept == r.kept && t->rows[i].type == r.type) return 1;
  if (isfinite(r.ratio)) t->rows[t->count++] = r;
  return r.shape >= 0 && r.kept >= 0 && r.type >= 0;
}

/* Reads the table; a line that is none is named by its number. */
static macko_status read_table(const char *path, table *t, macko_error *err)
{
  char line[2048];
  int number = 1;
  FILE *f = fopen(path, "r");
  if (!f) return bench_fail(err, MACKO_IO, "%.300s: %s", path, strerror(errno));
  macko_status s = fgets(line, sizeof line, f) ? MACKO_OK : bench_fail(err, MACKO_PARSE, "%.300s: empty", path);
  while (!s && fgets(line, sizeof line, f)) {
    number++;
    if (take(t, line)) continue;
    s = bench_fail(err, MACKO_PARSE, "%.300s, line %d: no row that --matmul writes", path, number);
  }
  if (!s && ferror(f)) s = bench_fail(err, MACKO_IO, "%.300s: cannot be read", path);
  fclose(f);
  if (!s && !t->count) s = bench_fail(err, MACKO_INVALID_ARGUMENT, "%.300s: no product was timed beside the dense one", path);
  return s;
}

/* Writes the points of a pattern and a type: number of the shape, ratio. */
static void write_points(FILE *f, const table *t, int type, int kept)
{
  fprintf(f, "$p%d_%d << END\n", type, kept);
  for (int i = 0; i < t->count; i++)
    if (t->rows[i].type == type && t->rows[i].kept == kept) fprintf(f, "%d %.6g\n", t->rows[i].shape, t->rows[i].ratio);
  fprintf(f, "END\n");
}

/* Writes the panel of a type: a curve for each pattern, over the shapes. */
static void write_panel(FILE *f, const table *t, int type)
{
  fprintf(f, "set title ");
  put_gnuplot_string(f, t->types.all[type]);
  fprintf(f, "\nplot ");
  for (int kept = 0; kept < t->kept.count; kept++) {
    fprintf(f, "$p%d_%d using 1:2 with linespoints linewidth 1.5 pointtype %d title ", type, kept, 5 + 2 * kept);
    put_gnuplot_string(f, t->kept.all[kept]);
    fprintf(f, ", ");
  }
  fprintf(f, "1 with lines dashtype 2 linecolor rgb \"gray\" notitle\n");
}

/* Writes what draws all panels as .svg and as .png. */
static void write_script(FILE *f, const table *t, const char *prefix)
{
  char path[1024];
  double most = 1;
  fprintf(f, "png = strstrt(GPVAL_TERMINALS, \" pngcairo \") ? \"pngcairo\" : \"png\"\n");
  for (int type = 0; type < t->types.count; type++)
    for (int kept = 0; kept < t->kept.count; kept++) write_points(f, t, type, kept);
  for (int i = 0; i < t->count; i++) most = fmax(most, t->rows[i].ratio);
  fprintf(f, "set grid\nset key bottom right\nset yrange [0:%.3g]\nset xrange [-0.5:%d.5]\nset xtics rotate by 40 right (",
          1.1 * most, t->shapes.count - 1);
  for (int shape = 0; shape < t->shapes.count; shape++) fprintf(f, "%s\"%s\" %d", shape ? ", " : "", t->shapes.all[shape], shape);
  fprintf(f, ")\nset ylabel \"time, dense / this (higher: faster)\"\n");
  for (int png = 0; png < 2; png++) {
    if (png) fprintf(f, "eval \"set terminal \".png.\" noenhanced size 1100,840\"\n");
    else fprintf(f, "set terminal svg noenhanced size 1100,840 background \"white\"\n");
    snprintf(path, sizeof path, "%s-matmul.%s", prefix, png ? "png" : "svg");
    put_gnuplot_output(f, path);
    fprintf(f, "set multiplot layout %d,2\n", (t->types.count + 1) / 2);
    for (int type = 0; type < t->types.count; type++) write_panel(f, t, type);
    fprintf(f, "unset multiplot\nset output\n");
  }
}

macko_status bench_plot_matmul(const char *prefix, const char *path, macko_error *err)
{
  char script[1024];
  int bad;
  table *t = calloc(1, sizeof *t);
  if (!t) return bench_fail(err, MACKO_OUT_OF_MEMORY, "no memory for the table of %.300s", path);
  macko_status s = read_table(path, t, err);
  if (!s && (size_t)snprintf(script, sizeof script, "%s-matmul.gnuplot", prefix) >= sizeof script - 16)
    s = bench_fail(err, MACKO_INVALID_ARGUMENT, "--plot: too long");
  if (!s) {
    FILE *f = output_open(script, &bad);
    if (f) write_script(f, t, prefix), bad = output_close(f);
    s = bad ? bench_fail(err, MACKO_IO, "%.300s: %s", script, strerror(bad)) : bench_run_gnuplot(script, err);
  }
  free(t);
  return s;
}
