/* macko: sparse matrices stored in a fraction of CSR's bytes and multiplied straight from the compressed form.
 *
 * Conventions. Every function that can fail returns a macko_status and, on failure, fills *err (which may be NULL) with one
 * sentence that names the offending value and place. Nothing is printed, nothing aborts, there is no global state. On failure
 * outputs are unchanged. All pointers are host memory unless a function says otherwise. Indices count from 0; input may count
 * from 1 (index_base). A matrix is immutable between encode and refresh, so any number of threads may multiply with it at
 * once. */
#ifndef MACKO_H
#define MACKO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MACKO_VERSION_STRING "0.1.0"

/* ---- the lists: every name below is one line of a .def file ---- */

typedef enum { /* MACKO_OK, MACKO_INVALID_ARGUMENT, ... */
#define MACKO_STATUS_CODE(symbol, text) MACKO_##symbol,
#include "status.def"
#undef MACKO_STATUS_CODE
  MACKO_STATUS_COUNT /* how many there are */
} macko_status;

typedef enum { /* MACKO_F64, MACKO_F32, ... */
#define MACKO_ELEMENT_TYPE(symbol, name, bytes) MACKO_##symbol,
#include "types.def"
#undef MACKO_ELEMENT_TYPE
  MACKO_TYPE_COUNT /* how many there are */
} macko_type;

/* The enums of the options are macko_format (MACKO_FORMAT_CSR, MACKO_FORMAT_MACKO, ..., and at last MACKO_FORMAT_AUTO, also the
 * number of formats), macko_layout (MACKO_LAYOUT_AUTO, MACKO_LAYOUT_ROW, ...), macko_values, macko_variant, macko_prefer,
 * macko_overflow and macko_target. Each ends with how many there are, MACKO_LAYOUT_COUNT and so on. */
#define MACKO_OPTION(field, LIST, usual, reader, help) typedef enum {
#define MACKO_CHOICE(LIST, symbol, name, text) MACKO_##LIST##_##symbol,
#define MACKO_OPTION_END(field, LIST) MACKO_##LIST##_COUNT } macko_##field;
#define MACKO_NUMBER_OPTION(field, LIST, usual, reader, help)
#define MACKO_NUMBER(LIST, number, name, text)
#define MACKO_NUMBER_OPTION_END(field, LIST)
#include "options.def"

/* What a product takes for op(A): A itself (N) or its transpose (T). Values are real, so that there is no other. */
typedef enum { MACKO_OP_N, MACKO_OP_T } macko_op;

/* ---- errors ---- */

/* Where a function writes why it has failed: the status that it also returns, and one sentence, which a 0 ends. Some sentences
 * begin with a place in the matrix, as in "row 4, column 2, counted from 1: ": its first `place` characters are that (0: no place),
 * and row and col, counted from 0, are which; col is -1 where the whole row is meant. */
typedef struct {
  macko_status status;
  char text[512];
  int place;
  int64_t row, col;
} macko_error;

/* Names another place in a sentence that begins with one, for users who count otherwise, or where the matrix is a part of another:
 * row and col, counted from 0 (col -1: the whole row), written as counted from base. Other sentences stay; err may be NULL. */
void macko_error_place(macko_error *err, int64_t row, int64_t col, int base);

/* Gives the meaning of a status code as a constant string; "unknown status" for anything else. */
const char *macko_status_text(macko_status status);

/* ---- input ---- */

/* A view of a CSR matrix: nothing is owned or copied by the view itself. row_ptr has nrows + 1 elements, starts at index_base and
 * does not decrease; cols and values have row_ptr[nrows] - index_base elements each, and may be NULL where that is 0. Sentences
 * about such a matrix count rows, columns and entries from index_base too. */
typedef struct {
  int64_t nrows, ncols;
  macko_type row_ptr_type; /* MACKO_I32 or MACKO_I64 */
  macko_type col_type;     /* MACKO_I32 or MACKO_I64 */
  macko_type value_type;   /* MACKO_F64, MACKO_F32, MACKO_F16 or MACKO_BF16 */
  const void *row_ptr, *cols, *values;
  int index_base; /* what row_ptr and cols count from: 0 (C) or 1 (Fortran) */
} macko_csr;

/* ---- options ---- */

