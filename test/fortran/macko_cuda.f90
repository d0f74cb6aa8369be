! Module macko_cuda on a GPU: the products of the host's, for numbers that are exact. Without one: the sentence, and a test skipped.
program fortran_cuda
  use, intrinsic :: iso_c_binding
  use macko
  use macko_cuda
  implicit none
  interface
    function cuda_malloc(pointer, bytes) bind(c, name='cudaMalloc')
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), intent(out) :: pointer
      integer(c_size_t), value :: bytes
      integer(c_int) :: cuda_malloc
    end function cuda_malloc
    function cuda_memcpy(to, from, bytes, kind) bind(c, name='cudaMemcpy')
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: to, from
      integer(c_size_t), value :: bytes
      integer(c_int), value :: kind
      integer(c_int) :: cuda_memcpy
    end function cuda_memcpy
    function cuda_free(pointer) bind(c, name='cudaFree')
      import :: c_int, c_ptr
      type(c_ptr), value :: pointer
      integer(c_int) :: cuda_free
    end function cuda_free
  end interface
  integer, parameter :: n = 1000, vectors = 3
  integer(c_int), parameter :: to_device = 1, to_host = 2
  integer(c_size_t), parameter :: bytes = 8_c_size_t * n * vectors
  integer(c_int64_t), parameter :: length = n, count = vectors
  type(macko_matrix) :: a
  type(macko_device_matrix) :: d
  integer :: row_ptr(n + 1), cols(3 * n), i, p
  real(c_double) :: values(3 * n), alone(n)
  real(c_double), target :: x(n, vectors), y(n, vectors)
  type(c_ptr) :: device_x, device_y
  character(len=200) :: errmsg
  integer(c_int) :: stat
  p = 0
  row_ptr(1) = 1
  do i = 1, n
    cols(p + 1:p + 3) = [max(1, i - 2), i - (i - 1) / n, min(n, i + 5)]
    values(p + 1:p + 3) = [-1d0, mod(i, 7) + 0.5d0, 2d0]
    p = p + 3
    row_ptr(i + 1) = p + 1
  end do
  x = reshape([(mod(i, 64) / 8d0 - 4, i=1, n * vectors)], shape(x))
  call a%encode(row_ptr, cols, values)
  call d%multiply(macko_f64, c_null_ptr, c_null_ptr, stat=stat, errmsg=errmsg)
  call check(stat == macko_invalid_argument .and. d%bytes() == 0, 'a matrix that was not uploaded: ' // errmsg)
  if (macko_device_count(errmsg) == 0) then
    call d%upload(a, stat=stat, errmsg=errmsg)
    call check(stat == macko_device .and. len_trim(errmsg) > 0 .and. d%bytes() == 0, 'an upload without a GPU')
    print '(2a)', 'SKIP: no GPU: ', trim(errmsg)
    stop 77
  end if
  call d%upload(a)
  call check(d%bytes() > 0, 'bytes on the device')
  call check(cuda_malloc(device_x, bytes) == 0 .and. cuda_malloc(device_y, bytes) == 0, 'device memory')
  call check(cuda_memcpy(device_x, c_loc(x), bytes, to_device) == 0, 'to the device')
  call compare(macko_op_n, 1d0, 'y = A x')
  call d%add_transpose(a)
  call compare(macko_op_t, 2d0, "y = 2 A' x")
  call a%refresh(row_ptr, cols, -values)
  call d%refresh(a)
  call compare(macko_op_n, 1d0, 'new values')
  call d%destroy()
  call check(d%bytes() == 0, 'destroyed')
  call check(cuda_free(device_x) == 0 .and. cuda_free(device_y) == 0, 'freed')
contains
  subroutine compare(op, alpha, what)
    integer(c_int), intent(in) :: op
    real(c_double), intent(in) :: alpha
    character(len=*), intent(in) :: what
    integer :: j
    call d%multiply(macko_f64, device_x, device_y, count, length, length, op, alpha)
    call check(cuda_memcpy(c_loc(y), device_y, bytes, to_host) == 0, 'to the host')
    do j = 1, vectors
      call a%multiply(x(:, j), alone, op, alpha)
      call check(all(y(:, j) == alone), what)
    end do
  end subroutine compare

  subroutine check(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    if (right) return
    print '(2a)', 'wrong: ', what
    error stop 1
  end subroutine check
end program fortran_cuda
