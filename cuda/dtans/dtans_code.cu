/* Format dtans encoded on the GPU: one warp a slice, a lane its rows, as on the host (lib/dtans/dtans_coder.c). A forward pass
 * over the multiplicities numbers the symbols and finds which words come out of digits, which gives every slice's place; a
 * backward pass fixes the digits and writes the words in the order of the lockstep decoder, last word first. */
#include "dtans/dtans_source.cuh"

#include "core/convert.h"
#include "core/sums.cuh"
#include "core/warp.cuh"

enum { THREADS = 128, NUMBER_BITS = 12, NUMBER_MASK = (1 << NUMBER_BITS) - 1,
      SEGMENT = MACKO_DTANS_SEGMENT, LONG = 512 /* entries of a lane whose symbols the warp looks up together */ };

static_assert(WARP == (int)MACKO_DTANS_LANES, "one warp a slice");

/* ---- a lane ---- */

struct lane_place {
  int64_t row;   /* its first one */
  int64_t count; /* entries of all its rows */
  int64_t start; /* its first symbol's place in numbers, in entries */
};

/* Says where the calling lane's entries are; all lanes of the warp take part, because each starts behind those before it. */
static __device__ lane_place place_of_lane(const device_csr &a, const macko_dtans_job &job, int64_t slice)
{
  int lane = threadIdx.x % WARP;
  int64_t first = slice * job.rows * WARP, before;
  lane_place l = {first + lane, 0, 0};
  for (int q = 0; q < job.rows; q++) {
    int64_t row = l.row + q * WARP;
    if (row < a.nrows) l.count += row_at(a, row + 1) - row_at(a, row);
  }
  before = l.count;
  for (int step = 1; step < WARP; step *= 2) {
    int64_t other = __shfl_up_sync(EVERY, before, step);
    if (lane >= step) before += other;
  }
  l.start = row_at(a, first) + before - l.count;
  return l;
}

/* This is entry i of a lane: where it is in the csr, and in which row. */
struct entry_place {
  int64_t p, row;
  bool first;
};

/* Gives entry i of a lane whose first row is `row`: goes through the lane's rows, 32 apart, until it is reached. */
static __device__ entry_place find_entry(const device_csr &a, int64_t row, int64_t i)
{
  int64_t length;
  for (; i >= (length = row_at(a, row + 1) - row_at(a, row)); row += WARP) i -= length;
  return {row_at(a, row) + i, row, i == 0};
}

/* Gives the symbol of an entry for a table that codes that part. */
static __device__ macko_dtans_symbol symbol_at(const device_csr &a, const entry_place &e, int part)
{
  macko_dtans_symbol s = {0, 0};
  if (part & MACKO_DTANS_GAPS) s.gap = gap_at(a, e.p, e.row, e.first);
  if (part & MACKO_DTANS_VALUES) s.value = bits_at(a, e.p);
  return s;
}

/* Gives the number of slots that symbol number `number` has. */
static __device__ __forceinline__ unsigned multiplicity(const macko_dtans_code_table &t, unsigned number)
{
  return t.first[number + 1] - t.first[number];
}

/* ---- forward ---- */

/* This is the state of a lane's forward pass. */
struct forward_lane {
  uint64_t r;
  unsigned flags, head; /* of the segment at hand; the number of its first symbol */
  int group;
  int64_t words;
};

/* Takes symbol k of segment j of a lane of `count` entries; after a segment's last one its flags are written. */
static __device__ void forward_symbol(const macko_dtans_job &job, int64_t count, int64_t j, int k, unsigned number,
                                      uint16_t *numbers, forward_lane *f)
{
  int domain = k % job.coding.domains, next = macko_dtans_words(&job.coding, count, j + 1);
  const macko_dtans_code_table &t = job.table[domain];
  if ((int)number == t.escape) f->words += job.coding.gap_words[domain] + job.coding.value_words[domain];
  if (k == 0) {
    f->head = number, f->flags = 0, f->group = 0;
    f->words += macko_dtans_words(&job.coding, count, j);
  }
  numbers[j * SEGMENT + k] = (uint16_t)number;
  if (f->group < next && f->group < job.coding.groups) {
    f->r *= multiplicity(t, number);
    if (k + 1 == macko_dtans_group_end(job.coding.groups, f->group)) {
      if (f->r >> 32) f->r >>= 32, f->flags |= 1u << f->group, f->words--;
      f->group++;
    }
  }
  if (k + 1 == SEGMENT) numbers[j * SEGMENT] = (uint16_t)(f->head | f->flags << NUMBER_BITS);
}

