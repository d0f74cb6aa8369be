/* Instruction sets that one binary is compiled for: a function marked with one of them is called only where the processor has
 * it. */
#ifndef MACKO_CPU_H
#define MACKO_CPU_H

#include <stdint.h>

/* The processors that have costs of their own; another is taken for an AMD of family 1Ah. Intel's are those that gather fast, and
 * earlier ones. */
typedef enum { MACKO_OTHER_PROCESSOR, MACKO_AMD_19H, MACKO_INTEL, MACKO_EARLIER_INTEL } macko_processor;

/* Tells whether gather instructions of AVX-512 are faster than loads one by one. Any thread may ask. */
int macko_fast_gathers(void);

#if defined(__x86_64__) && defined(__GNUC__) && !defined(MACKO_WITHOUT_X86_64)
#define MACKO_HAS_X86_64 1
#define MACKO_AVX512 __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")))
#define MACKO_AVX2 __attribute__((target("avx2,fma")))

/* Tells whether functions marked MACKO_AVX512 may run on this processor. */
static inline int macko_has_avx512(void)
{
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma");
}

/* Tells whether functions marked MACKO_AVX2 may run on this processor. */
static inline int macko_has_avx2(void)
{
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* Tells by which costs predictions go (cost.h). AMD's family 19h has the third and fourth generation of its EPYC. */
static inline macko_processor macko_this_processor(void)
{
  if (__builtin_cpu_is("intel")) return macko_fast_gathers() ? MACKO_INTEL : MACKO_EARLIER_INTEL;
  return __builtin_cpu_is("amdfam19h") ? MACKO_AMD_19H : MACKO_OTHER_PROCESSOR;
}
#else
#define MACKO_HAS_X86_64 0

/* Elsewhere there are no such instructions, and no processor has costs of its own. */
static inline int macko_has_avx512(void)
{
  return 0;
}

static inline int macko_has_avx2(void)
{
  return 0;
}

static inline macko_processor macko_this_processor(void)
{
  return MACKO_OTHER_PROCESSOR;
}
#endif

/* This is the answer once somebody has asked, -1 before. A test may set it: both ways are right wherever AVX-512 is. */
extern int macko_gathers;

/* Asks for memory some way behind a place that a loop has come to, which may be behind the end of the array: the hardware alone
 * does not keep all reads of a core under way. */
static inline void macko_fetch_ahead(const void *place)
{
  enum { AHEAD = 4096 };
  __builtin_prefetch((const void *)((uintptr_t)place + AHEAD));
}

#endif
