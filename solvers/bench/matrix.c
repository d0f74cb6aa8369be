/* macko-bench: from names to matrices, and sets of names. */
#include "bench/bench.h"
#include "bench/generate.h"
#include "common/arrays.h"
#include "common/petsc_binary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether there is a file of that name, without opening it: what a pipe holds can be read once only. */
static int is_file(const char *name)
{
  return access(name, F_OK) == 0;
}

/* Whether a file begins as PETSc's binary ones do. Of a pipe nothing is read here, as it would be lost for its reader. */
static int is_petsc_binary(const char *name)
{
  struct stat facts;
  unsigned char start[8];
  FILE *f = !stat(name, &facts) && S_ISREG(facts.st_mode) ? fopen(name, "rb") : NULL;
  const size_t count = f ? fread(start, 1, sizeof start, f) : 0;
  if (f) fclose(f);
  return petsc_binary_starts(start, count);
}

/* Makes 32-bit indices of 64-bit ones that fit, in their own memory, and returns it, which is smaller then. */
static void *narrow(void *indices, int64_t count)
{
  const int64_t *from = indices;
  for (int64_t i = 0; i < count; i++) {
    const int32_t index = (int32_t)from[i];
    memcpy((char *)indices + i * (int64_t)sizeof index, &index, sizeof index);
  }
  void *smaller = realloc(indices, (size_t)count * sizeof(int32_t) + 1);
  return smaller ? smaller : indices;
}

/* Gives *a the 32-bit indices that peers take. */
static macko_status fit_peers(const char *name, macko_csr *a, macko_error *err)
{
  const int64_t nnz = row_at(a, a->nrows);
  if (a->nrows >= INT32_MAX || a->ncols > INT32_MAX || nnz > INT32_MAX)
    return bench_fail(err, MACKO_UNSUPPORTED, "%.300s: %lld x %lld with %lld nonzeros, and the peers take 32-bit indices only",
                      name, (long long)a->nrows, (long long)a->ncols, (long long)nnz);
  if (a->row_ptr_type == MACKO_I64) a->row_ptr = narrow((void *)a->row_ptr, a->nrows + 1);
  if (a->col_type == MACKO_I64) a->cols = narrow((void *)a->cols, nnz);
  a->row_ptr_type = a->col_type = MACKO_I32;
  return MACKO_OK;
}

/* Makes a matrix of a file or, where there is none of that name, generates it. */
static macko_status read_or_generate(const char *name, macko_csr *a, macko_error *err)
{
  macko_status s = is_petsc_binary(name) ? petsc_binary_read(name, a, err)
                   : is_file(name)       ? macko_read(name, NULL, a, NULL, err)
                                         : generate_matrix(name, a, err);
  if (s) return s;
  s = fit_peers(name, a, err);
  if (s) macko_free_csr(a);
  return s;
}

/* ---- sets ---- */

/* Every shape with every last number. Those of pruned-shapes are the layers of language models in the benchmark that the authors
 * of format macko published (arXiv 2511.13061), in their order. */
static const struct {
  const char *name, *kind, *shapes, *numbers;
} sets[] = {
    {"pruned-shapes", "pruned",
     "4096x4096 8192x8192 8192x29568 32000x5120 32000x8192 28672x8192 5120x5120 5120x13824 3584x20480 4096x11008 13824x5120 "
     "18944x3584 14336x4096 4096x14336 8192x28672 11008x4096 32000x4096 20480x3584 3584x18944 21504x7168 7168x7168 28672x7168 "
     "7168x28672 27648x9216 9216x9216 36864x9216 9216x36864 36864x12288 12288x12288 49152x12288 12288x49152", "50 70 90"},
    {"pruned-sweep", "pruned", "12288x12288", "10 20 30 40 50 60 70 80 90 95"},
    {"patterns", "pattern", "12288x12288", "2 3 4 6 8 16"}};

const char bench_matrix_help[] =
    "  tile:MATRIX:MB          copies of MATRIX (a file or generated) along the diagonal until they have MB megabytes as CSR\n"
    "  pruned-shapes           pruned weights of 31 shapes of language models, each with 50, 70 and 90 percent dropped\n"
    "  pruned-sweep            pruned:12288x12288 with 10 to 95 percent dropped\n"
    "  patterns                pattern:12288x12288 with N of 2, 3, 4, 6, 8 and 16\n";

/* Names are made here instead of listed, since they are all pairs of a shape and a number. */
void bench_expand(const char *name, void (*use)(void *context, const char *matrix), void *context)
{
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
    if (strcmp(name, sets[i].name)) continue;
    /* Shapes and numbers are separated by blanks. */
    for (const char *shape = sets[i].shapes; *shape; shape += strcspn(shape, " "), shape += strspn(shape, " "))
      for (const char *number = sets[i].numbers; *number; number += strcspn(number, " "), number += strspn(number, " ")) {
        char text[96];
        snprintf(text, sizeof text, "%s:%.*s:%.*s", sets[i].kind, (int)strcspn(shape, " "), shape, (int)strcspn(number, " "),
                 number);
        use(context, text);
      }
    return;
  }
  use(context, name);
}

