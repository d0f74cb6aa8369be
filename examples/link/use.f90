! The same in Fortran, against the installed module.
program use_macko
  use macko
  implicit none
  type(macko_matrix) :: a
  real(kind(1d0)) :: y(2)
  call a%encode([1, 3, 4], [1, 2, 2], [1d0, 2d0, 3d0])
  call a%multiply([10d0, 1d0], y)
  print '(i0, 1x, i0)', nint(y)
end program use_macko
