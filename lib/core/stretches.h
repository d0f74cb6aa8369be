/* The sample by which a GPU's loads of x are foreseen, the same in host and GPU memory: stretches of entries that follow each
 * other, spread over the matrix. Entries whose columns share a sector of x cost one load together where they are asked for close
 * to each other, in whatever form the matrix is stored. */
#ifndef MACKO_STRETCHES_H
#define MACKO_STRETCHES_H

#include "core/format.h"
#include "core/hash.h"

#include <math.h>

/* A GPU loads MACKO_SECTOR bytes at least. A stretch has at most MACKO_STRETCH entries, about what a block of threads has on its
 * way at once, and there are at most MACKO_STRETCHES. Its sectors are told apart in a table of MACKO_SECTOR_SLOTS, a power of
 * two. */
enum { MACKO_SECTOR = 32, MACKO_STRETCH = 2048, MACKO_STRETCHES = 128, MACKO_SECTOR_SLOTS = 2 * MACKO_STRETCH };

/* So many sectors stay in the first-level cache of a multiprocessor whatever kernels use of it, so many where they leave it to x,
 * and so many multiprocessors there are. */
enum { MACKO_NEAR_SECTORS = 4096, MACKO_ALONE_SECTORS = 7000, MACKO_MULTIPROCESSORS = 132 };

/* There are `count` stretches. Number i has the entries of `rows` rows from row i * step on, as far as there are so many rows,
 * and is cut at MACKO_STRETCH entries; `columns` elements of x are a sector. */
typedef struct {
  int64_t count, step, rows;
  int columns;
} macko_stretches;

/* Gives the sample of a matrix. Stretches have as many rows as have MACKO_STRETCH entries on average, or a few more. */
static inline macko_stretches macko_stretches_of(int64_t nrows, int64_t nnz, macko_type value_type)
{
  const int64_t most = MACKO_STRETCH;
  macko_stretches s;
  s.columns = MACKO_SECTOR / (value_type == MACKO_F64 ? 8 : 4);
  s.rows = nnz > nrows ? most / (nnz / nrows) + 1 : most;
  s.step = (nrows + MACKO_STRETCHES - 1) / MACKO_STRETCHES;
  if (s.step < s.rows) s.step = s.rows;
  s.count = (nrows + s.step - 1) / s.step;
  return s;
}

/* Gives the slot at which the search for a sector begins. */
MACKO_INLINE uint32_t macko_sector_slot(macko_hash_key key, int64_t sector)
{
  return (uint32_t)(macko_hash(key, (uint64_t)sector) >> 32) & (MACKO_SECTOR_SLOTS - 1);
}

/* Gives the sectors that all nnz entries ask for where stretches of so many entries have asked for that many. Where the cache of a
 * multiprocessor holds all of x each loads it once. */
static inline double macko_all_sectors(const macko_stretches *s, int64_t entries, int64_t sectors, int64_t nnz, int64_t ncols)
{
  const double all = entries ? (double)sectors / (double)entries * (double)nnz : 0;
  const int64_t of_x = (ncols + s->columns - 1) / s->columns, most = MACKO_MULTIPROCESSORS * of_x;
  return of_x <= MACKO_NEAR_SECTORS && all > (double)most ? (double)most : all;
}

/* Gives the share of the sectors that a multiprocessor asks for again that kernels find in its first-level cache which leave it to
 * x, where it does not hold x whatever they use of it: all where x fits, none where x is twice as large. */
static inline double macko_share_found(int columns, int64_t ncols)
{
  const double of_x = (double)ncols / columns;
  return of_x <= MACKO_NEAR_SECTORS ? 0 : fmax(0, fmin(1, 2 - of_x / MACKO_ALONE_SECTORS));
}

/* Gives how many of `all` sectors multiprocessors have asked for before, where columns lie anywhere. */
static inline double macko_sectors_again(double all, int columns, int64_t ncols)
{
  const double of_x = (double)ncols / columns, each = all / MACKO_MULTIPROCESSORS;
  return MACKO_MULTIPROCESSORS * (each - of_x * (1 - exp(-each / of_x)));
}

/* This is a count under way in host memory. A slot holds the number of a sector and of the stretch, from 1, that has put it
 * there. It begins with a key and `columns`, the elements of x of a sector, and zeros. */
typedef struct {
  macko_hash_key key;
  int columns;
  int64_t entries, sectors;
  int64_t sector[MACKO_SECTOR_SLOTS], stretch[MACKO_SECTOR_SLOTS];
} macko_sector_count;

/* Counts entries begin .. end - 1 of a csr, and the sectors among theirs that no entry of that stretch had before. A stretch has at
 * most MACKO_STRETCH entries. */
void macko_count_stretch(macko_sector_count *c, int64_t stretch, const macko_csr *a, int64_t begin, int64_t end);

/* Counts what the sample has of rows first .. past - 1, range number i; context is the caller's. */
typedef void macko_count_range(macko_sector_count *c, const macko_csr *a, int64_t first, int64_t past, int64_t i,
                               const void *context);

/* Gives the sectors that all entries of the csr of those findings ask for, by a sample of `count` ranges of at most `rows` rows,
 * the i-th from row i * step on. *s tells how many elements of x are a sector. */
double macko_sample_sectors(void *findings, const macko_stretches *s, int64_t count, int64_t step, int64_t rows,
                            macko_count_range *count_range, const void *context);

/* This is `sectors` of the facts of a csr in host memory (facts.h). */
double macko_host_sectors(void *findings);

#endif
