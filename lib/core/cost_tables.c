/* The costs of each kind of processor. */
#include "core/cost.h"

/* The costs of one core of an AMD EPYC of the fifth generation (AVX-512). Those of csr but its misses, of slices and of eccsr were
 * fitted at once to 194 matrices, 185 of them generated and half f32, each multiplied in a loop of its own, of which the last-level
 * cache keeps a part even of what is far larger, so that times are right and above all what is chosen by them. `csr_group_miss`
 * was fitted to the 36 of them whose rows share columns and whose groups are not all foreseen, what eccsr waits to the 82 where it
 * is not far behind. What 8-bit codes and narrow entries of eccsr cost is of a few matrices, what idle slots do is the Xeon's, here
 * and below. Those of stencils, layout row and dtans are older. */
static const macko_cost amd_cost = {
  .byte = 0.0323, .cached_byte = 0.0121, .product = 116, .line = 0.36, .gone = 1.22, .last_gone = 6.51,
  .csr_entry = 0.263, .csr_row = 0.453,
  .csr_long_entry = 0.179, .csr_long_row = 0.91, .csr_miss = 10, .csr_long_miss = 5, .csr_group_miss = 7.5, .csr_shared = 0.479,
  .csr_shared_row = 0.0625,
  .csr_single = 0.255, .csr_half = 1.2,
  .csr_saved = 0.22, .stencil = 0.092, .uniform = 0.0301, .run = 0.183, .listed = 0.165, .walked = 0.279, .slot_single = -0.0379,
  .paired = 1.2, .run_paired = 1.2, .wide_paired = 1.2, .padded = 0.172, .drag = 0.894, .even_drag = 0.12, .eccsr_drag = 0.0068,
  .eccsr_mixed_drag = 0.122, .eccsr_masked_drag = 0.0897, .slice = 20.9, .walked_slice = 12, .walked_wait = 0.375,
  .row_wide = 0.79, .row_single = 0.79, .row_narrow = 0.79, .row_row = 8,
  .paper_entry = 2.4, .ordered_row = 0.261, .byte_codes = 0.6, .half_codes = 1, .halves = 0.15,
  .dtans_equal = 6, .dtans_one = 7, .dtans_two = 10,
  .eccsr_entry = 0.0267, .eccsr_run = 1.02, .eccsr_wide_entry = 0.096, .eccsr_wide_run = 0.0693, .eccsr_masked_run = 0.296,
  .eccsr_wait = 52, .eccsr_overlap = 3, .eccsr_block = 1.23, .eccsr_masked = 0.0375,
  .eccsr_empty = 0.232, .eccsr_idle = 0.2, .eccsr_single = 0.695, .eccsr_wide_single = 0.807, .eccsr_rare = 0.29, .eccsr_slot = 1,
  .slide_slot = 1, .worth = 0.98};

/* The costs of one core of an AMD EPYC of the fourth generation (AVX-512), on which all takes longer: work by a seventh, bytes
 * from memory by half. Only these two numbers were fitted, to all predictions at once, and later what slices of gaps cost besides
 * their slots, when they were read faster, that others have hardly any drag, and what masks cost, to blocks of unknowns with
 * couplings left out; other processors' costs of masks are these in proportion. */
static const macko_cost amd_19h_cost = {
  .byte = 0.035, .cached_byte = 0.0185, .product = 300, .line = 0.7, .gone = 1, .last_gone = 1, .csr_entry = 0.247, .csr_row = 0.7,
  .csr_long_entry = 0.247, .csr_long_row = 0.7, .csr_miss = 11.5, .csr_long_miss = 5.75, .csr_group_miss = 8.5, .csr_shared = 0.4,
  .csr_shared_row = 0.4,
  .csr_single = 0.63, .csr_half = 1.38,
  .csr_saved = 1, .stencil = 0.106, .uniform = 0.08, .run = 0.4, .listed = 0.195, .walked = 0.4, .paired = 1.38,
  .run_paired = 1.38, .wide_paired = 1.38, .padded = 0.25, .drag = 0.4, .even_drag = 0.01, .eccsr_drag = 0.4,
  .eccsr_mixed_drag = 0.4, .eccsr_masked_drag = 0.69, .slice = 10.3, .walked_slice = 18, .walked_wait = 22,
  .row_wide = 0.91, .row_single = 0.91, .row_narrow = 0.91, .row_row = 9.2, .paper_entry = 2.8, .ordered_row = 1.4,
  .byte_codes = 0.35,
  .half_codes = 1.15, .halves = 0.17, .dtans_equal = 6.9, .dtans_one = 8, .dtans_two = 11.5,
  .eccsr_entry = 0.09, .eccsr_run = 0.9, .eccsr_wide_entry = 0.09, .eccsr_wide_run = 0.9, .eccsr_masked_run = 0.266,
  .eccsr_block = 2.9, .eccsr_masked = 0.105,
  .eccsr_empty = 0.157, .eccsr_idle = 0.23, .eccsr_single = 1, .eccsr_wide_single = 1, .eccsr_rare = 0.33, .eccsr_slot = 1.15,
  .slide_slot = 1.15, .worth = 0.9};

