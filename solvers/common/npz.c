/* scipy.sparse's .npz files, through libarchive. */
#if HAVE_CONFIG_H
#include <config.h>
#endif

#include "common/npz.h"

#include "common/arrays.h"
#include "common/matrix_file.h"

#if HAVE_LIBARCHIVE

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>

/* ---- arrays of NumPy ---- */

/* A member of the archive: text of its header, then elements. */
typedef struct {
  char *bytes, *data;               /* the whole member, which is freed; where its elements begin in it */
  int64_t size, room, count, shape; /* bytes there, and allocated; elements that are there; elements that the header declares */
  char type[16];                    /* as NumPy writes it: "<f8", "|S3" */
} npy;

/* These are the members that scipy.sparse.save_npz writes, by their places in `members`. */
enum { FORMAT, SHAPE, INDPTR, INDICES, DATA, MEMBERS };
static const char *const members[] = {"format.npy", "shape.npy", "indptr.npy", "indices.npy", "data.npy"};

/* The size that ends the name of a type, such as 8 of "<f8". Of type U it counts letters, of 4 bytes each. */
static int64_t element_bytes(const npy *a)
{
  return a->type[0] ? atoi(a->type + 2) : 0;
}

/* Parses a header such as {'descr': '<i4', 'fortran_order': False, 'shape': (3,), }, of version 1 or of a later one, whose length
 * takes 4 bytes instead of 2. Only these two keys matter: all arrays have one dimension or none. Returns 0 for what is no such
 * array, or if the member has fewer elements than its shape says, so that nothing behind its end is read later. */
static int parse_header(npy *a)
{
  const unsigned char *b = (const unsigned char *)a->bytes;
  if (a->size < 12 || memcmp(b, "\x93NUMPY", 6)) return 0;
  /* Byte 6 is the version. The length follows it, with the lowest byte first, in 2 or 4 bytes; then the text. */
  const int64_t begin = b[6] == 1 ? 10 : 12, longer = begin == 12 ? b[10] << 16 | (int64_t)b[11] << 24 : 0;
  const int64_t length = (b[8] | b[9] << 8) + longer;
  if (length < 1 || length > a->size - begin) return 0;
  char *text = a->bytes + begin;
  text[length - 1] = 0; /* a newline */
  const char *type = strstr(text, "'descr': '"), *shape = strstr(text, "'shape': (");
  if (!type || !shape || sscanf(type, "'descr': '%15[^']'", a->type) != 1) return 0;
  a->shape = 1;
  /* The number of elements is the product of the numbers in the brackets, 1 without any. It is compared with the member's size at
   * each step, before it can overflow: an element takes a byte at least. */
  for (const char *p = shape + strlen("'shape': ("); *p && *p != ')'; p++) {
    char *end;
    const long long n = strtoll(p, &end, 10);
    if (end == p) continue;
    if (n < 0 || n > a->size) return 0;
    a->shape *= n;
    if (a->shape > a->size) return 0;
    p = end - (*end != ',');
    if (*end == ')') break;
  }
  a->data = text + length;
  a->count = element_bytes(a) > 0 ? (a->size - begin - length) / element_bytes(a) : -1;
  return a->count >= a->shape;
}

/* Returns what libarchive says of a failure. */
static const char *reason_of(struct archive *archive)
{
  const char *text = archive_error_string(archive);
  return text ? text : "no reason given";
}

/* The characters of that to print: some of its sentences end with a newline, and a sentence of ours has room for 150 of them. */
static int length_of_reason(struct archive *archive)
{
  const size_t length = strcspn(reason_of(archive), "\n");
  return length < 150 ? (int)length : 150;
}

/* Reads a whole member into a->bytes, however long the archive says it is: the room doubles as bytes arrive, so that a false size
 * in a damaged archive asks for no memory. One byte more is allocated than a->room says. */
static macko_status get_member(struct archive *archive, npy *a)
{
  for (;;) {
    if (a->size == a->room) {
      a->room = a->room ? 2 * a->room : 65536;
      char *bytes = realloc(a->bytes, (size_t)a->room + 1);
      if (!bytes) return MACKO_OUT_OF_MEMORY;
      a->bytes = bytes;
    }
    const la_ssize_t got = archive_read_data(archive, a->bytes + a->size, (size_t)(a->room - a->size));
    if (got < 0) return MACKO_PARSE;
    if (got == 0) return MACKO_OK;
    a->size += got;
  }
}

