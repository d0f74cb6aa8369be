/* What kernels of format macko do with a csr in device memory. */
#ifndef MACKO_SLICE_KERNELS_H
#define MACKO_SLICE_KERNELS_H

#include "core/encode.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "macko/params.h"
#include "macko/slice_apart.h"
#include "macko/slice_blocks.h"

/* ---- layout slice ---- */

/* This is a slice as far as placing its block goes. */
typedef struct {
  uint64_t hash; /* of the block's words */
  uint32_t words;   /* of its block */
  uint32_t info; /* third word of its header */
  uint32_t in_line; /* bit i: rows of lanes 8 i .. 8 i + 7 are equally long and begin side by side */
  uint32_t entries; /* of all its rows */
} macko_slice_record;

/* This is the same slice for the kernels that write it. */
typedef struct {
  uint64_t at; /* its block in the arena */
  int64_t base; /* as in its header */
} macko_slice_source;

/* This says where the block of a slice goes. */
typedef struct {
  uint32_t block, is_new; /* word 1 of its header; 1: its block is the first of its kind */
} macko_slice_place;

/* These are all slices in an order of rows; device pointers. */
typedef struct {
  int64_t slices;
  uint16_t *order; /* NULL: rows in their own order */
  macko_slice_record *records;
  macko_slice_source *sources;
  macko_slice_place *places;
  uint32_t *arena; /* blocks in any order, equal ones too */
  unsigned long long room, *used; /* words of it; used counts on where there is no room */
} macko_device_slices;

/* Gives what a record tells of a slice: all but where its values and block begin, and its base. */
MACKO_INLINE macko_slice macko_slice_of_info(uint32_t info)
{
  const uint32_t header[MACKO_SLICE_WORDS] = {0, 0, info, 0};
  return macko_slice_at(header, 0);
}

/* This is how section "blocks" grows by some slices: words[i] from a length that leaves a rest of i, divided by
 * MACKO_STENCIL_WORDS. The rest matters because blocks of stencils are aligned. */
typedef struct {
  int64_t words[MACKO_STENCIL_WORDS];
} macko_slice_growth;

/* This is room to place blocks in: a table of mask + 1 places, a power of two, two or more for each slice; device pointers. */
typedef struct {
  macko_slice_growth *growth;  /* of each slice; as many as macko_slice_sums says */
  unsigned long long *numbers; /* what blocks are known by */
  uint32_t *first;             /* the first slice that has the block in a place of the table */
  uint32_t *found;             /* the place in the table of each slice's block */
  uint64_t mask;
  macko_hash_key key; /* drawn for the table, so that nobody can choose blocks that meet in one place */
} macko_slice_table;

/* This is what placing answers. */
typedef struct {
  macko_slice_facts facts; /* block_words and what macko_count_slice counts */
  int mixed; /* 1: a stencil and a slice that is none have one block, which only the host, slice by slice, places right */
} macko_slice_answer;

/* The first sets order to the rows of each window, longest first. The second describes slices of *s, all or one of
 * `every`, and writes their blocks to the arena as far as there is room; kinds: MACKO_STENCILS and so on, as allowed. */
cudaError_t macko_sort_windows(const macko_device_csr *a, uint16_t *order, cudaStream_t stream);
cudaError_t macko_describe_slices(const macko_device_csr *a, int kinds, int every, const macko_device_slices *s,
                                  cudaStream_t stream);

/* Sets counts[0] and [1], in device memory, to the entries of the sample and the sectors that they ask for in slices of that order;
 * `columns` elements of x are a sector, and the key is any. */
cudaError_t macko_count_apart(const macko_device_csr *a, const uint16_t *order, const macko_apart_sample *s, int columns,
                              macko_hash_key key, unsigned long long counts[2], cudaStream_t stream);

/* Says how many elements sums over so many slices need, one a slice and room beside them. */
int64_t macko_slice_sums(int64_t slices);