/* The costs of one core of an Intel Xeon (AVX-512), but for what depends on how it gathers. On one of the fourth generation (2.6
 * GHz, 2 MB of second-level cache) they were fitted to every second matrix of those that solvers/bench/choice.py was given, but
 * for csr_long_miss, for which wave (held out) counted too, and `byte`, which is that of plain CSR beyond the cache (15 to 20
 * GB/s). `line` and `csr_saved` were fitted to graphs, finite elements of the second order and blocks of unknowns; what eccsr
 * costs to 84 blocks of unknowns, a quarter of them f32, and a few real matrices, beside csr of the same run, so that what is
 * chosen of the two is right. `gone`, `cached_byte`, `csr_long_miss` and runs of one width in eccsr were fitted there at once to
 * half of 278 matrices, 107 of them of at most 7 MB; other costs of long rows of csr lie between what that gave and what small
 * matrices show; `worth` was chosen with all of them. On one of the fifth generation (2.1 GHz) were fitted `csr_row`, to short
 * rows; 8-bit codes to real and generated matrices; `eccsr_masked_run` to 18 matrices of two to five unknowns that do not all
 * couple, and `eccsr_mixed_drag` to 14 structured grids, four of them f32, `eccsr_run` so that mixed_nodes and raefsky1 stay
 * what they were; on the former later `widened`, to small real matrices. What no such matrix has is the AMD's, times 1.3. */
#define INTEL_CSR_COSTS \
  .byte = 0.055, .cached_byte = 0.037, .line = 2.6, .gone = 1.9, .last_gone = 1, .csr_entry = 0.28, .csr_row = 1.2, \
  .csr_long_entry = 0.26, .csr_long_row = 1.3, .csr_miss = 7.5, .csr_long_miss = 7.2, .csr_group_miss = 10, .csr_learnt = 3500, \
  .csr_shared = 0.65, .csr_single = 0.7, .csr_half = 1.6, .csr_saved = 0.75
#define INTEL_COSTS \
  INTEL_CSR_COSTS, .product = 230, .stencil = 0.14, .uniform = 0.123, .paired = 1.6, .run_paired = 1.6, .wide_paired = 1.6, \
  .eccsr_drag = 0.06, .eccsr_mixed_drag = 0.06, .eccsr_masked_drag = 0.126, .row_wide = 1, .row_single = 1, .row_narrow = 1, \
  .row_row = 10.4, .paper_entry = 3.1, .far_row = 1.5, .byte_codes = 0.9, .half_codes = 1.3, .halves = 0.2, .dtans_equal = 8, \
  .dtans_one = 9, .dtans_two = 13, .eccsr_entry = 0.078, .eccsr_run = 1.45, .eccsr_wide_entry = 0.148, .eccsr_wide_run = 0.36, \
  .eccsr_masked_run = 0.42, .eccsr_block = 2.2, .eccsr_masked = 0.12, .eccsr_empty = 0.16, .eccsr_idle = 0.25, .eccsr_slot = 1.3, \
  .widened = 0.03, .slide_slot = 1.3, .worth = 0.98

/* Where gathers are fast: what slices cost was fitted at once to 164 matrices on a Xeon of the fifth generation, each beside csr of
 * the same run; what f32 matrices of eccsr cost so that what is chosen of the three is right. */
