/* macko-bench: every format against the best peer on one machine, CPU or GPU, over generated matrices and files. */
#include "bench/bench.h"
#include "bench/help.h"
#include "common/option.h"
#include "common/output_file.h"
#ifdef HAVE_CUDA
#include "bench/matmul.h"
#endif

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MATRICES = 512, MOST_VECTORS = 1024 }; /* the most of one run */

/* What runs where; the GPU side is there in a build with CUDA only. */
typedef struct {
  const char *matrices, *encodings; /* those measured unless others are asked for */
  int repeats;
  macko_status (*open)(bench_settings *settings, macko_error *err);
  macko_status (*run)(const char *name, const macko_csr *csr, bench_settings *settings, bench_table *table, macko_error *err);
} device;
static const device cpu = {bench_cpu_matrices, bench_cpu_encodings, 21, bench_cpu_open, bench_cpu};
static const device cpu_solves = {bench_cpu_matrices, "", 3, bench_cpu_open, bench_solve};
#ifdef HAVE_CUDA
static const device gpu = {bench_gpu_matrices, bench_gpu_encodings, 50, bench_gpu_open, bench_gpu};
static const device gpu_solves = {bench_gpu_matrices, "", 3, bench_gpu_open, bench_solve};
#endif

/* Makes one matrix, measures it, and frees it: the next one may need all of the memory. */
static macko_status measure(const device *d, const char *name, bench_settings *settings, bench_table *table, macko_error *err)
{
  macko_csr a = {0};
  char label[96];
  macko_status s = bench_matrix(name, &a, err);
  if (!s) s = d->run(bench_label(name, label, sizeof label), &a, settings, table, err);
  macko_free_csr(&a);
  return s;
}

/* Opens a file that grows while measuring goes on, so it is written in place; ends the program with status 2 if that cannot
 * be. Returns stdout for a name of standard output. */
static FILE *open_output(const char *path)
{
  FILE *f = output_is_standard(path) ? stdout : fopen(path, "w");
  if (!f) fprintf(stderr, "macko-bench: %s: %s\n", path, strerror(errno)), exit(2);
  return f;
}

/* Closes a file, or flushes standard output. Returns 1, with a sentence, if not all of it was written. */
static int unwritten(FILE *f, const char *path)
{
  int bad = ferror(f);
  errno = 0;
  if (f == stdout ? fflush(f) : fclose(f)) bad = 1;
  if (bad) fprintf(stderr, "macko-bench: %s: %s\n", path, errno ? strerror(errno) : "cannot be written, as on a full disk");
  return bad;
}

/* Ends the program if a file could not be written, before anything is measured for it. */
static void check_output(const char *path)
{
  int bad = output_refusal(path);
  if (bad) fprintf(stderr, "macko-bench: %s: %s\n", path, strerror(bad)), exit(2);
}

/* Does so for pictures, by the script that is written beside them. */
static void check_pictures(const char *prefix)
{
  char script[1024];
  snprintf(script, sizeof script, "%s.gnuplot", prefix);
  check_output(script);
}

/* Opens and returns the device of that name; without a name a GPU where there is one, else the CPU. NULL after an error. */
static const device *open_device(const char *name, bench_settings *settings, macko_error *err)
{
  const device *d = &cpu;
#ifdef HAVE_CUDA
  /* A GPU that is there but cannot be opened leaves the CPU, unless it was asked for. */
  if (!name && !gpu.open(settings, err)) return &gpu;
  if (name && !strcmp(name, "gpu")) d = &gpu;
#else
  if (name && !strcmp(name, "gpu")) {
    snprintf(err->text, sizeof err->text, "built without CUDA");
    return NULL;
  }
#endif
  if (name && strcmp(name, "gpu") && strcmp(name, "cpu")) {
    snprintf(err->text, sizeof err->text, "--device is cpu or gpu, not %.64s", name);
    return NULL;
  }
  return d->open(settings, err) ? NULL : d;
}

/* Returns what takes the place of an opened device with --solve: the same device with other things to run. */
static const device *solves_on(const device *d, bench_settings *settings)
{
#ifdef HAVE_CUDA
  settings->on_gpu = d == &gpu;
  return d == &gpu ? &gpu_solves : &cpu_solves;
#else
  (void)d, (void)settings;
  return &cpu_solves;
#endif
}

