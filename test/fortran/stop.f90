! Hands over a matrix with a column outside and asks for no stat: this must not end well.
program fortran_stop
  use macko
  implicit none
  type(macko_matrix) :: a
  call a%encode([1, 2, 3], [1, 4], [1d0, 2d0])
end program fortran_stop