static const macko_cost intel_cost = {
  INTEL_COSTS, .run = 0.21, .listed = 0.105, .walked = 0.25, .slot_single = 0.01, .padded = 0.05, .even_drag = 0.12, .slice = 12,
  .ordered_row = 1.08, .few_codes = 0.2, .integers = 0.5, .eccsr_single = 0.5, .eccsr_wide_single = 0.5};

/* Where they are not, which is older Xeons: the same was fitted to loops that load x element by element, on the same two machines;
 * `run` and `drag` so that what is chosen by them is right, and the costs of f32 to 18 matrices. */
static const macko_cost earlier_intel_cost = {
  INTEL_COSTS, .run = 0.24, .listed = 0.174, .walked = 0.39, .slot_single = -0.04, .padded = 0.43, .drag = 0.42, .even_drag = 0.26,
  .slice = 29, .ordered_row = 1.15, .few_codes = 0.12, .integers = 0.265, .eccsr_single = 0.7, .eccsr_wide_single = 0.77};

/* The costs of one core without AVX-512, whose vectors have four doubles or fewer: the AMD's, whose kernels for AVX2 were timed
 * with matrices that stay in its second-level cache. */
#define NARROW_COSTS \
  .paired = 1.5, .run_paired = 1.5, .wide_paired = 1.5, .row_wide = 1.2, .row_single = 1.2, .row_narrow = 1.2, .row_row = 8, \
  .paper_entry = 2.4, .half_codes = 1, .halves = 0.15, .dtans_equal = 6, .dtans_one = 7, .dtans_two = 10, .eccsr_drag = 0.4, \
  .eccsr_mixed_drag = 0.4, .eccsr_masked_drag = 0.69, .eccsr_entry = 0.25, .eccsr_run = 0.9, .eccsr_masked_run = 0.9, \
  .eccsr_block = 2.5, .eccsr_masked = 0.8, .eccsr_rare = 0.29, .eccsr_single = 1, .eccsr_slot = 1, .slide_slot = 1

/* An AMD, where csr, which gathers as fast, is ahead of most that does not repeat. */
static const macko_cost narrow_cost = {
  NARROW_COSTS, .byte = 0.023, .cached_byte = 0.016, .product = 260, .line = 0.6, .gone = 1, .last_gone = 1, .csr_entry = 0.215,
  .csr_row = 0.95, .csr_long_entry = 0.215, .csr_long_row = 0.95, .csr_miss = 10, .csr_long_miss = 5, .csr_group_miss = 7.5,
  .csr_shared = 0.4, .csr_shared_row = 0.4, .csr_single = 0.55, .csr_half = 1.2, .csr_saved = 1, .stencil = 0.14, .uniform = 0.35,
  .run = 0.7, .listed = 0.7, .walked = 0.8, .padded = 0.6, .drag = 0.4, .even_drag = 0.4, .slice = 9, .ordered_row = 2.5,
  .few_codes = 0.3, .byte_codes = 0.3, .eccsr_wide_entry = 0.25, .eccsr_wide_run = 0.9, .eccsr_wide_single = 1, .worth = 0.9};

/* An Intel, with csr as on a Xeon: slices were fitted at once to 68 matrices, 27 of them real, on one that was kept from using
 * AVX-512, codes to a few and runs of one width to blocks of two to six unknowns. */
static const macko_cost narrow_intel_cost = {
  NARROW_COSTS, INTEL_CSR_COSTS, .product = 490, .stencil = 0.19, .uniform = 0.232, .run = 0.538, .listed = 0.436, .walked = 0.505,
  .padded = 0.315, .slot_single = 0.126, .drag = 0.45, .even_drag = 0.01, .slice = 5.6, .ordered_row = 1.16, .few_codes = 1.4,
  .byte_codes = 1.4, .integers = 0.15, .eccsr_wide_entry = 0.17, .eccsr_wide_run = 1.1, .eccsr_wide_single = 1.2, .worth = 0.97};

