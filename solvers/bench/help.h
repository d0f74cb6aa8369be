/* macko-bench: its help, and what is measured unless others are asked for. */
#ifndef BENCH_HELP_H
#define BENCH_HELP_H

/* What is measured without a MATRIX: matrices of most kinds in generate.h, on a GPU large enough to fill it, on a CPU also small
 * ones that fit into caches; and the encodings. */
extern const char bench_gpu_matrices[], bench_cpu_matrices[], bench_gpu_encodings[], bench_cpu_encodings[];

/* Prints the help text. */
void bench_help(void);

#endif
