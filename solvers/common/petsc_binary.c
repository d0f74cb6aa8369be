/* PETSc's binary matrices: big-endian numbers; class id, rows, columns, nonzeros, row lengths, columns, values. */
#include "common/petsc_binary.h"

#include "common/arrays.h"
#include "common/matrix_file.h"

#include <errno.h>
#include <stdlib.h>

/* MAT_FILE_CLASSID, VEC_FILE_CLASSID and IS_FILE_CLASSID of PETSc's headers, which this file does without, and the last one of
 * them, with room for a few to come. */
enum { MATRIX = 1211216, VECTOR = 1211214, INDEX_SET = 1211218, LAST_CLASS = 1211239 };

enum { CHUNK = 4096 }; /* indices that are read at a time */

/* Returns a signed number of `count` bytes, the highest first. The sign is extended, because -1 marks a dense matrix. */
static int64_t big_endian(const unsigned char *byte, int count)
{
  uint64_t value = byte[0] & 0x80 ? UINT64_MAX : 0;
  for (int i = 0; i < count; i++) value = value << 8 | byte[i];
  return (int64_t)value;
}

/* Returns the bytes of an index, 4 or 8, or 0 for other files. The class id has the width of an index too, so it shows which it
 * is. */
static int width_of(const unsigned char *start, size_t count)
{
  for (int width = 4; width <= 8; width += 4)
    if (count >= (size_t)width && (big_endian(start, width) == MATRIX || big_endian(start, width) == VECTOR)) return width;
  return 0;
}

/* 8 bytes are enough for either width. */
int petsc_binary_starts(const unsigned char *start, size_t count)
{
  return width_of(start, count) > 0;
}

/* ---- reading ---- */

/* An open file. */
typedef struct {
  const char *path; /* for sentences */
  FILE *f;
  int width;        /* bytes of an index; 0 if the file is no such file */
  macko_error *err; /* the caller's */
} reader;

/* Reads `count` indices of the file's width into 64-bit ones. Those before the end of a file that is cut short are there, too. */
static macko_status get_indices(reader *r, int64_t *to, int64_t count)
{
  unsigned char bytes[8 * CHUNK];
  for (int64_t i = 0; i < count; i += CHUNK) {
    const size_t wanted = (size_t)(count - i < CHUNK ? count - i : CHUNK);
    const size_t there = fread(bytes, (size_t)r->width, wanted, r->f);
    for (size_t k = 0; k < there; k++) to[i + (int64_t)k] = big_endian(bytes + k * (size_t)r->width, r->width);
    if (there < wanted) return matrix_file_fail(r->err, MACKO_PARSE, r->path, "the PETSc binary file is cut short");
  }
  return MACKO_OK;
}

/* Reads `count` doubles, whose bits are stored with the highest byte first. */
static macko_status get_values(reader *r, double *to, int64_t count)
{
  unsigned char bytes[8];
  for (int64_t i = 0; i < count; i++) {
    if (fread(bytes, 1, sizeof bytes, r->f) != sizeof bytes)
      return matrix_file_fail(r->err, MACKO_PARSE, r->path, "the PETSc binary file is cut short");
    const int64_t bits = big_endian(bytes, 8);
    memcpy(&to[i], &bits, sizeof bits);
  }
  return MACKO_OK;
}

/* Reads class id, rows, columns and entries. They are compared with the file's size before memory is asked for, so that a damaged
 * file is refused instead of exhausting memory; the sums are divided, not multiplied, because products could overflow. */
static macko_status get_sizes(reader *r, int64_t sizes[4])
{
  /* A vector has only two numbers in its head, and may end before four: so its class is looked at before the failure is. */
  macko_status s = get_indices(r, sizes, 4);
  if (sizes[0] == VECTOR) return matrix_file_fail(r->err, MACKO_UNSUPPORTED, r->path, "a PETSc binary vector, no matrix");
  if (s) return s;
  if (sizes[3] == -1) return matrix_file_fail(r->err, MACKO_UNSUPPORTED, r->path, "a dense matrix of PETSc's, which is not read");
  /* What is left of the file has to hold row lengths, and a column and a value for each entry. */
  const long at = ftell(r->f);
  fseek(r->f, 0, SEEK_END);
  const int64_t left = ftell(r->f) - at;
  fseek(r->f, at, SEEK_SET);
  if (sizes[1] < 0 || sizes[2] < 0 || sizes[3] < 0)
    return matrix_file_fail(r->err, MACKO_PARSE, r->path, "a PETSc binary matrix of %lld x %lld with %lld nonzeros cannot be",
                            (long long)sizes[1], (long long)sizes[2], (long long)sizes[3]);
  if (left / r->width < sizes[1] || (left - sizes[1] * r->width) / (r->width + 8) < sizes[3])
    return matrix_file_fail(r->err, MACKO_PARSE, r->path, "cut short: %lld bytes, too few for %lld rows with %lld nonzeros",
                            (long long)(at + left), (long long)sizes[1], (long long)sizes[3]);
  return MACKO_OK;
}

