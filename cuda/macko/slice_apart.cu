/* The sectors of x that slices of sorted rows ask for, counted in a sample of a csr in device memory (lib/macko/slice_apart.h): a
 * block of threads a stretch. */
#include "core/sectors.cuh"
#include "macko/slice_rows.cuh"

/* Adds to counts[0] and [1] the entries and the sectors of one stretch. Threads go through its rows together, `most` places
 * each. */
static __global__ void apart_kernel(macko_device_csr a, macko_apart_sample s, const uint16_t *order, int columns,
                                    macko_hash_key key, unsigned long long *counts)
{
  __shared__ unsigned long long table[MACKO_SECTOR_SLOTS];
  clear_sectors(table);
  const int64_t start = blockIdx.x / MACKO_APART_PARTS * s.step, rows = min(a.nrows - start, (int64_t)MACKO_SLICE_WINDOW);
  int64_t first, past;
  macko_apart_stretch(&s, rows, blockIdx.x % MACKO_APART_PARTS, &first, &past);
  int entries = 0, sectors = 0;
  for (int64_t i = threadIdx.x; i < (past - first) * s.most; i += blockDim.x) {
    const lane_row r = row_at(a, order, start + first + i / s.most);
    const int64_t k = i % s.most;
    if (k >= r.length) continue;
    entries++, sectors += put_sector(table, key, column(a, r.begin + k) / columns);
  }
  if (entries) atomicAdd(&counts[0], (unsigned long long)entries), atomicAdd(&counts[1], (unsigned long long)sectors);
}

extern "C" cudaError_t macko_count_apart(const macko_device_csr *a, const uint16_t *order, const macko_apart_sample *s, int columns,
                                         macko_hash_key key, unsigned long long counts[2], cudaStream_t stream)
{
  const int64_t blocks = s->windows * MACKO_APART_PARTS;
  cudaError_t error = cudaMemsetAsync(counts, 0, 2 * sizeof *counts, stream);
  if (error || !blocks) return error;
  return launch(apart_kernel, (unsigned)blocks, ENCODE_THREADS, 0, stream, *a, *s, order, columns, key, counts);
}
