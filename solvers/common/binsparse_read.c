/* Binsparse files read, through HDF5. */
#if HAVE_CONFIG_H
#include <config.h>
#endif

#include "common/binsparse.h"

#include "common/arrays.h"
#include "common/matrix_file.h"

#include <string.h>

int binsparse_starts(const unsigned char *bytes, size_t count)
{
  return count == 8 && !memcmp(bytes, "\x89HDF\r\n\x1a\n", 8);
}

#if HAVE_HDF5

#include <hdf5.h>
#include <stdlib.h>

/* An open file. */
typedef struct {
  const char *path;    /* for sentences, and to open the file */
  hid_t file;
  binsparse_head head; /* filled by read_head */
  macko_error *err;    /* the caller's, for every function here */
} bsp_file;

/* ---- the file and its descriptor ---- */

/* H5Ewalk2 calls this for every frame of HDF5's stack of errors. Each overwrites the one before, so that the last one walked to
 * remains. `reason` has room for 100 characters. */
static herr_t take_reason(unsigned n, const H5E_error2_t *e, void *reason)
{
  (void)n;
  if (e->desc) snprintf(reason, 100, "%s", e->desc);
  return 0;
}

/* Fails with `what` and the reason that HDF5 gives. Frames without a description leave what an earlier walk found. */
static macko_status hdf5_failure(const bsp_file *f, macko_status status, const char *what)
{
  char reason[100] = "no reason given";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_reason, reason);
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, take_reason, reason);
  return matrix_file_fail(f->err, status, f->path, "%s: %s", what, reason);
}

/* Returns the text of an attribute, which HDF5 may store with a length of its own or with a fixed one, or NULL where it is no
 * single text. The caller frees it. */
static char *attribute_text(hid_t attribute, hid_t type)
{
  char *text = NULL, *own = NULL;
  hid_t space = H5Aget_space(attribute);
  const int single = H5Sget_simple_extent_npoints(space) == 1;
  H5Sclose(space);
  if (H5Tget_class(type) != H5T_STRING || !single) return NULL;
  if (H5Tis_variable_str(type) > 0) {
    if (H5Aread(attribute, type, &own) < 0 || !own) return NULL;
    text = strdup(own);
    H5free_memory(own);
    return text;
  }
  text = calloc(H5Tget_size(type) + 1, 1);
  if (text && H5Aread(attribute, type, text) >= 0) return text;
  free(text);
  return NULL;
}

/* Returns all bytes of a file, which the caller frees, or NULL where they cannot be had. */
static char *bytes_of(const char *path, size_t *size)
{
  FILE *f = fopen(path, "rb");
  const long long end = f && !fseeko(f, 0, SEEK_END) ? (long long)ftello(f) : -1;
  char *bytes = end > 0 ? malloc((size_t)end) : NULL;
  if (bytes && (fseeko(f, 0, SEEK_SET) || fread(bytes, 1, (size_t)end, f) != (size_t)end)) free(bytes), bytes = NULL;
  if (f) fclose(f);
  *size = (size_t)end;
  return bytes;
}

/* Opens the copy of a pipe. HDF5 opens files by their names only, and such a copy has none that lasts: its bytes are opened in
 * memory. */
static hid_t open_copy(const char *path)
{
  size_t size;
  char *bytes = bytes_of(path, &size);
  hid_t access = H5Pcreate(H5P_FILE_ACCESS), file = -1;
  H5Pset_fapl_core(access, 1 << 20, 0);
  if (bytes && H5Pset_file_image(access, bytes, size) >= 0) file = H5Fopen("copy of a pipe", H5F_ACC_RDONLY, access);
  H5Pclose(access);
  free(bytes);
  return file;
}

/* Opens f->path. HDF5 would print its whole stack of errors on stderr for a file that is none of its own; that is switched off
 * first. */
static macko_status open_file(bsp_file *f)
{
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  f->file = strncmp(f->path, "/dev/fd/", 8) ? H5Fopen(f->path, H5F_ACC_RDONLY, H5P_DEFAULT) : open_copy(f->path);
  return f->file < 0 ? hdf5_failure(f, MACKO_PARSE, "HDF5 cannot open it") : MACKO_OK;
}

