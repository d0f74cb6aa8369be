/* An encoding under way: the csr, what is known about it, and the device memory taken for it. */
#ifndef MACKO_ENCODER_H
#define MACKO_ENCODER_H

#include "core/encode.h"

enum { MACKO_ENCODER_ROOMS = 64 };

typedef struct macko_encoder {
  macko_csr csr; /* as given */
  macko_device_csr a;
  cudaStream_t stream;
  int readable; /* the csr is sorted and right, so that kernels can read it */
  uint64_t pattern; /* its number (pattern.h), where it is readable */
  int mistaken; /* two blocks of equal hash were not equal: the host compares blocks, not hashes */
  void *rooms[MACKO_ENCODER_ROOMS];
  int nrooms;
  void *answer;          /* what kernels answer */
  unsigned misfits;      /* once looked for */
  int misfits_known;
  macko_device_dictionary values; /* once collected */
  int64_t distinct;               /* values; -1: more than fit a dictionary */
  void *own[MACKO_FORMAT_AUTO];   /* what a format has learnt; its `close` frees it */
} macko_encoder;

/* On failure the encoder is to be closed, too. Errors: OUT_OF_MEMORY, DEVICE. */
macko_status macko_open_encoder(const macko_csr *csr, cudaStream_t stream, macko_encoder *e, macko_error *err);
void macko_close_encoder(macko_encoder *e);

/* Device memory until the encoder is closed, or given back. */
macko_status macko_encoder_room(macko_encoder *e, int64_t bytes, void **room, macko_error *err);
void macko_encoder_give_back(macko_encoder *e, void *room);

/* From the device, once what is under way on the stream is done; to the device; zeros into e->answer. */
macko_status macko_encoder_read_back(const macko_encoder *e, void *to, const void *from, size_t bytes, macko_error *err);
macko_status macko_encoder_send(const macko_encoder *e, void *to, const void *from, size_t bytes, macko_error *err);
macko_status macko_encoder_clear(const macko_encoder *e, macko_error *err);

/* Facts about values (lib/values/codecs.h); context is the encoder. */
macko_status macko_encoder_misfit(void *context, macko_type to, int *found, macko_error *err);

/* UNSUPPORTED where rounding would make a value infinite and the options do not allow it; the host names which. */
macko_status macko_encoder_check_overflow(macko_encoder *e, const macko_options *options, macko_error *err);
macko_status macko_encoder_distinct(void *context, int64_t limit, int64_t *distinct, macko_error *err);

macko_status macko_encoder_dictionary(macko_encoder *e, macko_device_dictionary *d, macko_error *err); /* room for one */

/* Sections "values" and "dict" of *d, an entry of the csr in each slot. */
macko_status macko_encoder_put_values(macko_encoder *e, macko_device_matrix *d, macko_error *err);

/* The elements of a set in the order in which the host meets them. */
typedef struct {
  unsigned long long rank;
  uint32_t slot;
} macko_appearance;

/* Puts count elements, of a set whose keys have been read back, into the tables of *d. */
typedef macko_status (*macko_table_sender)(macko_encoder *e, macko_device_matrix *d, const unsigned long long *keys,
                                           const macko_appearance *found, int64_t count, macko_error *err);

/* Element of a set that has been read back. */
static inline uint64_t macko_element_at(const unsigned long long *keys, uint64_t slot)
{
  return slot == MACKO_DEVICE_HASH_SLOTS ? ~0ull : keys[slot];
}

/* Codes of a set's elements by their ranks, and the tables that send fills. Codes of *d are written then. */
macko_status macko_encoder_number(macko_encoder *e, macko_device_matrix *d, const macko_device_dictionary *set,
                                  macko_table_sender send, macko_error *err);
macko_status macko_encoder_send_values(macko_encoder *e, macko_device_matrix *d, const unsigned long long *keys,
                                       const macko_appearance *found, int64_t count, macko_error *err);

/* ---- whole matrices ---- */

/* Plans and encodes. Without a matrix, and e no longer readable, where automatic choice took a format of the host's. */
macko_status macko_encoder_encode(macko_encoder *e, const macko_options *options, macko_device_matrix **device, macko_error *err);

/* `encode` of a format that lists its sections by the plan, through write_pattern and write_values. */
macko_status macko_encode_sections(macko_encoder *e, const macko_matrix *m, macko_device_matrix **device, macko_error *err);

/* Values by the plan that plan_values makes, or by *plan, for the pattern of *d. */
macko_status macko_refresh_sections(macko_encoder *e, macko_device_matrix *d, int *moved, macko_error *err);
macko_status macko_put_plan(macko_encoder *e, macko_device_matrix *d, const macko_plan *plan, int *moved, macko_error *err);

/* Whether *csr can hold new values for *d, as far as sizes and types tell. Errors: INVALID_MATRIX. */
macko_status macko_check_same_type(const macko_device_matrix *d, const macko_csr *csr, macko_error *err);

/* The transpose of the encoder's csr, compressed as *d was asked to be; NULL where the host must make it (transpose_csr.c). */
macko_status macko_encode_transpose(macko_encoder *e, const macko_device_matrix *d, macko_device_matrix **transpose,
                                    macko_error *err);

/* Exchanges all but the transpose, which stays with a. */
void macko_swap_matrices(macko_device_matrix *a, macko_device_matrix *b);

#endif
