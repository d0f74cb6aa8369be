/* Format dtans encoded where the matrix is: what cuda/dtans/dtans_encode.c asks of the kernels in cuda/dtans/dtans_count.cu and
 * cuda/dtans/dtans_code.cu. Arrays of a csr are in device memory; its rows are sorted and its entries fit 32-bit counts. */
#ifndef MACKO_DTANS_ENCODE_H
#define MACKO_DTANS_ENCODE_H

#include "core/device.h"

#include "dtans/dtans_step.h"

#ifdef __cplusplus
extern "C" {
#endif

/* These are the symbols of one part by how often they occur. */
typedef struct {
  macko_dtans_count *counts; /* on the host; all symbols, or the frequent ones where there are too many */
  int64_t used;    /* elements of counts */
  int forgotten;   /* whether there were too many */
  void *distinct;  /* values only, on the device: each value once, by its bits, of elements of distinct_bytes bytes */
  int64_t distinct_count; /* values there */
  int distinct_bytes;     /* 8 for f64, else 4 */
} macko_dtans_found;

/* Counts the symbols of one part by sorting them. Waits for the stream; *found is freed with macko_dtans_drop_found. Errors:
 * OUT_OF_MEMORY, DEVICE. */
macko_status macko_dtans_count_device(const macko_csr *a, int64_t nnz, macko_dtans_part part, int relative, cudaStream_t stream,
                                      macko_dtans_found *found, macko_error *err);
void macko_dtans_drop_found(macko_dtans_found *found);

/* Writes the entries of each row, as numbers of that type, to device memory. Errors: DEVICE. */
macko_status macko_dtans_lengths_device(const macko_csr *a, macko_type type, void *lengths, cudaStream_t stream,
                                        macko_error *err);

/* Sets *longest to the most entries of a row. Waits for the stream. Errors: OUT_OF_MEMORY, DEVICE. */
macko_status macko_dtans_longest_device(const macko_csr *a, int64_t *longest, cudaStream_t stream, macko_error *err);

/* This is a table in device memory, as lib/dtans/dtans_table.c has made it. */
typedef struct {
  const macko_dtans_symbol *symbols;
  const uint16_t *first, *index; /* first slots; a hash of mask + 1 places: a symbol's number + 1, 0 where free */
  int mask, escape;              /* number of the escape, -1 if there is none */
  macko_hash_key key;
} macko_dtans_code_table;

/* This is one stream to be written. */
typedef struct {
  macko_dtans_coding coding;
  macko_dtans_part part[MACKO_DTANS_DOMAINS];
  macko_dtans_code_table table[MACKO_DTANS_DOMAINS];
  int rows, relative; /* rows a lane; first gaps count from the diagonal */
  int64_t nnz, slices;
  uint16_t *numbers; /* nnz x domains: the symbols' numbers, slice by slice, lane by lane; a segment's first has its flags */
  int64_t *starts;   /* slices + 1: where each slice's words begin */
} macko_dtans_job;

/* Runs the forward pass: fills job->numbers with numbers and flags, and job->starts; *words is what the stream takes. Waits for
 * the stream. Errors: OUT_OF_MEMORY, DEVICE. */
macko_status macko_dtans_measure_device(const macko_csr *a, const macko_dtans_job *job, int64_t *words, cudaStream_t stream,
                                        macko_error *err);

/* Runs the backward pass after the forward one: writes the words of all slices. Errors: DEVICE. */
macko_status macko_dtans_write_device(const macko_csr *a, const macko_dtans_job *job, uint32_t *words, cudaStream_t stream,
                                      macko_error *err);

/* This is a dictionary in device memory. */
typedef struct {
  const void *sorted; /* its values' bits, words of 64 bits for f64 and of 32 for others; NULL: values are no codes */
  int count;
  unsigned long long *first; /* where each of them appears first */
  const uint16_t *codes;     /* of each of them, in the order of their first appearance */
} macko_dtans_dictionary;

/* Sets *d from the values that were found, and dict (found->distinct_count elements on the host) to them in the order in which
 * they appear. memory: 10 bytes of device memory a value, which *d uses. Waits for the stream. Errors: OUT_OF_MEMORY, DEVICE. */
macko_status macko_dtans_fill_dictionary(const macko_csr *a, const macko_dtans_job *job, const macko_dtans_found *found,
                                         void *memory, macko_dtans_dictionary *d, void *dict, cudaStream_t stream,
                                         macko_error *err);

/* Writes values beside gaps, in the order of the slices, as they are, converted to the stored type, or as codes; sets
 * job->starts to where each slice's begin. With values NULL it only notes where each value of the dictionary appears first.
 * Errors: DEVICE. */
macko_status macko_dtans_values_device(const macko_csr *a, const macko_dtans_job *job, const macko_dtans_dictionary *dictionary,
                                       macko_type stored, void *values, cudaStream_t stream, macko_error *err);

/* Copies numbers of 64 bits, in device memory, to an array there of i32 or i64. Errors: DEVICE. */
macko_status macko_dtans_put_starts(const int64_t *starts, int64_t count, macko_type type, void *out, cudaStream_t stream,
                                    macko_error *err);

/* Makes d->own: the tables of symbols as the multiply looks them up. *tables has the sections of symbols, slots and lengths on
 * the host. Errors: as macko_device_upload. */
macko_status macko_dtans_prepare_tables(macko_device_matrix *d, const macko_matrix *tables, cudaStream_t stream,
                                        macko_error *err);

/* Makes the plan that the host would make of a csr in device memory of nnz entries that kernels can read; plan->time as in
 * macko_dtans_plan. Errors: as below. */
macko_status macko_dtans_plan_device(const macko_csr *a, int64_t nnz, const macko_options *options, cudaStream_t stream,
                                     macko_plan *plan, macko_error *err);

/* Makes a matrix of format dtans from such a csr, by that plan; NULL: plans as well. Errors: UNSUPPORTED and LIMIT for what the
 * host must do, or refuse; OUT_OF_MEMORY, DEVICE. */
macko_status macko_dtans_encode_device(const macko_csr *a, int64_t nnz, const macko_options *options, const macko_plan *plan,
                                       cudaStream_t stream, macko_device_matrix **device, macko_error *err);

/* Stores new values for the pattern of *d, as macko_refresh on the host would: in place, or in *fresh, which is to take the
 * place of *d; gaps are not coded again where values have a stream of their own or lie beside them. *done 0: the host must do
 * it, also to say what is wrong, and nothing has changed. Errors: DEVICE. */
macko_status macko_dtans_refresh_device(const macko_csr *a, int64_t nnz, macko_device_matrix *d, cudaStream_t stream,
                                        macko_device_matrix **fresh, int *done, macko_error *err);

#ifdef __cplusplus
}
#endif
#endif