/* Finds the descriptor, which is an attribute of the root group, and parses it into f->head. */
static macko_status read_head(bsp_file *f)
{
  if (H5Aexists(f->file, "binsparse") <= 0)
    return matrix_file_fail(f->err, MACKO_UNSUPPORTED, f->path, "an HDF5 file without the attribute \"binsparse\", no matrix that is known");
  hid_t attribute = H5Aopen(f->file, "binsparse", H5P_DEFAULT), type = H5Aget_type(attribute);
  char *text = attribute_text(attribute, type);
  macko_status s = text ? binsparse_parse(f->path, text, strlen(text), &f->head, f->err)
                        : hdf5_failure(f, MACKO_PARSE, "the attribute \"binsparse\" is no text that can be read");
  free(text);
  H5Tclose(type), H5Aclose(attribute);
  return s;
}

/* ---- arrays ---- */

/* Opens the array of that name, which must have one dimension, and sets *count to its number of elements. The caller closes it. */
static macko_status open_array(const bsp_file *f, const char *name, hid_t *array, int64_t *count)
{
  char what[100];
  snprintf(what, sizeof what, "the array \"%s\" cannot be read", name);
  *array = H5Dopen2(f->file, name, H5P_DEFAULT);
  if (*array < 0) return hdf5_failure(f, MACKO_PARSE, what);
  hid_t space = H5Dget_space(*array);
  *count = H5Sget_simple_extent_ndims(space) == 1 ? (int64_t)H5Sget_simple_extent_npoints(space) : -1;
  H5Sclose(space);
  if (*count >= 0) return MACKO_OK;
  H5Dclose(*array);
  return matrix_file_fail(f->err, MACKO_PARSE, f->path, "the array \"%s\" has not one dimension", name);
}

/* Reads all elements, converted by HDF5 to `type` as it is in memory, into new memory that the caller frees. */
static macko_status read_array(const bsp_file *f, const char *name, hid_t array, hid_t type, int64_t count, void **data)
{
  char what[100];
  const int64_t size = (int64_t)H5Tget_size(type);
  snprintf(what, sizeof what, "the array \"%s\" cannot be read", name);
  *data = count < INT64_MAX / 64 ? malloc((size_t)(count * size) + 8) : NULL;
  if (!*data) return matrix_file_fail(f->err, MACKO_OUT_OF_MEMORY, f->path, "no memory for %lld elements of \"%s\"", (long long)count, name);
  if (H5Dread(array, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *data) < 0) {
    free(*data), *data = NULL;
    return hdf5_failure(f, MACKO_PARSE, what);
  }
  return MACKO_OK;
}

/* Reads `count` indices and checks that all are at least 0 and below `past`. HDF5 makes the largest number of what is beyond 64
 * bits, so that the check refuses this too. */
static macko_status read_indices(const bsp_file *f, const char *name, int64_t count, int64_t past, int64_t **indices)
{
  hid_t array;
  int64_t there;
  macko_status s = open_array(f, name, &array, &there);
  if (s) return s;
  hid_t type = H5Dget_type(array);
  const int integers = H5Tget_class(type) == H5T_INTEGER;
  H5Tclose(type);
  if (there != count)
    s = matrix_file_fail(f->err, MACKO_PARSE, f->path, "the array \"%s\" has %lld elements, not %lld", name, (long long)there,
                         (long long)count);
  else if (!integers) s = matrix_file_fail(f->err, MACKO_PARSE, f->path, "the array \"%s\" has no integers", name);
  else s = read_array(f, name, array, H5T_NATIVE_INT64, count, (void **)indices);
  H5Dclose(array);
  for (int64_t i = 0; !s && i < count; i++)
    if ((*indices)[i] < 0 || (*indices)[i] >= past)
      s = matrix_file_fail(f->err, MACKO_PARSE, f->path, "element %lld of \"%s\" is %lld, outside 0..%lld", (long long)i, name,
                           (long long)(*indices)[i], (long long)past - 1);
  return s;
}

/* Makes doubles of the integers of 64 bits at values, in their place; one that is no exact double is refused. A
 * bint8 is true or false, so that whatever is not 0 becomes 1. */
