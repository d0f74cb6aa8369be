/* What a multiply by one vector is predicted to take on one core of a CPU, from bytes and structure alone, so that the same matrix
 * is stored the same way everywhere. The figures were measured with macko-bench on an AMD EPYC of the fourth generation (2.6 GHz
 * base, AVX-512) with matrices in the second-level cache, where nothing but instructions counts, and with larger ones. Only their
 * ratios matter. */
#ifndef MACKO_COST_H
#define MACKO_COST_H

#include "format.h"

/* Nanoseconds a byte: 25 GB/s, the copy bandwidth of one core. Matrices whose speed matters are larger than the caches. */
static const double macko_cost_byte = 0.04;

/* Nanoseconds an entry. CSR's loop runs ahead of its loads, so that two thirds of its instructions hide behind the bytes; layouts
 * decode columns before they use them, and hide none. */
static const double macko_cost_csr_entry = 0.15, macko_cost_csr_row = 1; /* a row: its sum, and a vector half empty */
static const double macko_cost_uniform = 0.05;                            /* slices that load x as it lies */
static const double macko_cost_stencil = 0.1;                             /* the same without values, boundaries among them */
static const double macko_cost_run = 0.15;                                /* 8 lanes side by side in slices that are not uniform */
static const double macko_cost_listed = 0.28;                             /* slices that gather x by one list of distances */
static const double macko_cost_walked = 0.55;                             /* slices whose lanes have gaps of their own */
static const double macko_cost_row_entry = 1;                             /* layout row: one gap after the other */
static const double macko_cost_ordered_row = 0.5;                         /* a row of y that is not beside the one before */

/* Nanoseconds more an entry, for what the values are stored as. */
static inline double macko_cost_codec(macko_type stored, int64_t table)
{
  if (stored == MACKO_U8) return table <= 8 ? 0 : 0.3; /* 8 doubles stay in a register */
  if (stored == MACKO_U16) return 1;
  return stored == MACKO_F16 || stored == MACKO_BF16 ? 0.15 : 0;
}

#endif
