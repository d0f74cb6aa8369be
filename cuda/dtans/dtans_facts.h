/* A csr in device memory as the host's planner of format dtans asks for it (lib/dtans/dtans_plan.c). */
#ifndef MACKO_DTANS_FACTS_H
#define MACKO_DTANS_FACTS_H

#include "dtans/dtans_encode.h"

#include "dtans/dtans.h"

/* These are the rows of the planner's sample, which it asks for again and again. */
typedef struct {
  int64_t first, count; /* the first row, and how many rows */
  int64_t *row_ptr;     /* counts from the piece's first entry, plus the index base of the csr */
  void *cols, *values;  /* as in the csr, on the host */
} macko_dtans_piece;

/* This is a csr in device memory as the planner asks for it. It must stay where it is while it is open, because parts of it
 * point to each other. */
typedef struct {
  const macko_csr *a;                        /* in device memory; must outlive this */
  int64_t nnz;
  cudaStream_t stream;
  int relative;                              /* as the planner asked last: first gaps count from the diagonal */
  macko_dtans_found found[MACKO_DTANS_PAIRS + 1]; /* counts by macko_dtans_part, each once it was asked for */
  macko_dtans_piece *pieces; /* kept on the host, as the planner asks for each of them several times */
  int64_t kept, room, next; /* next: the piece after the one asked for last */
  int32_t *piece_cols;      /* of a row of distinct values */
  void *piece_values;
  int32_t piece_row_ptr[2];
  macko_row_source row_source, value_source;
  macko_rows rows, values;
  macko_dtans_counter counter;
  macko_dtans_input in; /* without lengths yet */
} macko_dtans_device_rows;

/* Opens *r for a csr of nnz entries, which nothing is read of yet, and closes it: all that it holds is freed. */
void macko_dtans_open_rows(const macko_csr *a, int64_t nnz, cudaStream_t stream, macko_dtans_device_rows *r);
void macko_dtans_close_rows(macko_dtans_device_rows *r);

/* Fills r->found[part] unless it is there. Errors: OUT_OF_MEMORY, DEVICE. */
macko_status macko_dtans_count_part(macko_dtans_device_rows *r, macko_dtans_part part, macko_error *err);

/* Copies from device memory to the host and waits for it. */
macko_status macko_dtans_copy_back(const macko_dtans_device_rows *r, void *to, const void *from, int64_t bytes, macko_error *err);

#endif
