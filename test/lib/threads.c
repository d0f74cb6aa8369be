/* Threads that multiply one matrix at once get, each time, the bits that one alone gets. Built with -fsanitize=thread it also
 * shows that nothing is written. */
#include "matrices.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, TIMES = 20, K = 5 };

typedef struct {
  const macko_matrix *m;
  const double *x;
  double *y;
  int64_t longest;
  macko_op op;
  macko_status status;
} job;

static void *multiply(void *argument)
{
  job *j = argument;
  for (int t = 0; t < TIMES && !j->status; t++) {
    j->status = macko_multiply(j->m, j->op, MACKO_F64, K, 2, j->x, j->longest, 0, j->y, j->longest, NULL);
    if (!j->status) j->status = macko_multiply(j->m, j->op, MACKO_F64, 1, 2, j->x, j->longest, 0, j->y, j->longest, NULL);
  }
  if (!j->status) j->status = macko_validate(j->m, NULL);
  return NULL;
}

/* 1 if all threads agree with a product made alone. */
static int agree(const macko_matrix *m, macko_op op, const double *x, int64_t longest)
{
  size_t bytes = (size_t)(K * longest) * sizeof(double);
  double *y = calloc(THREADS + 1, bytes);
  pthread_t threads[THREADS];
  job jobs[THREADS + 1];
  int same = 1;
  if (!y) abort();
  for (int i = 0; i <= THREADS; i++) jobs[i] = (job){m, x, y + i * K * longest, longest, op, MACKO_OK};
  multiply(&jobs[THREADS]);
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, multiply, &jobs[i])) abort();
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    same &= !jobs[i].status && !memcmp(jobs[i].y, jobs[THREADS].y, bytes);
  }
  free(y);
  return same && !jobs[THREADS].status;
}

int main(void)
{
  int failed = 0, tried = 0;
  for (int pattern = 7; pattern <= 12; pattern++) {
    test_matrix a = test_make(pattern, 1, MACKO_F64);
    macko_csr c = test_view(&a);
    int64_t longest = a.nrows > a.ncols ? a.nrows : a.ncols;
    double *x = malloc((size_t)(K * longest) * sizeof *x);
    for (int64_t i = 0; i < K * longest; i++) x[i] = (double)test_draw() / 3;
    for (int f = 0; f < MACKO_FORMAT_AUTO; f++)
      for (int layout = MACKO_LAYOUT_AUTO; layout <= (f == MACKO_FORMAT_MACKO ? MACKO_LAYOUT_PAPER : 0); layout++) {
        macko_options o;
        macko_matrix *m = NULL;
        macko_options_init(&o);
        o.format = (macko_format)f, o.layout = (macko_layout)layout;
        if (macko_encode(&c, &o, &m, NULL)) abort();
        int good = agree(m, MACKO_OP_N, x, longest) && agree(m, MACKO_OP_T, x, longest);
        if (!good) printf("FAIL: %s %s, %s\n", macko_format_name(o.format), macko_layout_name(o.layout), a.name);
        failed += !good, tried++;
        macko_destroy(&m);
      }
    free(x);
    test_free(&a);
  }
  printf("%d matrices multiplied by %d threads at once, %d differ\n", tried, THREADS, failed);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