/* Gives the number of an entry's symbol in the table of a domain. */
static __device__ unsigned number_of(const device_csr &a, const macko_dtans_job &job, const entry_place &e, int domain)
{
  const macko_dtans_code_table &t = job.table[domain];
  return macko_dtans_find_number(t.index, t.mask, t.key, t.symbols, t.escape, symbol_at(a, e, job.part[domain]));
}

/* Numbers the symbols of long lanes, one lane after the other, by the whole warp, whose other lanes would wait. */
static __device__ void number_long_lanes(const device_csr &a, const macko_dtans_job &job, const lane_place &l)
{
  int domains = job.coding.domains;
  for (unsigned lanes = __ballot_sync(EVERY, l.count > LONG); lanes; lanes &= lanes - 1) {
    int lane = __ffs(lanes) - 1;
    int64_t row = __shfl_sync(EVERY, l.row, lane), count = __shfl_sync(EVERY, l.count, lane);
    uint16_t *numbers = job.numbers + __shfl_sync(EVERY, l.start, lane) * domains;
    for (int64_t i = threadIdx.x % WARP; i < count; i += WARP) {
      entry_place e = find_entry(a, row, i);
      for (int d = 0; d < domains; d++) numbers[i * domains + d] = (uint16_t)number_of(a, job, e, d);
    }
  }
  __syncwarp();
}

/* A warp takes a slice: numbers and flags of its lanes, and in starts[slice + 1] how many words it has. */
static __global__ void __launch_bounds__(THREADS) forward_kernel(device_csr a, macko_dtans_job job)
{
  int64_t slice = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP;
  if (slice >= job.slices) return;
  lane_place l = place_of_lane(a, job, slice);
  int domains = job.coding.domains, per = macko_dtans_per_segment(&job.coding);
  uint16_t *numbers = job.numbers + l.start * domains;
  forward_lane f = {1, 0, 0, 0, 0};
  int64_t i = 0;
  number_long_lanes(a, job, l);
  for (int64_t row = l.row; i < l.count; row += WARP) {
    int64_t begin = row_at(a, row), end = row_at(a, row + 1);
    for (int64_t p = begin; p < end; p++, i++)
      for (int d = 0; d < domains; d++) {
        unsigned number = l.count > LONG ? numbers[i * domains + d] : number_of(a, job, {p, row, p == begin}, d);
        forward_symbol(job, l.count, i / per, (int)(i % per) * domains + d, number, numbers, &f);
      }
  }
  int64_t words = sum_of_lanes((int64_t)f.words, WARP);
  if (threadIdx.x % WARP == 0) job.starts[slice + 1] = words;
}

/* ---- backward ---- */

/* Writes the words of a slice from its end on, as the backward pass finds them. */
struct word_writer {
  uint32_t *end;

  /* Takes one word of each lane that has one, in the order of lanes. */
  __device__ __forceinline__ void put(bool has, uint32_t word)
  {
    unsigned mask = __ballot_sync(EVERY, has);
    end -= __popc(mask);
    if (has) end[__popc(mask & ((1u << threadIdx.x % WARP) - 1))] = word;
  }
};

/* This is the state of a lane's backward pass: words of later segments go into digits, and symbols take their digits out of
 * it. */
struct backward_lane {
  uint64_t digits;
  uint32_t words[MACKO_DTANS_WORDS];
  unsigned slots[SEGMENT];
  int next; /* words of the segment after this one; 0 at the end of the lane */
};

