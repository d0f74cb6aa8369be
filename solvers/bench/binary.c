/* macko-bench: matrices as PETSc writes them in binary: numbers with the highest byte first; class, rows, columns and nonzeros,
 * then row lengths, columns and values. Indices have 4 bytes or, of a PETSc with such, 8. */
#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>

/* MAT_FILE_CLASSID of PETSc's headers: macko-bench may be built without PETSc, and then reads these files all the same. */
enum { CLASS = 1211216 };

/* An open file, and what its head says. */
typedef struct {
  FILE *f;
  int width;             /* bytes of an index */
  int64_t rows, cols, nnz;
} binary;

/* Returns a number of `count` bytes, the highest first. */
static uint64_t big_endian(const unsigned char *byte, int count)
{
  uint64_t value = 0;
  for (int i = 0; i < count; i++) value = value << 8 | byte[i];
  return value;
}

/* Reads one number of `width` bytes; returns 0 where the file ends before. */
static int next(FILE *f, int width, uint64_t *value)
{
  unsigned char bytes[8];
  if (fread(bytes, 1, (size_t)width, f) != (size_t)width) return 0;
  *value = big_endian(bytes, width);
  return 1;
}

/* Reads `count` indices below 2^31; returns 0 where the file ends before, or one is not. */
static int read_indices(binary *b, int32_t *to, int64_t count)
{
  uint64_t value;
  for (int64_t i = 0; i < count; i++) {
    if (!next(b->f, b->width, &value) || value > INT32_MAX) return 0;
    to[i] = (int32_t)value;
  }
  return 1;
}

/* Reads the bits of as many doubles as there are nonzeros; returns 0 where the file ends before. */
static int read_values(binary *b, double *to)
{
  uint64_t bits;
  for (int64_t p = 0; p < b->nnz; p++) {
    if (!next(b->f, 8, &bits)) return 0;
    memcpy(&to[p], &bits, sizeof bits);
  }
  return 1;
}

/* Opens a file and reads its sizes. The class shows the width of indices, as it is such a number itself. Returns 0, with nothing
 * left open, for any other file. */
static int open_head(const char *path, binary *b)
{
  unsigned char start[8] = {0};
  uint64_t head[3];
  *b = (binary){.f = fopen(path, "rb")};
  if (!b->f) return 0;
  /* A file with wide indices begins with four zero bytes, so that it is not taken for one with narrow ones. */
  size_t there = fread(start, 1, sizeof start, b->f);
  b->width = there >= 4 && big_endian(start, 4) == CLASS ? 4 : there == 8 && big_endian(start, 8) == CLASS ? 8 : 0;
  if (b->width && !fseek(b->f, b->width, SEEK_SET) && next(b->f, b->width, &head[0]) && next(b->f, b->width, &head[1]) &&
      next(b->f, b->width, &head[2])) {
    b->rows = (int64_t)head[0], b->cols = (int64_t)head[1], b->nnz = (int64_t)head[2];
    return 1;
  }
  fclose(b->f);
  return 0;
}

/* A file that begins so and ends within its head is none. */
int bench_is_petsc_binary(const char *path)
{
  binary b;
  if (!open_head(path, &b)) return 0;
  fclose(b.f);
  return 1;
}

/* A dense matrix, which the format marks by -1 nonzeros, is refused with those that are too large. Row lengths become row
 * pointers. */
macko_status bench_read_petsc_binary(const char *path, macko_csr *a, macko_error *err)
{
  binary b;
  if (!open_head(path, &b)) return bench_fail(err, MACKO_IO, "%.300s: cannot be read", path);
  if (b.rows < 0 || b.rows >= INT32_MAX || b.cols < 0 || b.cols > INT32_MAX || b.nnz < 0 || b.nnz > INT32_MAX) {
    fclose(b.f);
    return bench_fail(err, MACKO_UNSUPPORTED, "%.300s: %lld x %lld with %lld nonzeros (a dense matrix, or one beyond 32-bit indices)",
                      path, (long long)b.rows, (long long)b.cols, (long long)b.nnz);
  }
  int32_t *row_ptr = calloc((size_t)b.rows + 1, sizeof *row_ptr), *cols = malloc((size_t)b.nnz * sizeof *cols + 1);
  double *values = malloc((size_t)b.nnz * sizeof *values + 1);
  int there = row_ptr && cols && values;
  int whole = there && read_indices(&b, row_ptr + 1, b.rows);
  int64_t sum = 0;
  for (int64_t i = 1; whole && i <= b.rows; i++) {
    sum += row_ptr[i];
    whole = sum <= b.nnz;
    row_ptr[i] = (int32_t)sum;
  }
  whole = whole && sum == b.nnz && read_indices(&b, cols, b.nnz) && read_values(&b, values);
  fclose(b.f);
  *a = (macko_csr){.nrows = b.rows, .ncols = b.cols, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                   .row_ptr = row_ptr, .cols = cols, .values = values};
  /* The csr is complete before this, so that one call frees it, whatever is missing. */
  if (whole) return MACKO_OK;
  macko_free_csr(a);
  return there ? bench_fail(err, MACKO_PARSE, "%.300s: cut short, or its rows do not add up to %lld nonzeros", path, (long long)b.nnz)
               : bench_fail(err, MACKO_OUT_OF_MEMORY, "%.300s: no memory for %lld nonzeros", path, (long long)b.nnz);
}
