/* macko-bench: every format against the best peer on one machine, over generated matrices and files. */
#include "bench.h"
#include "generate.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MATRICES = 256 };

static const char standard[] = "5-point:2048,7-point:192,27-point:160,5-point:2048:random,7-point:192:random,27-point:160:random,"
                               "elasticity:72,rmat:20,erdos:2000000x16,banded:2000000x24,pruned:12288x12288:50,pruned:12288x12288:90";

static void help(void)
{
  printf("Usage: macko-bench [--repeat N] [--encodings LIST] [--tsv FILE] [--json FILE] [MATRIX]...\n\n"
         "Times y = A x for every MATRIX (a file, or a generated one as below) in our encodings and with the peers.\n"
         "Without a MATRIX: %s\n\n"
         "  --repeat N         the median of N multiplies (default 50)\n"
         "  --encodings LIST   of auto, csr, slice, row, paper, dtans, each with a value codec after a dot if wished: auto,slice.raw\n"
         "                     (default: auto,auto.raw,slice,row)\n"
         "  --tsv FILE         the table, also to FILE\n"
         "  --json FILE        the table with every detail\n\n"
         "Generated matrices:\n%s", standard, generate_help);
}

/* ---- the table ---- */

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

macko_status bench_encoding(const char *name, macko_options *options, macko_error *err)
{
  char text[64], *dot;
  macko_status s = MACKO_OK;
  snprintf(text, sizeof text, "%s", name);
  dot = strchr(text, '.');
  if (dot) *dot++ = 0;
  macko_options_init(options);
  if (!strcmp(text, "row") || !strcmp(text, "slice") || !strcmp(text, "paper")) {
    options->format = MACKO_FORMAT_MACKO;
    s = macko_options_set(options, "layout", text, err);
  } else
    s = macko_options_set(options, "format", text, err);
  return s || !dot ? s : macko_options_set(options, "values", dot, err);
}

/* Fastest peer on the same matrix, caches flushed; NAN without one. */
static double best_peer(const bench_table *table, const bench_result *r)
{
  double best = NAN;
  for (int i = 0; i < table->count; i++) {
    const bench_result *peer = &table->all[i];
    if (peer->peer && !strcmp(peer->matrix, r->matrix) && !(peer->flushed >= best)) best = peer->flushed;
  }
  return best;
}

static void print_row(FILE *f, const bench_table *table, const bench_settings *settings, const bench_result *r)
{
  double rate = (double)r->moved / (r->flushed * 1e-6);
  fprintf(f, "%s\t%s\t%lld\t%.3f\t%.1f\t%.1f\t%.0f\t%.1f\t%.2f\t%.3g\t%.2f\n", r->matrix, r->name, (long long)r->nnz,
          (double)r->bytes / (double)r->nnz, r->flushed, r->warm, rate * 1e-9, 100 * rate / settings->copy, best_peer(table, r) / r->flushed,
          r->difference, r->encode);
}

