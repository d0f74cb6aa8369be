! The heat equation u_t = k(t) (u_xx + u_yy) on the unit square, 0 at its edge, with a conductivity that grows: n x n inner points,
! implicit Euler steps (I + dt k L) u_new = u_old. Shared by heat.f90, heat_petsc.F90 and threads.f90.
! compile: gfortran -c heat_model.f90
module heat_model
  implicit none
  integer, parameter :: real64 = selected_real_kind(15)
  integer, parameter :: n = 63, steps = 20
  real(real64), parameter :: dt = 1e-3_real64, pi = 3.14159265358979323846_real64

contains

  function conductivity(step) result(k)
    integer, intent(in) :: step
    real(real64) :: k
    k = 1 + 0.1_real64 * step
  end function conductivity

  ! Row i = 1 .. n n of I + dt k L: at most five entries, columns counting from 1.
  subroutine matrix_row(i, k, count, cols, values)
    integer, intent(in) :: i
    real(real64), intent(in) :: k
    integer, intent(out) :: count, cols(5)
    real(real64), intent(out) :: values(5)
    real(real64) :: c
    integer :: x, y
    c = dt * k * (n + 1)**2
    x = mod(i - 1, n) + 1
    y = (i - 1) / n + 1
    count = 0
    if (y > 1) call add(i - n, -c)
    if (x > 1) call add(i - 1, -c)
    call add(i, 1 + 4 * c)
    if (x < n) call add(i + 1, -c)
    if (y < n) call add(i + n, -c)
  contains
    subroutine add(col, value)
      integer, intent(in) :: col
      real(real64), intent(in) :: value
      count = count + 1
      cols(count) = col
      values(count) = value
    end subroutine add
  end subroutine matrix_row

  function bump(i) result(u)
    integer, intent(in) :: i
    real(real64) :: u, s
    s = real(i, real64) / (n + 1)
    u = 4 * s * (1 - s)
  end function bump

  ! u at the start, at point i = 1 .. n n.
  function start(i) result(u)
    integer, intent(in) :: i
    real(real64) :: u
    u = bump(mod(i - 1, n) + 1) * bump((i - 1) / n + 1)
  end function start

  ! What the steps make of it at the centre: every sine wave is damped by a factor known in closed form.
  function exact_centre() result(u)
    real(real64) :: u, wave(n), lambda(n), damping
    integer :: a, b, i, step
    do a = 1, n
      wave(a) = 2._real64 / (n + 1) * sum([(bump(i) * sin(a * pi * i / (n + 1)), i=1, n)]) * sin(a * pi / 2)
      lambda(a) = 4 * (n + 1)**2 * sin(a * pi / (2 * (n + 1)))**2
    end do
    u = 0
    do a = 1, n
      do b = 1, n
        damping = 1
        do step = 1, steps
          damping = damping / (1 + dt * conductivity(step) * (lambda(a) + lambda(b)))
        end do
        u = u + wave(a) * wave(b) * damping
      end do
    end do
  end function exact_centre
end module heat_model