/* Refuses a column outside of the matrix, which those who multiply with the arrays would take for a place in memory. */
static macko_status check_column(reader *r, int64_t col, int64_t ncols, int64_t row)
{
  if (col >= 0 && col < ncols) return MACKO_OK;
  return matrix_file_fail(r->err, MACKO_PARSE, r->path,
                          "the entry in row %lld, column %lld, counted from 1, is outside of %lld columns", (long long)row + 1,
                          (long long)col + (col < INT64_MAX), (long long)ncols);
}

/* Refuses columns of *csr that are outside of it. */
static macko_status check_columns(reader *r, const macko_csr *csr)
{
  macko_status s = MACKO_OK;
  for (int64_t i = 0; i < csr->nrows; i++)
    for (int64_t p = row_at(csr, i); p < row_at(csr, i + 1) && !s; p++) s = check_column(r, col_at(csr, p), csr->ncols, i);
  return s;
}

/* Refuses a row's length that is negative, or more than `left`, which the rows before have left of `all` entries: so the sum of
 * lengths cannot overflow. */
static macko_status check_length(reader *r, int64_t row, int64_t length, int64_t left, int64_t all)
{
  if (length >= 0 && length <= left) return MACKO_OK;
  return matrix_file_fail(r->err, MACKO_PARSE, r->path, "row %lld, counted from 1, has %lld entries, of %lld in all",
                          (long long)row + 1, (long long)length, (long long)all);
}

/* Refuses rows that have fewer entries together than the head says. */
static macko_status check_sum(reader *r, int64_t sum, int64_t all)
{
  if (sum == all) return MACKO_OK;
  return matrix_file_fail(r->err, MACKO_PARSE, r->path, "its rows have %lld entries, not %lld", (long long)sum, (long long)all);
}

/* ---- what stands behind an object: nothing, or further objects ---- */

/* Where the file stands, and how many bytes are left from there to its end. */
typedef struct {
  int64_t at, left;
} place;

/* Passes over `count` things of `size` bytes each. Returns 0 if there are fewer, or if there cannot be so many. */
static int pass(place *p, int64_t count, int64_t size)
{
  if (count < 0 || p->left / size < count) return 0;
  p->at += count * size, p->left -= count * size;
  return 1;
}

/* Returns the class id of the object that begins at *p, or 0 where none does. */
static int64_t class_at(reader *r, place p)
{
  int64_t id = 0;
  if (p.left < r->width || fseek(r->f, p.at, SEEK_SET) || get_indices(r, &id, 1)) return 0;
  return id >= VECTOR && id <= LAST_CLASS ? id : 0;
}

/* Passes over the object at *p. What is not known to end somewhere (a dense matrix, one of too many entries to be counted in 32
 * bits, other classes) is taken to end with the file. Returns 0 if no object begins there, or not all of it is there; then *p is
 * of no use. */
static int pass_object(reader *r, place *p)
{
  const int64_t id = class_at(r, *p), counts = id == MATRIX ? 4 : 2;
  int64_t head[4] = {0};
  if (!id || p->left < counts * r->width || fseek(r->f, p->at, SEEK_SET) || get_indices(r, head, counts)) return 0;
  if (id == VECTOR) return pass(p, 2, r->width) && pass(p, head[1], 8);
  if (id == INDEX_SET) return pass(p, 2, r->width) && pass(p, head[1], r->width);
  if (id == MATRIX && head[3] >= 0 && !(r->width == 4 && head[3] == INT32_MAX))
    return pass(p, 4, r->width) && pass(p, head[1], r->width) && pass(p, head[3], r->width + 8);
  p->left = 0;
  return 1;
}

/* Refuses a file that goes on otherwise than with whole objects at byte `end`, behind `count` values that were taken for real ones.
 * A complex file has the same heads: it is known by ending, or going on with an object, where complex values end. */
static macko_status check_rest(reader *r, int64_t end, int64_t count, int alone)
{
  fseek(r->f, 0, SEEK_END);
  place rest = {end, ftell(r->f) - end};
  if (alone && class_at(r, rest))
    return matrix_file_fail(r->err, MACKO_UNSUPPORTED, r->path, "another object begins at byte %lld, behind the vector, which is "
                            "to be the only one", (long long)end);
  if (!rest.left) return MACKO_OK;
  place complex_end = rest;
  if (!class_at(r, rest) && pass(&complex_end, count, 8) && (!complex_end.left || class_at(r, complex_end)))
    return matrix_file_fail(r->err, MACKO_UNSUPPORTED, r->path, "it looks complex: there are 16 bytes for each of %lld values, "
                            "where real ones take 8", (long long)count);
  for (place next = rest; rest.left > 0; rest = next)
    if (!pass_object(r, &next))
      return matrix_file_fail(r->err, MACKO_PARSE, r->path, "the %lld bytes from byte %lld on are no whole object of PETSc's",
                              (long long)rest.left, (long long)rest.at);
  return MACKO_OK;
}

