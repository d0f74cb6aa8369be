/* Included before everything by test/lib/plain_processor: what a processor without AVX2 runs, and one that is no x86-64. */
#define PROCESSOR_IS_SET test_without_avx2()
#define KINDS 4 /* of values: those of f64 */
