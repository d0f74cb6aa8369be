/* macko-bench: what follows from the results, and the table for people. */
#include "bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The room doubles, so that adding many rows copies each only a few times. */
bench_result *bench_add(bench_table *table)
{
  if (table->count == table->room) {
    int room = 2 * table->room + 64;
    bench_result *larger = realloc(table->all, (size_t)room * sizeof *larger);
    if (!larger) return NULL;
    table->all = larger, table->room = room;
  }
  table->all[table->count] = (bench_result){.k = 1};
  return &table->all[table->count++];
}

/* Layouts are format macko's alone; the library says auto for the others. */
void bench_name_form(const macko_info *info, char format[16], char layout[16], char values[16])
{
  int has_layout = info->layout != MACKO_LAYOUT_AUTO;
  snprintf(format, 16, "%s", macko_format_name(info->format));
  snprintf(layout, 16, "%s", has_layout ? macko_layout_name(info->layout) : "");
  snprintf(values, 16, "%s", macko_values_name(info->values));
}

/* Rates, ratios and means all go by this time. */
double bench_time(const bench_result *r)
{
  return r->us;
}

double bench_bytes(const bench_result *r)
{
  return (double)r->bytes;
}

/* The comparison is written so that NAN, with which it begins, gives way to any number. */
double bench_best_peer(const bench_table *table, const bench_result *r, double (*of)(const bench_result *), int dense)
{
  double best = NAN;
  for (int i = 0; i < table->count; i++) {
    const bench_result *peer = &table->all[i];
    if (!peer->peer || peer->lossy || peer->k != r->k || strcmp(peer->matrix, r->matrix)) continue;
    /* Dense peers are those of cuBLAS. */
    if (!dense && !strncmp(peer->name, "cublas", strlen("cublas"))) continue;
    if (!(of(peer) >= best)) best = of(peer);
  }
  return best;
}

/* All bytes of the form are counted, not only those of columns and values. */
double bench_bytes_per_nonzero(const bench_table *table, const bench_settings *settings, const bench_result *r)
{
  (void)table, (void)settings;
  return r->nnz ? (double)r->bytes / (double)r->nnz : NAN;
}

/* Bytes moved over microseconds, in 10^9 bytes a second. */
double bench_rate(const bench_table *table, const bench_settings *settings, const bench_result *r)
{
  (void)table, (void)settings;
  return bench_time(r) > 0 ? (double)r->moved / (bench_time(r) * 1e3) : NAN;
}

/* A copy reads and writes alike, while a product mostly reads. */
double bench_percent_of_copy(const bench_table *table, const bench_settings *settings, const bench_result *r)
{
  return settings->copy > 0 ? 1e11 * bench_rate(table, settings, r) / settings->copy : NAN;
}

/* There is no triad on a GPU. */
double bench_percent_of_triad(const bench_table *table, const bench_settings *settings, const bench_result *r)
{
  return settings->triad > 0 ? 1e11 * bench_rate(table, settings, r) / settings->triad : NAN;
}

/* Dense peers count here, unlike in the pictures. */
double bench_x_best_peer(const bench_table *table, const bench_settings *settings, const bench_result *r)
{
  (void)settings;
  return bench_time(r) > 0 ? bench_best_peer(table, r, bench_time, 1) / bench_time(r) : NAN;
}

/* Says what multiplying several vectors at once is worth. */
double bench_x_singles(const bench_table *table, const bench_settings *settings, const bench_result *r)
{
  (void)table, (void)settings;
  return r->singles > 0 && bench_time(r) > 0 ? r->singles / bench_time(r) : NAN;
}

/* Returns seconds in multiplies of plain CSR by one vector: the loop on a CPU, cuSPARSE's CSR_ALG1 on a GPU. NAN where that was
 * not measured. */
static double multiplies(const bench_table *table, const bench_result *r, double seconds)
{
  for (int i = 0; i < table->count; i++) {
    const bench_result *plain = &table->all[i];
    if (strcmp(plain->name, "csr-loop") && strcmp(plain->name, "cusparse-csr1")) continue;
    if (!strcmp(plain->matrix, r->matrix)) return seconds > 0 ? 1e6 * seconds * (double)plain->k / bench_time(plain) : NAN;
  }
  return NAN;
}

/* What planning takes, in products with plain CSR. */
double bench_plan_multiplies(const bench_table *table, const bench_settings *settings, const bench_result *r)
{
  (void)settings;
  return multiplies(table, r, r->plan);
}

/* The same of encoding, or of what a peer prepares. */
double bench_encode_multiplies(const bench_table *table, const bench_settings *settings, const bench_result *r)
{
  (void)settings;
  return multiplies(table, r, r->encode);
}