/* What to encode to. Set defaults with macko_options_init, then change fields or use macko_options_set.
 *   macko_format format     default MACKO_FORMAT_AUTO: by prefer, of the formats that have what the other options ask for; by
 *                           time on a CPU format dtans is chosen only where nothing else has it
 *   macko_layout layout     of format macko; default MACKO_LAYOUT_AUTO
 *   int gap_bits            bits of a column gap, of layouts row and paper: 0 = chosen by exact counts (default), else 1, 2, 4, 8
 *                           or, in layout row, 16; of variants paper and shared of format eccsr 4, 8 or 16
 *   macko_values values     default MACKO_VALUES_AUTO; lossy only on request. Format csr has raw, f32, f16 and bf16; layouts
 *                           row and slice all but coded, pairs only slice; layout paper raw; format dtans all but pairs, in
 *                           its variants joint and paper coded only; formats eccsr and slide all but coded and pairs
 *   macko_variant variant   of format dtans; PAPER (EC-SpMV, arXiv 2507.12205, section 4) or SHARED of format eccsr, for target
 *                           CPU, which store once what rows share only in part, and put a matrix that comes in pieces together
 *                           first; STRICT of format slide, which refuses (UNSUPPORTED) a matrix that no pattern covers, naming
 *                           row and first column of a block; default MACKO_VARIANT_AUTO
 *   macko_prefer prefer     what automatic choices of format, layout and values go by; default MACKO_PREFER_TIME, by predicted
 *                           time. MACKO_PREFER_MEASURED: macko_encode multiplies with the likeliest forms, 20 products in all
 *                           (on a GPU short ones up to 16 times over), one form after the other, with vectors of f64, or of f32
 *                           for values that are not f64, and keeps the fastest, which it remembers for this processor, number of
 *                           threads and pattern in the file $XDG_CACHE_HOME/macko/measured (or ~/.cache/macko/measured), so that
 *                           the next run need not measure;
 *                           not for macko_encode_rows, and with target GPU for macko_device_encode only; macko_predict
 *                           foretells what is predicted to be fastest
 *   macko_overflow overflow whether values f32, f16 and bf16 may make finite values infinite; default MACKO_OVERFLOW_REFUSE:
 *                           encode and refresh then are UNSUPPORTED, naming the first such value
 *   macko_target target     what the time is predicted for; default MACKO_TARGET_CPU
 * A choice is kept or refused: what the format that was asked for cannot do is an error, and so are two choices that no format
 * has together. narrow stays raw where nothing narrower is exact, and f32, f16 and bf16 stay raw where the values have that type
 * already, or a narrower one. */
typedef struct {
#define MACKO_OPTION(field, LIST, usual, reader, help) macko_##field field;
#define MACKO_NUMBER_OPTION(field, LIST, usual, reader, help) int field;
#include "options.def"
} macko_options;

/* Sets every field to its default; does nothing for NULL. */
void macko_options_init(macko_options *options);

/* Sets one option by its name ("format", "layout", "gap_bits", "values", "variant", "prefer", "overflow", "target") from text
 * ("macko", "slice", "4", "f32").
 * Errors: INVALID_ARGUMENT, naming the nearest valid name; *options is unchanged then. */
macko_status macko_options_set(macko_options *options, const char *name, const char *text, macko_error *err);

/* Tells whether some format has all that the options ask for, apart from what a matrix may add.
 * Errors: INVALID_ARGUMENT for a field outside its list; UNSUPPORTED, with the choices that cannot go together and the formats
 * that have them. */
macko_status macko_options_check(const macko_options *options, macko_error *err);

/* macko_format_name, macko_layout_name and so on give names from the lists, as constant strings, and NULL for a number outside
 * them; the name of MACKO_FORMAT_AUTO is "auto". */
#define MACKO_OPTION(field, LIST, usual, reader, help) const char *macko_##field##_name(macko_##field field);
#define MACKO_NUMBER_OPTION(field, LIST, usual, reader, help)
#include "options.def"
/* Gives the name of an element type, such as "f64"; NULL for a number outside the list. */
const char *macko_type_name(macko_type type);

/* Gives the bytes of an element of that type; 0 for a number outside the list. */
int64_t macko_type_bytes(macko_type type);

/* ---- matrices ---- */

/* A compressed matrix in host memory. It is made by macko_encode and by other functions that say so, and freed with
 * macko_destroy. */
