/* An encoding under way: the csr, what is known about it, and the device memory taken for it. */
#ifndef MACKO_ENCODER_H
#define MACKO_ENCODER_H

#include "core/encode.h"

/* This is device memory that rooms of an encoder are cut from, one after the other. */
typedef struct {
  char *memory;
  int64_t bytes, used;
  int pooled; /* 1: it came from the pool of all encodings and goes back there */
} macko_slab;

/* This is the number of slabs that an encoder can hold at a time. */
enum { MACKO_ENCODER_SLABS = 64 };

/* This is an encoding under way. It lives on the stack of one call of the public functions. */
typedef struct macko_encoder {
  macko_csr csr;      /* as given; its arrays are in device memory */
  macko_device_csr a; /* the same for kernels, with the number of entries */
  cudaStream_t stream; /* all kernels and copies run on it */
  int readable;     /* 1: the csr is sorted and right, so that kernels can read it; 0: the host must look at it */
  uint64_t pattern; /* the number of its pattern (lib/core/pattern.h) where it is readable */
  int64_t longest;  /* entries of the longest row, then */
  int mistaken; /* 1: two blocks of equal hash were not equal; the host must encode, which compares blocks, not hashes */
  macko_slab slabs[MACKO_ENCODER_SLABS]; /* device memory that closing frees */
  int nslabs;
  int64_t slab_bytes; /* of a slab at least, 0 before anything is planned: a refresh may need no more than a few small rooms */
  void *answer;          /* device memory of 1024 bytes for what kernels answer; each question overwrites it */
  unsigned misfits;      /* as macko_find_misfits answers, once it was asked */
  int misfits_known;     /* 1: all but what overflows; 2: that, too */
  macko_device_dictionary values; /* the distinct values, once they are collected; keys are NULL before */
  int64_t distinct;               /* how many these are; -1: more than fit a dictionary */
  double sectors; /* as the facts give them, once they were asked for */
  int sectors_known;
  void *own[MACKO_FORMAT_AUTO];   /* what a format has learnt; its `close` frees it */
} macko_encoder;

/* Opens *e for a csr in device memory: counts its entries, checks it and numbers its pattern. Waits for the stream. The encoder
 * must be closed after a failure, too, which frees all that it holds. Errors: OUT_OF_MEMORY, DEVICE. */
macko_status macko_open_encoder(const macko_csr *csr, cudaStream_t stream, macko_encoder *e, macko_error *err);
void macko_close_encoder(macko_encoder *e);

/* The first takes device memory that lasts until the encoder is closed, or until it is given back before, which only the room that
 * was taken last can be. What ran on the stream may still use a room that is given back: whoever gets it next comes later there.
 * Errors: OUT_OF_MEMORY, LIMIT, DEVICE. */
macko_status macko_encoder_room(macko_encoder *e, int64_t bytes, void **room, macko_error *err);
void macko_encoder_give_back(macko_encoder *e, void *room);

/* The first copies from the device, once what is under way on the stream is done. The second copies to the device; `from` may
 * be freed when it returns. The third zeroes e->answer. */
macko_status macko_encoder_read_back(const macko_encoder *e, void *to, const void *from, size_t bytes, macko_error *err);
macko_status macko_encoder_send(const macko_encoder *e, void *to, const void *from, size_t bytes, macko_error *err);
macko_status macko_encoder_clear(const macko_encoder *e, macko_error *err);

/* Answers plan's question whether a value does not fit type `to` (macko_value_facts); context is the encoder. All types are
 * looked at together the first time. */
macko_status macko_encoder_misfit(void *context, macko_type to, int *found, macko_error *err);

/* Is `sectors` of the encoder's facts; context is the encoder. Kernels count them the first time. */
double macko_encoder_sectors(void *context);

/* Gives the sectors that all entries ask for by the two counts in e->answer, of kernels that were started with that result. A
 * failure gives 0 and is met again by whatever kernel comes next, which tells of it. */
double macko_encoder_all_sectors(const macko_encoder *e, const macko_stretches *s, cudaError_t started);

/* Fails with UNSUPPORTED where rounding would make a value infinite and the options do not allow it. It does not say which
 * value: the host names it. */
macko_status macko_encoder_check_overflow(macko_encoder *e, const macko_options *options, macko_error *err);
/* Answers plan's question how many values differ, -1 beyond the limit (macko_value_facts); context is the encoder, whose set of
 * values this fills. */
macko_status macko_encoder_distinct(void *context, int64_t limit, int64_t *distinct, macko_error *err);

