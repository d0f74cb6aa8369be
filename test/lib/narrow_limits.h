/* Included before everything by test/lib/limits, library and test alike: what needs 64 bits only beyond 2^31 entries, or is refused
 * beyond 2^31 columns, then happens in matrices of test size, and new values go past the caches. */
#define _GNU_SOURCE
#include <stdint.h>
#undef INT32_MAX
#define INT32_MAX 400
#define MACKO_CACHED_VALUES 64
#define KINDS 3 /* of values: enough for limits */

/* The kernels of a processor that has AVX2 and no AVX-512, as far as this one has it; other suites run its own. */
#define PROCESSOR_IS_SET test_without_avx512()
