/* What a multiply by one vector is predicted to take, from bytes, structure and, on a CPU, the sizes of its caches. Measured with
 * macko-bench. */
#ifndef MACKO_COST_H
#define MACKO_COST_H

#include "core/cpu.h"
#include "core/facts.h"

/* What the parts of a product by one vector take, in nanoseconds (`drag`, `eccsr_single` and `worth` are shares). Each field is
 * the time of one of what its comment names; 0 says that it costs nothing beside the rest, or is not told apart. A plan counts
 * these parts, adds up their times as macko_plan.work, and macko_set_time adds what moving the bytes takes. */
typedef struct {
  double byte, cached_byte; /* a byte from memory; one from the last-level cache, which a GPU is not asked for */
  double product;      /* a whole product of a format that is read slice by slice: what it takes however small the matrix is */
  double launch;       /* any product on a GPU, however small the matrix is */
  double sector;       /* sector of x that entries ask for on a GPU (stretches.h) */
  double apart;        /* sector of x that slices of sorted rows ask for on a GPU and rows in their order do not */
  double line;         /* line of x that a core of a CPU has in none of its own caches (lines.c) */
  double gone;         /* bytes, in sizes of a CPU's second-level cache, from which on it keeps nothing of what is streamed over and
                        * over; 1 where it loses what was used longest ago */
  double last_gone;    /* the same in sizes of its last-level cache, of a product that is repeated */
  double csr_entry, csr_row; /* entry of an f64 matrix stored as f64 or f32; row, of format csr */
  double csr_long_entry, csr_long_row; /* the same, of f32 matrices, too, where rows are long enough for several entries a step */
  double csr_miss;     /* short row of more or fewer steps than the processor foresees */
  double csr_long_miss; /* the same where rows are long enough for several entries a step */
  double csr_group_miss; /* group of rows that have their columns read together of more or fewer steps or rows than foreseen */
  double csr_learnt;   /* number of such rows that the processor does foresee once it has seen them; 0: MACKO_LEARNT_ROWS is how
                        * many rows it foresees, whatever their lengths */
  double csr_shared, csr_shared_row; /* share of the work of entries, and of rows, that rows spare which have their columns read
                                      * with others */
  double csr_saved;    /* share of the bytes of shared columns, which are read once, that a product beyond the caches spares */
  double csr_single, csr_half; /* other entries of format csr, whose values have 4 bytes, and 2 bytes */
  double csr_narrower; /* more for an entry whose value is stored in fewer bytes than it had: bytes are not the limit there */
  double csr_uneven;   /* entry by which a row's length differs from the mean, shared by the lanes of the row */
  double csr_unfilled; /* entry that blocks of threads have room for and whole rows leave */
  double csr_pieces;   /* once more where all rows of a matrix of less than MACKO_CSR_LARGE entries are cut */
  double csr_filling, csr_filling_single; /* more for each of the first MACKO_FILLING_ENTRIES, of f64 and of other matrices: there
                                           * are no other blocks of threads yet to hide waits, of which more run of the latter */
  double csr_sooner;   /* less than `launch` for a product of format csr */
  double stencil;      /* slot of a slice that is a stencil */
  double uniform;      /* slot of slices whose 32 lanes have columns side by side: x is loaded as it lies */
  double run;          /* slot of 8 lanes side by side in slices that are not uniform */
  double listed;       /* slot of slices that gather x by one list of distances */
  double walked;       /* slot of slices whose lanes have gaps of their own */
  double slot_single;  /* more, or less, for a slot of an f32 matrix in slices that are no stencils */
  double paired;       /* slot of slices whose gaps are those of codes of pairs, without the look-up of values */
  double pair;         /* more for such a slot, for each pair in the table: lanes look up different ones */
  double run_paired;   /* the same where 8 lanes side by side look up one code */
  double wide_paired;  /* the same where gaps have more than 16 bits or values are no f16 numbers */
  double padded;       /* more for a slot without an entry */
  double drag, even_drag, eccsr_drag; /* drag (macko_plan in format.h) of layout slice where lanes have gaps of their own, which
                                       * have to be there before x can be loaded; of its other slots; of format eccsr */
  double eccsr_mixed_drag;  /* instead of that where runs are of several widths */
  double eccsr_masked_drag; /* the same for slices with masks, which tell where values are */
  double walked_wait;  /* more for the slots of 32 lanes with gaps of their own where one asks for a line of x that stands alone */
  double eccsr_wait;   /* more for a step of a slice of format eccsr, on a CPU, where one of its runs asks for such a line */
  double eccsr_overlap; /* by so much, times the share of steps that wait, the waits overlap: one is 1 / (1 + that) of the above */
  double slice;        /* slice that is no stencil, besides its slots */
  double slice_warp;   /* more for each warp but the first of a slice, where several share it */
  double walked_slice; /* more for one whose lanes have gaps of their own, and begin and end anywhere */
  double passed;       /* any slice, where stencils and others have a kernel each, which passes over those of the other */
  double stencil_slice; /* slice that is a stencil, besides its slots */
  double stencil_step; /* step of the longest slice there: the kernel of the others begins when that of stencils has ended */
  double step;         /* step of the longest slice, for which the product waits */
  double step_alone;   /* more by the share of the warps that a GPU has room for and that are not there */
  double step_gap;     /* more for each byte of gaps that a slot has in the mean: they are loaded before x */
  double step_listed;  /* more where columns are in a list, by the share of such slots */
  double step_uneven, step_uneven_single; /* instead of all these, where it is more, for a step beyond twice the mean, of f64 and
                                           * of other matrices: few slices are left then, behind whose work waits could hide */
  double step_bytes, step_bytes_single; /* share of the wait for the longest slice that is left where values are stored in 8 bits,
                                         * of which a lane takes more at once */
  double step_ahead;   /* share of step_gap and step_listed that one warp a slice spares where values are narrower than f64: they
                        * load ahead */
  double last_wave;    /* share of the wait for the longest slice that comes again, by what the last wave of warps leaves empty */
  double row_wide, row_single, row_narrow; /* entry of layout row, of a matrix of 8, 4, and 2 bytes; on a GPU, slot of its chunks */
  double row_row;      /* row of layout row */
  double row_shared;   /* instead of these two, where a GPU has x in shared memory: entry */
  double row_shared_single; /* more for an entry of 4 bytes there */
  double row_staged;   /* once more there: every block of threads loads all of x first */
  double row_cut;      /* once more where a GPU cuts long rows, whose pieces another kernel adds up */
  double row_escape;   /* more for a gap that is in the list of long ones */
  double row_thin;     /* more for a gap of less than 4 bits */
  double paper_entry;  /* entry of layout paper, padding or not */
  double ordered_row;  /* row of y that is not beside the one before */
  double far_row;      /* more for such a row on a CPU whose last-level cache does not hold the matrix */
  double few_codes;    /* more for an 8-bit code into at most 8 values */
  double byte_codes;   /* more for an 8-bit code into a larger dictionary */
  double half_codes;   /* more for a 16-bit code */
  double halves;       /* more for a 16-bit float */
  double integers;     /* more for an 8-bit integer */
  double widened;      /* more, in slices and layout row on a CPU, for an f64 value stored as f32: what that spares is bytes, and
                        * those of the core's own caches take no time */
  double dtans_equal;  /* slot of format dtans, in each lane of a warp's steps, where no table is looked up */
  double dtans_one;    /* the same where a table is looked up by slot, of one stream */
  double dtans_two;    /* the same of two streams */
  double dtans_escape; /* more where one of a warp's symbols is the escape */
  double dtans_row;    /* row of format dtans where a table is looked up */
  double dtans_equal_row; /* the same where none is */
  double dtans_step;   /* step that the longest lane has more than others fill the wait for */
  double eccsr_entry;  /* entry of format eccsr */
  double eccsr_run;    /* more for each run of a block */
  double eccsr_wide_entry, eccsr_wide_run; /* the same on a CPU where all runs are of one width, more than one column, and blocks of
                                            * several rows: loops of constant bounds load x once for all of these */
  double eccsr_masked_run; /* the same in slices with masks, which a CPU takes for all blocks of a slice at once */
  double eccsr_idle;   /* slot of a run that a block of a slice lacks beside the longest: a CPU goes through it all the same */
  double eccsr_slice;  /* more for each slice, but for the share of entries that slices with masks have */
  double eccsr_block;  /* more for each block */
  double eccsr_masked_block; /* more for each block of slices with masks */
  double eccsr_longest; /* run of the longest block, or of the longest part where warps share it */
  double eccsr_longest_column; /* more for each column of such a run */
  double eccsr_shared; /* for starting in the middle of slices, where warps share some; once */
  double eccsr_waves;  /* for slices that do not all run at once; once */
  double eccsr_masked_longest; /* where slices have masks: run of the longest block */
  double eccsr_masked_column; /* column of a run that the longest block has more than the mean */
  double eccsr_masked; /* more for an entry of a slice with masks */
  double eccsr_empty;  /* slot of such a slice that no entry fills */
  double eccsr_rare;   /* more for an entry stored as a type that has no fast loops */
  double eccsr_narrow; /* more for an entry, for each byte that its value is narrower than the matrix's, where runs are of one
                        * column; half of it where they are of two, or of several widths */
  double eccsr_single; /* share of the time of all these, but for the waits, that an f32 matrix takes */
  double eccsr_wide_single; /* the same where runs are of one width */
  double eccsr_hidden; /* `hidden` of its plans without masks (macko_plan in format.h) */
  double eccsr_slot;   /* slot of its variant paper */
  double slide_slot;   /* slot of format slide */
  double worth;        /* share of the best time so far that a later format, which takes longer to encode, has to stay below: less
                        * than 1 as predictions are not exact */
  double dtans_least;  /* the least for an entry with its gap: dtans is not planned where another format beats even that */
} macko_cost;

