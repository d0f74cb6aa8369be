/* Sets of values by their bits in device memory, and what is done with them. */
#ifndef MACKO_VALUE_SET_CUH
#define MACKO_VALUE_SET_CUH

#include "core/device_csr.cuh"

/* So few blocks collect a set: each of their threads may add one element beyond the limit, and there must be free slots left,
 * or probing would not end. */
enum { COLLECT_BLOCKS = 256 };

/* This is what the key of a free slot is. An element of these bits has the slot behind all others instead. */
static const unsigned long long FREE_SLOT = ~0ull;

/* Says where the search for an element begins. */
static __device__ __forceinline__ unsigned home_slot(const macko_device_dictionary &set, uint64_t bits)
{
  return (unsigned)macko_hash(set.key, bits) & (set.slots - 1);
}

/* Gives the slot of an element, or the free one where it would go. Slots follow each other until one is free (linear probing). */
static __device__ __forceinline__ unsigned find_slot(const macko_device_dictionary &d, uint64_t bits)
{
  unsigned at = home_slot(d, bits);
  if (bits == FREE_SLOT) return d.slots;
  while (d.keys[at] != FREE_SLOT && d.keys[at] != bits) at = (at + 1) & (d.slots - 1);
  return at;
}

/* Adds an element unless it is there. Slots only ever go from free to taken, so that an element that a plain load finds is
 * there; one that it does not find may be there by now, which the atomic tells. */
static __device__ void insert(const macko_device_dictionary &d, uint64_t bits)
{
  unsigned at = find_slot(d, bits);
  if (at == d.slots) {
    if (d.keys[at] == FREE_SLOT && atomicCAS(&d.keys[at], FREE_SLOT, 0ull) == FREE_SLOT) atomicAdd(d.used, 1u);
    return;
  }
  if (d.keys[at] == bits) return;
  for (;; at = (at + 1) & (d.slots - 1)) {
    unsigned long long there = atomicCAS(&d.keys[at], FREE_SLOT, (unsigned long long)bits);
    if (there == FREE_SLOT) atomicAdd(d.used, 1u);
    if (there == FREE_SLOT || there == bits) return;
  }
}

/* Sets the ranks of all slots to the largest number, which says that the element does not appear. */
static inline cudaError_t clear_ranks(const macko_device_dictionary *set, cudaStream_t stream)
{
  size_t slots = (size_t)set->slots + 1;
  return cudaMemsetAsync(set->ranks, 0xff, slots * sizeof *set->ranks, stream);
}

/* ---- what is done with the entries of a stream: read(p, slot, chained) of entry p, which goes to a slot, then write(slot, rank,
 * what was read). A thread reads several entries before it writes the first, as memory is far. ---- */

enum { AT_ONCE = 4 }; /* entries: a sector of f64 */

/* Ranks the elements of a set; element(p, slot, chained) is what the set holds of entry p. A minimum does not depend on the order
 * of threads; a plain load before the atomic leaves most of them out. */
template <typename ELEMENT> struct rank_values {
  ELEMENT element;
  macko_device_dictionary set;
  __device__ __forceinline__ uint64_t read(int64_t p, int64_t slot, bool chained) const
  {
    return find_slot(set, element(p, slot, chained));
  }
  __device__ __forceinline__ void write(int64_t, uint64_t rank, uint64_t at) const
  {
    unsigned long long *least = &set.ranks[at];
    if (rank < *least) atomicMin(least, (unsigned long long)rank);
  }
};

/* This is for sets whose elements are the values themselves. */
struct plain_value {
  macko_device_csr a;
  __device__ __forceinline__ uint64_t operator()(int64_t p, int64_t, bool) const { return value_bits(a, p); }
};

/* Writes the element of a stream for entry p to its slot: the code of what the set holds of it, or the value converted to the
 * stored type. */
template <typename ELEMENT> struct put_value {
  ELEMENT element;
  macko_device_csr a;
  macko_device_dictionary set;
  void *stream; /* section "values" */
  int stored;   /* its type */
  __device__ __forceinline__ uint64_t read(int64_t p, int64_t slot, bool chained) const
  {
    return stored == MACKO_U8 || stored == MACKO_U16 ? set.codes[find_slot(set, element(p, slot, chained))] : value_bits(a, p);
  }
  __device__ __forceinline__ void write(int64_t slot, uint64_t, uint64_t bits) const
  {
    macko_type from = (macko_type)a.value_type, to = (macko_type)stored;
    if (to == MACKO_U8) ((uint8_t *)stream)[slot] = (uint8_t)bits;
    else if (to == MACKO_U16) ((uint16_t *)stream)[slot] = (uint16_t)bits;
    else if (to == MACKO_I8) ((uint8_t *)stream)[slot] = (uint8_t)macko_convert(from, to, &bits, 0);
    else macko_put_bits(to, stream, slot, from == to ? bits : macko_convert(from, to, &bits, 0));
  }
};

/* Writes values as they are, of so many bytes: what put_value does where no type changes, without asking for types. */
template <typename BITS> struct copy_value {
  const void *values;
  void *stream;
  __device__ __forceinline__ uint64_t read(int64_t p, int64_t, bool) const { return ((const BITS *)values)[p]; }
  __device__ __forceinline__ void write(int64_t slot, uint64_t, uint64_t bits) const { ((BITS *)stream)[slot] = (BITS)bits; }
};

/* Calls walk(f) with what writes section "values" of *d by its plan; element is what the set of a dictionary holds. */
template <typename ELEMENT, typename WALK>
static inline cudaError_t put_values(const macko_device_csr *a, const macko_device_matrix *d, const ELEMENT &element,
                                     const macko_device_dictionary *set, const WALK &walk)
{
  void *stream = macko_device_data(d, "values");
  const int stored = d->m.plan.stored_type;
  if (d->m.plan.values != MACKO_VALUES_RAW || a->value_type != stored)
    return walk(put_value<ELEMENT>{element, *a, *set, stream, stored});
  if (stored == MACKO_F64) return walk(copy_value<uint64_t>{a->values, stream});
  if (stored == MACKO_F32) return walk(copy_value<uint32_t>{a->values, stream});
  return walk(copy_value<uint16_t>{a->values, stream});
}

#endif
