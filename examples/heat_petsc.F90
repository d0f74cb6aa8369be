! The heat equation of heat.f90 through PETSc's Fortran interface. Nothing here knows of compressed matrices: the command line says
!   -dll_append /path/to/libpetscmacko.so -mat_type aijmacko
! compile: mpif90 -ffree-line-length-none heat_model.f90 heat_petsc.F90 $(pkg-config --cflags --libs PETSc) -o heat_petsc
#include <petsc/finclude/petscksp.h>
program heat_petsc
  use petscksp
  use heat_model, only: n, steps, conductivity, matrix_row, start, exact_centre
  implicit none
  Mat :: a
  Vec :: u, b
  KSP :: solver
  PetscErrorCode :: ierr
  PetscInt, parameter :: one = 1, size = n * n
  PetscInt :: first, last, row(1), columns(5), entries, iterations, all_iterations
  PetscScalar :: values(5), value(1)
  integer :: step, i, count, cols(5)
  PetscCallA(PetscInitialize(ierr))
  PetscCallA(MatCreate(PETSC_COMM_WORLD, a, ierr))
  PetscCallA(MatSetSizes(a, PETSC_DECIDE, PETSC_DECIDE, size, size, ierr))
  PetscCallA(MatSetFromOptions(a, ierr))
  PetscCallA(MatSetUp(a, ierr))
  PetscCallA(MatCreateVecs(a, u, b, ierr))
  PetscCallA(MatGetOwnershipRange(a, first, last, ierr))
  do i = int(first) + 1, int(last)
    row = i - 1
    value = start(i)
    PetscCallA(VecSetValues(u, one, row, value, INSERT_VALUES, ierr))
  end do
  PetscCallA(VecAssemblyBegin(u, ierr))
  PetscCallA(VecAssemblyEnd(u, ierr))
  PetscCallA(KSPCreate(PETSC_COMM_WORLD, solver, ierr))
  PetscCallA(KSPSetType(solver, KSPCG, ierr))
  PetscCallA(KSPSetInitialGuessNonzero(solver, PETSC_TRUE, ierr))
  PetscCallA(KSPSetTolerances(solver, 1d-12, 1d-50, 1d5, PETSC_DEFAULT_INTEGER, ierr))
  PetscCallA(KSPSetFromOptions(solver, ierr))
  all_iterations = 0
  do step = 1, steps
    do i = int(first) + 1, int(last)
      call matrix_row(i, conductivity(step), count, cols, values)
      row = i - 1
      entries = count
      columns = cols - 1
      PetscCallA(MatSetValues(a, one, row, entries, columns, values, INSERT_VALUES, ierr))
    end do
    PetscCallA(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY, ierr))
    PetscCallA(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY, ierr))
    PetscCallA(VecCopy(u, b, ierr))
    PetscCallA(KSPSetOperators(solver, a, a, ierr))
    PetscCallA(KSPSolve(solver, b, u, ierr))
    PetscCallA(KSPGetIterationNumber(solver, iterations, ierr))
    all_iterations = all_iterations + iterations
  end do
  row = (size - one) / 2
  if (row(1) >= first .and. row(1) < last) then
    PetscCallA(VecGetValues(u, one, row, value, ierr))
    print '(2(i0, a))', steps, ' steps, ', all_iterations, ' iterations'
    print '(2(a, f17.15))', 'temperature at the centre ', value, ', exact ', exact_centre()
    if (abs(value(1) - exact_centre()) > 1e-11) error stop 'the result is wrong'
  end if
  PetscCallA(KSPDestroy(solver, ierr))
  PetscCallA(VecDestroy(u, ierr))
  PetscCallA(VecDestroy(b, ierr))
  PetscCallA(MatDestroy(a, ierr))
  PetscCallA(PetscFinalize(ierr))
end program heat_petsc
