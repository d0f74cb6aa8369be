/* One function compiled for several instruction sets and chosen when the program starts: AVX-512, AVX2 and what every x86-64 has.
 * To be included before other headers by files whose loops are meant to be vectorised. Not under sanitizers, whose run-time library
 * starts after the choice is made. */
#ifndef MACKO_CLONES_H
#define MACKO_CLONES_H

#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
/* At -O2 this compiler vectorises only where it costs no check at run time. */
#pragma GCC optimize("O3")
#endif

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
#define MACKO_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MACKO_CLONES
#endif

#endif
