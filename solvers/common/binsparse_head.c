/* The descriptor of a Binsparse file, which is JSON. */
#if HAVE_CONFIG_H
#include <config.h>
#endif

#if HAVE_HDF5

#include "common/binsparse.h"

#include "common/matrix_file.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Copies the text of a key into a word. Returns 0 if the key is not there, is no text, or is too long to be a word that is
 * known. */
static int get_word(const json_t *object, const char *key, char word[BINSPARSE_WORD])
{
  const char *text = json_string_value(json_object_get(object, key));
  if (!text || strlen(text) >= BINSPARSE_WORD) return 0;
  strcpy(word, text);
  return 1;
}

/* Refuses what the descriptor says under a key, for the reason `why`. */
static macko_status refuse(const char *path, const json_t *b, const char *key, const char *why, macko_error *err)
{
  char *text = json_dumps(json_object_get(b, key), JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
  matrix_file_fail(err, MACKO_PARSE, path, "the descriptor's \"%s\" is %.80s, %s", key, text ? text : "unreadable", why);
  free(text);
  return MACKO_PARSE;
}

/* Compares the version's first number: a file of a version that is not known may mean anything. A file may leave it out. */
static macko_status check_version(const char *path, const json_t *b, macko_error *err)
{
  const json_t *version = json_object_get(b, "version");
  const char *text = json_string_value(version);
  if (!version) return MACKO_OK;
  if (!text) return refuse(path, b, "version", "which is no text", err);
  if ((*text == '0' || *text == '1') && strcspn(text, ".") == 1) return MACKO_OK;
  return matrix_file_fail(err, MACKO_UNSUPPORTED, path, "version %.40s of Binsparse is not read; 0 and 1 are", text);
}

/* Refuses a matrix with a value for the entries that are not stored. */
static macko_status check_fill(const char *path, const json_t *b, macko_error *err)
{
  const json_t *fill = json_object_get(b, "fill");
  if (!fill || json_is_false(fill)) return MACKO_OK;
  if (!json_is_true(fill)) return refuse(path, b, "fill", "neither true nor false", err);
  return matrix_file_fail(err, MACKO_UNSUPPORTED, path,
                          "what is not stored has a value of its own (\"fill\"); in a sparse matrix it is 0");
}

/* Takes the sizes and, where it is said, the number of stored values. Rows are limited because row pointers of 64 bits, of which
 * there is one more than rows, must have a size in bytes that an int64_t holds. */
static macko_status get_shape(const char *path, const json_t *b, binsparse_head *h, macko_error *err)
{
  const json_t *shape = json_object_get(b, "shape"), *rows = json_array_get(shape, 0), *cols = json_array_get(shape, 1);
  const json_t *stored = json_object_get(b, "number_of_stored_values");
  if (json_array_size(shape) != 2)
    return matrix_file_fail(err, MACKO_UNSUPPORTED, path, "the descriptor's \"shape\" has %zu numbers; a matrix has two",
                            json_array_size(shape));
  h->nrows = json_integer_value(rows), h->ncols = json_integer_value(cols);
  if (!json_is_integer(rows) || !json_is_integer(cols) || h->nrows < 0 || h->ncols < 0 || h->nrows >= INT64_MAX / 16)
    return refuse(path, b, "shape", "which is no size", err);
  if (stored && (!json_is_integer(stored) || json_integer_value(stored) < 0))
    return refuse(path, b, "number_of_stored_values", "which is no number of entries", err);
  h->stored = stored ? (long long)json_integer_value(stored) : -1;
  return MACKO_OK;
}

/* Takes the type of the values, which may be iso[...] around another type: then one value is stored for all entries. Complex
 * values are refused here, by their name, because HDF5 would show them as a compound type without saying what it means. */
static macko_status get_value_type(const char *path, const json_t *b, binsparse_head *h, macko_error *err)
{
  char type[BINSPARSE_WORD];
  if (!get_word(json_object_get(b, "data_types"), "values", type))
    return matrix_file_fail(err, MACKO_PARSE, path, "the descriptor names no type of \"values\" in \"data_types\"");
  const size_t length = strlen(type);
  h->iso = length > 5 && !strncmp(type, "iso[", 4) && type[length - 1] == ']';
  snprintf(h->value_type, sizeof h->value_type, "%.*s", (int)(h->iso ? length - 5 : length), h->iso ? type + 4 : type);
  if (!strncmp(h->value_type, "complex[", 8))
    return matrix_file_fail(err, MACKO_UNSUPPORTED, path, "values of type %s are not read; real ones are", h->value_type);
  return MACKO_OK;
}

/* Takes the name of the format. Binsparse can also describe a format level by level, as an object; that is refused in a sentence
 * of its own, because such a file is right and only not read. */
static macko_status get_format(const char *path, const json_t *b, binsparse_head *h, macko_error *err)
{
  static const char *const formats[] = {"CSR", "CSC", "COO", "COOR", "COOC"};
  if (json_is_object(json_object_get(b, "format")))
    return matrix_file_fail(err, MACKO_UNSUPPORTED, path,
                            "its format is described level by level; CSR, CSC, COO, COOR and COOC are read");
  if (!get_word(b, "format", h->format)) return matrix_file_fail(err, MACKO_PARSE, path, "the descriptor names no \"format\"");
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (!strcmp(h->format, formats[i])) return MACKO_OK;
  return matrix_file_fail(err, MACKO_UNSUPPORTED, path, "format %s is not read; CSR, CSC, COO, COOR and COOC are", h->format);
}

/* Takes the structure, for which Binsparse has a name only if one triangle is stored. A file without the key is a general
 * matrix. */
static macko_status get_structure(const char *path, const json_t *b, binsparse_head *h, macko_error *err)
{
  static const char *const structures[] = {"symmetric_lower", "symmetric_upper", "skew_symmetric_lower", "skew_symmetric_upper"};
  if (!json_object_get(b, "structure") || (get_word(b, "structure", h->structure) && !strcmp(h->structure, "general"))) {
    h->structure[0] = 0;
    return MACKO_OK;
  }
  for (size_t i = 0; i < sizeof structures / sizeof *structures; i++)
    if (!strcmp(h->structure, structures[i])) return MACKO_OK;
  return matrix_file_fail(err, MACKO_UNSUPPORTED, path, "structure \"%s\" is none of general, symmetric and skew-symmetric",
                          h->structure);
}

/* The fill value is looked at before anything else of the matrix: with one, the entries that are not stored are not zero. */
macko_status binsparse_parse(const char *path, const char *text, size_t length, binsparse_head *head, macko_error *err)
{
  json_error_t where;
  json_t *all = json_loadb(text, length, 0, &where);
  const json_t *b = json_object_get(all, "binsparse");
  macko_status s = MACKO_OK;
  memset(head, 0, sizeof *head);
  if (!all)
    s = matrix_file_fail(err, MACKO_PARSE, path, "the attribute \"binsparse\" is no JSON: line %d: %.150s", where.line, where.text);
  else if (!json_is_object(b))
    s = matrix_file_fail(err, MACKO_PARSE, path, "the attribute \"binsparse\" has no object \"binsparse\"");
  if (!s) s = check_version(path, b, err);
  if (!s) s = check_fill(path, b, err);
  if (!s) s = get_format(path, b, head, err);
  if (!s) s = get_structure(path, b, head, err);
  if (!s) s = get_shape(path, b, head, err);
  if (!s) s = get_value_type(path, b, head, err);
  /* A mirror image of a matrix that is not square would lie outside of it. */
  if (!s && head->structure[0] && head->nrows != head->ncols)
    s = matrix_file_fail(err, MACKO_PARSE, path, "structure %s of a matrix of %lld x %lld", head->structure, head->nrows,
                         head->ncols);
  json_decref(all);
  return s;
}

#else
typedef int no_hdf5; /* ISO C wants something in every file */
#endif
