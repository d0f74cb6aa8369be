/* Takes the processor for one without some of its instructions, for suites that have the library's objects in the program itself:
 * then what __builtin_cpu_supports reads there is the program's own. */
#ifndef TEST_OTHER_PROCESSOR_H
#define TEST_OTHER_PROCESSOR_H

#if defined(__x86_64__) && defined(__GNUC__)
/* As gcc and clang have it; a feature has the same bit in all versions. */
extern struct {
  unsigned vendor, type, subtype, features[1];
} __cpu_model __attribute__((visibility("hidden")));

/* AVX-512 has the bits from 15 on, AVX2 and FMA lower ones. Gives 1 if the library will do without. */
static inline int test_without_avx512(void)
{
  __cpu_model.features[0] &= (1u << 15) - 1;
  return !__builtin_cpu_supports("avx512f");
}

static inline int test_without_avx2(void)
{
  __cpu_model.features[0] = 0;
  return !__builtin_cpu_supports("avx512f") && !__builtin_cpu_supports("avx2");
}
#else
static inline int test_without_avx512(void)
{
  return 1;
}

static inline int test_without_avx2(void)
{
  return 1;
}
#endif

#endif