typedef struct macko_matrix macko_matrix;

/* Encodes *csr, whose arrays are read and not kept. Rows may be unsorted; duplicate entries of a row are added in their order,
 * also where finite ones come to an infinite value, which `overflow` does not look at. options may be NULL (defaults). *matrix is
 * new and freed with macko_destroy.
 * Errors: INVALID_MATRIX (row and value named); INVALID_ARGUMENT; UNSUPPORTED (the options cannot go together, or not with this
 * matrix) or LIMIT (the format cannot hold it), where automatic choice takes another format that has what the options ask for;
 * OUT_OF_MEMORY. */
macko_status macko_encode(const macko_csr *csr, const macko_options *options, macko_matrix **matrix, macko_error *err);

/* As macko_encode, of a matrix that is one of so many parts of a larger one, which are alike and multiplied one after another:
 * what is predicted for a CPU, and chosen by that, then takes the bytes of the others to go through its caches, too. parts is at
 * least 1, and need not be whole (rows of all over rows of the part). macko_copy and macko_refresh go on with it; files do not.
 * Errors: INVALID_ARGUMENT also for other parts. */
macko_status macko_encode_part(const macko_csr *csr, double parts, const macko_options *options, macko_matrix **matrix,
                               macko_error *err);

/* Does what macko_encode does, of arrays that outlive the matrix. Where it is stored as format csr, and the arrays are sorted,
 * count from 0 and have the types that csr_bytes speaks of, the matrix uses them as they are, without a copy, and a product reads
 * whatever values they then hold; anything else is copied. The arrays that such a matrix is refreshed with take their place and
 * must outlive it as well.
 * Errors: those of macko_encode. */
macko_status macko_encode_borrowed(const macko_csr *csr, const macko_options *options, macko_matrix **matrix, macko_error *err);

/* Rows of a matrix on demand, for one that is not in memory as a whole. The library calls `rows` and keeps nothing of what it
 * gives. */
typedef struct {
  int64_t nrows, ncols;
  macko_type value_type;
  int64_t piece_rows; /* most rows that are asked for at a time, at least 1 */
  /* Sets *piece to rows first .. first + count - 1 of the matrix: a csr of count rows, whose row_ptr starts at its index_base. It
   * is read until the next call and stays the caller's. Every row is asked for several times, not always in order, and must
   * always be the same. Anything but MACKO_OK ends the encoding with that status; the sentence may be written to *err. */
  macko_status (*rows)(void *context, int64_t first, int64_t count, macko_csr *piece, macko_error *err);
  void *context;
} macko_row_source;

/* Encodes what *source gives, to the very same bytes as macko_encode would, a choice of the format included. It needs memory for
 * the compressed form, a few bytes a row and one piece; pieces of fewer rows are put together to windows, of 4096 rows for format
 * macko, of 3360 for eccsr, of at most 1024 for dtans. Only where rows of equal columns lie apart (format eccsr, or a choice that
 * looks at it) are all rows put together. options may be NULL. *matrix is new and freed with macko_destroy.
 * Errors: as macko_encode and *source; INVALID_MATRIX where a piece is not what was asked for, or a row is not what it was when
 * it was asked for before. */
macko_status macko_encode_rows(const macko_row_source *source, const macko_options *options, macko_matrix **matrix,
                               macko_error *err);

/* Takes new values for the same pattern: the column stream stays, the value stream is written anew (re-chosen where the old
 * choice cannot hold the new values). csr must have the sizes, row lengths and columns that were encoded, which is proved by a
 * hash of 64 bits that the matrix keeps; one from macko_encode_rows may be decoded for it, once.
 * Errors: INVALID_MATRIX if they differ (naming the first row of another length, or else the first other column), UNSUPPORTED if
 * the value codec that was asked for cannot hold the new values, OUT_OF_MEMORY; the old values stay in all cases. */
macko_status macko_refresh(macko_matrix *matrix, const macko_csr *csr, macko_error *err);

/* Writes the matrix back as CSR with sorted rows: row_ptr int64[nrows + 1], cols int64[nnz], values of the matrix's own value
 * type, bit for bit what was encoded (explicit zeros, -0.0 and NaN payloads included) unless a lossy store was asked for. Of an
 * f16 matrix stored as bf16, which rounds 65408 and more to 65536, those come back as 65504, the largest of f16.
 * Any array may be NULL, and is skipped then; they are the caller's.
 * Errors: INVALID_ARGUMENT (matrix is NULL), OUT_OF_MEMORY. */