/* The matrices of a run. */
typedef struct {
  char *all[MATRICES];
  int count, asked; /* names in all; names that there were, which is more if all is full or memory was short */
} names;

/* Adds a copy of a name, for bench_expand. */
static void add_name(void *context, const char *name)
{
  names *n = context;
  if (n->asked++ < MATRICES && (n->all[n->count] = strdup(name))) n->count++;
}

/* Lists the matrices of the command line, sets expanded, or without any those of `list`. Returns 0 if there are too many. */
static int choose(char **arguments, int count, const char *list, names *n)
{
  char defaults[1024], *save = NULL;
  /* strtok_r writes into the list, so that it works on a copy. */
  snprintf(defaults, sizeof defaults, "%s", list);
  for (int i = 0; i < count; i++) bench_expand(arguments[i], add_name, n);
  for (char *name = count ? NULL : strtok_r(defaults, " \n", &save); name; name = strtok_r(NULL, " \n", &save)) add_name(n, name);
  return n->count == n->asked;
}

/* Says, and returns 1, if a matrix whose rows begin at `from` has none of an encoding of ours, though some were asked for. */
static int no_encoding(const char *matrix, const bench_settings *settings, const bench_table *table, int from)
{
  int ours = 0;
  for (int i = from; i < table->count; i++) ours += !table->all[i].peer;
  if (ours || !settings->encodings[0] || settings->solve) return 0;
  fprintf(stderr, "macko-bench: %s: nothing was measured of encodings %s\n", matrix, settings->encodings);
  return 1;
}

/* Measures all matrices and returns 1 if one failed, which does not keep the others from being measured. Rows leave as soon as
 * they are there, since a long run may be cut short. */
static int measure_all(const device *d, const names *n, bench_settings *settings, bench_table *table, FILE *tsv)
{
  macko_error err = {0};
  int failed = 0;
  /* --solve prints a heading and tables of its own, on the first rank only. */
  if (!settings->solve) bench_print_heading(stdout, settings);
  /* The file begins with names of columns even if nothing can be measured. */
  if (tsv) bench_print_tsv(tsv, table, settings, -1);
  for (int i = 0; i < n->count; i++) {
    /* What this matrix adds begins here. */
    int from = table->count;
    if (measure(d, n->all[i], settings, table, &err)) fprintf(stderr, "macko-bench: %s\n", err.text), failed = 1;
    else failed |= no_encoding(n->all[i], settings, table, from);
    if (!settings->solve) bench_print(stdout, table, settings, from);
    if (tsv) bench_print_tsv(tsv, table, settings, from);
  }
  return failed;
}

/* ---- the command line ---- */

/* What the command line asks for, and what came of it. */
typedef struct {
  const char *tsv, *json, *plot, *where, *matmul, *sparselt; /* arguments of options, NULL without; where is that of --device */
  const char *products; /* the file of --from, if it is a table of --matmul */
  const char *from[MATRICES]; /* all files of --from */
  int froms;
  int read, repeated; /* results come from files, which say how often they were repeated; --repeat was given */
  bench_settings settings;
  bench_table table;
} request;

/* Returns a positive number that fits an int, and 0 for anything else. */
static int positive(const char *text)
{
  char *end;
  long value = strtol(text, &end, 10);
  return end == text || *end || value < 1 || value > INT_MAX ? 0 : (int)value;
}

/* Returns 1, with a sentence, if one of a list is no encoding, or one that no matrix can have, so that this is found before
 * anything is measured. An empty list is that of peers alone. */
static int unknown_encoding(const char *list)
{
  char names[512], *save = NULL;
  macko_options options;
  macko_error err = {0};
  const size_t length = strlen(list);
  if (length && (list[0] == ',' || list[length - 1] == ',' || strstr(list, ",,")))
    return fprintf(stderr, "macko-bench: --encodings \"%s\": names are separated by one comma each\n", list), 1;
  if (length >= sizeof names) return fprintf(stderr, "macko-bench: --encodings has more than %zu characters\n", sizeof names - 1), 1;
  snprintf(names, sizeof names, "%s", list);
  for (char *name = strtok_r(names, ",", &save); name; name = strtok_r(NULL, ",", &save))
    if (bench_encoding(name, MACKO_TARGET_CPU, &options, &err) || macko_options_check(&options, &err))
      return fprintf(stderr, "macko-bench: --encodings %s: %s\n", name, err.text), 1;
  return 0;
}