static void print_table(FILE *f, const bench_table *table, const bench_settings *settings, int from)
{
  if (from == 0)
    fprintf(f, "# %s; copy %.2f TB/s\n"
               "matrix\tform\tnnz\tbytes/nnz\tflushed us\twarm us\tGB/s\t%% of copy\tx best peer\tdifference\tencode s\n",
            settings->machine, settings->copy * 1e-12);
  for (int i = from; i < table->count; i++) print_row(f, table, settings, &table->all[i]);
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

static void print_json(FILE *f, const bench_table *table, const bench_settings *settings)
{
  fprintf(f, "{\"machine\": ");
  json_text(f, settings->machine);
  fprintf(f, ", \"copy_bytes_per_s\": %.6g, \"repeats\": %d, \"results\": [", settings->copy, settings->repeats);
  for (int i = 0; i < table->count; i++) {
    const bench_result *r = &table->all[i];
    fprintf(f, "%s\n{\"matrix\": ", i ? "," : "");
    json_text(f, r->matrix);
    fprintf(f, ", \"form\": ");
    json_text(f, r->name);
    fprintf(f, ", \"peer\": %s, \"rows\": %lld, \"columns\": %lld, \"nonzeros\": %lld, \"bytes\": %lld, \"moved_bytes\": %lld, "
               "\"flushed_us\": %.4g, \"warm_us\": %.4g, \"encode_s\": %.4g, \"upload_s\": %.4g, \"difference\": %.3g, \"detail\": ",
            r->peer ? "true" : "false", (long long)r->nrows, (long long)r->ncols, (long long)r->nnz, (long long)r->bytes,
            (long long)r->moved, r->flushed, r->warm, r->encode, r->upload, isfinite(r->difference) ? r->difference : -1);
    json_text(f, r->detail);
    fprintf(f, "}");
  }
  fprintf(f, "\n]}\n");
}

/* ---- matrices ---- */

static int is_file(const char *name)
{
  FILE *f = fopen(name, "rb");
  if (f) fclose(f);
  return f != NULL;
}

static macko_status bench_matrix(const char *name, bench_settings *settings, bench_table *table, macko_error *err)
{
  macko_csr a = {0};
  const char *slash = strrchr(name, '/');
  macko_status s = is_file(name) ? macko_read(name, NULL, &a, NULL, err) : generate_matrix(name, &a, err);
  if (!s && (a.row_ptr_type != MACKO_I32 || a.col_type != MACKO_I32)) {
    snprintf(err->text, sizeof err->text, "%s: the peers take 32-bit indices only", name);
    s = MACKO_UNSUPPORTED;
  }
  if (!s) s = bench_gpu(slash ? slash + 1 : name, &a, settings, table, err);
  macko_free_csr(&a);
  return s;
}

static FILE *open_output(const char *path)
{
  FILE *f = fopen(path, "w");
  if (!f) fprintf(stderr, "macko-bench: %s: %s\n", path, strerror(errno)), exit(2);
  return f;
}

int main(int argc, char **argv)
{
  static const struct option options[] = {{"repeat", required_argument, NULL, 'r'}, {"encodings", required_argument, NULL, 'e'},
                                          {"tsv", required_argument, NULL, 't'}, {"json", required_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'}, {"version", no_argument, NULL, 'v'}, {0}};
  bench_settings settings = {.repeats = 50, .encodings = "auto,auto.raw,slice,row,dtans"};
  bench_table table = {0};
  macko_error err = {0};
  const char *tsv = NULL, *json = NULL;
  char defaults[sizeof standard], *names[MATRICES], *save = NULL;
  int count = 0, failed = 0;
  for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
    if (c == 'r') settings.repeats = atoi(optarg);
    else if (c == 'e') settings.encodings = optarg;
    else if (c == 't') tsv = optarg;
    else if (c == 'j') json = optarg;
    else if (c == 'h') return help(), 0;
    else if (c == 'v') return puts("macko-bench " MACKO_VERSION_STRING), 0;
    else return 2;
  }
  if (settings.repeats < 1) return fprintf(stderr, "macko-bench: --repeat wants a positive number\n"), 2;
  for (; optind < argc && count < MATRICES; optind++) names[count++] = argv[optind];
  memcpy(defaults, standard, sizeof standard);
  for (char *name = count ? NULL : strtok_r(defaults, ",", &save); name; name = strtok_r(NULL, ",", &save)) names[count++] = name;
  if (bench_gpu_open(&settings, &err)) return fprintf(stderr, "macko-bench: %s\n", err.text), 77;
  FILE *copy = tsv ? open_output(tsv) : NULL;
  for (int i = 0; i < count; i++) {
    int from = table.count;
    if (bench_matrix(names[i], &settings, &table, &err)) fprintf(stderr, "macko-bench: %s\n", err.text), failed = 1;
    print_table(stdout, &table, &settings, from);
    if (copy) print_table(copy, &table, &settings, from);
  }
  if (copy) fclose(copy);
  FILE *f = json ? open_output(json) : NULL;
  if (f) print_json(f, &table, &settings), fclose(f);
  free(table.all);
  return failed;
}
