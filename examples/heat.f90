! Implicit heat equation in Fortran on the C library: a matrix whose values change with every step is encoded once and refreshed;
! conjugate gradients multiply with the compressed form.
! compile: gfortran heat_model.f90 heat.f90 $(pkg-config --cflags --libs macko-fortran) -o heat
module conjugate_gradients
  use macko, only: macko_matrix
  use heat_model, only: real64
  implicit none
contains
  ! Solves A u = b from the guess in u until the residual has fallen to tolerance times that of b.
  subroutine solve(a, b, u, tolerance, iterations)
    type(macko_matrix), intent(in) :: a
    real(real64), intent(in) :: b(:), tolerance
    real(real64), intent(inout) :: u(:)
    integer, intent(out) :: iterations
    real(real64) :: r(size(b)), p(size(b)), q(size(b)), rr, rr_old, step
    r = b
    call a%multiply(u, r, alpha=-1._real64, beta=1._real64)
    p = r
    rr = dot_product(r, r)
    do iterations = 0, size(b)
      if (rr <= tolerance**2 * dot_product(b, b)) return
      call a%multiply(p, q)
      step = rr / dot_product(p, q)
      u = u + step * p
      r = r - step * q
      rr_old = rr
      rr = dot_product(r, r)
      p = r + rr / rr_old * p
    end do
    error stop 'conjugate gradients did not converge'
  end subroutine solve
end module conjugate_gradients

program heat
  use macko
  use heat_model
  use conjugate_gradients
  implicit none
  type(macko_matrix) :: a
  type(macko_info) :: info
  integer :: row_ptr(n * n + 1), cols(5 * n * n), columns(5), i, step, count, iterations, all_iterations
  real(real64) :: values(5 * n * n), entries(5), u(n * n), u_old(n * n), centre
  u = [(start(i), i=1, n * n)]
  all_iterations = 0
  do step = 1, steps
    row_ptr(1) = 1
    do i = 1, n * n
      call matrix_row(i, conductivity(step), count, columns, entries)
      row_ptr(i + 1) = row_ptr(i) + count
      cols(row_ptr(i):row_ptr(i + 1) - 1) = columns(1:count)
      values(row_ptr(i):row_ptr(i + 1) - 1) = entries(1:count)
    end do
    if (step == 1) call a%encode(row_ptr, cols, values)
    if (step > 1) call a%refresh(row_ptr, cols, values)
    u_old = u
    call solve(a, u_old, u, 1e-12_real64, iterations)
    all_iterations = all_iterations + iterations
  end do
  call a%get_info(info)
  centre = u((n * n + 1) / 2)
  print '(a, 2(i0, a))', macko_format_name(info%format) // ': ', info%bytes, ' bytes instead of ', info%csr_bytes, ' of plain CSR'
  print '(2(i0, a))', steps, ' steps, ', all_iterations, ' iterations'
  print '(2(a, f17.15))', 'temperature at the centre ', centre, ', exact ', exact_centre()
  if (abs(centre - exact_centre()) > 1e-11_real64) error stop 'the result is wrong'
end program heat