static macko_status integers_to_doubles(const bsp_file *f, int is_signed, int is_bool, int64_t count, void *values)
{
  for (int64_t i = 0; i < count; i++) {
    int64_t integer;
    memcpy(&integer, (char *)values + 8 * i, 8);
    const double value = is_bool ? integer != 0 : is_signed ? (double)integer : (double)(uint64_t)integer;
    if (!is_bool && !integer_is_exact(is_signed && integer < 0 ? -(uint64_t)integer : (uint64_t)integer))
      return matrix_file_fail(f->err, MACKO_UNSUPPORTED, f->path,
                              "element %lld of \"values\" is an integer that is no exact double", (long long)i);
    memcpy((char *)values + 8 * i, &value, 8);
  }
  return MACKO_OK;
}

/* Reads the array of values, of which `there` are stored, and sets *type to what they became: f32 of floats of up to 32 bits,
 * else f64. */
static macko_status convert_values(const bsp_file *f, hid_t array, int64_t there, macko_type *type, void **values)
{
  hid_t stored = H5Dget_type(array);
  const H5T_class_t class = H5Tget_class(stored);
  const size_t size = H5Tget_size(stored);
  const int is_signed = class == H5T_INTEGER && H5Tget_sign(stored) == H5T_SGN_2;
  H5Tclose(stored);
  if ((class != H5T_FLOAT && class != H5T_INTEGER) || size > 8)
    return matrix_file_fail(f->err, MACKO_UNSUPPORTED, f->path, "values of type %s are not read; real ones of at most 64 bits are",
                            f->head.value_type);
  /* int8 to int64, uint8 to uint64 and bint8 are the integers of Binsparse. */
  if (class == H5T_FLOAT && strstr(f->head.value_type, "int"))
    return matrix_file_fail(f->err, MACKO_PARSE, f->path, "the descriptor's type of \"values\" is %s, and floating-point numbers "
                            "are stored", f->head.value_type);
  *type = class == H5T_FLOAT && size <= 4 ? MACKO_F32 : MACKO_F64;
  if (class == H5T_FLOAT)
    return read_array(f, "values", array, *type == MACKO_F32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE, there, values);
  macko_status s = read_array(f, "values", array, is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64, there, values);
  return s ? s : integers_to_doubles(f, is_signed, !strcmp(f->head.value_type, "bint8"), there, *values);
}

/* Puts one value in the place of all, as often as there are entries. The array that held it is freed. */
static macko_status repeat_value(const bsp_file *f, int64_t count, int64_t size, void **values)
{
  char *all = count < INT64_MAX / 64 ? malloc((size_t)(count * size) + 8) : NULL;
  if (!all) return matrix_file_fail(f->err, MACKO_OUT_OF_MEMORY, f->path, "no memory for %lld values", (long long)count);
  for (int64_t p = 0; p < count; p++) memcpy(all + p * size, *values, (size_t)size);
  free(*values);
  *values = all;
  return MACKO_OK;
}

/* Reads the values of `count` entries. Of iso[...] one is stored for all; a file without entries may then have none. */
static macko_status read_values(const bsp_file *f, int64_t count, macko_type *type, void **values)
{
  const int64_t expected = f->head.iso ? 1 : count;
  hid_t array;
  int64_t there;
  macko_status s = open_array(f, "values", &array, &there);
  if (s) return s;
  if (there != expected && !(f->head.iso && !count))
    s = matrix_file_fail(f->err, MACKO_PARSE, f->path, "the array \"values\" has %lld elements, not %lld", (long long)there,
                         (long long)expected);
  if (!s) s = convert_values(f, array, there, type, values);
  H5Dclose(array);
  return s || !f->head.iso ? s : repeat_value(f, count, macko_type_bytes(*type), values);
}

/* ---- entries, and the csr that is made of them ---- */

/* A matrix as a list of entries. */
typedef struct {
  int64_t count, *rows, *cols; /* an array each of `count` indices, in whatever order the file has */
  void *values;
  macko_type type;             /* of the values: f64 or f32 */
} entry_list;

/* Makes, of pointers into compressed rows or columns (lines), the index of its line for each of `count` entries. All pointers are
 * checked before any is followed. */
