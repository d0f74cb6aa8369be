/* What planning of format csr asks of a matrix besides its values; the host and libmacko_cuda answer alike. */
#ifndef MACKO_CSR_FACTS_H
#define MACKO_CSR_FACTS_H

#include <stdint.h>

/* About so many entries of a row each lane of a GPU adds up: a block of threads takes so many times its threads. */
enum { MACKO_CSR_A_LANE = 6 };

/* On a GPU loads start at multiples of MACKO_CSR_ALIGN entries. From there on a block of MACKO_CSR_THREADS threads spans at most
 * FEW, SOME or MOST entries a thread, the same for all blocks of a matrix, or a few times as many of one row. */
enum { MACKO_CSR_ALIGN = 32, MACKO_CSR_THREADS = 128 };
enum { MACKO_CSR_FEW = 2, MACKO_CSR_SOME = 4, MACKO_CSR_MOST = MACKO_CSR_A_LANE };

/* Matrices of so many entries fill a GPU for so long that larger blocks, of which there are fewer to start, are faster. */
enum { MACKO_CSR_LARGE = 3000000 };

/* Gives the number of entries of a block of a matrix of that many. */
static inline int64_t macko_csr_block_entries(int64_t nnz)
{
  return MACKO_CSR_THREADS * (nnz < MACKO_CSR_LARGE ? MACKO_CSR_SOME : MACKO_CSR_MOST);
}

/* Of every MACKO_CSR_EVERY rows the first MACKO_CSR_STRETCH are looked at; longer ones count as of MACKO_CSR_LONGEST entries, so
 * that squares can be added up. */
enum { MACKO_CSR_STRETCH = 256, MACKO_CSR_EVERY = 4096, MACKO_CSR_LONGEST = 65535 };

/* The lengths of rows that have been looked at: how many rows, and the sums of their lengths and of the squares of these. The type
 * is one that device code can add to atomically. */
typedef struct {
  unsigned long long rows, entries, squares;
} macko_csr_lengths;

/* What is seen of rows in a sample: how many of all take a number of steps that a processor does not foresee, the share of all that
 * have the columns of the row before, how many groups of these it does not foresee, whether rows are uneven (csr.h), and the
 * lengths. Zeros where looking fails. */
typedef struct {
  double missed, alike, missed_groups;
  int uneven;
  macko_csr_lengths lengths;
} macko_csr_rows_seen;

/* What planning asks of a matrix besides its values. Of rows in GPU memory the lengths alone are known. */
typedef struct {
  macko_csr_rows_seen (*rows)(void *context);
} macko_csr_facts;

#endif