/* Gives the words that eight slots of 12 bits make. */
static __device__ __forceinline__ void pack(backward_lane *b)
{
  b->words[0] = b->slots[0] | b->slots[1] << 12 | b->slots[2] << 24;
  b->words[1] = b->slots[2] >> 8 | b->slots[3] << 4 | b->slots[4] << 16 | b->slots[5] << 28;
  b->words[2] = b->slots[5] >> 4 | b->slots[6] << 8 | b->slots[7] << 20;
}

/* Takes word g of the next segment into the digits, or writes it; then takes the digits of group g out again, last slot first. */
template <int DOMAINS, int GROUPS>
static __device__ __forceinline__ void backward_group(const macko_dtans_job &job, const unsigned numbers[SEGMENT], unsigned flags,
                                                      int g, backward_lane *b, word_writer *w)
{
  int begin = g ? macko_dtans_group_end(GROUPS, g - 1) : 0, end = macko_dtans_group_end(GROUPS, g);
  bool here = b->next > g, extracted = flags >> g & 1;
  w->put(here && !extracted, b->words[g]);
  if (here && extracted) b->digits = b->digits << 32 | b->words[g];
#pragma unroll
  for (int k = SEGMENT - 1; k >= 0; k--) {
    if (k < begin || k >= end || !b->next) continue;
    const macko_dtans_code_table &t = job.table[k % DOMAINS];
    unsigned digit = 0;
    if (here) {
      unsigned m = multiplicity(t, numbers[k]);
      uint64_t left = m & (m - 1) ? b->digits / m : b->digits >> (__ffs(m) - 1); /* a division takes a hundred instructions */
      digit = (unsigned)(b->digits - left * m);
      b->digits = left;
    }
    b->slots[k] = t.first[numbers[k]] + digit;
  }
}

/* Writes the raw words of the escapes in segment j. */
template <int DOMAINS>
static __device__ void backward_escapes(const device_csr &a, const macko_dtans_job &job, const lane_place &l, int64_t j,
                                        const unsigned numbers[SEGMENT], word_writer *w)
{
  macko_dtans_symbol s[SEGMENT]; /* loaded before any is written, so that the loads do not wait for each other */
#pragma unroll
  for (int k = 0; k < SEGMENT; k++) {
    int64_t place = (j * SEGMENT + k) / DOMAINS;
    s[k] = {0, 0};
    if (place < l.count && (int)numbers[k] == job.table[k % DOMAINS].escape)
      s[k] = symbol_at(a, find_entry(a, l.row, place), job.part[k % DOMAINS]);
  }
#pragma unroll
  for (int k = SEGMENT - 1; k >= 0; k--) {
    const int domain = k % DOMAINS;
    bool escaped = (j * SEGMENT + k) / DOMAINS < l.count && (int)numbers[k] == job.table[domain].escape;
    if (!__any_sync(EVERY, escaped)) continue;
    if (job.coding.value_words[domain] > 1) w->put(escaped, (uint32_t)(s[k].value >> 32));
    if (job.coding.value_words[domain]) w->put(escaped, (uint32_t)s[k].value);
    if (job.coding.gap_words[domain]) w->put(escaped, s[k].gap);
  }
}

/* Loads the numbers of a lane's segment j, zero behind its end; gives the segment's flags. */
template <int DOMAINS>
static __device__ __forceinline__ unsigned load_numbers(const macko_dtans_job &job, const lane_place &l, int64_t j,
                                                        unsigned numbers[SEGMENT])
{
  const uint16_t *from = job.numbers + l.start * DOMAINS + j * SEGMENT;
  unsigned flags = 0;
#pragma unroll
  for (int k = 0; k < SEGMENT; k++) {
    unsigned number = j * SEGMENT + k < l.count * DOMAINS ? from[k] : 0;
    if (k == 0) flags = number >> NUMBER_BITS;
    numbers[k] = number & NUMBER_MASK;
  }
  return flags;
}

