/* Sets of values by their bits in device memory, and what is done with them. */
#ifndef MACKO_VALUE_SET_CUH
#define MACKO_VALUE_SET_CUH

#include "core/device_csr.cuh"

enum { COLLECT_BLOCKS = 256 }; /* fewer threads than there are slots beyond the limit: probing ends */

static const unsigned long long FREE_SLOT = ~0ull;

static __device__ __forceinline__ unsigned home_slot(macko_hash_key key, uint64_t bits)
{
  return (unsigned)(macko_hash(key, bits) % MACKO_DEVICE_HASH_SLOTS);
}

/* Slot of bits that are in the set, or the free one where they would go. */
static __device__ __forceinline__ unsigned find_slot(const macko_device_dictionary &d, uint64_t bits)
{
  unsigned at = home_slot(d.key, bits);
  if (bits == FREE_SLOT) return MACKO_DEVICE_HASH_SLOTS;
  while (d.keys[at] != FREE_SLOT && d.keys[at] != bits) at = (at + 1) % MACKO_DEVICE_HASH_SLOTS;
  return at;
}

/* Slots only ever go from free to taken, so a value that a plain load finds is there; one that it does not find may be by now. */
static __device__ void insert(const macko_device_dictionary &d, uint64_t bits)
{
  unsigned at = find_slot(d, bits);
  if (at == MACKO_DEVICE_HASH_SLOTS) {
    if (d.keys[at] == FREE_SLOT && atomicCAS(&d.keys[at], FREE_SLOT, 0ull) == FREE_SLOT) atomicAdd(d.used, 1u);
    return;
  }
  if (d.keys[at] == bits) return;
  for (;; at = (at + 1) % MACKO_DEVICE_HASH_SLOTS) {
    unsigned long long there = atomicCAS(&d.keys[at], FREE_SLOT, (unsigned long long)bits);
    if (there == FREE_SLOT) atomicAdd(d.used, 1u);
    if (there == FREE_SLOT || there == bits) return;
  }
}

static inline cudaError_t clear_ranks(const macko_device_dictionary *set, cudaStream_t stream)
{
  size_t slots = MACKO_DEVICE_HASH_SLOTS + 1;
  return cudaMemsetAsync(set->ranks, 0xff, slots * sizeof *set->ranks, stream);
}

/* For entry p in a slot: element(p, slot, chained) is what the set holds of it. */
template <typename ELEMENT> struct rank_values {
  ELEMENT element;
  macko_device_dictionary set;
  __device__ void operator()(int64_t p, int64_t slot, uint64_t rank, bool chained) const
  {
    unsigned long long *least = &set.ranks[find_slot(set, element(p, slot, chained))];
    if (rank < *least) atomicMin(least, (unsigned long long)rank);
  }
};

/* An element that is the value itself. */
struct plain_value {
  macko_device_csr a;
  __device__ __forceinline__ uint64_t operator()(int64_t p, int64_t, bool) const { return value_bits(a, p); }
};

template <typename ELEMENT> struct put_value {
  ELEMENT element;
  macko_device_csr a;
  macko_device_dictionary set;
  void *stream;
  int stored;
  __device__ void operator()(int64_t p, int64_t slot, uint64_t, bool chained) const
  {
    const void *values = a.values;
    macko_type from = (macko_type)a.value_type, to = (macko_type)stored;
    if (to == MACKO_U8) ((uint8_t *)stream)[slot] = (uint8_t)set.codes[find_slot(set, element(p, slot, chained))];
    else if (to == MACKO_U16) ((uint16_t *)stream)[slot] = (uint16_t)set.codes[find_slot(set, element(p, slot, chained))];
    else if (to == MACKO_I8) ((uint8_t *)stream)[slot] = (uint8_t)macko_convert(from, to, values, p);
    else macko_put_bits(to, stream, slot, from == to ? value_bits(a, p) : macko_convert(from, to, values, p));
  }
};

#endif
