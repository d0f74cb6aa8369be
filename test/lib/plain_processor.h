/* Included before everything by test/lib/plain_processor, library and test alike: what a processor without AVX2 runs, and one that is
 * no x86-64. */
#define __builtin_cpu_supports(feature) 0
#define KINDS 4 /* of values: those of f64 */