/* Reads the members that a matrix is made of, in whatever order the archive has them, and passes over all others. What is missing
 * is left to the caller, which knows it by bytes being NULL. The arrays' bytes are the caller's to free, after an error too. */
static macko_status get_members(const char *path, npy arrays[MEMBERS], macko_error *err)
{
  struct archive *archive = archive_read_new();
  struct archive_entry *entry;
  macko_status s = MACKO_OK;
  int code;
  if (!archive) return matrix_file_fail(err, MACKO_OUT_OF_MEMORY, path, "no memory to unpack a zip archive");
  archive_read_support_format_zip_seekable(archive);
  code = archive_read_open_filename(archive, path, 65536);
  /* A member that comes twice is read once: the first one is kept. */
  while (code == ARCHIVE_OK && !s && (code = archive_read_next_header(archive, &entry)) == ARCHIVE_OK)
    for (int i = 0; i < MEMBERS && !s; i++)
      if (!strcmp(archive_entry_pathname(entry) ? archive_entry_pathname(entry) : "", members[i]) && !arrays[i].bytes)
        s = get_member(archive, &arrays[i]);
  if (s == MACKO_OUT_OF_MEMORY) matrix_file_fail(err, s, path, "no memory for its arrays");
  else if (s || code != ARCHIVE_EOF)
    s = matrix_file_fail(err, MACKO_PARSE, path, "damaged zip archive: %.*s", length_of_reason(archive), reason_of(archive));
  archive_read_free(archive);
  return s;
}

/* ---- reading ---- */

/* Copies an array of integers of 32 or 64 bits, which must have `want` elements, into new memory; name is for sentences. 8 bytes
 * more are allocated, because an array may be empty. */
static macko_status copy_indices(const char *path, const npy *a, int64_t want, const char *name, void **to, macko_type *type,
                                 macko_error *err)
{
  const int wide = !strcmp(a->type, "<i8");
  if (!wide && strcmp(a->type, "<i4"))
    return matrix_file_fail(err, MACKO_UNSUPPORTED, path, "%s is of type %s, not <i4 or <i8", name, a->type);
  if (a->shape != want)
    return matrix_file_fail(err, MACKO_PARSE, path, "%s has %lld elements, not %lld", name, (long long)a->shape, (long long)want);
  /* parse_header has found that as many elements are there. */
  const size_t bytes = (size_t)want * (wide ? 8 : 4);
  if (!(*to = malloc(bytes + 8))) return matrix_file_fail(err, MACKO_OUT_OF_MEMORY, path, "no memory for its indices");
  memcpy(*to, a->data, bytes);
  *type = wide ? MACKO_I64 : MACKO_I32;
  return MACKO_OK;
}

/* Returns integer i of an array, of 1 to 8 bytes, little-endian; sets *fits to 0 where no double is exactly this. */
static double integer_at(const npy *a, int64_t i, int *fits)
{
  const int is_signed = a->type[1] == 'i';
  const int64_t size = element_bytes(a);
  uint64_t bits = 0;
  memcpy(&bits, a->data + i * size, (size_t)size);
  /* A negative number of fewer than 8 bytes has its sign in its own highest bit, which is copied upwards. */
  if (is_signed && size < 8 && bits >> (8 * size - 1)) bits |= ~(uint64_t)0 << 8 * size;
  *fits = integer_is_exact(is_signed && bits >> 63 ? -bits : bits);
  return is_signed ? (double)(int64_t)bits : (double)bits;
}

/* Copies floats as they are, and makes doubles of integers and booleans. csr->values is new memory even after an error; 8 bytes
 * an element are allocated, which is enough for every type. */
static macko_status copy_values(const char *path, const npy *a, macko_csr *csr, macko_error *err)
{
  static const char *const floats[] = {"<f8", "<f4", "<f2"};
  const int64_t size = element_bytes(a);
  int fits = 1;
  double *values = malloc((size_t)a->shape * 8 + 8);
  csr->values = values;
  if (!values) return matrix_file_fail(err, MACKO_OUT_OF_MEMORY, path, "no memory for its values");
  for (int t = 0; t < 3; t++)
    if (!strcmp(a->type, floats[t])) {
      csr->value_type = t == 0 ? MACKO_F64 : t == 1 ? MACKO_F32 : MACKO_F16;
      memcpy(values, a->data, (size_t)(a->shape * size));
      return MACKO_OK;
    }
  if (!strchr("<|", a->type[0]) || !strchr("iub", a->type[1]) || size > 8)
    return matrix_file_fail(err, MACKO_UNSUPPORTED, path, "values of NumPy's type %s are not read; real ones are, little-endian",
                            a->type);
  csr->value_type = MACKO_F64;
  for (int64_t i = 0; i < a->shape; i++) {
    values[i] = integer_at(a, i, &fits);
    if (!fits)
      return matrix_file_fail(err, MACKO_UNSUPPORTED, path, "element %lld of data is an integer that is no exact double",
                              (long long)i);
  }
  return MACKO_OK;
}

