/* What of the processor the compiler's own questions do not tell. */
#include "core/cpu.h"

#if MACKO_HAS_X86_64
#include <cpuid.h>

/* Asks the processor. Those of Intel's with AVX-512 that leak through gathers (GDS) are mended in a way that slows gathers down;
 * they have family 6 and models up to 8Dh, or A7h. Later ones, such as the fourth and fifth generation of the Xeon, gather fast;
 * none before has arithmetic of 16-bit floats, which tells them where a virtual machine has the model of another. Of AMD's none was
 * faster. */
static int ask_for_gathers(void)
{
  enum { LEAKING_FAMILY = 6, LAST_LEAKING = 0x8d, ANOTHER_LEAKING = 0xa7, AVX512_FP16 = 1 << 23 };
  unsigned a = 0, b, c, d = 0;
  if (!macko_has_avx512() || !__builtin_cpu_is("intel")) return 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && d & AVX512_FP16) return 1;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
  const unsigned family = a >> 8 & 15, model = (a >> 4 & 15) | (a >> 12 & 0xf0);
  return family != LEAKING_FAMILY || (model > LAST_LEAKING && model != ANOTHER_LEAKING);
}
#else
static int ask_for_gathers(void)
{
  return 0;
}
#endif

/* 1 and 0 are answers, -1 says that the processor was not asked: on a virtual machine that takes some microseconds. */
int macko_gathers = -1;

/* Threads that come at the same time ask twice and store the same answer, so that no lock is needed. */
int macko_fast_gathers(void)
{
  int known = __atomic_load_n(&macko_gathers, __ATOMIC_RELAXED);
  if (known >= 0) return known;
  known = ask_for_gathers();
  __atomic_store_n(&macko_gathers, known, __ATOMIC_RELAXED);
  return known;
}
