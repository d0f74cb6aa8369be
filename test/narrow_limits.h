/* Included before everything by test/limits, library and test alike: what needs 64 bits only beyond 2^31 entries, or is refused
 * beyond 2^31 columns, then happens in matrices of test size. */
#define _GNU_SOURCE
#include <stdint.h>
#undef INT32_MAX
#define INT32_MAX 400
