/* What a multiply by one vector is predicted to take, from bytes, structure and, on a CPU, the sizes of its caches. Measured with
 * macko-bench. */
#ifndef MACKO_COST_H
#define MACKO_COST_H

#include "core/cpu.h"
#include "core/format.h"

/* What the parts of a product by one vector take, in nanoseconds (`drag` is a share). Each field is the time of one of what its
 * comment names; 0 says that it costs nothing beside the rest, or is not told apart. A plan counts these parts, adds up their
 * times as macko_plan.work, and macko_set_time adds what moving the bytes takes. */
typedef struct {
  double byte, cached_byte; /* a byte from memory; one from the last-level cache, which a GPU is not asked for */
  double product;      /* a whole product of a format that is read slice by slice: what it takes however small the matrix is */
  double csr_entry, csr_row; /* entry of an f64 matrix stored as f64 or f32, and of an f32 matrix of long rows; row, of format csr */
  double csr_miss;     /* short row of more or fewer steps than the one before, which the processor did not foresee */
  double csr_long_miss; /* the same where rows are long enough for several entries a step */
  double csr_single, csr_half; /* other entries of format csr, whose values have 4 bytes, and 2 bytes */
  double stencil;      /* slot of a slice that is a stencil */
  double uniform;      /* slot of slices whose 32 lanes have columns side by side: x is loaded as it lies */
  double run;          /* slot of 8 lanes side by side in slices that are not uniform */
  double listed;       /* slot of slices that gather x by one list of distances */
  double walked;       /* slot of slices whose lanes have gaps of their own */
  double paired;       /* slot of slices whose gaps are those of codes of pairs, without the look-up of values */
  double pair;         /* more for such a slot, for each pair in the table: lanes look up different ones */
  double run_paired;   /* the same where 8 lanes side by side look up one code */
  double wide_paired;  /* the same where gaps have more than 16 bits or values are no f16 numbers */
  double padded;       /* more for a slot without an entry */
  double drag;         /* drag of layout slice (macko_plan in format.h) */
  double slice;        /* slice that is no stencil, besides its slots */
  double passed;       /* any slice, where stencils and others have a kernel each, which passes over those of the other */
  double step;         /* step of the longest slice, for which the product waits: no other warp takes a part of it */
  double row_wide;     /* entry of layout row stored in 8 bytes */
  double row_narrow;   /* entry of layout row stored in fewer bytes */
  double row_row;      /* row of layout row */
  double row_escape;   /* more for a gap that is in the list of long ones */
  double row_thin;     /* more for a gap of less than 4 bits */
  double paper_entry;  /* entry of layout paper, padding or not */
  double ordered_row;  /* row of y that is not beside the one before */
  double few_codes;    /* more for an 8-bit code into at most 8 values */
  double byte_codes;   /* more for an 8-bit code into a larger dictionary */
  double half_codes;   /* more for a 16-bit code */
  double halves;       /* more for a 16-bit float */
  double integers;     /* more for an 8-bit integer */
  double dtans_equal;  /* slot of format dtans, in each lane of a warp's steps, where no table is looked up */
  double dtans_one;    /* the same where a table is looked up by slot, of one stream */
  double dtans_two;    /* the same of two streams */
  double dtans_escape; /* more where one of a warp's symbols is the escape */
  double dtans_row;    /* row of format dtans where a table is looked up */
  double dtans_equal_row; /* the same where none is */
  double eccsr_entry;  /* entry of format eccsr */
  double eccsr_read;   /* more for each element of x that a block reads */
  double eccsr_run;    /* more for each of its runs */
  double eccsr_block;  /* more for each block */
  double eccsr_masked; /* more for an entry of a slice with masks */
  double eccsr_slot;   /* slot of its variant paper */
  double slide_slot;   /* slot of format slide */
  double dtans_least;  /* the least for an entry with its gap: dtans is not planned where another format beats even that */
} macko_cost;

/* The costs of one core of an AMD EPYC of the fifth generation (AVX-512). Times of instructions were fitted to matrices that stay
 * in its second-level cache, those of bytes to larger ones. `listed` lies between what it is for blocks of unknowns and for lanes
 * anywhere. */