/* Does this for a matrix of the file's beginning with so many entries. */
static macko_status check_behind_matrix(reader *r, int64_t nrows, int64_t nnz)
{
  return check_rest(r, (4 + nrows) * r->width + nnz * (r->width + 8), nnz, 0);
}

/* ---- a matrix ---- */

/* Reads the arrays into *csr, which the caller frees after an error too. Row lengths become row pointers in their place. */
static macko_status get_matrix(reader *r, macko_csr *csr)
{
  int64_t sizes[4] = {0}, sum = 0;
  macko_status s = get_sizes(r, sizes);
  if (s) return s;
  int64_t *row_ptr = calloc((size_t)sizes[1] + 1, 8), *cols = calloc((size_t)sizes[3] + 1, 8);
  double *values = calloc((size_t)sizes[3] + 1, 8);
  *csr = (macko_csr){.nrows = sizes[1], .ncols = sizes[2], .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                     .value_type = MACKO_F64, .row_ptr = row_ptr, .cols = cols, .values = values};
  if (!row_ptr || !cols || !values)
    return matrix_file_fail(r->err, MACKO_OUT_OF_MEMORY, r->path, "no memory for %lld nonzeros", (long long)sizes[3]);
  s = get_indices(r, row_ptr + 1, sizes[1]);
  for (int64_t i = 1; i <= sizes[1] && !s; i++) {
    s = check_length(r, i - 1, row_ptr[i], sizes[3] - sum, sizes[3]);
    sum = row_ptr[i] += sum;
  }
  if (!s) s = check_sum(r, sum, sizes[3]);
  if (!s) s = get_indices(r, cols, sizes[3]);
  if (!s) s = check_columns(r, csr);
  if (!s) s = get_values(r, values, sizes[3]);
  return s ? s : check_behind_matrix(r, sizes[1], sizes[3]);
}

/* Opens the file and finds its width; it is read from the beginning again afterwards. */
static macko_status open_reader(const char *path, reader *r, macko_error *err)
{
  unsigned char start[8];
  *r = (reader){path, fopen(path, "rb"), 0, err};
  if (!r->f) return matrix_file_fail(r->err, MACKO_IO, r->path, "cannot be opened: %s", strerror(errno));
  r->width = width_of(start, fread(start, 1, sizeof start, r->f));
  rewind(r->f);
  return MACKO_OK;
}

/* Whether only the rows' lengths tell how many entries there are: PETSc writes the largest count of 32 bits where there are more
 * than that. */
static int is_uncounted(const reader *r, const int64_t sizes[4])
{
  return r->width == 4 && sizes[3] == INT32_MAX;
}

/* The class id, which is the first of the four numbers, tells the caller nothing. */
macko_status petsc_binary_sizes(const char *path, int64_t *nrows, int64_t *ncols, int64_t *nnz, macko_error *err)
{
  int64_t sizes[4] = {0};
  reader r;
  macko_status s = open_reader(path, &r, err);
  if (s) return s;
  s = get_sizes(&r, sizes);
  if (!s && !is_uncounted(&r, sizes)) s = check_behind_matrix(&r, sizes[1], sizes[3]);
  fclose(r.f);
  *nrows = sizes[1], *ncols = sizes[2], *nnz = sizes[3];
  return s;
}

/* What was read until an error is freed here, so that the caller has nothing to free. */
macko_status petsc_binary_read(const char *path, macko_csr *csr, macko_error *err)
{
  reader r;
  macko_status s = open_reader(path, &r, err);
  if (s) return s;
  *csr = (macko_csr){0};
  s = get_matrix(&r, csr);
  fclose(r.f);
  if (s) macko_free_csr(csr);
  return s;
}

/* ---- checking without reading it all into memory ---- */

/* Indices of a file that are taken one after another. */
typedef struct {
  reader *from;
  int64_t left; /* those that are not read yet */
  int64_t at, there; /* the next one of those in chunk, and how many these are */
  int64_t chunk[CHUNK];
} indices;

/* Gives the next index; there has to be one. */
static macko_status next_index(indices *x, int64_t *index)
{
  if (x->at == x->there) {
    x->at = 0, x->there = x->left < CHUNK ? x->left : CHUNK, x->left -= x->there;
    macko_status s = get_indices(x->from, x->chunk, x->there);
    if (s) return s;
  }
  *index = x->chunk[x->at++];
  return MACKO_OK;
}

