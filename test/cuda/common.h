/* What the suites of the GPU library share. */
#ifndef CUDA_COMMON_H
#define CUDA_COMMON_H

#include "../assertions.h"

/* A test case of that name, or NAMEn where n > 0: CK_RUN_CASE chooses it. */
TCase *add_case(Suite *suite, const char *name, int n);

/* The main program of a suite: in one process, because CUDA does not survive a fork; 77 without a GPU. */
int run_cuda_suite(Suite *(*suite)(void));

#endif