/* With so many warps a GPU has something to do while one waits. */
enum { MACKO_ENOUGH_WARPS = 3000 };

/* The costs of an NVIDIA H200, and those of a core of that kind with or without AVX-512. */
extern const macko_cost macko_h200_cost;
const macko_cost *macko_cpu_cost(int avx512, macko_processor processor);

/* Give the costs of the machine that asks: of a core, and of its GPU, which is an H200 until macko_know_gpu was told of another. */
const macko_cost *macko_machine_cost(void);
const macko_cost *macko_machine_gpu_cost(void);

/* Says what the machine's GPU has: bytes a nanosecond from its memory by the data sheet, and multiprocessors times their clock in
 * GHz. The costs of bytes and of work are those of an H200 in proportion, which an H100 has borne out. The first call counts, as
 * plans of one program must be comparable; numbers that are not positive change nothing. Any thread may call it. */
void macko_know_gpu(double memory, double work);

/* Gives the sectors of x that an entry of *m asks for on a GPU, as its plan has them (stretches.h): at most one; 0 where the plan
 * does not tell, as that for a CPU. */
double macko_sectors_of_entry(const macko_matrix *m);

/* Gives the costs of the target that the options name, as the machine has it. */
static inline const macko_cost *macko_cost_of(const macko_options *options)
{
  return options->target == MACKO_TARGET_GPU ? macko_machine_gpu_cost() : macko_machine_cost();
}

