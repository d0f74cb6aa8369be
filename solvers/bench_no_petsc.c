/* macko-bench built without PETSc. */
#include "bench_cpu.h"

macko_status bench_open_petsc(int number, const macko_csr *a, bench_method *m, macko_error *err)
{
  (void)number, (void)a;
  *m = (bench_method){.name = "petsc"};
  return bench_refuse(err, MACKO_UNSUPPORTED, m->name, "built without it");
}

void bench_close_petsc(void)
{
}