/* Checks the length of each row and gives their sum; the file is read from the first length to the last one. */
static macko_status check_lengths(reader *r, const int64_t sizes[4], int64_t *sum)
{
  const int unknown = is_uncounted(r, sizes);
  indices lengths = {.from = r, .left = sizes[1]};
  int64_t length = 0;
  macko_status s = MACKO_OK;
  *sum = 0;
  for (int64_t i = 0; i < sizes[1] && !s; i++, *sum += length) {
    s = next_index(&lengths, &length);
    if (!s) s = check_length(r, i, length, unknown ? sizes[3] : sizes[3] - *sum, sizes[3]);
  }
  return s || unknown ? s : check_sum(r, *sum, sizes[3]);
}

/* Checks the column of each of `count` entries. Lengths and columns lie in two places of the file, so that `r`, which stands at the
 * lengths, and `beside`, which stands at the columns, go through them side by side. Lengths have been checked. */
static macko_status check_stored_columns(reader *r, reader *beside, const int64_t sizes[4], int64_t count)
{
  indices lengths = {.from = r, .left = sizes[1]}, cols = {.from = beside, .left = count};
  int64_t length = 0, col = 0;
  macko_status s = MACKO_OK;
  for (int64_t i = 0; i < sizes[1] && !s; i++) {
    s = next_index(&lengths, &length);
    for (int64_t left = s ? 0 : length; left > 0 && !s; left--) {
      s = next_index(&cols, &col);
      if (!s) s = check_column(r, col, sizes[2], i);
    }
  }
  return s;
}

/* Does petsc_binary_check with two open files of the same matrix. */
static macko_status check_opened(reader *r, reader *beside)
{
  int64_t sizes[4] = {0}, sum;
  macko_status s = get_sizes(r, sizes);
  const long at = ftell(r->f);
  if (!s) s = check_lengths(r, sizes, &sum);
  if (!s) s = check_behind_matrix(r, sizes[1], sum);
  if (s) return s;
  if (fseek(r->f, at, SEEK_SET) || fseek(beside->f, at + (long)(sizes[1] * r->width), SEEK_SET))
    return matrix_file_fail(r->err, MACKO_IO, r->path, "cannot be read: %s", strerror(errno));
  return check_stored_columns(r, beside, sizes, sum);
}

macko_status petsc_binary_check(const char *path, macko_error *err)
{
  reader r, beside;
  macko_status s = open_reader(path, &r, err);
  if (s) return s;
  s = open_reader(path, &beside, err);
  if (!s) s = check_opened(&r, &beside), fclose(beside.f);
  fclose(r.f);
  return s;
}

macko_status petsc_binary_check_vector(const char *path, macko_error *err)
{
  int64_t head[2] = {0};
  reader r;
  macko_status s = open_reader(path, &r, err);
  if (s) return s;
  s = get_indices(&r, head, 2);
  fseek(r.f, 0, SEEK_END);
  place end = {2 * r.width, ftell(r.f) - 2 * r.width};
  if (!s && !pass(&end, head[1], 8))
    s = matrix_file_fail(err, MACKO_PARSE, path, "cut short: %lld bytes, too few for %lld entries", (long long)(end.at + end.left),
                         (long long)head[1]);
  if (!s) s = check_rest(&r, end.at, head[1], 1);
  fclose(r.f);
  return s;
}

/* ---- writing ---- */

/* Writes a number with the highest byte first. Returns 1 if it was written. */
static int put(FILE *f, int64_t number, int width)
{
  unsigned char bytes[8];
  for (int i = 0; i < width; i++) bytes[i] = (unsigned char)((uint64_t)number >> 8 * (width - 1 - i));
  return fwrite(bytes, 1, (size_t)width, f) == (size_t)width;
}

/* The order is the format's: head, row lengths, all columns, all values. */
int petsc_binary_write(FILE *f, const macko_csr *a)
{
  const int64_t nnz = row_at(a, a->nrows);
  /* A PETSc with indices of 32 bits can read the file if all sizes fit them. */
  const int width = a->nrows > INT32_MAX || a->ncols > INT32_MAX || nnz > INT32_MAX ? 8 : 4;
  int written = put(f, MATRIX, width) && put(f, a->nrows, width) && put(f, a->ncols, width) && put(f, nnz, width);
  for (int64_t i = 0; i < a->nrows && written; i++) written = put(f, row_at(a, i + 1) - row_at(a, i), width);
  for (int64_t p = 0; p < nnz && written; p++) written = put(f, col_at(a, p), width);
  for (int64_t p = 0; p < nnz && written; p++) {
    const double value = value_at(a->value_type, a->values, p);
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    written = put(f, bits, 8);
  }
  return written;
}
