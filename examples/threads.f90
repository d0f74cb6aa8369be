! Threads that multiply with one compressed matrix at once: each takes some of the vectors, none copies the matrix, and every result
! has the same bits as one thread's.
! compile: gfortran -fopenmp heat_model.f90 threads.f90 $(pkg-config --cflags --libs macko-fortran) -o threads
program threads
  use macko
  use heat_model, only: real64, n, matrix_row
  !$ use omp_lib, only: omp_get_num_threads
  implicit none
  integer, parameter :: vectors = 64
  type(macko_matrix) :: a
  integer :: row_ptr(n * n + 1), cols(5 * n * n), columns(5), i, j, count, used
  real(real64) :: values(5 * n * n), entries(5)
  real(real64), allocatable :: x(:, :), together(:, :), alone(:, :)
  row_ptr(1) = 1
  do i = 1, n * n
    call matrix_row(i, 1._real64, count, columns, entries)
    row_ptr(i + 1) = row_ptr(i) + count
    cols(row_ptr(i):row_ptr(i + 1) - 1) = columns(1:count)
    values(row_ptr(i):row_ptr(i + 1) - 1) = entries(1:count)
  end do
  call a%encode(row_ptr, cols, values)
  allocate (x(n * n, vectors), together(n * n, vectors), alone(n * n, vectors))
  call random_number(x)
  used = 1
  !$omp parallel num_threads(4)
  !$omp single
  !$ used = omp_get_num_threads()
  !$omp end single
  !$omp do schedule(dynamic)
  do j = 1, vectors
    call a%multiply(x(:, j), together(:, j))
  end do
  !$omp end do
  !$omp end parallel
  do j = 1, vectors
    call a%multiply(x(:, j), alone(:, j))
  end do
  print '(2(i0, a))', vectors, ' products by ', used, ' threads'
  if (any(transfer(together, [0]) /= transfer(alone, [0]))) error stop 'threads give other bits'
  deallocate (x, together, alone)
end program threads
