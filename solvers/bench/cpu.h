/* Between the CPU parts of macko-bench: whatever multiplies is prepared once and then run in turn with the others. */
#ifndef BENCH_CPU_H
#define BENCH_CPU_H

#include "bench/bench.h"

typedef struct bench_method {
  macko_status (*run)(const struct bench_method *m, int k, const void *x, void *y, macko_error *err); /* y = A x; k: 1, or those it
                                                                                                  was opened for */
  void (*close)(struct bench_method *m);
  void *own;
  int64_t bytes;
  int peer;
  double rounding; /* of values that are stored in fewer bits: what bench_check takes; 0: they are exact */
  double plan, encode, refresh; /* seconds */
  double predicted;             /* microseconds of a product of one vector, of ours */
  char name[48], detail[512], format[16], layout[16], values[16];
} bench_method;

/* Peers for *csr (32-bit indices), which must outlive them, and products of one vector and of k, whose columns follow each other. What a peer cannot take, or a library that is not there, is
 * UNSUPPORTED with a sentence. number counts from 0 up to BENCH_PETSC - 1. */
enum { BENCH_PETSC = 4 };
macko_status bench_open_petsc(int number, int k, const macko_csr *csr, bench_method *m, macko_error *err);
macko_status bench_open_mkl(const char *library, int k, const macko_csr *csr, bench_method *m, macko_error *err);

/* PETSc started, if it was not; and ended, where it was. */
macko_status bench_start_petsc(macko_error *err);
void bench_close_petsc(void);

/* Fills *err and returns status. */
macko_status bench_refuse(macko_error *err, macko_status status, const char *who, const char *why);

double bench_now(void);

/* Sorts the times. */
double bench_median(double *times, int count);

#endif
