/* What a format is: one static const table of functions, in this order in every lib/<format>.c. */
#ifndef MACKO_FORMAT_H
#define MACKO_FORMAT_H

#include "macko.h"

/* One array of the compressed form. Upload, save, load, checksum and byte counts are written once over sections. */
typedef struct {
  const char *name;
  void *data;
  int64_t bytes;
  macko_type type;
} macko_section;

enum { MACKO_MAX_SECTIONS = 12 };

struct macko_matrix {
  const struct macko_format_ops *ops;
  macko_format format;
  macko_type value_type;
  int64_t nrows, ncols, nnz;
  int nsections;
  macko_section sections[MACKO_MAX_SECTIONS];
  char reason[160];
};

/* Sorted rows without duplicates, 64-bit row pointers and columns: what every encoder reads. */
typedef struct {
  int64_t nrows, ncols, nnz;
  const int64_t *row_ptr;
  const int64_t *cols;
  const void *values;
  macko_type value_type;
} macko_sorted_csr;

typedef struct macko_format_ops {
  /* Exact bytes of the encoding and the reason in words, without building it. */
  macko_status (*plan)(const macko_sorted_csr *a, int64_t *bytes, char reason[160], macko_error *err);
  /* Fills sections; the caller frees whatever is there when this fails. */
  macko_status (*encode)(const macko_sorted_csr *a, macko_matrix *m, macko_error *err);
  macko_status (*decode)(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err);
  /* Every index and length checked, for data that comes from outside. */
  macko_status (*validate)(const macko_matrix *m, macko_error *err);
  /* One vector; y has been scaled by beta already. */
  void (*multiply)(const macko_matrix *m, macko_op op, macko_type vector_type, double alpha, const void *x, void *y);
} macko_format_ops;

#define MACKO_FORMAT(symbol, name, text) extern const macko_format_ops macko_##name##_ops;
#include "formats.def"
#undef MACKO_FORMAT

/* Fills *err with the sentence and returns status. */
macko_status macko_fail(macko_error *err, macko_status status, const char *sentence, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a zeroed section of count elements to m. */
macko_status macko_add_section(macko_matrix *m, const char *name, macko_type type, int64_t count, macko_error *err);

int64_t macko_type_bytes(macko_type type);

/* Checks *csr and gives its sorted form, which owns its arrays (free with macko_sorted_free). */
macko_status macko_sort_csr(const macko_csr *csr, macko_sorted_csr *sorted, macko_error *err);
void macko_sorted_free(macko_sorted_csr *sorted);

#endif
