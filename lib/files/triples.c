/* From the entries of a file to sorted CSR: count, place, sort what is unsorted, add duplicates. */
#include "files/triples.h"

#include <stdlib.h>
#include <string.h>

/* Gives the type of indices up to that one. */
static macko_type index_type(int64_t largest)
{
  return largest > INT32_MAX ? MACKO_I64 : MACKO_I32;
}

void macko_open_entries(macko_entries *e, int64_t nrows, int64_t ncols, int has_values, macko_symmetry symmetry)
{
  *e = (macko_entries){.nrows = nrows, .ncols = ncols, .row_type = index_type(nrows), .col_type = index_type(ncols),
                       .has_values = has_values, .symmetry = symmetry};
}

/* Frees the first block. */
static void drop_first(macko_entries *e)
{
  macko_block *block = e->first;
  e->first = block->next;
  if (!e->first) e->last = NULL;
  free(block);
}

void macko_free_entries(macko_entries *e)
{
  while (e->first) drop_first(e);
}

/* A block and its arrays are one allocation: values first, which need the widest alignment. Blocks are never moved, so that
 * growing copies nothing. */
macko_status macko_grow_entries(macko_input *in, macko_entries *e)
{
  size_t values = e->has_values ? MACKO_BLOCK_ENTRIES * sizeof(double) : 0;
  size_t rows = MACKO_BLOCK_ENTRIES * (size_t)macko_type_bytes(e->row_type);
  char *memory = malloc(sizeof(macko_block) + values + rows + MACKO_BLOCK_ENTRIES * (size_t)macko_type_bytes(e->col_type));
  if (!memory) return macko_input_fail(in, MACKO_OUT_OF_MEMORY, "no memory for more than %lld entries", (long long)e->count);
  macko_block *block = (macko_block *)memory;
  memory += sizeof *block;
  *block = (macko_block){.values = values ? (double *)memory : NULL, .rows = memory + values, .cols = memory + values + rows};
  if (e->last) e->last->next = block;
  else e->first = block;
  e->last = block;
  return MACKO_OK;
}

/* The first entry off the diagonal tells which triangle the file holds. */
macko_status macko_check_triangle(macko_input *in, macko_entries *e, int64_t row, int64_t col, double value)
{
  int triangle = row > col ? -1 : row < col;
  if (e->symmetry == MACKO_SKEW && !triangle && value != 0)
    return macko_input_fail(in, MACKO_PARSE, "%g is on the diagonal of a skew-symmetric matrix", value);
  if (triangle * e->triangle < 0)
    return macko_input_fail(in, MACKO_PARSE, "entry (%lld, %lld) is in the other triangle than those before; a symmetric file "
                            "holds one triangle", (long long)row + 1, (long long)col + 1);
  if (triangle) e->triangle = triangle;
  return MACKO_OK;
}

/* Checks that row pointers are not out of all proportion to the entries: a few bytes of text must not claim gigabytes. The
 * failure is of the whole file, so that it names no line. */
static macko_status check_proportion(macko_input *in, const macko_entries *e)
{
  enum { FREE_ROWS = 1 << 22, ROWS_AN_ENTRY = 1024 };
  if (e->nrows <= FREE_ROWS || (e->nrows - FREE_ROWS) / ROWS_AN_ENTRY <= e->count) return MACKO_OK;
  in->line_number = 0;
  return macko_input_fail(in, MACKO_LIMIT, "%lld rows for %lld entries are out of proportion (up to %d rows and %d more an entry "
                          "are read)", (long long)e->nrows, (long long)e->count, FREE_ROWS, ROWS_AN_ENTRY);
}

/* Row and column of entry k of a block, from 0. */
static inline int64_t row_of(const macko_entries *e, const macko_block *b, int64_t k)
{
  return macko_index(e->row_type, b->rows, k);
}

static inline int64_t col_of(const macko_entries *e, const macko_block *b, int64_t k)
{
  return macko_index(e->col_type, b->cols, k);
}

/* Gives the number of entries that a stored triangle does without: one for each that is not on the diagonal. */
static int64_t count_mirrored(const macko_entries *e)
{
  int64_t mirrored = 0;
  if (e->symmetry == MACKO_GENERAL) return 0;
  for (const macko_block *b = e->first; b; b = b->next)
    for (int64_t k = 0; k < b->count; k++) mirrored += row_of(e, b, k) != col_of(e, b, k);
  return mirrored;
}

/* Adds to number i of an array of indices. */
static inline void add_to_index(macko_type type, void *array, int64_t i, int64_t more)
{
  macko_set_index(type, array, i, macko_index(type, array, i) + more);
}