macko_status macko_decode(const macko_matrix *matrix, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err);

/* Writes the entries of rows first .. first + count - 1 alone, as macko_decode writes them: those of row i from element
 * row_ptr[i] - row_ptr[first] of cols and of values on, where row_ptr is what macko_decode wrote. Either array may be NULL.
 * Memory for all of the entries is needed only of a format that a program has added and that cannot do it.
 * Errors: INVALID_ARGUMENT (matrix or row_ptr is NULL, rows that are not there), OUT_OF_MEMORY. */
macko_status macko_decode_rows(const macko_matrix *matrix, const int64_t *row_ptr, int64_t first, int64_t count, int64_t *cols,
                               void *values, macko_error *err);

/* Computes Y = alpha op(A) X + beta Y for k vectors stored by columns, ldx and ldy elements apart. vector_type is MACKO_F64 or
 * MACKO_F32; sums are never narrower than the vector type. beta = 0 does not read Y, alpha = 0 does not read A and X. X and Y
 * must not overlap. Same matrix and vectors give the same bits on every run. Op N takes alpha (A x), op T, which adds to Y row by
 * row of A, A' (alpha x): they differ where alpha x leaves the range of f64 and the sum would not, as where it underflows and
 * meets an infinite entry, which gives NaN. macko_device_multiply takes alpha (A' x).
 * Sections are trusted: a matrix whose sections something else than this library wrote must pass macko_validate first.
 * Row i of the result differs from the exact one by at most gamma(nnz_i + 3) (|alpha||op(A)||x| + |beta||y|)_i, where nnz_i
 * counts entries in row i of op(A), gamma(n) is n u / (1 - n u) and u the unit roundoff of vector_type, unless a product or sum
 * leaves the range of normal numbers.
 * Errors: INVALID_ARGUMENT (matrix, op, vector_type, k; where k > 1, ldx and ldy; x or y NULL; x and y overlap, as far as that
 * shows); Y is unchanged then. */
macko_status macko_multiply(const macko_matrix *matrix, macko_op op, macko_type vector_type, int64_t k, double alpha,
                            const void *x, int64_t ldx, double beta, void *y, int64_t ldy, macko_error *err);

/* Checks every index and length of the compressed form, so that no multiply, here or on a GPU, can read or write outside its
 * arrays.
 * Errors: INVALID_ARGUMENT (matrix is NULL); CORRUPT, naming the section and place. */
macko_status macko_validate(const macko_matrix *matrix, macko_error *err);

/* Sets *copy to a new matrix of the same contents that shares nothing with the first, nor with arrays that the first has
 * borrowed. It is freed with macko_destroy.
 * Errors: INVALID_ARGUMENT, OUT_OF_MEMORY; *copy is unchanged then. */
macko_status macko_copy(const macko_matrix *matrix, macko_matrix **copy, macko_error *err);

/* Frees the matrix and sets *matrix to NULL; NULL is allowed. */
void macko_destroy(macko_matrix **matrix);

/* ---- what was done and why ---- */

/* Facts about an encoded matrix. bytes counts every array of the compressed form; csr_bytes is the same matrix as CSR with 32-bit
 * columns and row pointers (64-bit where ncols or nnz needs it) and the same value type. */
typedef struct {
  macko_format format;
  macko_type value_type;  /* type of the values that were encoded */
  macko_type stored_type; /* element type of the value stream: narrower under narrow, U8 or U16 under dict, U8 under pairs */
  macko_values values;    /* the codec in use: RAW, NARROW, DICT, PAIRS, CODED, or the lossy type that was asked for */
  macko_layout layout;    /* AUTO for a format without layouts */
  macko_variant variant;  /* AUTO for a format without variants */
  int gap_bits;         /* 0 where the width varies or the format has none */
  int lossy;              /* 1 if decode does not return every value bit for bit */
  int64_t nrows, ncols, nnz;
  int64_t bytes, csr_bytes;
  int64_t nsections; /* arrays of the compressed form, for macko_get_section */
  double seconds, csr_seconds; /* predicted of a product by one vector where options.target says, in this form and as raw csr */
  const char *reason; /* in words: the parameters and why; owned by the matrix, valid until refresh or destroy */
} macko_info;