/* Takes the option c, whose argument getopt has in optarg. Returns -1 to go on, else the exit status. */
static int take_option(int c, request *r)
{
  macko_error err = {0};
  if (c == 'r') r->repeated = 1;
  if (c == 'd') r->where = optarg;
  else if (c == 'r' && (r->settings.repeats = positive(optarg)) < 1)
    return fprintf(stderr, "macko-bench: --repeat wants a positive number, not %s\n", optarg), 2;
  else if (c == 's' && (r->settings.solve = positive(optarg)) < 1)
    return fprintf(stderr, "macko-bench: --solve wants a positive number, not %s\n", optarg), 2;
  else if (c == 'k' && ((r->settings.vectors = positive(optarg)) < 1 || r->settings.vectors > MOST_VECTORS))
    return fprintf(stderr, "macko-bench: --vectors wants a number from 1 to %d, not %s\n", MOST_VECTORS, optarg), 2;
  else if (c == 'e' && unknown_encoding(r->settings.encodings = optarg)) return 2;
  else if (c == 'x') r->matmul = optarg;
  else if (c == 'l') r->sparselt = optarg;
  else if (c == 'm') r->settings.mkl = optarg;
  else if (c == 'c') r->settings.cpu_time = 1;
  else if (c == 't') r->tsv = optarg;
  else if (c == 'j') r->json = optarg;
  else if (c == 'p') r->plot = optarg;
  else if (c == 'f') {
    if (r->froms == MATRICES) return fprintf(stderr, "macko-bench: more than %d files of --from\n", MATRICES), 2;
    r->from[r->froms++] = optarg;
    /* Files are read as their options come, so that their rows stand in that order. A table of --matmul is drawn alone. */
    if (bench_is_matmul_table(optarg)) r->products = optarg;
    else if (bench_read_tsv(optarg, &r->table, &r->settings, &err)) return fprintf(stderr, "macko-bench: %s\n", err.text), 2;
    else r->read = 1;
  } else if (c == 'h') return bench_help(), unwritten(stdout, "standard output");
  else if (c == 'v') return puts("macko-bench " MACKO_VERSION_STRING), unwritten(stdout, "standard output");
  return -1;
}

/* Measures on the device that was asked for, into r->table; returns the exit status, which is 77 without such a device: tests
 * take that for skipped. */
static int run(request *r, char **arguments, int count)
{
  static names n;
  macko_error err = {0};
  const char *for_cpu = r->settings.mkl ? "--mkl" : r->settings.cpu_time ? "--cpu-time" : NULL;
  if (for_cpu && r->where && !strcmp(r->where, "gpu"))
    return fprintf(stderr, "macko-bench: %s is for products on a CPU\n", for_cpu), 2;
  /* A library that was asked for has to be there; one that nobody named may be left out. */
  if (r->settings.mkl && bench_load_mkl(r->settings.mkl, &err)) return fprintf(stderr, "macko-bench: %s\n", err.text), 2;
  /* --solve, and what is for products on a CPU, measure there where nothing is said. */
  const device *d = open_device(r->where || (!r->settings.solve && !for_cpu) ? r->where : "cpu", &r->settings, &err);
  if (!d) return fprintf(stderr, "macko-bench: %s\n", err.text), r->where && strcmp(r->where, "gpu") ? 2 : 77;
  if (r->settings.solve) d = solves_on(d, &r->settings);
  if (!r->settings.vectors) r->settings.vectors = 1;
  if (!r->settings.repeats) r->settings.repeats = d->repeats;
  if (!r->settings.encodings) r->settings.encodings = d->encodings;
  if (!choose(arguments, count, d->matrices, &n)) return fprintf(stderr, "macko-bench: more than %d matrices\n", MATRICES), 2;
  FILE *tsv = r->tsv ? open_output(r->tsv) : NULL;
  /* Standard output gets all rows as one table, below the one for people. */
  int failed = measure_all(d, &n, &r->settings, &r->table, tsv == stdout ? NULL : tsv);
  /* A wrong product is left out of the table, but must not be overlooked. */
  if (r->table.wrong) failed = 1;
  bench_print_means(stdout, &r->table, &r->settings);
  if (tsv == stdout) bench_print_tsv(tsv, &r->table, &r->settings, -1);
  if (tsv && unwritten(tsv, r->tsv)) failed = 1;
  /* These are the runs that may have started PETSc. */
  if (d == &cpu || r->settings.solve) bench_cpu_close();
  for (int i = 0; i < n.count; i++) free(n.all[i]);
  return failed;
}

