/* macko-bench: every format against the best peer on one machine, CPU or GPU, over generated matrices and files. */
#include "bench.h"
#include "generate.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MATRICES = 256 };

static const char gpu_matrices[] = "5-point:2048,7-point:192,27-point:160,5-point:2048:random,7-point:192:random,27-point:160:random,"
                                   "elasticity:72,rmat:20,erdos:2000000x16,banded:2000000x24,pruned:12288x12288:50,pruned:12288x12288:90";
static const char cpu_matrices[] = "5-point:2048,9-point:2048,7-point:144,27-point:112,5-point:2048:random,9-point:2048:random,"
                                   "7-point:144:random,27-point:112:random,elasticity:48,banded:1000000x24,rmat:19,erdos:1000000x16,"
                                   "mesh:128,5-point:256,7-point:32:random,27-point:24:random,elasticity:12,rmat:13,mesh:24";

/* What runs where; the GPU side is there in a build with CUDA. */
typedef struct {
  const char *matrices, *encodings;
  int repeats;
  macko_status (*open)(bench_settings *settings, macko_error *err);
  macko_status (*run)(const char *name, const macko_csr *csr, bench_settings *settings, bench_table *table, macko_error *err);
} device;
static const device cpu = {cpu_matrices, "auto,auto.raw,auto.f32,csr,slice.raw,row.raw", 21, bench_cpu_open, bench_cpu};
#ifdef HAVE_CUDA
static const device gpu = {gpu_matrices, "auto,auto.raw,slice,row", 50, bench_gpu_open, bench_gpu};
#endif

static void help(void)
{
  printf("Usage: macko-bench [OPTION]... [MATRIX]...\n\n"
         "Times y = A x for every MATRIX (a file, or a generated one as below) in our encodings and with the peers, on the GPU if\n"
         "there is one (cuSPARSE, cuBLAS), else on the CPU (PETSc, oneMKL). Without a MATRIX, on a GPU:\n%s\nand on a CPU:\n%s\n\n"
         "  --device cpu|gpu   where (default: the GPU if there is one)\n"
         "  --repeat N         the median of N multiplies (default: 50 on a GPU, 21 on a CPU)\n"
         "  --encodings LIST   of auto, csr, slice, row, paper, dtans, each with a value codec after a dot if wished: auto,slice.raw\n"
         "                     (default on a GPU: auto,auto.raw,slice,row; on a CPU: %s)\n"
         "  --cpu-time         on a CPU that others use too: processor time instead of the wall's\n"
         "  --mkl PATH         libmkl_rt.so, or the folder that holds it (default: where the loader finds it)\n"
         "  --tsv FILE         the table as tab-separated values\n"
         "  --json FILE        the table with every detail\n\n"
         "Generated matrices:\n%s"
         "  tile:MATRIX:MB          copies of MATRIX, a file or a generated one, along the diagonal until they are MB megabytes as CSR\n",
         gpu_matrices, cpu_matrices, cpu.encodings, generate_help);
}

macko_status bench_encoding(const char *name, macko_target target, macko_options *options, macko_error *err)
{
  char text[64], *dot;
  macko_status s = MACKO_OK;
  snprintf(text, sizeof text, "%s", name);
  dot = strchr(text, '.');
  if (dot) *dot++ = 0;
  macko_options_init(options);
  options->target = target;
  if (!strcmp(text, "row") || !strcmp(text, "slice") || !strcmp(text, "paper")) {
    options->format = MACKO_FORMAT_MACKO;
    s = macko_options_set(options, "layout", text, err);
  } else
    s = macko_options_set(options, "format", text, err);
  return s || !dot ? s : macko_options_set(options, "values", dot, err);
}

static macko_status measure(const device *d, const char *name, bench_settings *settings, bench_table *table, macko_error *err)
{
  macko_csr a = {0};
  char label[96];
  macko_status s = bench_matrix(name, &a, err);
  if (!s) s = d->run(bench_label(name, label, sizeof label), &a, settings, table, err);
  macko_free_csr(&a);
  return s;
}

static FILE *open_output(const char *path)
{
  FILE *f = fopen(path, "w");
  if (!f) fprintf(stderr, "macko-bench: %s: %s\n", path, strerror(errno)), exit(2);
  return f;
}

/* The device of that name; without a name a GPU where there is one. */
static const device *open_device(const char *name, bench_settings *settings, macko_error *err)
{
  const device *d = &cpu;
#ifdef HAVE_CUDA
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

static int run_all(const device *d, char **names, int count, bench_settings *settings, const char *tsv, const char *json)
{
  bench_table table = {0};
  macko_error err = {0};
  int failed = 0;
  FILE *rows = tsv ? open_output(tsv) : NULL, *all = json ? open_output(json) : NULL;
  for (int i = 0; i < count; i++) {
    int from = table.count;
    if (measure(d, names[i], settings, &table, &err)) fprintf(stderr, "macko-bench: %s\n", err.text), failed = 1;
    bench_print(stdout, &table, settings, from);
    if (rows) bench_print_tsv(rows, &table, settings, from);
  }
  if (rows) fclose(rows);
  if (all) bench_print_json(all, &table, settings), fclose(all);
  free(table.all);
  return failed;
}

int main(int argc, char **argv)
{
  static const struct option options[] = {{"device", required_argument, NULL, 'd'}, {"repeat", required_argument, NULL, 'r'},
                                          {"encodings", required_argument, NULL, 'e'}, {"mkl", required_argument, NULL, 'm'}, {"cpu-time", no_argument, NULL, 'c'},
                                          {"tsv", required_argument, NULL, 't'}, {"json", required_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'}, {"version", no_argument, NULL, 'v'}, {0}};
  bench_settings settings = {0};
  macko_error err = {0};
  const char *tsv = NULL, *json = NULL, *where = NULL;
  char defaults[512], *names[MATRICES], *save = NULL;
  int count = 0;
  for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
    if (c == 'd') where = optarg;
    else if (c == 'r' && (settings.repeats = atoi(optarg)) < 1)
      return fprintf(stderr, "macko-bench: --repeat wants a positive number, not %s\n", optarg), 2;
    else if (c == 'r') continue;
    else if (c == 'e') settings.encodings = optarg;
    else if (c == 'm') settings.mkl = optarg;
    else if (c == 'c') settings.cpu_time = 1;
    else if (c == 't') tsv = optarg;
    else if (c == 'j') json = optarg;
    else if (c == 'h') return help(), 0;
    else if (c == 'v') return puts("macko-bench " MACKO_VERSION_STRING), 0;
    else return 2;
  }
  const device *d = open_device(where, &settings, &err);
  if (!d) return fprintf(stderr, "macko-bench: %s\n", err.text), where && strcmp(where, "gpu") ? 2 : 77;
  if (!settings.repeats) settings.repeats = d->repeats;
  if (!settings.encodings) settings.encodings = d->encodings;
  for (; optind < argc && count < MATRICES; optind++) names[count++] = argv[optind];
  snprintf(defaults, sizeof defaults, "%s", d->matrices);
  for (char *name = count ? NULL : strtok_r(defaults, ",", &save); name; name = strtok_r(NULL, ",", &save)) names[count++] = name;
  int failed = run_all(d, names, count, &settings, tsv, json);
  if (d == &cpu) bench_cpu_close();
  return failed;
}