/* Gives the time that a later format has to beat where the best so far takes `best`. */
static inline double macko_time_to_beat(const macko_options *options, double best)
{
  return macko_cost_of(options)->worth * best;
}

enum { MACKO_FILLING_ENTRIES = 2000000 }; /* about what is on its way at once on a GPU in format csr */
enum { MACKO_LEARNT_ROWS = 16384 }; /* rows whose lengths a processor foresees once it has seen them */

/* Bytes of the second-level and the last-level cache that one core has the use of; usual sizes where the system does not tell. Both
 * are at least 1, and `last` is not smaller than `middle`. */
typedef struct {
  int64_t middle, last;
} macko_caches;

/* Asks the system once and remembers the answer; any thread may call it. */
macko_caches macko_machine_caches(void);

/* Gives the share of so many bytes, 0 to 1, that a cache has lost before they are read again when they are streamed over and
 * over: none up to half its size, all from `gone` times its size on, and in proportion between. */
static inline double macko_lost_share(double bytes, int64_t cache, double gone)
{
  const double half = (double)cache / 2, all = gone * (double)cache;
  return bytes <= half ? 0 : bytes >= all ? 1 : (bytes - half) / (all - half);
}

/* Sets plan->time to what plan->work and plan->bytes take together, of what the facts say no more than sizes and types. On
 * a GPU the two are added, less what the plan says that one hides of the other, and what any product takes. A CPU does its work
 * while it waits for bytes, so that the longer one counts and an eighth of the other. Its bytes are also those of the vectors: x is
 * read once, y is read and written. Those of all parts of a matrix go through its caches between two products. */
static inline void macko_set_time(const macko_options *options, const macko_facts *f, macko_plan *plan)
{
  const macko_csr *a = f->csr;
  const macko_cost *c = macko_cost_of(options);
  const double element = a->value_type == MACKO_F64 ? 8 : 4;
  const double bytes = (double)plan->bytes + element * ((double)a->ncols + 2 * (double)a->nrows);
  if (options->target == MACKO_TARGET_GPU) {
    const double streamed = (double)plan->bytes * c->byte;
    plan->time = c->launch + plan->work + plan->waits + streamed -
                 plan->hidden * (plan->work < streamed ? plan->work : streamed);
    return;
  }
  const macko_caches caches = macko_machine_caches();
  const double all = bytes + f->others * (bytes - element * (double)a->ncols); /* x is the same for all */
  const double lost = macko_lost_share(all, caches.last, c->last_gone);
  const double byte = c->cached_byte * macko_lost_share(all, caches.middle, c->gone) + (c->byte - c->cached_byte) * lost;
  const double moved = (bytes + plan->drag * (double)plan->bytes) * byte + (double)plan->scattered * c->far_row * lost;
  plan->time = (moved > plan->work ? moved + plan->work / 8 : plan->work + moved / 8) + plan->waits;
}

/* So many values of a dictionary fit into the first-level cache of a GPU. */
enum { MACKO_CACHED_TABLE = 32768 };

/* Gives the nanoseconds that a slot takes more because its value is stored as type `stored`, with `table` values in the
 * dictionary if it is a code. On a GPU a larger one than fits into the first-level cache is asked for sectors, as x is. */
static inline double macko_codec_cost(const macko_cost *c, macko_type stored, int64_t table)
{
  if (stored == MACKO_U8) return table <= 8 ? c->few_codes : c->byte_codes; /* 8 doubles stay in a register */
  if (stored == MACKO_U16)
    return c->half_codes + (table > MACKO_CACHED_TABLE ? c->sector * (1 - (double)MACKO_CACHED_TABLE / (double)table) : 0);
  if (stored == MACKO_I8) return c->integers;
  return stored == MACKO_F16 || stored == MACKO_BF16 ? c->halves : 0;
}

#endif