/* A warp takes a slice, from its last segment to its first: for each segment what follows it is written first. */
template <int DOMAINS, int GROUPS> static __global__ void __launch_bounds__(THREADS)
    backward_kernel(device_csr a, macko_dtans_job job, uint32_t *stream)
{
  int64_t slice = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP;
  if (slice >= job.slices) return;
  lane_place l = place_of_lane(a, job, slice);
  word_writer w = {stream + job.starts[slice + 1]};
  backward_lane b = {};
  int longest = __reduce_max_sync(EVERY, (int)macko_dtans_segments(&job.coding, l.count));
  for (int64_t j = longest - 1; j >= 0; j--) {
    unsigned numbers[SEGMENT], flags = load_numbers<DOMAINS>(job, l, j, numbers);
#pragma unroll
    for (int q = MACKO_DTANS_WORDS - 1; q >= GROUPS; q--) w.put(q < b.next, b.words[q]);
#pragma unroll
    for (int g = GROUPS - 1; g >= 0; g--) backward_group<DOMAINS, GROUPS>(job, numbers, flags, g, &b, &w);
    int here = macko_dtans_words(&job.coding, l.count, j);
    if (here && !b.next) /* digit 0 for all symbols of a lane's last segment: nobody returns them */
#pragma unroll
      for (int k = 0; k < SEGMENT; k++)
        b.slots[k] = j * SEGMENT + k < l.count * DOMAINS ? job.table[k % DOMAINS].first[numbers[k]] : 0;
    if (here) {
      pack(&b);
      b.next = here;
    }
    backward_escapes<DOMAINS>(a, job, l, j, numbers, &w);
  }
#pragma unroll
  for (int q = MACKO_DTANS_WORDS - 1; q >= 0; q--) w.put(q < b.next, b.words[q]);
}

/* ---- values beside gaps ---- */

/* Gives the number of a value, which is there, among the sorted ones. */
static __device__ int place_of_value(const macko_dtans_dictionary &d, int bytes, uint64_t bits)
{
  int low = 0, high = d.count - 1;
  while (low < high) {
    int middle = (low + high) / 2;
    uint64_t here = bytes == 8 ? ((const uint64_t *)d.sorted)[middle] : ((const uint32_t *)d.sorted)[middle];
    if (here < bits) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Puts the value of entry p to place `at` of the stream, or, where there is no stream yet, notes that it appears there. */
static __device__ void put_value(const device_csr &a, const macko_dtans_dictionary &d, int stored, int64_t p, int64_t at,
                                 void *values)
{
  uint64_t bits = bits_at(a, p);
  macko_type from = (macko_type)a.value_type, to = (macko_type)stored;
  if (d.sorted) {
    int place = place_of_value(d, from == MACKO_F64 ? 8 : 4, bits);
    if (values) bits = d.codes[place];
    else if ((unsigned long long)at < d.first[place]) /* hardly any is new later on */
      atomicMin(d.first + place, (unsigned long long)at);
  } else if (to != from) bits = macko_convert(from, to, a.values, p);
  if (!values) return;
  if (to == MACKO_U8 || to == MACKO_I8) ((uint8_t *)values)[at] = (uint8_t)bits;
  else if (to == MACKO_F64) ((uint64_t *)values)[at] = bits;
  else if (to == MACKO_F32) ((uint32_t *)values)[at] = (uint32_t)bits;
  else ((uint16_t *)values)[at] = (uint16_t)bits;
}

/* values NULL: only finds where each value of the dictionary appears first. */
static __global__ void __launch_bounds__(THREADS) values_kernel(device_csr a, macko_dtans_job job, macko_dtans_dictionary d,
                                                                int stored, void *values)
{
  int64_t slice = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP;
  if (slice >= job.slices) return;
  lane_place l = place_of_lane(a, job, slice);
  int64_t to = row_at(a, slice * job.rows * WARP), row = l.row, p = 0, end = 0;
  if (l.count) p = row_at(a, row), end = row_at(a, row + 1);
  for (int64_t i = 0;; i++, p++) {
    unsigned mask = __ballot_sync(EVERY, i < l.count);
    if (!mask) return;
    if (i < l.count) {
      while (p == end) row += WARP, p = row_at(a, row), end = row_at(a, row + 1);
      int64_t at = to + __popc(mask & ((1u << threadIdx.x % WARP) - 1));
      put_value(a, d, stored, p, at, values);
    }
    to += __popc(mask);
  }
}

/* Copies numbers to an array of i32 or i64. */
static __global__ void starts_kernel(const int64_t *starts, int64_t count, int type, void *out)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= count) return;
  if (type == MACKO_I64) ((int64_t *)out)[i] = starts[i];
  else ((int32_t *)out)[i] = (int32_t)starts[i];
}

