/* What planning of format csr asks of a matrix besides its values; the host and libmacko_cuda answer alike. */
#ifndef MACKO_CSR_FACTS_H
#define MACKO_CSR_FACTS_H

/* About so many entries of a row each lane of a GPU adds up: a block of threads takes so many times its threads. */
enum { MACKO_CSR_A_LANE = 8 };

/* What is seen of rows in a sample: how many of all take a number of steps that a processor does not foresee, and the share of
 * all that have the columns of the row before. */
typedef struct {
  double missed, alike;
} macko_csr_rows_seen;

/* Of every MACKO_CSR_EVERY rows the first MACKO_CSR_STRETCH are looked at; longer ones count as of MACKO_CSR_LONGEST entries, so
 * that squares can be added up. */
enum { MACKO_CSR_STRETCH = 256, MACKO_CSR_EVERY = 4096, MACKO_CSR_LONGEST = 65535 };

/* The lengths of rows that have been looked at: how many rows, and the sums of their lengths and of the squares of these. The type
 * is one that device code can add to atomically. */
typedef struct {
  unsigned long long rows, entries, squares;
} macko_csr_lengths;

/* What planning asks of a matrix besides its values, on the host or on a GPU. */
typedef struct {
  macko_csr_rows_seen (*rows)(void *context);               /* for a processor; NULL: it does without */
  void (*lengths)(void *context, macko_csr_lengths *lengths); /* for a GPU; zeros where that fails */
} macko_csr_facts;

#endif