static const macko_cost macko_amd_cost = {
  .byte = 0.023, .cached_byte = 0.016, .product = 260, .csr_entry = 0.215, .csr_row = 0.95, .csr_miss = 10, .csr_long_miss = 5,
  .csr_single = 0.55, .csr_half = 1.2,
  .stencil = 0.092, .uniform = 0.07, .run = 0.35, .listed = 0.17, .walked = 0.35, .paired = 1.2, .run_paired = 1.2,
  .wide_paired = 1.2, .padded = 0.45, .drag = 0.4, .slice = 9,
  .row_wide = 0.79, .row_narrow = 0.79, .row_row = 8, .paper_entry = 2.4, .ordered_row = 2.5, .byte_codes = 0.3, .half_codes = 1, .halves = 0.15,
  .dtans_equal = 6, .dtans_one = 7, .dtans_two = 10,
  .eccsr_entry = 0.078, .eccsr_run = 0.78, .eccsr_block = 2.5, .eccsr_masked = 0.12, .eccsr_slot = 1,
  .slide_slot = 1};

/* The costs of one core of an Intel Xeon (AVX-512, 2.6 GHz, 2 MB of second-level cache). They were fitted to every second matrix
 * of those that solvers/bench/choice.py was given, but for csr_long_miss, for which wave (held out) counted too. Its last-level
 * cache was never exceeded, and is no faster than `byte` for one core. What no such matrix has is the AMD's, times 1.3. */
static const macko_cost macko_intel_cost = {
  .byte = 0.03, .cached_byte = 0.03, .product = 230, .csr_entry = 0.28, .csr_row = 1.75, .csr_miss = 9.6, .csr_long_miss = 8,
  .csr_single = 0.7, .csr_half = 1.6,
  .stencil = 0.14, .uniform = 0.123, .run = 0.39, .listed = 0.174, .walked = 0.39, .paired = 1.6, .run_paired = 1.6,
  .wide_paired = 1.6, .padded = 0.43, .drag = 0.26, .slice = 50,
  .row_wide = 1, .row_narrow = 1, .row_row = 10.4, .paper_entry = 3.1, .ordered_row = 3.1, .byte_codes = 0.39, .half_codes = 1.3, .halves = 0.2,
  .few_codes = 0.3, .integers = 0.265,
  .dtans_equal = 8, .dtans_one = 9, .dtans_two = 13,
  .eccsr_entry = 0.084, .eccsr_run = 0.9, .eccsr_block = 2.2, .eccsr_masked = 0.22, .eccsr_slot = 1.3, .slide_slot = 1.3};

/* The costs of one core without AVX-512, whose vectors have four doubles or fewer: the AMD's, whose kernels for AVX2 were timed with
 * matrices that stay in its second-level cache. There csr, which gathers as fast, is ahead of most that does not repeat. */
static const macko_cost macko_narrow_cost = {
  .byte = 0.023, .cached_byte = 0.016, .product = 260, .csr_entry = 0.215, .csr_row = 0.95, .csr_miss = 10, .csr_long_miss = 5,
  .csr_single = 0.55, .csr_half = 1.2,
  .stencil = 0.22, .uniform = 0.35, .run = 0.7, .listed = 0.7, .walked = 0.8, .paired = 1.5, .run_paired = 1.5,
  .wide_paired = 1.5, .padded = 0.6, .drag = 0.4, .slice = 9,
  .row_wide = 1.2, .row_narrow = 1.2, .row_row = 8, .paper_entry = 2.4, .ordered_row = 2.5, .byte_codes = 0.3, .half_codes = 1, .halves = 0.15,
  .dtans_equal = 6, .dtans_one = 7, .dtans_two = 10,
  .eccsr_entry = 0.25, .eccsr_run = 0.9, .eccsr_block = 2.5, .eccsr_masked = 0.8, .eccsr_slot = 1,
  .slide_slot = 1};

/* The costs of an H200 whose L2 was flushed, with 4 TB/s. They were fitted to real matrices, tiled to three times the L2, and to
 * generated ones. A slice costs what its loads wait for each other, as far as other warps do not hide it. */