/* Refuses a format other than csr: it has other members, so that this is looked at before one is missed. The format's name may be
 * bytes (S) or letters of 4 bytes (U), depending on the Python that wrote it. */
static macko_status check_format(const char *path, const npy *a, macko_error *err)
{
  char name[8] = "";
  /* A letter has `step` bytes; of 4, as the file is little-endian, the first one holds it. */
  const int step = a->type[1] == 'U' ? 4 : 1;
  const int64_t letters = (a->size - (a->data - a->bytes)) / step;
  for (int i = 0; i < letters && i < 7; i++) name[i] = a->data[i * step] < ' ' || a->data[i * step] > '~' ? 0 : a->data[i * step];
  if (!strcmp(name, "csr")) return MACKO_OK;
  return matrix_file_fail(err, MACKO_UNSUPPORTED, path, "a matrix of SciPy's format '%s', not csr; save A.tocsr()", name);
}

/* Makes *csr of the members. Here only lengths are checked, which is what matrix_file_settle relies on; it checks rows and
 * columns itself. */
static macko_status assemble(const char *path, const npy a[MEMBERS], macko_csr *csr, macko_error *err)
{
  void *sizes = NULL, *row_ptr = NULL, *cols = NULL;
  macko_type type;
  macko_status s = copy_indices(path, &a[SHAPE], 2, "shape", &sizes, &type, err);
  if (s) return s;
  csr->nrows = index_at(type, sizes, 0), csr->ncols = index_at(type, sizes, 1);
  free(sizes);
  if (csr->nrows < 0 || csr->ncols < 0 || csr->nrows >= INT64_MAX / 16)
    return matrix_file_fail(err, MACKO_PARSE, path, "%lld x %lld is no size", (long long)csr->nrows, (long long)csr->ncols);
  s = copy_indices(path, &a[INDPTR], csr->nrows + 1, "indptr", &row_ptr, &csr->row_ptr_type, err);
  csr->row_ptr = row_ptr;
  if (!s && (row_at(csr, 0) != 0 || row_at(csr, csr->nrows) != a[DATA].shape))
    s = matrix_file_fail(err, MACKO_PARSE, path, "indptr goes from %lld to %lld, with %lld values", (long long)row_at(csr, 0),
                         (long long)row_at(csr, csr->nrows), (long long)a[DATA].shape);
  if (!s) s = copy_indices(path, &a[INDICES], a[DATA].shape, "indices", &cols, &csr->col_type, err);
  csr->cols = cols;
  return s ? s : copy_values(path, &a[DATA], csr, err);
}

/* All members must be there before any is looked at, so that one sentence names the first that is missing. */
macko_status npz_read(const char *path, macko_csr *csr, macko_error *err)
{
  npy arrays[MEMBERS] = {{0}};
  macko_error why;
  macko_status s = get_members(path, arrays, err);
  memset(csr, 0, sizeof *csr);
  const int has_format = !s && arrays[FORMAT].bytes && parse_header(&arrays[FORMAT]);
  if (has_format) s = check_format(path, &arrays[FORMAT], err);
  for (int i = 0; i < MEMBERS && !s; i++)
    if (!arrays[i].bytes || !parse_header(&arrays[i]))
      s = matrix_file_fail(err, MACKO_PARSE, path, "the zip archive has no array %s as scipy.sparse.save_npz writes it",
                           members[i]);
  if (!s) s = assemble(path, arrays, csr, err);
  for (int i = 0; i < MEMBERS; i++) free(arrays[i].bytes);
  /* The library's sentence does not name the file. */
  if (!s && (s = matrix_file_settle(csr, &why))) matrix_file_fail(err, s, path, "%.240s", why.text);
  if (s) macko_free_csr(csr);
  return s;
}