/* Sets s->places, from records, for a csr of nrows rows, and *answer, in device memory. Equal hashes are taken for equal
 * blocks. */
cudaError_t macko_place_slices(const macko_device_slices *s, int64_t nrows, const macko_slice_table *t, macko_slice_answer *answer,
                               cudaStream_t stream);

/* Writes the headers of all slices but for word 0, and those blocks that are new. */
cudaError_t macko_write_slices(const macko_device_slices *s, uint32_t *headers, uint32_t *blocks, cudaStream_t stream);

/* Sets *differs, in device memory, where a slice's block is not the one it was given. */
cudaError_t macko_compare_blocks(const macko_device_slices *s, const uint32_t *blocks, int *differs, cudaStream_t stream);

/* Sets word 0 of headers to where values begin for elements of `size` bytes; room has macko_slice_sums elements. */
cudaError_t macko_move_slices(uint32_t *headers, int64_t slices, int size, uint32_t *room, cudaStream_t stream);

/* Sets *differs where a row of the device matrix (layout slice) has another length than in *a, and *stencils_differ where a
 * stencil has another value. */
cudaError_t macko_compare_slices(const macko_device_csr *a, const macko_device_matrix *d, int *differs, int *stencils_differ,
                                 cudaStream_t stream);

/* ---- layout row ---- */

typedef struct {
  unsigned long long by_log[33]; /* gaps by their binary logarithm */
  long long low[3], high[3];     /* distances of first columns from the reference of each base mode */
  unsigned long long longest;    /* entries of the longest row */
} macko_device_row_facts;

/* Adds what macko_row_facts has of the rows of *a to *facts, in device memory, whose ranges are empty before. */
cudaError_t macko_count_rows(const macko_device_csr *a, macko_device_row_facts *facts, cudaStream_t stream);

/* Writes all sections of a pattern of layout row, zeroed before. room is for sums: a word for every 512 rows and 64 more. */
cudaError_t macko_write_rows(const macko_device_csr *a, const macko_device_matrix *d, uint32_t *room, cudaStream_t stream);

/* ---- values of layout slice ---- */

/* An element of a set of pairs is a gap, so many bits up, and the slot of a value in the set of values. */
enum { MACKO_PAIR_SHIFT = 19 };
/* Puts the pairs of codec pairs into a set, in slices described with MACKO_PAIRS: pairs->used[0] goes beyond 256 where there
 * are more, used[1] is 1 where a gap has more than 16 bits. */
cudaError_t macko_collect_pairs(const macko_device_csr *a, const macko_device_slices *s, const macko_device_dictionary *values,
                                const macko_device_dictionary *pairs, cudaStream_t stream);

/* These are the codes of a value stream under pairs and the gaps they stand for; device pointers. */
typedef struct {
  const uint8_t *codes;
  const uint32_t *gaps;
} macko_device_codes;

/* This is what the stream of a device matrix holds codes for. */
typedef struct {
  macko_device_dictionary set;    /* of values, or under codec pairs of pairs with slots of values */
  macko_device_dictionary values;
  macko_device_codes old;         /* under pairs: gaps are those of these codes, where there are any, else those of columns */
  int joint;
} macko_device_coding;

/* Does what macko_collect_pairs does, for the gaps that *d has, without used[1]. */
cudaError_t macko_collect_new_pairs(const macko_device_csr *a, const macko_device_matrix *d, const macko_device_coding *coding,
                                    cudaStream_t stream);

/* These do for the slots of slices what macko_rank_values and macko_write_stream do for entries in their order; the old codes
 * may be in the place of the new ones. */
cudaError_t macko_rank_slots(const macko_device_csr *a, const macko_device_matrix *d, const macko_device_coding *coding,
                             cudaStream_t stream);
cudaError_t macko_write_slots(const macko_device_csr *a, const macko_device_matrix *d, const macko_device_coding *coding,
                              cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