/* The costs of an H200 whose L2 was flushed. Those of formats csr, eccsr and layouts slice and row were fitted at once to 255
 * generated matrices of 0.2 to 88 million entries, f64, f32 and f16, with one to eight unknowns a node and couplings left out;
 * with half of them held out, what is chosen by the costs was as good on the other half. That the fastest form is ahead of the
 * others counted more than its time. What slices cost was fitted to 111 others when their loops had changed, and what they wait
 * for to 577; what eccsr costs to 335, most of them the same, when slices had come to be shared by other rules, and without masks
 * to 55 others, some of short rows, which showed what a slice costs besides its runs; layout row to 171, and of rows of more than
 * 200 entries, of weights, to 85; csr to 191, when its blocks had come to be computed by kernels of three sizes; stencils to 17
 * grids, when their entries had become arguments of a kernel; rows of csr, uneven ones, the steps of the longest slice beyond twice
 * the mean, and codes of 16 bits to 173, among them 35 real ones as tiles of two sizes, as the others have few rows that are far
 * longer than most and hardly a large dictionary; values of csr that are stored in fewer bytes to nine.
 * Those of dtans but its step, of pairs and of codes of 8 bits are older. A slice costs what its loads wait for each other, as far
 * as other warps do not hide it. */
const macko_cost macko_h200_cost = {
  .byte = 0.000207, .launch = 5870, .sector = 0.0045, .apart = 0.0027, .csr_entry = 0.00041, .csr_row = 0.001,
  .csr_single = 0.00062, .csr_half = 0.00079, .csr_narrower = 0.0005, .csr_uneven = 0.0007, .csr_filling = 0.00158,
  .csr_filling_single = 0.00089, .csr_sooner = 800, .csr_unfilled = 0.0016, .csr_pieces = 2500,
  .stencil = 0.00005, .stencil_slice = 0.048, .uniform = 0.00012, .run = 0.00012, .listed = 0.0001525, .walked = 0.000145,
  .paired = 0.00065, .pair = 0.000004, .run_paired = 0.00035, .wide_paired = 0.00195, .slice = 0.2, .slice_warp = 0.28,
  .passed = 0.1, .stencil_step = 180, .step = 20, .step_alone = 30, .step_gap = 34, .step_listed = 55,
  .step_uneven = 190, .step_uneven_single = 100, .step_bytes = 0.55, .step_bytes_single = 0.8, .step_ahead = 0.5, .last_wave = 0.7,
  .row_wide = 0.0043, .row_single = 0.0021, .row_narrow = 0.002, .row_row = 0.008,
  .row_shared = 0.000122, .row_shared_single = 0.00034, .row_staged = 4200, .row_cut = 4500, .row_escape = 0.025,
  .row_thin = 0.0006, .ordered_row = 0.00024,
  .few_codes = 0.00076, .byte_codes = 0.00021, .half_codes = 0.00094, .halves = 0.0001, .integers = 0.00002,
  .dtans_equal = 0.001, .dtans_one = 0.0022, .dtans_two = 0.0035, .dtans_escape = 0.0015, .dtans_row = 0.019,
  .dtans_equal_row = 0.003, .dtans_step = 157, .dtans_least = 0.0028,
  .eccsr_run = 0.00052, .eccsr_slice = 0.45, .eccsr_masked_run = 0.0011, .eccsr_masked_block = 0.022, .eccsr_longest = 105,
  .eccsr_longest_column = 13, .eccsr_shared = 650, .eccsr_waves = 1270, .eccsr_masked = 0.00051, .eccsr_masked_longest = 63,
  .eccsr_masked_column = 60.6, .eccsr_empty = 0.00095, .eccsr_rare = 0.0045, .eccsr_narrow = 0.00026, .eccsr_hidden = 0.18,
  .eccsr_single = 1, .eccsr_slot = 0.00028,
  .slide_slot = 0.0002, .worth = 1};

const macko_cost *macko_cpu_cost(int avx512, macko_processor processor)
{
  const int intel = processor == MACKO_INTEL || processor == MACKO_EARLIER_INTEL;
  if (!avx512) return intel ? &narrow_intel_cost : &narrow_cost;
  switch (processor) {
  case MACKO_INTEL: return &intel_cost;
  case MACKO_EARLIER_INTEL: return &earlier_intel_cost;
  case MACKO_AMD_19H: return &amd_19h_cost;
  default: return &amd_cost;
  }
}
