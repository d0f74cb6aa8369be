/* macko-bench built without PETSc. */
#include "bench/cpu.h"

/* Every peer of PETSc's is refused; the program says so and goes on. */
macko_status bench_open_petsc(int number, int k, const macko_csr *a, bench_method *m, macko_error *err)
{
  (void)number, (void)k, (void)a;
  *m = (bench_method){.name = "petsc"};
  return bench_refuse(err, MACKO_UNSUPPORTED, m->name, "built without it");
}

/* There is nothing to solve with. */
macko_status bench_solve(const char *matrix, const macko_csr *a, bench_settings *settings, bench_table *table, macko_error *err)
{
  (void)a, (void)settings, (void)table;
  return bench_refuse(err, MACKO_UNSUPPORTED, matrix, "--solve needs a build with PETSc");
}

/* PETSc was never started. */
void bench_close_petsc(void)
{
}
