/* Between the suite allocation and its malloc (failing_malloc.c), through which calls of the library and of the suite go. */
#ifndef TEST_FAILING_MALLOC_H
#define TEST_FAILING_MALLOC_H

typedef struct {
  long live;       /* allocations not freed yet */
  long calls;      /* since it was set to 0 */
  long fails_at;   /* the call of this number; -1: none */
  int fails_after; /* and all calls after it */
  int shrinking;   /* some that failed were to make a block smaller, which a function may do without */
  int needed;      /* some were not */
} test_allocations;

extern test_allocations heap;

#endif