static const macko_cost macko_gpu_cost = {
  .byte = 0.00025, .csr_entry = 0.0006, .csr_row = 0.0055, .csr_single = 0.0006, .csr_half = 0.0006,
  .stencil = 0.0008, .uniform = 0.0001, .run = 0.0002, .listed = 0.0002, .walked = 0.001,
  .paired = 0.0001, .pair = 0.000004, .run_paired = 0.0002, .wide_paired = 0.0018, .slice = 0.33, .passed = 0.2,
  .step = 75,
  .row_wide = 0.003, .row_narrow = 0.0004, .row_row = 0.06, .row_escape = 0.025, .row_thin = 0.0006,
  .ordered_row = 0.001,
  .few_codes = 0.0005, .byte_codes = 0.0005, .half_codes = 0.001, .halves = 0.0001,
  .dtans_equal = 0.001, .dtans_one = 0.0022, .dtans_two = 0.0035, .dtans_escape = 0.0015, .dtans_row = 0.019,
  .dtans_equal_row = 0.003, .dtans_least = 0.0028,
  .eccsr_entry = 0.0001, .eccsr_read = 0.0011, .eccsr_run = 0, .eccsr_masked = 0.0002, .slide_slot = 0.0002};

/* Gives the costs of the target that the options name. For a CPU they are those of the machine that asks, told by its vectors and its
 * maker: all others with AVX-512 are taken for the AMD. */
static inline const macko_cost *macko_cost_of(const macko_options *options)
{
  if (options->target == MACKO_TARGET_GPU) return &macko_gpu_cost;
  if (!macko_has_avx512()) return &macko_narrow_cost;
  return macko_is_intel() ? &macko_intel_cost : &macko_amd_cost;
}

enum { MACKO_LEARNT_ROWS = 16384 }; /* rows whose lengths a processor foresees once it has seen them */

/* Bytes of the second-level and the last-level cache that one core sees; usual sizes where the system does not tell. Both are at
 * least 1, and `last` is not smaller than `middle`. */
typedef struct {
  int64_t middle, last;
} macko_caches;

/* Asks the system once and remembers the answer; any thread may call it. */
macko_caches macko_machine_caches(void);

/* Gives the share of so many bytes, 0 to 1, that a cache has lost before they are read again when they are streamed over and
 * over: none up to half its size, all from its size on, and in proportion between. */
static inline double macko_lost_share(double bytes, int64_t cache)
{
  const double half = (double)cache / 2;
  return bytes <= half ? 0 : bytes >= 2 * half ? 1 : (bytes - half) / half;
}

/* Sets plan->time to what plan->work and plan->bytes take together; *a has the sizes of the matrix and the type of its values. On
 * a GPU the two are added. A CPU does its work while it waits for bytes, so that the longer one counts and an eighth of the
 * other. Its bytes are also those of the vectors: x is read once, y is read and written. */
static inline void macko_set_time(const macko_options *options, const macko_csr *a, macko_plan *plan)
{
  const macko_cost *c = macko_cost_of(options);
  const double element = a->value_type == MACKO_F64 ? 8 : 4;
  const double bytes = (double)plan->bytes + element * ((double)a->ncols + 2 * (double)a->nrows);
  if (options->target == MACKO_TARGET_GPU) {
    plan->time = plan->work + (double)plan->bytes * c->byte;
    return;
  }
  const macko_caches caches = macko_machine_caches();
  const double byte = c->cached_byte * macko_lost_share(bytes, caches.middle) +
                      (c->byte - c->cached_byte) * macko_lost_share(bytes, caches.last);
  const double moved = (bytes + plan->drag * (double)plan->bytes) * byte;
  plan->time = moved > plan->work ? moved + plan->work / 8 : plan->work + moved / 8;
}

/* Gives the nanoseconds of an entry of layout row whose values are of that type. */
static inline double macko_row_cost(const macko_options *options, macko_type value_type)
{
  const macko_cost *c = macko_cost_of(options);
  return value_type == MACKO_F64 ? c->row_wide : c->row_narrow;
}

/* Gives the nanoseconds that a slot takes more because its value is stored as type `stored`, with `table` values in the
 * dictionary if it is a code. */
static inline double macko_codec_cost(const macko_cost *c, macko_type stored, int64_t table)
{
  if (stored == MACKO_U8) return table <= 8 ? c->few_codes : c->byte_codes; /* 8 doubles stay in a register */
  if (stored == MACKO_U16) return c->half_codes;
  if (stored == MACKO_I8) return c->integers;
  return stored == MACKO_F16 || stored == MACKO_BF16 ? c->halves : 0;
}

#endif