/* What is done instead of measuring products: an option may stand with some of it. */
enum { BY_FROM = 1, BY_SOLVE = 2, BY_MATMUL = 4, BY_PRODUCTS = 8 };

/* Returns an option that was given and has no place beside what is done; NULL if all have. Silently leaving out what was asked for
 * would look like an answer. */
static const char *misplaced(const request *r, int done)
{
  const struct {
    int there;
    const char *name;
    int beside;
  } options[] = {{r->settings.vectors, "--vectors", 0}, {r->settings.cpu_time, "--cpu-time", 0},
                 {r->settings.mkl != NULL, "--mkl", 0}, {r->settings.encodings != NULL, "--encodings", 0},
                 {r->settings.solve, "--solve", BY_SOLVE},
                 {r->json != NULL, "--json", BY_FROM}, {r->plot != NULL, "--plot", BY_FROM | BY_PRODUCTS},
                 {r->read, "--from", BY_FROM}, {r->tsv != NULL, "--tsv", BY_FROM | BY_MATMUL},
                 {r->repeated, "--repeat", BY_SOLVE | BY_MATMUL},
                 {r->where != NULL, "--device", BY_SOLVE | BY_MATMUL}};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    if (options[i].there && !(options[i].beside & done)) return options[i].name;
  return NULL;
}

/* Returns 1, with a sentence, if something was asked for that has no place beside --from or --solve; matrix is the first one
 * named, or NULL. */
static int out_of_place(const request *r, const char *matrix)
{
  const char *other = NULL;
  if (r->read) other = misplaced(r, BY_FROM);
  if (r->read && !other) other = matrix;
  if (other) return fprintf(stderr, "macko-bench: --from measures nothing, so %s has no place beside it\n", other), 1;
  if (r->settings.solve) other = misplaced(r, BY_SOLVE);
  if (!other) return 0;
  return fprintf(stderr, "macko-bench: --solve prints a table of its own and stands with --repeat and --device only, not with %s\n",
                 other), 1;
}

/* Returns 1, with a sentence, if a file would be written that is read, or two outputs would be one file; `matrices` are those of the
 * command line. */
static int outputs_collide(const request *r, const char *const matrices[], int count)
{
  const char *const names[] = {"--tsv", "--json"}, *const paths[] = {r->tsv, r->json};
  for (int i = 0; i < 2; i++)
    if (paths[i] && (bench_is_input(names[i], paths[i], r->from, r->froms) || bench_is_input(names[i], paths[i], matrices, count) ||
                     bench_is_matrix(names[i], paths[i])))
      return 1;
  if (!r->tsv || !r->json || !output_is_same(r->tsv, r->json)) return 0;
  return fprintf(stderr, "macko-bench: --tsv and --json name one file, %s, which can hold one of them only\n", r->tsv), 1;
}

/* Does --matmul and returns the exit status. Other options have no place beside it. */
static int run_matmul(request *r, const char *matrix)
{
  macko_error err = {0};
  const char *other = misplaced(r, BY_MATMUL);
  if (!other && r->where && strcmp(r->where, "gpu")) other = r->where;
  if (!other) other = matrix;
  if (other)
    return fprintf(stderr, "macko-bench: --matmul stands with --repeat, --sparselt, --tsv and --device gpu only, not with %s\n",
                   other), 2;
#ifdef HAVE_CUDA
  if (!macko_device_count(&err)) return fprintf(stderr, "macko-bench: %s\n", err.text), 77;
  FILE *tsv = r->tsv ? open_output(r->tsv) : NULL;
  const macko_status s = bench_matmul(r->matmul, r->settings.repeats ? r->settings.repeats : gpu.repeats, r->sparselt, tsv, &err);
  if (s) fprintf(stderr, "macko-bench: %s\n", err.text);
  const int bad = tsv && unwritten(tsv, r->tsv);
  return s == MACKO_INVALID_ARGUMENT ? 2 : s || bad;
#else
  snprintf(err.text, sizeof err.text, "built without CUDA");
  return fprintf(stderr, "macko-bench: %s\n", err.text), 77;
#endif
}

