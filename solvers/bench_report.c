/* macko-bench: its results as a table, as tab-separated values and as JSON. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bench_result *bench_add(bench_table *table)
{
  if (table->count == table->room) {
    int room = 2 * table->room + 64;
    bench_result *larger = realloc(table->all, (size_t)room * sizeof *larger);
    if (!larger) return NULL;
    table->all = larger, table->room = room;
  }
  table->all[table->count] = (bench_result){0};
  return &table->all[table->count++];
}

/* What ratios are taken of: with caches emptied where that was measured. */
static double time_of(const bench_result *r)
{
  return r->flushed > 0 ? r->flushed : r->warm;
}

/* Fastest peer on the same matrix; NAN without one. */
static double best_peer(const bench_table *table, const bench_result *r)
{
  double best = NAN;
  for (int i = 0; i < table->count; i++) {
    const bench_result *peer = &table->all[i];
    if (peer->peer && !strcmp(peer->matrix, r->matrix) && !(time_of(peer) >= best)) best = time_of(peer);
  }
  return best;
}

/* Unit of plan, encode and refresh: a plain CSR multiply in seconds; NAN without one. */
static double plain_multiply(const bench_table *table, const bench_result *r)
{
  for (int i = 0; i < table->count; i++)
    if (!strcmp(table->all[i].name, "csr-loop") && !strcmp(table->all[i].matrix, r->matrix)) return 1e-6 * table->all[i].warm;
  return NAN;
}

static double rate(const bench_result *r)
{
  return (double)r->moved / (time_of(r) * 1e-6);
}

static double share(const bench_result *r, double ceiling)
{
  return ceiling > 0 ? 100 * rate(r) / ceiling : NAN;
}

static double per_nonzero(const bench_result *r)
{
  return r->nnz ? (double)r->bytes / (double)r->nnz : 0;
}

static void heading(FILE *f, const bench_settings *settings)
{
  fprintf(f, "# %s; copy %.1f GB/s", settings->machine, settings->copy * 1e-9);
  if (settings->triad > 0) fprintf(f, ", triad %.1f GB/s", settings->triad * 1e-9);
  if (settings->cache) fprintf(f, "; last-level cache %lld KiB", (long long)settings->cache >> 10);
  fprintf(f, "\n");
}

/* A number, or a dash where there is none. */
static const char *number(char text[32], const char *format, double value)
{
  if (isfinite(value)) snprintf(text, 32, format, value);
  else snprintf(text, 32, "-");
  return text;
}

void bench_print(FILE *f, const bench_table *table, const bench_settings *settings, int from)
{
  char t[8][32];
  if (from == 0) heading(f, settings);
  for (int i = from; i < table->count; i++) {
    const bench_result *r = &table->all[i];
    double unit = plain_multiply(table, r);
    if (i == from || strcmp(r->matrix, table->all[i - 1].matrix))
      fprintf(f, "\n%s: %lld x %lld, %lld nonzeros%s\n  %-16s %9s %12s %7s %7s %7s %7s %7s %8s %8s %10s\n", r->matrix,
              (long long)r->nrows, (long long)r->ncols, (long long)r->nnz,
              settings->cache ? r->cached ? ", fits into the last-level cache" : ", exceeds the last-level cache" : "", "form",
              "bytes/nnz", "us", "GB/s", "% copy", "% triad", "x peer", "plan", "encode", "refresh", "difference");
    fprintf(f, "  %-16s %9.2f %12.1f %7.1f %7s %7s %7s %7s %8s %8s %10.1e\n", r->name, per_nonzero(r), time_of(r), rate(r) * 1e-9,
            number(t[0], "%.0f", share(r, settings->copy)), number(t[1], "%.0f", share(r, settings->triad)),
            number(t[2], "%.2f", best_peer(table, r) / time_of(r)), number(t[3], "%.1f", r->plan > 0 ? r->plan / unit : NAN),
            number(t[4], "%.1f", r->encode > 0 ? r->encode / unit : NAN),
            number(t[5], "%.1f", r->refresh > 0 ? r->refresh / unit : NAN), r->difference);
  }
  fflush(f);
}

void bench_print_tsv(FILE *f, const bench_table *table, const bench_settings *settings, int from)
{
  char t[2][32];
  if (from == 0) {
    heading(f, settings);
    fprintf(f, "matrix\tform\tnnz\tbytes/nnz\tflushed us\twarm us\tGB/s\t%% of copy\t%% of triad\tx best peer\tdifference\t"
               "plan s\tencode s\trefresh s\tupload s\tcached\n");
  }
  for (int i = from; i < table->count; i++) {
    const bench_result *r = &table->all[i];
    fprintf(f, "%s\t%s\t%lld\t%.3f\t%.1f\t%.1f\t%.1f\t%.1f\t%s\t%s\t%.3g\t%.4g\t%.4g\t%.4g\t%.4g\t%d\n", r->matrix, r->name,
            (long long)r->nnz, per_nonzero(r), r->flushed, r->warm, rate(r) * 1e-9, share(r, settings->copy),
            number(t[0], "%.1f", share(r, settings->triad)), number(t[1], "%.3f", best_peer(table, r) / time_of(r)), r->difference,
            r->plan, r->encode, r->refresh, r->upload, r->cached);
  }
  fflush(f);
}

static void json_text(FILE *f, const char *text)
{
  putc('"', f);
  for (; *text; text++)
    if (*text == '"' || *text == '\\') fprintf(f, "\\%c", *text);
    else if ((unsigned char)*text < 32) fprintf(f, "\\u%04x", *text);
    else putc(*text, f);
  putc('"', f);
}

void bench_print_json(FILE *f, const bench_table *table, const bench_settings *settings)
{
  fprintf(f, "{\"machine\": ");
  json_text(f, settings->machine);
  fprintf(f, ", \"copy_bytes_per_s\": %.6g, \"triad_bytes_per_s\": %.6g, \"cache_bytes\": %lld, \"repeats\": %d, \"results\": [",
          settings->copy, settings->triad, (long long)settings->cache, settings->repeats);
  for (int i = 0; i < table->count; i++) {
    const bench_result *r = &table->all[i];
    fprintf(f, "%s\n{\"matrix\": ", i ? "," : "");
    json_text(f, r->matrix);
    fprintf(f, ", \"form\": ");
    json_text(f, r->name);
    fprintf(f, ", \"peer\": %s, \"cached\": %s, \"rows\": %lld, \"columns\": %lld, \"nonzeros\": %lld, \"bytes\": %lld, "
               "\"moved_bytes\": %lld, \"flushed_us\": %.4g, \"warm_us\": %.4g, \"plan_s\": %.4g, \"encode_s\": %.4g, "
               "\"refresh_s\": %.4g, \"upload_s\": %.4g, \"difference\": %.3g, \"detail\": ",
            r->peer ? "true" : "false", r->cached ? "true" : "false", (long long)r->nrows, (long long)r->ncols, (long long)r->nnz,
            (long long)r->bytes, (long long)r->moved, r->flushed, r->warm, r->plan, r->encode, r->refresh, r->upload,
            isfinite(r->difference) ? r->difference : -1);
    json_text(f, r->detail);
    fprintf(f, "}");
  }
  fprintf(f, "\n]}\n");
}