/* A slice's values begin where the entries of its first row begin in the csr. */
static __global__ void value_starts_kernel(device_csr a, macko_dtans_job job)
{
  int64_t slice = (int64_t)blockIdx.x * THREADS + threadIdx.x, row = slice * job.rows * WARP;
  if (slice <= job.slices) job.starts[slice] = row_at(a, row < a.nrows ? row : a.nrows);
}

/* ---- what the encoder calls ---- */

/* Goes from the words of each slice to where it starts, in place. */
static macko_status sum_starts(const macko_dtans_job *job, cudaStream_t stream, macko_error *err)
{
  void *room = NULL;
  macko_status s = macko_device_alloc(sum_room(job->slices) * (int64_t)sizeof *job->starts, "adding up slices", &room, err);
  if (s) return s;
  cudaError_t error = sum_up(job->starts + 1, job->slices, (int64_t *)room, stream);
  if (!error) error = cudaStreamSynchronize(stream);
  cudaFree(room);
  return macko_cuda_status(error, "adding up slices", err);
}

extern "C" macko_status macko_dtans_measure_device(const macko_csr *a, const macko_dtans_job *job, int64_t *words,
                                                   cudaStream_t stream, macko_error *err)
{
  cudaError_t error = cudaMemsetAsync(job->starts, 0, (size_t)(job->slices + 1) * sizeof *job->starts, stream);
  if (!error)
    error = launch(forward_kernel, blocks_for(job->slices * WARP, THREADS), THREADS, 0, stream, source_of(a, job->relative), *job);
  macko_status s = error ? macko_cuda_status(error, "measuring a stream", err) : sum_starts(job, stream, err);
  if (s) return s;
  return macko_cuda_status(cudaMemcpy(words, job->starts + job->slices, sizeof *words, cudaMemcpyDeviceToHost),
                           "measuring a stream", err);
}

extern "C" macko_status macko_dtans_write_device(const macko_csr *csr, const macko_dtans_job *job, uint32_t *words,
                                                 cudaStream_t stream, macko_error *err)
{
  device_csr a = source_of(csr, job->relative);
  unsigned blocks = blocks_for(job->slices * WARP, THREADS);
  auto kernel = job->coding.domains == 2 ? backward_kernel<2, 2> : job->coding.groups == 2 ? backward_kernel<1, 2>
                                                                                           : backward_kernel<1, 3>;
  return macko_cuda_status(launch(kernel, blocks, THREADS, 0, stream, a, *job, words), "writing a stream", err);
}

extern "C" macko_status macko_dtans_values_device(const macko_csr *csr, const macko_dtans_job *job,
                                                  const macko_dtans_dictionary *dictionary, macko_type stored, void *values,
                                                  cudaStream_t stream, macko_error *err)
{
  device_csr a = source_of(csr, job->relative);
  cudaError_t error = launch(value_starts_kernel, blocks_for(job->slices + 1, THREADS), THREADS, 0, stream, a, *job);
  if (!error)
    error = launch(values_kernel, blocks_for(job->slices * WARP, THREADS), THREADS, 0, stream, a, *job, *dictionary, stored,
                   values);
  return macko_cuda_status(error, "writing values", err);
}

extern "C" macko_status macko_dtans_put_starts(const int64_t *starts, int64_t count, macko_type type, void *out,
                                               cudaStream_t stream, macko_error *err)
{
  return macko_cuda_status(launch(starts_kernel, blocks_for(count, THREADS), THREADS, 0, stream, starts, count, type, out),
                           "writing the starts of slices", err);
}