/* Sets row_ptr[i], zero before, to the first place of row i, duplicates and mirrored entries counted. */
static void count_rows(const macko_entries *e, macko_type type, void *row_ptr)
{
  for (const macko_block *b = e->first; b; b = b->next)
    for (int64_t k = 0; k < b->count; k++) {
      int64_t row = row_of(e, b, k), col = col_of(e, b, k);
      add_to_index(type, row_ptr, row + 1, 1);
      if (e->symmetry != MACKO_GENERAL && row != col) add_to_index(type, row_ptr, col + 1, 1);
    }
  for (int64_t i = 0; i < e->nrows; i++) add_to_index(type, row_ptr, i + 1, macko_index(type, row_ptr, i));
}

/* The arrays of the csr being made; values are f64. */
typedef struct {
  macko_type row_ptr_type, col_type;
  void *row_ptr, *cols;
  double *values;
} arrays;

/* Puts an entry at the next free place of its row, which its row pointer is moved behind. */
static inline void place(const arrays *a, int64_t row, int64_t col, double value)
{
  int64_t at = macko_index(a->row_ptr_type, a->row_ptr, row);
  macko_set_index(a->col_type, a->cols, at, col);
  a->values[at] = value;
  macko_set_index(a->row_ptr_type, a->row_ptr, row, at + 1);
}

/* Puts all entries in their rows. Each block is freed when its entries are in place, so that entries and matrix are never in
 * memory together in full. */
static void place_entries(macko_entries *e, const arrays *a)
{
  double sign = e->symmetry == MACKO_SKEW ? -1 : 1;
  for (; e->first; drop_first(e))
    for (int64_t k = 0; k < e->first->count; k++) {
      int64_t row = row_of(e, e->first, k), col = col_of(e, e->first, k);
      double value = e->has_values ? e->first->values[k] : 1;
      place(a, row, col, value);
      if (e->symmetry != MACKO_GENERAL && row != col) place(a, col, row, sign * value);
    }
  /* Every pointer now is at the end of its row, which is the start of the next one. */
  size_t size = (size_t)macko_type_bytes(a->row_ptr_type);
  memmove((char *)a->row_ptr + size, a->row_ptr, (size_t)e->nrows * size);
  memset(a->row_ptr, 0, size);
}

/* Columns and values from some place of the arrays on: those of a row, or room for as many. */
typedef struct {
  macko_type col_type;
  void *cols;
  double *values;
} run;

/* Copies entry f of one run to entry t of another. */
static inline void copy_entry(const run *to, int64_t t, const run *from, int64_t f)
{
  macko_set_index(to->col_type, to->cols, t, macko_index(from->col_type, from->cols, f));
  to->values[t] = from->values[f];
}

/* Sorts entries begin .. end - 1 by column; equal columns stay in their order. */
static void insertion_sort(const run *r, int64_t begin, int64_t end)
{
  for (int64_t p = begin + 1; p < end; p++) {
    int64_t col = macko_index(r->col_type, r->cols, p), q = p;
    double value = r->values[p];
    for (; q > begin && macko_index(r->col_type, r->cols, q - 1) > col; q--) copy_entry(r, q, r, q - 1);
    macko_set_index(r->col_type, r->cols, q, col);
    r->values[q] = value;
  }
}

/* Merges two sorted ranges that follow each other into the same places of *to; of equal columns those on the left come first. */
static void merge(const run *from, int64_t begin, int64_t middle, int64_t end, const run *to)
{
  int64_t left = begin, right = middle;
  for (int64_t t = begin; t < end; t++) {
    int take_left = left < middle && (right == end || macko_index(from->col_type, from->cols, left) <=
                                                        macko_index(from->col_type, from->cols, right));
    copy_entry(to, t, from, take_left ? left++ : right++);
  }
}

/* Sorts a row by column: short ranges by insertion, then merged two by two between the row and spare, which is as long. It is
 * stable, so that duplicates are added in the order of the file. */
static void sort_row(const run *row, int64_t length, const run *spare)
{
  enum { SHORT = 24 };
  const run *from = row, *to = spare;
  for (int64_t p = 0; p < length; p += SHORT) insertion_sort(row, p, p + SHORT < length ? p + SHORT : length);
  for (int64_t width = SHORT; width < length; width *= 2) {
    for (int64_t p = 0; p < length; p += 2 * width) {
      int64_t middle = p + width < length ? p + width : length, end = p + 2 * width < length ? p + 2 * width : length;
      merge(from, p, middle, end, to);
    }
    const run *swap = from;
    from = to, to = swap;
  }
  if (from == row) return;
  memcpy(row->cols, from->cols, (size_t)(length * macko_type_bytes(row->col_type)));
  memcpy(row->values, from->values, (size_t)length * sizeof(double));
}

/* Gives the columns and values from that place on. */
static run run_at(const arrays *a, int64_t place)
{
  return (run){a->col_type, (char *)a->cols + place * macko_type_bytes(a->col_type), a->values + place};
}

