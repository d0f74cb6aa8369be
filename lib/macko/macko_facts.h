/* What planning of format macko asks of a matrix besides its values, which lib/ counts in host memory and libmacko_cuda in device
 * memory. */
#ifndef MACKO_MACKO_FACTS_H
#define MACKO_MACKO_FACTS_H

#include "core/facts.h"

/* This is what planning knows of all slices of layout slice, with the rows in their order or sorted by length. The order decides
 * which rows share a slice, and with it everything here. */
typedef struct {
  /* The window is MACKO_SLICE_WINDOW where rows are sorted, else 0; block_words counts equal blocks once; order_bytes are those
   * of section "order". */
  int64_t window, block_words, order_bytes;
  /* These are the units of MACKO_VALUE_UNIT bytes of the value stream, for elements of 1, 2, 4 and 8 bytes: the codec is chosen
   * later. */
  int64_t units[4];
  int64_t stencils, streamed; /* how many slices are stencils, and how many entries the other slices have */
  int64_t masked;             /* how many slices are masked */
  int64_t longest;            /* the steps of the longest slice */
  /* Slots are counted by how a product finds their columns; cost.h has a time for each kind. */
  int64_t stencil, uniform, run, listed, walked, paired, run_paired;
  int wide_pairs;             /* 1 if a gap of a pair has more than 16 bits */
  /* Under MACKO_PAIRS this counts the pairs of a gap and a value. It is -1 if there are more than MACKO_PAIR_LIMIT: counting ends
   * there, and nothing else is known. */
  int64_t pairs;
  /* The sectors of x that sorted rows ask for on a GPU beyond those of rows in their order; set by the plan where they cost. */
  double apart;
} macko_slice_facts;

/* These are the kinds of slices that a look may find besides lists and gaps of their own: stencils, slices whose gaps come
 * from codes of pairs, which none of the next is, and masked ones (layout_bits.h). The values are bits of the argument `kinds`. */
enum { MACKO_STENCILS = 1, MACKO_PAIRS = 2, MACKO_MASKED = 4 };

/* This is what a sample of the slices tells about layout slice. Everything is scaled up to the whole matrix. */
typedef struct {
  /* columns: nanoseconds that a product spends on columns, without what their bytes take; 0 where the sample is empty.
   * slots: slots of values.
   * blocks: bytes of blocks where hardly any two are equal, else 0, because a sample does not tell how many differ in all.
   * slices: nanoseconds of slices that are no stencils, besides their slots.
   * drag: that of the plan.
   * missed: the share by which all of that may be wrong. */
  double columns, slots, blocks, slices, drag, missed;
} macko_slice_estimate;

/* This is what planning knows of the rows of layout row: from these counts follow the escapes of every gap width, the bytes of
 * every base mode, and whether a GPU has rows that are cut. */
typedef struct {
  int64_t by_log[33];       /* gaps between neighbours in a row, counted by their binary logarithm, rounded down */
  /* These are the least and the largest distance of a first column from the reference of each base mode; low > high where no row
   * has one. */
  int64_t low[3], high[3];
  int64_t longest;          /* entries of the longest row */
} macko_row_facts;

/* These are the questions that planning of format macko asks. The context is that of macko_facts. The host and the GPU answer
 * them with functions of their own, and the choice that is made of the answers is the same code. */
typedef struct {
  /* Fills *facts for one order of the rows; `kinds` are bits of MACKO_STENCILS and so on. This looks at every slice. */
  macko_status (*slices)(void *context, int sorted, int kinds, macko_slice_facts *facts, macko_error *err);
  /* Fills *estimate for rows in their order or sorted by length. It is NULL where looking at all slices is as cheap. */
  macko_status (*sample)(void *context, const macko_options *options, int sorted, macko_slice_estimate *estimate,
                         macko_error *err);
  /* Fills *facts about the gaps and first columns of all rows. */
  macko_status (*rows)(void *context, macko_row_facts *facts, macko_error *err);
  /* Gives the sectors of x that slices of sorted rows ask for on a GPU (slice_apart.h), by a sample; 0 where that fails. The GPU
   * answers once it has looked at all slices in that order. */
  double (*sorted_sectors)(void *context);
  /* Gives the entries of the longest row, by row starts alone; 0 where rows come in pieces. */
  int64_t (*longest_row)(void *context);
} macko_column_facts;

/* Gives the questions of format macko among those of all formats. */
static inline const macko_column_facts *macko_columns_of(const macko_facts *f)
{
  return (const macko_column_facts *)f->of_format[MACKO_FORMAT_MACKO];
}

/* These are the answers for a csr in host memory; the context is a macko_findings, which keeps what later planning and encoding
 * need again. Errors: OUT_OF_MEMORY, LIMIT, and those of macko_get_rows where rows come in pieces. */
macko_status macko_host_slices(void *context, int sorted, int kinds, macko_slice_facts *facts, macko_error *err);
macko_status macko_host_sample(void *context, const macko_options *options, int sorted, macko_slice_estimate *estimate,
                               macko_error *err);
macko_status macko_host_rows(void *context, macko_row_facts *facts, macko_error *err);
int64_t macko_host_longest_row(void *context);

#endif
