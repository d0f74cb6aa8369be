/* Between the CPU parts of macko-bench: whatever multiplies is prepared once and then run in turn with the others. */
#ifndef BENCH_CPU_H
#define BENCH_CPU_H

#include "bench/bench.h"

/* A way to multiply on the CPU. run computes y = A x for k vectors, which is 1 or the number that it was opened for; vectors
 * follow each other in x and in y. */
typedef struct bench_method {
  macko_status (*run)(const struct bench_method *m, int k, const void *x, void *y, macko_error *err);
  void (*close)(struct bench_method *m); /* frees own; called after a failed opening too */
  void *own;                    /* the method's data */
  int64_t bytes;                /* of the matrix as the method has it */
  int peer;                     /* 1: not ours */
  double rounding; /* of values that are stored in fewer bits: what bench_check takes; 0: they are exact */
  double plan, encode, refresh; /* seconds */
  double predicted;             /* microseconds of a product of one vector, of ours, at pace 1 */
  char name[48], detail[512], format[16], layout[16], values[16]; /* as in bench_result */
} bench_method;

/* Open peers for *csr (32-bit indices), which must outlive them, and for products of one vector and of k, whose columns follow
 * each other. What a peer cannot take, or a library that is not there, is UNSUPPORTED with a sentence. number counts from 0 up to
 * BENCH_PETSC - 1. */
enum { BENCH_PETSC = 4 };
macko_status bench_open_petsc(int number, int k, const macko_csr *csr, bench_method *m, macko_error *err);
macko_status bench_open_mkl(const char *library, int k, const macko_csr *csr, bench_method *m, macko_error *err);

/* Start PETSc, if it was not started, and end it, if it was. */
macko_status bench_start_petsc(macko_error *err);
void bench_close_petsc(void);

/* Opens all methods of a matrix with these settings, peers first, and returns how many there are, BENCH_METHODS at most; the caller
 * closes them. What is left out is said on stderr. methods has one place more, as each is opened where the next would be. */
enum { BENCH_METHODS = 32 };
int bench_open_methods(const char *matrix, const macko_csr *a, const bench_settings *settings, bench_method *methods);

/* Returns the bytes of a matrix as CSR with 32-bit indices, and the type that vectors of its products have. */
int64_t bench_csr_bytes(const macko_csr *a);
macko_type bench_vector_type(const macko_csr *a);

/* Fills *err with "who: why" and returns status. */
macko_status bench_refuse(macko_error *err, macko_status status, const char *who, const char *why);

/* Returns seconds by the wall's clock, or with --cpu-time those of the processor, from an unspecified beginning. */
double bench_now(void);

#endif