/* The same of taking new values. */
double bench_refresh_multiplies(const bench_table *table, const bench_settings *settings, const bench_result *r)
{
  (void)settings;
  return multiplies(table, r, r->refresh);
}

/* Puts a number, or a dash where there is none, into text and returns text. */
static const char *number(char text[32], const char *format, double value)
{
  if (isfinite(value)) snprintf(text, 32, format, value);
  else snprintf(text, 32, "-");
  return text;
}

/* Prints the line above the rows of a matrix, and before the first one the names of the columns. */
static void print_matrix(FILE *f, const bench_settings *settings, const bench_result *r, int first)
{
  const char *cache = !settings->cache ? "" : r->cached ? ", fits into the last-level cache" : ", exceeds the last-level cache";
  fprintf(f, "\n%s: %lld x %lld, %lld nonzeros%s", r->matrix, (long long)r->nrows, (long long)r->ncols, (long long)r->nnz, cache);
  if (r->k > 1) fprintf(f, "; %lld vectors at once", (long long)r->k);
  fprintf(f, "\n");
  if (first)
    fprintf(f, "  %-18s %9s %9s %10s %10s %7s %6s %7s %7s %9s %8s %8s %8s %10s\n", "form", "bytes/nnz", "MB moved", "us", "warm us",
            "GB/s", "% copy", "% triad", "x peer", "x singles", "plan", "encode", "refresh", "difference");
}

/* All texts of a row are in use at once, hence an array of them. */
void bench_print(FILE *f, const bench_table *table, const bench_settings *settings, int from)
{
  char t[11][32];
  for (int i = from; i < table->count; i++) {
    const bench_result *r = &table->all[i];
    if (i == from || r->k != table->all[i - 1].k || strcmp(r->matrix, table->all[i - 1].matrix))
      print_matrix(f, settings, r, i == 0);
    fprintf(f, "  %-18s %9s %9.1f %10.1f %10s %7s %6s %7s %7s %9s %8s %8s %8s %10s\n", r->name,
            number(t[0], "%.2f", bench_bytes_per_nonzero(table, settings, r)), (double)r->moved * 1e-6, bench_time(r),
            number(t[1], "%.1f", r->warm > 0 ? r->warm : NAN), number(t[2], "%.1f", bench_rate(table, settings, r)),
            number(t[3], "%.0f", bench_percent_of_copy(table, settings, r)),
            number(t[4], "%.0f", bench_percent_of_triad(table, settings, r)),
            number(t[5], "%.2f", bench_x_best_peer(table, settings, r)),
            number(t[6], "%.2f", bench_x_singles(table, settings, r)),
            number(t[7], "%.1f", bench_plan_multiplies(table, settings, r)),
            number(t[8], "%.1f", bench_encode_multiplies(table, settings, r)),
            number(t[9], "%.1f", bench_refresh_multiplies(table, settings, r)), number(t[10], "%.1e", r->difference));
  }
  fflush(f);
}

/* Prints the mean and the least of a form, over the matrices that exceed the last-level cache: what a cache holds tells nothing
 * of memory. */
static void print_mean(FILE *f, const bench_table *table, const bench_settings *settings, const char *form)
{
  const bench_result *least = NULL;
  double logs = 0, lowest = INFINITY;
  int count = 0;
  for (int i = 0; i < table->count; i++) {
    const bench_result *r = &table->all[i];
    double x = bench_x_best_peer(table, settings, r);
    if (r->cached || strcmp(r->name, form) || !isfinite(x)) continue;
    /* Ratios are averaged by their logarithms: twice as fast and half as fast make up for each other. */
    logs += log(x), count++;
    if (x < lowest) lowest = x, least = r;
  }
  if (count > 1)
    fprintf(f, "  %-18s %.2f over %d matrices, least %.2f (%s)\n", form, exp(logs / count), count, lowest, least->matrix);
}

/* A mean over one matrix is none, so nothing is printed for less than two. */
void bench_print_means(FILE *f, const bench_table *table, const bench_settings *settings)
{
  const char *first = NULL;
  int many = 0;
  for (int i = 0; i < table->count; i++) {
    if (table->all[i].cached) continue;
    /* Rows of one matrix follow each other. */
    many |= first && strcmp(table->all[i].matrix, first);
    first = table->all[i].matrix;
  }
  if (many) fprintf(f, "\nx peer, geometric mean%s\n", settings->cache ? " where the last-level cache is exceeded" : "");
  for (int i = 0; many && i < table->count; i++) {
    const bench_result *r = &table->all[i];
    /* Each form is printed once, where it first appears. */
    int seen = r->peer;
    for (int j = 0; j < i && !seen; j++) seen = !strcmp(table->all[j].name, r->name);
    if (!seen) print_mean(f, table, settings, r->name);
  }
}