static macko_status expand(const bsp_file *f, int64_t lines, int64_t count, int64_t **index)
{
  int64_t *pointers = NULL;
  macko_status s = read_indices(f, "pointers_to_1", lines + 1, count + 1, &pointers);
  if (!s && (pointers[0] != 0 || pointers[lines] != count))
    s = matrix_file_fail(f->err, MACKO_PARSE, f->path, "\"pointers_to_1\" goes from %lld to %lld, with %lld entries",
                         (long long)pointers[0], (long long)pointers[lines], (long long)count);
  for (int64_t i = 0; !s && i < lines; i++)
    if (pointers[i + 1] < pointers[i])
      s = matrix_file_fail(f->err, MACKO_PARSE, f->path, "element %lld of \"pointers_to_1\" is %lld, less than the one before",
                           (long long)i + 1, (long long)pointers[i + 1]);
  if (!s && !(*index = malloc((size_t)count * sizeof **index + 8)))
    s = matrix_file_fail(f->err, MACKO_OUT_OF_MEMORY, f->path, "no memory for %lld entries", (long long)count);
  for (int64_t i = 0; !s && i < lines; i++)
    for (int64_t p = pointers[i]; p < pointers[i + 1]; p++) (*index)[p] = i;
  free(pointers);
  return s;
}

/* Reads a matrix of any of the formats into rows and columns of its entries. The formats differ in which index comes first (rows,
 * or columns where the name ends in C) and in whether that one is compressed (CSR and CSC). */
static macko_status read_entries(const bsp_file *f, entry_list *e)
{
  const binsparse_head *h = &f->head;
  const int by_columns = h->format[strlen(h->format) - 1] == 'C', compressed = h->format[1] == 'S';
  const int64_t lines = by_columns ? h->ncols : h->nrows, across = by_columns ? h->nrows : h->ncols;
  int64_t **line = by_columns ? &e->cols : &e->rows, **other = by_columns ? &e->rows : &e->cols;
  hid_t array;
  macko_status s = open_array(f, "indices_1", &array, &e->count);
  if (s) return s;
  H5Dclose(array);
  if (h->stored >= 0 && h->stored != e->count)
    return matrix_file_fail(f->err, MACKO_PARSE, f->path, "the descriptor says %lld stored values, \"indices_1\" has %lld elements",
                            h->stored, (long long)e->count);
  s = read_indices(f, "indices_1", e->count, across, other);
  if (!s) s = compressed ? expand(f, lines, e->count, line) : read_indices(f, "indices_0", e->count, lines, line);
  return s ? s : read_values(f, e->count, &e->type, &e->values);
}

/* Copies value p of *from to place `at` of *to, negated for the mirror image in a skew-symmetric matrix. */
static void put_value(entry_list *to, int64_t at, const entry_list *from, int64_t p, int negate)
{
  if (to->type == MACKO_F64) ((double *)to->values)[at] = negate ? -((double *)from->values)[p] : ((double *)from->values)[p];
  else ((float *)to->values)[at] = negate ? -((float *)from->values)[p] : ((float *)from->values)[p];
}

/* Refuses entry p where the triangle that is stored cannot have it: a skew-symmetric matrix has zeros only on
 * its diagonal. */
static macko_status check_entry(const bsp_file *f, const entry_list *e, int64_t p, int lower, int skew)
{
  const int64_t i = e->rows[p], j = e->cols[p];
  if (lower ? j > i : j < i)
    return matrix_file_fail(f->err, MACKO_PARSE, f->path, "entry %lld, in row %lld and column %lld, is not in the triangle "
                            "that structure %s stores", (long long)p, (long long)i, (long long)j, f->head.structure);
  if (skew && i == j && value_at(e->type, e->values, p) != 0)
    return matrix_file_fail(f->err, MACKO_PARSE, f->path,
                            "entry %lld, %g in row %lld, is on the diagonal of a skew-symmetric matrix", (long long)p,
                            value_at(e->type, e->values, p), (long long)i);
  return MACKO_OK;
}

/* Adds the other triangle beside the one that is stored; the file may store no more than that. *e gets new arrays, after an error
 * too. */