/* Draws a table of --matmul and returns the exit status. Other options have no place beside it. */
static int draw_products(const request *r, const char *matrix)
{
  macko_error err = {0};
  const char *other = misplaced(r, BY_PRODUCTS);
  if (!other) other = r->matmul ? "--matmul" : r->read ? "--from of another table" : matrix;
  if (other || !r->plot)
    return fprintf(stderr, "macko-bench: --from %s, a table of --matmul, stands with --plot%s%s\n", r->products,
                   other ? " only, not with " : "", other ? other : ""), 2;
  if (!bench_plot_matmul(r->plot, r->products, &err)) return 0;
  return fprintf(stderr, "macko-bench: %s\n", err.text), err.status == MACKO_PARSE ? 2 : 1;
}

/* Writes the JSON whole or not at all. Returns 1, with a sentence, if it was not written. */
static int save_json(const request *r)
{
  int bad;
  FILE *f = output_open(r->json, &bad);
  /* Without a file `bad` says why, and below it says whether closing went well. */
  if (f) bench_print_json(f, &r->table, &r->settings), bad = output_close(f);
  if (bad) fprintf(stderr, "macko-bench: %s: %s\n", r->json, strerror(bad));
  return bad != 0;
}

/* --from and measuring fill the same table, of which all that was asked for is written at the end. */
int main(int argc, char **argv)
{
  /* Every option is a letter to take_option; only -h is one to the user. */
  static const struct option options[] = {{"device", required_argument, NULL, 'd'}, {"repeat", required_argument, NULL, 'r'},
                                          {"encodings", required_argument, NULL, 'e'}, {"mkl", required_argument, NULL, 'm'},
                                          {"cpu-time", no_argument, NULL, 'c'}, {"vectors", required_argument, NULL, 'k'},
                                          {"solve", required_argument, NULL, 's'},
                                          {"matmul", required_argument, NULL, 'x'}, {"sparselt", required_argument, NULL, 'l'},
                                          {"tsv", required_argument, NULL, 't'},
                                          {"json", required_argument, NULL, 'j'}, {"plot", required_argument, NULL, 'p'},
                                          {"from", required_argument, NULL, 'f'}, {"help", no_argument, NULL, 'h'},
                                          {"version", no_argument, NULL, 'v'}, {0}};
  request r = {0};
  macko_error err = {0};
  int status = -1;
  opterr = 0; /* the sentences are ours */
  for (int c; status < 0 && (c = getopt_long(argc, argv, ":h", options, NULL)) != -1;)
    status = c == '?' || c == ':' ? option_refuse("macko-bench", c, argv, options) : take_option(c, &r);
  /* These can be said only once all options are known. */
  if (status < 0 && r.sparselt && !r.matmul)
    status = 2, fprintf(stderr, "macko-bench: --sparselt has a place beside --matmul only\n");
  if (status < 0 && outputs_collide(&r, (const char *const *)argv + optind, argc - optind)) status = 2;
  if (status < 0 && r.products) status = draw_products(&r, argv[optind]);
  if (status < 0 && r.matmul) status = run_matmul(&r, argv[optind]);
  if (status < 0 && out_of_place(&r, argv[optind])) status = 2;
  /* From here on the command line is right. */
  if (status >= 0) return free(r.table.all), status;
  if (r.json) check_output(r.json);
  if (r.plot) check_pictures(r.plot);
  /* Results of several files are one table, as if measured together. */
  if (r.read) {
    FILE *tsv = r.tsv ? open_output(r.tsv) : NULL;
    bench_print_heading(stdout, &r.settings);
    bench_print(stdout, &r.table, &r.settings, 0);
    bench_print_means(stdout, &r.table, &r.settings);
    if (tsv) bench_print_tsv(tsv, &r.table, &r.settings, -1);
    status = tsv && unwritten(tsv, r.tsv);
  } else
    status = run(&r, argv + optind, argc - optind);
  if (r.json && status < 2 && save_json(&r)) status = 1;
  if (r.plot && status < 2 && bench_plot(r.plot, &r.table, &err)) fprintf(stderr, "macko-bench: %s\n", err.text), status = 1;
  free(r.table.all);
  /* What could not be printed is a failure, but does not hide a worse one. */
  return unwritten(stdout, "standard output") && !status ? 1 : status;
}
