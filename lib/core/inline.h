/* Functions that kernels share with the host. */
#ifndef MACKO_INLINE_H
#define MACKO_INLINE_H

/* Both sides must give the same bits, so that the code is there once; it is inlined everywhere, so that constant arguments take
 * branches away. */
#ifdef __CUDACC__
#define MACKO_INLINE static __host__ __device__ __forceinline__
#define MACKO_CONSTANT MACKO_INLINE constexpr /* of which a kernel is made for constants */
#else
#define MACKO_INLINE static inline __attribute__((always_inline))
#define MACKO_CONSTANT MACKO_INLINE
#endif

#endif