static macko_status mirror(const bsp_file *f, entry_list *e)
{
  const char *structure = f->head.structure;
  const int lower = strstr(structure, "lower") != NULL, skew = !strncmp(structure, "skew", 4);
  entry_list both = {2 * e->count, malloc((size_t)e->count * 16 + 8), malloc((size_t)e->count * 16 + 8),
                     malloc((size_t)(2 * e->count * macko_type_bytes(e->type)) + 8), e->type};
  macko_status s = both.rows && both.cols && both.values ? MACKO_OK
                                                         : matrix_file_fail(f->err, MACKO_OUT_OF_MEMORY, f->path,
                                                                            "no memory for %lld entries", (long long)both.count);
  int64_t n = 0;
  for (int64_t p = 0; !s && p < e->count; p++) {
    const int64_t i = e->rows[p], j = e->cols[p];
    s = check_entry(f, e, p, lower, skew);
    both.rows[n] = i, both.cols[n] = j, put_value(&both, n++, e, p, 0);
    if (i != j) both.rows[n] = j, both.cols[n] = i, put_value(&both, n++, e, p, skew);
  }
  both.count = n;
  free(e->rows), free(e->cols), free(e->values);
  *e = both;
  return s;
}

/* Sorts entries into rows, in which they keep their order. Counts are kept two places further on, so that adding them up and then
 * placing entries leaves row_ptr as it is to be, without another array. */
static macko_status collect(const bsp_file *f, const entry_list *e, macko_csr *csr)
{
  const int64_t nrows = f->head.nrows, size = macko_type_bytes(e->type);
  int64_t *row_ptr = calloc((size_t)nrows + 2, sizeof *row_ptr), *cols = malloc((size_t)e->count * sizeof *cols + 8);
  char *values = malloc((size_t)(e->count * size) + 8);
  *csr = (macko_csr){.nrows = nrows, .ncols = f->head.ncols, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                     .value_type = e->type, .row_ptr = row_ptr, .cols = cols, .values = values};
  if (!row_ptr || !cols || !values)
    return matrix_file_fail(f->err, MACKO_OUT_OF_MEMORY, f->path, "no memory for %lld rows of %lld entries", (long long)nrows,
                            (long long)e->count);
  for (int64_t p = 0; p < e->count; p++) row_ptr[e->rows[p] + 2]++;
  for (int64_t i = 0; i < nrows; i++) row_ptr[i + 2] += row_ptr[i + 1];
  for (int64_t p = 0; p < e->count; p++) {
    const int64_t at = row_ptr[e->rows[p] + 1]++;
    cols[at] = e->cols[p];
    memcpy(values + at * size, (char *)e->values + p * size, (size_t)size);
  }
  return MACKO_OK;
}

/* Where the descriptor does not say how many entries there are, the length of an array says it: no values are read. */
macko_status binsparse_read_head(const char *path, binsparse_head *head, macko_error *err)
{
  bsp_file f = {.path = path, .err = err};
  hid_t array;
  int64_t count;
  macko_status s = open_file(&f);
  if (s) return s;
  s = read_head(&f);
  if (!s && f.head.stored < 0 && !(s = open_array(&f, "indices_1", &array, &count))) f.head.stored = count, H5Dclose(array);
  H5Fclose(f.file);
  *head = f.head;
  return s;
}

/* All formats become a list of entries first, and that a csr: memory for both at once is the price of having one way for all. */
macko_status binsparse_read(const char *path, macko_csr *csr, int *triangle, macko_error *err)
{
  bsp_file f = {.path = path, .err = err};
  entry_list e = {.count = 0};
  macko_error why;
  memset(csr, 0, sizeof *csr);
  macko_status s = open_file(&f);
  if (s) return s;
  s = read_head(&f);
  if (!s) s = read_entries(&f, &e);
  if (!s && (*triangle = f.head.structure[0] != 0)) s = mirror(&f, &e);
  if (!s) s = collect(&f, &e, csr);
  free(e.rows), free(e.cols), free(e.values);
  H5Fclose(f.file);
  /* The library's sentence does not name the file. */
  if (!s && (s = matrix_file_settle(csr, &why))) matrix_file_fail(err, s, path, "%.240s", why.text);
  if (s) macko_free_csr(csr);
  return s;
}

#else

/* Refuses a file in a build without HDF5. */
static macko_status no_hdf5(const char *path, macko_error *err)
{
  return matrix_file_fail(err, MACKO_UNSUPPORTED, path, "is an HDF5 file, and this macko was not built with HDF5");
}

macko_status binsparse_read_head(const char *path, binsparse_head *head, macko_error *err)
{
  (void)head;
  return no_hdf5(path, err);
}

macko_status binsparse_read(const char *path, macko_csr *csr, int *triangle, macko_error *err)
{
  (void)csr, (void)triangle;
  return no_hdf5(path, err);
}

#endif