/* ---- tile:NAME:MEGABYTES ---- */

/* Takes NAME and MEGABYTES of the spec apart; the size is behind the last colon, because NAME may hold others. name has `room`
 * bytes. */
static macko_status parse_tile(const char *spec, char *name, size_t room, double *megabytes, macko_error *err)
{
  const char *start = spec + strlen("tile:"), *colon = strrchr(start, ':');
  char *end = NULL;
  *megabytes = colon ? strtod(colon + 1, &end) : 0;
  if (!colon || colon == start || *end || end == colon + 1 || !(*megabytes > 0) || (size_t)(colon - start) >= room)
    return bench_fail(err, MACKO_INVALID_ARGUMENT, "%.200s: tile needs a matrix and a size in megabytes, as in tile:a.mtx:200",
                      spec);
  memcpy(name, start, (size_t)(colon - start));
  name[colon - start] = 0;
  return MACKO_OK;
}

/* Makes *tiled of copies of *a along the diagonal, in new arrays that macko_free_csr frees. */
static macko_status repeat(const macko_csr *a, int64_t copies, macko_csr *tiled, macko_error *err)
{
  const int32_t *row_ptr = a->row_ptr, *cols = a->cols;
  const int64_t nnz = row_ptr[a->nrows], size = macko_type_bytes(a->value_type);
  int32_t *to_ptr = malloc((size_t)(copies * a->nrows + 1) * sizeof *to_ptr), *to_cols = malloc((size_t)(copies * nnz) * 4 + 4);
  char *values = malloc((size_t)(copies * nnz * size) + 8);
  if (!to_ptr || !to_cols || !values) {
    free(to_ptr), free(to_cols), free(values);
    return bench_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld copies of a matrix of %lld nonzeros", (long long)copies,
                      (long long)nnz);
  }
  for (int64_t t = 0; t < copies; t++) {
    for (int64_t i = 0; i < a->nrows; i++) to_ptr[t * a->nrows + i] = (int32_t)(t * nnz + row_ptr[i]);
    for (int64_t p = 0; p < nnz; p++) to_cols[t * nnz + p] = (int32_t)(t * a->ncols + cols[p]);
    memcpy(values + t * nnz * size, a->values, (size_t)(nnz * size));
  }
  to_ptr[copies * a->nrows] = (int32_t)(copies * nnz);
  *tiled = *a;
  tiled->nrows *= copies, tiled->ncols *= copies;
  tiled->row_ptr = to_ptr, tiled->cols = to_cols, tiled->values = values;
  return MACKO_OK;
}

/* Makes the matrix of tile:NAME:MEGABYTES, of as many copies as reach that size, and at least one. */
static macko_status tile(const char *spec, macko_csr *tiled, macko_error *err)
{
  char name[1024];
  double megabytes;
  macko_csr a = {0};
  macko_status s = parse_tile(spec, name, sizeof name, &megabytes, err);
  if (!s) s = read_or_generate(name, &a, err);
  if (s) return s;
  const int64_t nnz = ((const int32_t *)a.row_ptr)[a.nrows];
  /* In floating point: what does not fit is refused before anything is multiplied in integers. */
  const double one = 4. * (double)a.nrows + (double)nnz * (double)(4 + macko_type_bytes(a.value_type));
  /* The last row pointer is needed once, whatever the number of copies. */
  const double copies = one > 0 ? ceil((megabytes * 1e6 - 4) / one) : 0; /* none of an empty matrix, which is refused */
  if (one <= 0) s = bench_fail(err, MACKO_INVALID_ARGUMENT, "%.200s: %.200s has no rows that could be copied", spec, name);
  else if (copies * (double)(nnz > a.ncols ? nnz : a.ncols) >= INT32_MAX || copies * (double)a.nrows >= INT32_MAX)
    s = bench_fail(err, MACKO_LIMIT, "%.200s: %.0f copies of %.200s do not fit into 32-bit indices", spec, copies, name);
  if (!s) s = repeat(&a, copies > 1 ? (int64_t)copies : 1, tiled, err);
  macko_free_csr(&a);
  return s;
}

/* ---- what the rest of the program calls ---- */

/* A file may have a name that begins with tile:, so it is looked for first. */
macko_status bench_matrix(const char *name, macko_csr *a, macko_error *err)
{
  return strncmp(name, "tile:", 5) || is_file(name) ? read_or_generate(name, a, err) : tile(name, a, err);
}

/* The slash is searched for from the end, so that of tile:FOLDER/NAME:MB the folder goes and tile: is put back. */
const char *bench_label(const char *name, char *label, size_t room)
{
  const char *slash = strrchr(name, '/');
  snprintf(label, room, "%s%s", slash && !strncmp(name, "tile:", 5) ? "tile:" : "", slash ? slash + 1 : name);
  return label;
}
