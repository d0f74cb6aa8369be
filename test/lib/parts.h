/* Included before everything by test/lib/parts, library and test alike: work is cut into parts in matrices of test size, and
 * without OpenMP the test has threads of its own for them. */
#define _GNU_SOURCE
#define MACKO_THREADS_NNZ 1
#ifndef _OPENMP
#define MACKO_TEST_PARTS
#endif