/* Takes room for a set and draws its hash key. The set is not emptied, and counts in e->answer. Errors: as macko_encoder_room. */
macko_status macko_encoder_dictionary(macko_encoder *e, macko_device_dictionary *d, macko_error *err);

/* Writes sections "values" and "dict" of *d for formats that have an entry of the csr in each slot, in their order. */
macko_status macko_encoder_put_values(macko_encoder *e, macko_device_matrix *d, macko_error *err);

/* This is an element of a set, by when the host meets it. */
typedef struct {
  unsigned long long rank; /* the host meets an element of lower rank first */
  uint32_t slot;           /* where it is in the set */
} macko_appearance;

/* Puts the `count` elements of a set that were found, in the order of their codes, into the tables of *d. keys are those of the
 * set, read back to the host. */
typedef macko_status (*macko_table_sender)(macko_encoder *e, macko_device_matrix *d, const macko_device_dictionary *set,
                                           const unsigned long long *keys, const macko_appearance *found, int64_t count,
                                           macko_error *err);

/* Gives the element in a slot of a set whose keys have been read back. The last slot is for the bits that mark free slots
 * elsewhere. */
static inline uint64_t macko_element_at(const macko_device_dictionary *set, const unsigned long long *keys, uint64_t slot)
{
  return slot == set->slots ? ~0ull : keys[slot];
}

/* The first gives the elements of a set codes in the order of their ranks, and calls `send`, which fills the tables of *d; the
 * codes are on the device for kernels when it returns. The second is such a sender: it fills section "dict" with values. */
macko_status macko_encoder_number(macko_encoder *e, macko_device_matrix *d, const macko_device_dictionary *set,
                                  macko_table_sender send, macko_error *err);
macko_status macko_encoder_send_values(macko_encoder *e, macko_device_matrix *d, const macko_device_dictionary *set,
                                       const unsigned long long *keys, const macko_appearance *found, int64_t count,
                                       macko_error *err);

/* ---- whole matrices ---- */

/* Plans by the options and encodes. *device is left alone, and e is no longer readable, where automatic choice took a format
 * that the host must encode. */
macko_status macko_encoder_encode(macko_encoder *e, const macko_options *options, macko_device_matrix **device, macko_error *err);

/* Is slot `encode` of a format whose sections follow from the plan: it takes memory for them all, and fills them through
 * write_pattern and write_values. */
macko_status macko_encode_sections(macko_encoder *e, const macko_matrix *m, macko_device_matrix **device, macko_error *err);

/* Store new values for the pattern of *d: by the plan that plan_values of libmacko makes, or by *plan. *moved becomes 1 where a
 * captured graph must be captured again. */
macko_status macko_refresh_sections(macko_encoder *e, macko_device_matrix *d, int *moved, macko_error *err);
macko_status macko_put_plan(macko_encoder *e, macko_device_matrix *d, const macko_plan *plan, int *moved, macko_error *err);

/* Says whether *csr can hold new values for *d as far as sizes and types tell. Errors: INVALID_MATRIX and those of
 * macko_check_types. */
macko_status macko_check_same_type(const macko_device_matrix *d, const macko_csr *csr, macko_error *err);

/* Gives the transpose of the encoder's csr, compressed as *d was asked to be; *transpose is NULL where the host must make it.
 * (encode_transpose.c) */
macko_status macko_encode_transpose(macko_encoder *e, const macko_device_matrix *d, macko_device_matrix **transpose,
                                    macko_error *err);

/* Says whether the host must encode a matrix of so many entries (-1: not yet known) to that format, and plan it, as it alone can
 * read what planning asks for. (encode.c) */
int macko_is_hosts(macko_format format, const macko_options *o, int64_t nnz);

/* Gives what planning may ask of the encoder's csr; *e must stay. (encode.c) */
macko_facts macko_encoder_facts(macko_encoder *e);

/* Does what macko_device_encode does for prefer measured with target gpu: *device is the form that multiplies fastest on the
 * current GPU, as the library remembers or measures it (core/measure.h). The csr must be one that kernels can read. Errors:
 * UNSUPPORTED for another; as macko_device_encode. (measure.c) */
macko_status macko_device_encode_measured(const macko_csr *csr, const macko_options *options, cudaStream_t stream,
                                          macko_device_matrix **device, macko_error *err);

/* Exchanges all of two matrices but the transpose: a keeps its own, and b must have none. */
void macko_swap_matrices(macko_device_matrix *a, macko_device_matrix *b);

#endif