/* Fills *info, of which neither pointer may be NULL; cannot fail. */
void macko_get_info(const macko_matrix *matrix, macko_info *info);

/* Tells what macko_encode would make of *csr, without making it: *info as above but for nsections (0) and reason, which is valid
 * until this thread predicts again. bytes is exact; for dtans within 1 %; and for variants paper and shared of eccsr by a sample
 * where the matrix has more than 256 rows, or, of few entries, 2048: reason says then of how many bundles of rows, and how far
 * bytes may be off, in percent. options may be NULL.
 * Errors: those of macko_encode; *info is unchanged then. */
macko_status macko_predict(const macko_csr *csr, const macko_options *options, macko_info *info, macko_error *err);

/* Times products by format csr with some rows of *csr on the CPU, in as many threads as products have, and sets *pace to what they
 * take over what is predicted of them: with 1.5 this machine takes half as long again, at this hour, as the one that its kind's
 * costs were measured on. info.seconds of a prediction for a CPU, times *pace, is what to expect of products here. Predictions
 * themselves never change with it, so that they can be compared, and choices repeat. It takes as long as ten products, or, of a
 * matrix beyond the caches, as four with at most so many rows that four times the last-level cache would hold them.
 * Errors: those of macko_encode; *pace is unchanged then. */
macko_status macko_measure_pace(const macko_csr *csr, double *pace, macko_error *err);

/* One array of the compressed form, in host memory. The matrix owns it, unless it was borrowed by macko_encode_borrowed. name is
 * a constant string, and data has `bytes` bytes of elements of that type. */
typedef struct {
  const char *name;
  macko_type type;
  int64_t bytes;
  void *data;
  int pattern, values; /* 1 if it tells of row lengths and columns; 1 if it tells of values, which refresh may write anew */
} macko_section;

/* Gives section i of 0 .. nsections - 1, valid until refresh or destroy; NULL beyond. Those of format csr are row_ptr, cols and
 * values; doc/formats/ describes the others. */
const macko_section *macko_get_section(const macko_matrix *matrix, int64_t i);

/* ---- pruning to patterns of format slide ---- */

/* Prunes a matrix: of every l columns of a row, from multiples of l on, the z entries of the largest magnitude stay. Of equal
 * ones those further left stay, and what is no number goes for the largest. Rows come out sorted, duplicates added. *pruned is a
 * csr of the types and index base of *csr; its arrays are new and freed with macko_free_csr.
 * Errors: INVALID_ARGUMENT (z:l), INVALID_MATRIX, OUT_OF_MEMORY. */
macko_status macko_prune(const macko_csr *csr, int64_t z, int64_t l, macko_csr *pruned, macko_error *err);

/* Windows of n columns with m entries each, which cover blocks of l columns with z: each begins n - m behind the one before. */
typedef struct {
  int64_t windows, stride; /* how many a block has; columns from one to the next */
  double expansion;        /* columns of all windows, as a multiple of the block's */
  double bound;            /* the least that expansion can be: windows are full then */
} macko_windows;

/* Tells whether entries find room wherever in the block they are, each window from the left taking the first ones that it can:
 * then nothing else places more. Fills *windows. Format slide has m:n = 2:4.
 * Errors: INVALID_ARGUMENT (numbers that are no pattern or no window, more than 4096 columns), UNSUPPORTED (the windows do not
 * end with the block, or some of its columns can have more entries than the windows that they are in, which are named: 2:5 on
 * 1:3). */
macko_status macko_check_windows(int64_t z, int64_t l, int64_t m, int64_t n, macko_windows *windows, macko_error *err);

/* ---- files ---- */

/* What a reader found besides the matrix. */
typedef struct {
  char kind[96];          /* in words: "Matrix Market coordinate real symmetric" */
  int symmetric;          /* 1 if the file stores one triangle of a symmetric matrix (both are in the csr) */
  int64_t stored_entries; /* entries in the file, before a stored triangle was mirrored */
} macko_file_info;

/* What is called now and then while a file is read, in the thread that reads, with the bytes of the file that are consumed and
 * its size (0 if unknown). */
typedef struct {
  void (*report)(void *context, int64_t done, int64_t total);
  void *context;
} macko_progress;