/* ---- writing ---- */

/* Writes an array as a member: a header of version 1, padded to 128 bytes so that the elements are aligned, then the elements.
 * `shape` is what stands in the brackets, empty for a scalar. Returns 1 if all was written. */
static int put_member(struct archive *archive, const char *name, const char *type, const char *shape, const void *data,
                      int64_t bytes)
{
  enum { HEADER = 128 };
  char text[HEADER + 1];
  struct archive_entry *entry = archive_entry_new();
  if (!entry) return 0;
  /* The header is text padded with blanks to a multiple of 64 bytes, where NumPy wants the elements to begin. */
  const int used = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type, shape);
  char header[HEADER] = "\x93NUMPY\1";
  header[8] = HEADER - 10;
  memset(header + 10, ' ', HEADER - 10);
  memcpy(header + 10, text, (size_t)used);
  header[HEADER - 1] = '\n';
  archive_entry_set_pathname(entry, name);
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_entry_set_perm(entry, 0644);
  archive_entry_set_mtime(entry, 315532800, 0); /* 1980: the same matrix is the same file */
  archive_entry_set_size(entry, HEADER + bytes);
  int written = archive_write_header(archive, entry) == ARCHIVE_OK && archive_write_data(archive, header, HEADER) == HEADER &&
                (!bytes || archive_write_data(archive, data, (size_t)bytes) == bytes);
  archive_entry_free(entry);
  return written;
}

/* Writes indices of either width as they are in memory. */
static int put_indices(struct archive *archive, const char *name, macko_type type, const void *data, int64_t count)
{
  char shape[32];
  snprintf(shape, sizeof shape, "%lld,", (long long)count);
  return put_member(archive, name, type == MACKO_I64 ? "<i8" : "<i4", shape, data, count * macko_type_bytes(type));
}

/* Writes the values. bf16 goes out as f32, in which it is exact. */
static int put_values(struct archive *archive, const macko_csr *a, int64_t nnz)
{
  char shape[32];
  const char *type = a->value_type == MACKO_F64 ? "<f8" : a->value_type == MACKO_F16 ? "<f2" : "<f4";
  snprintf(shape, sizeof shape, "%lld,", (long long)nnz);
  if (a->value_type != MACKO_BF16)
    return put_member(archive, members[DATA], type, shape, a->values, nnz * macko_type_bytes(a->value_type));
  float *singles = malloc((size_t)nnz * sizeof *singles + 4);
  for (int64_t p = 0; p < nnz && singles; p++) singles[p] = (float)value_at(MACKO_BF16, a->values, p);
  int written = singles && put_member(archive, members[DATA], type, shape, singles, nnz * 4);
  free(singles);
  return written;
}

/* The reason is copied before the archive is freed, which owns its text. */
int npz_write(FILE *f, const macko_csr *a, const char **why)
{
  static char reason[160];
  struct archive *archive = archive_write_new();
  const int64_t shape[] = {a->nrows, a->ncols}, nnz = row_at(a, a->nrows);
  *why = "no memory to pack a zip archive";
  if (!archive) return 0;
  archive_write_set_format_zip(archive);
  int written = archive_write_open_FILE(archive, f) == ARCHIVE_OK &&
                put_indices(archive, members[INDICES], a->col_type, a->cols, nnz) &&
                put_indices(archive, members[INDPTR], a->row_ptr_type, a->row_ptr, a->nrows + 1) &&
                put_member(archive, members[FORMAT], "|S3", "", "csr", 3) &&
                put_indices(archive, members[SHAPE], MACKO_I64, shape, 2) && put_values(archive, a, nnz);
  if (written) written = archive_write_close(archive) == ARCHIVE_OK;
  snprintf(reason, sizeof reason, "%.*s", length_of_reason(archive), reason_of(archive));
  *why = reason;
  archive_write_free(archive);
  return written;
}

#else

/* Without libarchive a zip archive is refused, by a sentence that says why. */
macko_status npz_read(const char *path, macko_csr *csr, macko_error *err)
{
  (void)csr;
  return matrix_file_fail(err, MACKO_UNSUPPORTED, path, "is a zip archive, and this build of macko lacks libarchive");
}

int npz_write(FILE *f, const macko_csr *a, const char **why)
{
  (void)f, (void)a;
  *why = "this build of macko lacks libarchive, so it cannot pack .npz";
  return 0;
}

#endif