/* Tells whether columns rise strictly; *unsorted is set where they fall, and not where there are only duplicates. */
static int rises(const arrays *a, int64_t begin, int64_t end, int *unsorted)
{
  int strictly = 1;
  for (int64_t p = begin + 1; p < end; p++) {
    int64_t before = macko_index(a->col_type, a->cols, p - 1), col = macko_index(a->col_type, a->cols, p);
    strictly &= before < col, *unsorted |= before > col;
  }
  return strictly;
}

/* Sorts the rows that need it; *duplicates tells whether any are left in the sorted rows. Room is that of the longest row which
 * had to be sorted. */
static macko_status sort_rows(macko_input *in, const macko_entries *e, const arrays *a, int *duplicates)
{
  run spare = {.col_type = a->col_type};
  int64_t room = 0;
  for (int64_t i = 0; i < e->nrows && !in->status; i++) {
    int64_t begin = macko_index(a->row_ptr_type, a->row_ptr, i), end = macko_index(a->row_ptr_type, a->row_ptr, i + 1);
    int unsorted = 0;
    if (rises(a, begin, end, &unsorted)) continue;
    run row = run_at(a, begin);
    if (end - begin > room && unsorted) {
      free(spare.cols), free(spare.values);
      room = end - begin;
      spare.cols = malloc((size_t)(room * macko_type_bytes(a->col_type))), spare.values = malloc((size_t)room * sizeof(double));
      if (!spare.cols || !spare.values)
        macko_input_fail(in, MACKO_OUT_OF_MEMORY, "no memory to sort a row of %lld entries", (long long)room);
    }
    if (unsorted && !in->status) sort_row(&row, end - begin, &spare);
    if (!*duplicates) *duplicates = !rises(a, begin, end, &unsorted);
  }
  free(spare.cols), free(spare.values);
  return in->status;
}

/* Adds up equal columns of sorted rows, in place: what follows moves forward. */
static void add_duplicates(const macko_entries *e, const arrays *a)
{
  run all = run_at(a, 0);
  int64_t kept = 0, begin = 0;
  for (int64_t i = 0; i < e->nrows; i++) {
    int64_t end = macko_index(a->row_ptr_type, a->row_ptr, i + 1), row_start = kept;
    for (int64_t p = begin; p < end; p++)
      if (kept > row_start && macko_index(a->col_type, a->cols, kept - 1) == macko_index(a->col_type, a->cols, p))
        a->values[kept - 1] += a->values[p];
      else copy_entry(&all, kept++, &all, p);
    macko_set_index(a->row_ptr_type, a->row_ptr, i + 1, kept);
    begin = end;
  }
}

/* Gives back what duplicates left over; keeps the array if even that fails. */
static void *shrink(void *array, int64_t count, macko_type type)
{
  void *smaller = realloc(array, (size_t)(count ? count * macko_type_bytes(type) : 1));
  return smaller ? smaller : array;
}

/* Fills the arrays with the entries. */
static macko_status fill(macko_input *in, macko_entries *e, arrays *a)
{
  int duplicates = 0;
  count_rows(e, a->row_ptr_type, a->row_ptr);
  place_entries(e, a);
  if (sort_rows(in, e, a, &duplicates)) return in->status;
  if (!duplicates) return MACKO_OK;
  add_duplicates(e, a);
  int64_t nnz = macko_index(a->row_ptr_type, a->row_ptr, e->nrows);
  a->cols = shrink(a->cols, nnz, a->col_type);
  a->values = shrink(a->values, nnz, MACKO_F64);
  return MACKO_OK;
}

/* Entries are freed in any case: where they are in place there are none left. */
macko_status macko_build_csr(macko_input *in, macko_entries *e, macko_csr *csr)
{
  if (check_proportion(in, e)) goto failed;
  int64_t nnz = e->count + count_mirrored(e);
  arrays a = {.row_ptr_type = index_type(nnz), .col_type = e->col_type};
  a.row_ptr = calloc((size_t)e->nrows + 1, (size_t)macko_type_bytes(a.row_ptr_type));
  a.cols = malloc((size_t)(nnz ? nnz * macko_type_bytes(a.col_type) : 1));
  a.values = malloc((size_t)(nnz ? nnz : 1) * sizeof(double));
  if (!a.row_ptr || !a.cols || !a.values)
    macko_input_fail(in, MACKO_OUT_OF_MEMORY, "no memory for a matrix of %lld rows and %lld nonzeros", (long long)e->nrows,
                     (long long)nnz);
  if (in->status || fill(in, e, &a)) {
    free(a.row_ptr), free(a.cols), free(a.values);
    goto failed;
  }
  *csr = (macko_csr){.nrows = e->nrows, .ncols = e->ncols, .row_ptr_type = a.row_ptr_type, .col_type = a.col_type,
                     .value_type = MACKO_F64, .row_ptr = a.row_ptr, .cols = a.cols, .values = a.values};
  return MACKO_OK;
failed:
  macko_free_entries(e);
  return in->status;
}