/* Reads a matrix by what the file holds: Matrix Market (.mtx, .mtx.gz), Rutherford-Boeing or Harwell-Boeing (.rb .rua .rsa .pua
 * .psa .hb), NAME.tar.gz with NAME/NAME.mtx or NAME/NAME.rb as the SuiteSparse collection hands out, or what macko_save wrote.
 * Patterns read as ones, a stored triangle is mirrored, rows come out sorted and duplicates added; values are f64, columns i32
 * where ncols allows, row_ptr i32 where nnz allows. The arrays of *csr are new and freed with macko_free_csr. progress and info
 * may be NULL.
 * gzip and tar are known by content, other files by their first lines. Numbers are correctly rounded in any locale; nan and inf
 * are read. Memory grows with what is in the file, not with what it declares: rows beyond 2^22 need an entry for every 1024.
 * Errors: IO (with the system's reason), PARSE (file, line and what is wrong; also a value beyond the range of double, and a
 * symmetric file with entries on both sides of the diagonal), UNSUPPORTED (complex values or element matrices; an integer without
 * an exact double or of more than 63 bits; a file type this build lacks the library for), LIMIT (too many rows), CORRUPT (a file of
 * macko_save), OUT_OF_MEMORY. */
macko_status macko_read(const char *path, const macko_progress *progress, macko_csr *csr, macko_file_info *info,
                        macko_error *err);

/* Frees what macko_read or macko_prune made and clears the view; NULL is allowed. */
void macko_free_csr(macko_csr *csr);

/* Writes *csr as Matrix Market coordinate real general with enough digits to read the same values back; through zlib if path ends
 * in ".gz". It is written under a temporary name and renamed, so that a failure leaves an old file as it was. A link stays, and
 * the file behind it is replaced; a link to nothing is replaced itself; an old file's permissions stay. Rows are written sorted,
 * with duplicates added; a NaN is written as nan, without sign and payload; inf and -0 come back as they are.
 * Errors: IO (also for a path that is no regular file), UNSUPPORTED (".gz" without zlib), LIMIT (2^63 - 1 columns, which
 * macko_read takes for a number beyond 64 bits), OUT_OF_MEMORY, those of macko_encode for a csr that is not valid. */
macko_status macko_write_matrix_market(const char *path, const macko_csr *csr, macko_error *err);

/* Where a matrix came from: a file of the matrix keeps it for whoever looks, and nothing depends on it. Texts end with a 0; ""
 * says that it is not known. */
typedef struct {
  char name[256]; /* name of the file */
  char hash[128]; /* hash of its bytes, such as "sha256:9f86d0..." */
  int lossy;      /* 1: its values had been rounded before they were encoded as they are now, which macko_info does not know */
} macko_origin;

/* Writes the compressed form as it is, with origin (NULL: not known) and all that macko_load needs to give the same matrix back:
 * a file with checksums that doc/formats/container.md describes, by custom named .macko. It is written under a temporary name
 * beside path, synced and renamed as macko_write_matrix_market does, so that a failure leaves an old file as it was. The head
 * says whether the matrix is symmetric, for which its rows are decoded, a few at a time.
 * Errors: INVALID_ARGUMENT; IO (also for a path that is no regular file), OUT_OF_MEMORY, UNSUPPORTED (no zlib or jansson). */
macko_status macko_save(const char *path, const macko_matrix *matrix, const macko_origin *origin, macko_error *err);

/* Sets *matrix to what was saved, freed with macko_destroy: products, decode and info have the same bits, refresh and copy work
 * as before. All of the file is checked before use: checksums, and every number and index that products trust, as by
 * macko_validate. path may be a pipe. origin may be NULL.
 * Errors: IO, PARSE (not such a file), CORRUPT (damaged or cut short, naming the place), UNSUPPORTED (big-endian, of a newer
 * version or a format that this one lacks; no zlib or jansson), OUT_OF_MEMORY; *matrix and *origin are unchanged then. */
macko_status macko_load(const char *path, macko_matrix **matrix, macko_origin *origin, macko_error *err);

/* Fills *info, and *origin (NULL: not wanted), from the head alone, however long the file is. reason is NULL, as no matrix owns
 * it.
 * Errors: those of macko_load; *info and *origin are unchanged then. */
macko_status macko_load_info(const char *path, macko_info *info, macko_origin *origin, macko_error *err);

#ifdef __cplusplus
}
#endif
#endif
