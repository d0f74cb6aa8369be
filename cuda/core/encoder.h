/* An encoding under way: the csr, what is known about it, and the device memory taken for it. */
#ifndef MACKO_ENCODER_H
#define MACKO_ENCODER_H

#include "core/encode.h"
#include "macko/layouts.h"
#include "macko/slice_blocks.h"

/* Slices in one order of rows. */
typedef struct {
  macko_device_slices device;
  macko_slice_record *records; /* on the host */
  macko_slice_place *places;   /* on the host; values are not yet known */
} macko_surveyed;

enum { MACKO_ENCODER_ROOMS = 32 };

typedef struct {
  macko_csr csr; /* as given */
  macko_device_csr a;
  cudaStream_t stream;
  int readable; /* the csr is sorted and right, so that kernels can read it */
  uint64_t pattern; /* its number (pattern.h), where it is readable */
  int mistaken; /* two blocks of equal hash were not equal: the host compares blocks, not hashes */
  void *rooms[MACKO_ENCODER_ROOMS];
  int nrooms;
  void *answer;          /* what kernels answer */
  macko_surveyed surveyed[8]; /* rows in their order, by length; both with pairs; all of these with stencils */
  unsigned misfits;      /* once looked for */
  int misfits_known;
  macko_device_dictionary values, pairs; /* once collected */
  int64_t distinct; /* values; -1: more than fit a dictionary */
  macko_device_codes old; /* those under pairs that new values replace, with a copy of their gaps; else none */
} macko_encoder;

/* On failure the encoder is to be closed, too. Errors: OUT_OF_MEMORY, DEVICE. */
macko_status macko_open_encoder(const macko_csr *csr, cudaStream_t stream, macko_encoder *e, macko_error *err);
void macko_close_encoder(macko_encoder *e);

/* Device memory until the encoder is closed. */
macko_status macko_encoder_room(macko_encoder *e, int64_t bytes, void **room, macko_error *err);

/* From the device, once what is under way on the stream is done; to the device; zeros into e->answer. */
macko_status macko_encoder_read_back(const macko_encoder *e, void *to, const void *from, size_t bytes, macko_error *err);
macko_status macko_encoder_send(const macko_encoder *e, void *to, const void *from, size_t bytes, macko_error *err);
macko_status macko_encoder_clear(const macko_encoder *e, macko_error *err);

/* Facts about values (lib/values/codecs.h); context is the encoder. */
macko_status macko_encoder_misfit(void *context, macko_type to, int *found, macko_error *err);
macko_status macko_encoder_distinct(void *context, int64_t *distinct, macko_error *err);

/* facts->pairs, -1 where they are more than codes, and facts->wide_pairs of codec pairs. */
macko_status macko_encoder_pairs(macko_encoder *e, const macko_device_slices *slices, macko_slice_facts *facts, macko_error *err);

/* The pairs of the gaps of *d, whose codec is pairs, and the values of the csr: *pairs as above. Where they fit,
 * macko_encoder_put_values goes by these gaps from then on. */
macko_status macko_encoder_new_pairs(macko_encoder *e, const macko_device_matrix *d, int64_t *pairs, macko_error *err);

/* Valid as long as the encoder stays where it is. */
macko_facts macko_encoder_facts(macko_encoder *e);

/* Sections "slices", "blocks" and "order" of *d; fails and sets e->mistaken where hashes were not enough. */
macko_status macko_encoder_put_slices(macko_encoder *e, macko_device_matrix *d, macko_error *err);

/* Headers of *d for its plan's elements. */
macko_status macko_encoder_move_slices(macko_encoder *e, macko_device_matrix *d, macko_error *err);

/* Sections "values", "dict" and "pair_gaps" of *d. */
macko_status macko_encoder_put_values(macko_encoder *e, macko_device_matrix *d, macko_error *err);

/* Whether rows have other lengths than in *d, or stencils other values. */
macko_status macko_encoder_compare(macko_encoder *e, const macko_device_matrix *d, int *rows_differ, int *values_differ,
                                   macko_error *err);

#endif
