/* An encoding of format macko under way: what is known of its slices. */
#ifndef MACKO_SLICE_SURVEY_H
#define MACKO_SLICE_SURVEY_H

#include "core/encoder.h"
#include "macko/layouts.h"
#include "macko/slice_blocks.h"
#include "macko/slice_kernels.h"

/* These are the slices of a csr in one order of its rows, as they were described. */
typedef struct {
  macko_device_slices device; /* rooms of the encoder */
  int placed; /* 1: they have places */
  int mixed;  /* as macko_slice_answer has it */
  int64_t stencils, masked; /* how many are stencils, and how many masked */
} macko_surveyed;

/* This is what an encoder has learnt for this format (e->own). */
typedef struct {
  macko_surveyed surveyed[16];     /* rows in their order and by length, and all sets of kinds */
  int64_t block_words;             /* what all blocks took in the order that was described last; 0 before */
  macko_device_dictionary pairs;   /* once collected */
  macko_device_codes old;          /* those under pairs that new values replace, with a copy of their gaps; else none */
} macko_survey;

/* Sets *v to that of the encoder, which frees it. Errors: OUT_OF_MEMORY. */
macko_status macko_open_survey(macko_encoder *e, macko_survey **v, macko_error *err);
void macko_close_survey(macko_encoder *e);

/* Answers plan's question about slices (macko_column_facts); context is the encoder. */
macko_status macko_survey_slices(void *context, int sorted, int kinds, macko_slice_facts *facts, macko_error *err);

/* Answers its question about the sectors that slices of sorted rows ask for; 0 where such slices have not been surveyed. */
double macko_survey_sectors(void *context);

/* Sets facts->pairs, -1 where they are more than codes, and facts->wide_pairs of codec pairs. */
macko_status macko_survey_pairs(macko_encoder *e, const macko_device_slices *slices, macko_slice_facts *facts, macko_error *err);

/* Counts the pairs of the gaps of *d, whose codec is pairs, and the values of the csr: *pairs as above. Where they fit,
 * macko_put_slice_values goes by these gaps from then on. */
macko_status macko_survey_new_pairs(macko_encoder *e, const macko_device_matrix *d, int64_t *pairs, macko_error *err);

/* Writes sections "slices", "blocks" and "order" of *d. It fails and sets e->mistaken where hashes were not enough to tell
 * blocks apart. */
macko_status macko_put_slices(macko_encoder *e, macko_device_matrix *d, macko_error *err);

/* Changes the headers of *d to where values begin for its plan's elements. */
macko_status macko_move_slice_values(macko_encoder *e, macko_device_matrix *d, macko_error *err);

/* Writes sections "values", "dict" and "pair_gaps" of *d, which is of layout slice. */
macko_status macko_put_slice_values(macko_encoder *e, macko_device_matrix *d, macko_error *err);

#endif
