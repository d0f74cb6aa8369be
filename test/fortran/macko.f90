! Module macko: every kind of array, every format, against sums written out here; failures; lifetimes.
module reference
  use, intrinsic :: iso_c_binding
  implicit none
  integer, parameter :: nrows = 37, ncols = 52
  integer(c_int64_t), allocatable :: row_ptr(:), cols(:)
  real(c_double), allocatable :: values(:)
contains
  subroutine check(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    if (right) return
    print '(2a)', 'wrong: ', what
    error stop 1
  end subroutine check

  ! A matrix with an empty row, counting from 1. All values are multiples of 1/8, so that products and sums are exact in real(4).
  subroutine make()
    integer :: i, j, p
    allocate (row_ptr(nrows + 1), cols(nrows * ncols), values(nrows * ncols))
    p = 0
    row_ptr(1) = 1
    do i = 1, nrows
      do j = 1, ncols
        if (i == 5 .or. mod(i * j + j, 7) > 1) cycle
        p = p + 1
        cols(p) = j
        values(p) = mod(i * 31 + j * 17, 64) / 8d0 - 4
      end do
      row_ptr(i + 1) = p + 1
    end do
    cols = cols(1:p)
    values = values(1:p)
  end subroutine make

  function exact(x, transposed) result(y)
    real(c_double), intent(in) :: x(:)
    logical, intent(in) :: transposed
    real(c_double) :: y(merge(ncols, nrows, transposed))
    integer :: i
    integer(c_int64_t) :: p
    y = 0
    do i = 1, nrows
      do p = row_ptr(i), row_ptr(i + 1) - 1
        if (transposed) then
          y(cols(p)) = y(cols(p)) + values(p) * x(i)
        else
          y(i) = y(i) + values(p) * x(cols(p))
        end if
      end do
    end do
  end function exact
end module reference

! What the module's comment says of types that hold a matrix.
module holders
  use macko
  implicit none
  type holder
    type(macko_matrix) :: matrix
    integer :: number = 0
  contains
    procedure, private :: take
    generic, public :: assignment(=) => take
  end type holder
contains
  subroutine take(to, from)
    class(holder), intent(inout) :: to
    class(holder), intent(in) :: from
    to%matrix = from%matrix
    to%number = from%number
  end subroutine take
end module holders

program fortran
  use, intrinsic :: iso_c_binding
  use macko
  use holders
  use reference
  implicit none
  integer :: f, i
  real(c_double), parameter :: x(ncols) = [(mod(i * 13, 16) / 4d0 - 2, i=1, ncols)]
  call make()
  do f = macko_format_csr, macko_format_auto
    call all_kinds(f)
  end do
  call counting_from_zero()
  call sections_of_arrays()
  call options_by_name()
  call failures()
  call lifetimes()
  call held()
  call files()
  call compressed_files()
contains

  ! Numbers are exact, so results are equal and not merely close.
  subroutine check_products(a, scale, what)
    type(macko_matrix), intent(in) :: a
    real(c_double), intent(in) :: scale
    character(len=*), intent(in) :: what
    real(c_double) :: y(nrows), z(ncols), many(ncols + 3, 3), results(nrows + 2, 3)
    real(c_float) :: y4(nrows), many4(ncols, 2), results4(nrows, 2)
    integer :: k
    call a%multiply(x, y)
    call check(all(y == scale * exact(x, .false.)), what // ', y = A x')
    y = 1
    call a%multiply(x, y, alpha=2d0, beta=-0.5d0)
    call check(all(y == 2 * scale * exact(x, .false.) - 0.5d0), what // ', y = 2 A x - y / 2')
    call a%multiply(x(1:nrows), z, op=macko_op_t)
    call check(all(z == scale * exact(x(1:nrows), .true.)), what // ', transposed')
    call a%multiply(real(x, c_float), y4)
    call check(all(y4 == scale * exact(x, .false.)), what // ', real(4) vectors')
    y4 = 1
    call a%multiply(real(x, c_float), y4, alpha=2.0, beta=4.0)
    call check(all(y4 == 2 * scale * exact(x, .false.) + 4), what // ', real(4) factors')
    many = 7
    results = 9
    do k = 1, 3
      many(1:ncols, k) = k * x
    end do
    call a%multiply(many, results)
    do k = 1, 3
      call check(all(results(1:nrows, k) == k * scale * exact(x, .false.)), what // ', three vectors')
    end do
    call check(all(results(nrows + 1:, :) == 9), what // ', rows beyond the matrix stay')
    many4 = real(many(1:ncols, 1:2), c_float)
    call a%multiply(many4, results4)
    call check(all(results4(:, 2) == 2 * scale * exact(x, .false.)), what // ', two real(4) vectors')
  end subroutine check_products

  subroutine all_kinds(f)
    integer, intent(in) :: f
    type(macko_matrix) :: a
    type(macko_options) :: options
    type(macko_info) :: info, foreseen
    real(c_double) :: pace
    integer :: stat
    character(len=200) :: errmsg
    integer(c_int), allocatable :: row_ptr4(:), cols4(:), back4(:), columns4(:)
    integer(c_int64_t), allocatable :: back8(:), columns8(:)
    real(c_float), allocatable :: values4(:), reals4(:)
    real(c_double), allocatable :: reals8(:)
    allocate (row_ptr4(nrows + 1), source=int(row_ptr, c_int))
    allocate (cols4(size(cols)), source=int(cols, c_int))
    allocate (values4(size(values)), source=real(values, c_float))
    call macko_options_init(options)
    options%format = f

    call a%encode(row_ptr4, cols4, values4, ncols, options)
    call check_products(a, 1d0, 'i4 i4 r4')
    call a%refresh(row_ptr4, cols4, 2 * values4)
    call check_products(a, 2d0, 'i4 i4 r4 refreshed')
    call a%decode(back4, columns4, reals4)
    call check(all(back4 == row_ptr4) .and. all(columns4 == cols4) .and. all(reals4 == 2 * values4), 'decode i4 i4 r4')
    call a%decode(back8, columns8, reals4)
    call check(all(back8 == row_ptr) .and. all(columns8 == cols), 'decode i8 i8 r4')

    call a%encode(row_ptr4, cols4, values, ncols, options)
    call check_products(a, 1d0, 'i4 i4 r8')
    call a%refresh(row_ptr, cols, -values)
    call check_products(a, -1d0, 'refreshed through i8 i8 r8')
    call a%encode(row_ptr, cols4, values, ncols, options)
    call check_products(a, 1d0, 'i8 i4 r8')
    call a%refresh(row_ptr, cols4, -values)
    call check_products(a, -1d0, 'i8 i4 r8 refreshed')
    call a%encode(row_ptr, cols4, values4, ncols, options)
    call a%refresh(row_ptr, cols4, -values4)
    call check_products(a, -1d0, 'i8 i4 r4 refreshed')
    call a%encode(row_ptr, cols, values4, int(ncols, c_int64_t), options)
    call a%refresh(row_ptr, cols, 4 * values4)
    call check_products(a, 4d0, 'i8 i8 r4 refreshed')
    call a%encode(row_ptr, cols, values, int(ncols, c_int64_t), options)
    call check_products(a, 1d0, 'i8 i8 r8')
    call a%decode(back4, columns8, reals8)
    call check(all(back4 == row_ptr4) .and. all(columns8 == cols) .and. all(reals8 == values), 'decode i4 i8 r8')
    call a%decode(back8, columns4, reals8)
    call check(all(back8 == row_ptr) .and. all(columns4 == cols4), 'decode i8 i4 r8')

    call a%validate()
    call a%get_info(info)
    call check(info%nrows == nrows .and. info%ncols == ncols .and. info%nnz == size(cols), 'sizes')
    call check(f == macko_format_auto .or. info%format == f, 'format')
    call check(info%value_type == macko_f64 .and. info%lossy == 0 .and. info%bytes > 0 .and. info%csr_bytes > 0, 'info')
    call check(len(a%reason()) > 5, 'reason')

    call macko_predict(row_ptr, cols, values, foreseen, int(ncols, c_int64_t), options)
    call check(foreseen%format == info%format .and. foreseen%csr_bytes == info%csr_bytes, 'predicted format')
    call check(abs(foreseen%bytes - info%bytes) <= info%bytes / 10, 'predicted bytes')
    call macko_measure_pace(row_ptr, cols, values, pace, int(ncols, c_int64_t))
    call check(pace > 0, 'pace')
    call macko_measure_pace(row_ptr4, cols4(1:2), values4, pace, stat=stat, errmsg=errmsg)
    call check(stat == macko_invalid_matrix .and. index(errmsg, 'cols and values have 2 and') > 0, 'pace refuses: ' // errmsg)
    call macko_predict(row_ptr4, cols4(1:2), values4, foreseen, stat=stat, errmsg=errmsg)
    call check(stat == macko_invalid_matrix .and. index(errmsg, 'cols and values have 2 and') > 0, 'predict refuses: ' // errmsg)
  end subroutine all_kinds

  subroutine counting_from_zero()
    type(macko_matrix) :: a
    integer(c_int64_t), allocatable :: back(:), columns(:)
    real(c_double), allocatable :: reals(:)
    call a%encode(row_ptr - 1, cols - 1, values, int(ncols, c_int64_t))
    call check_products(a, 1d0, 'counting from 0')
    call a%decode(back, columns, reals)
    call check(all(back == row_ptr) .and. all(columns == cols), 'decode counts from 1')
    call a%refresh(row_ptr, cols, 2 * values)
    call check_products(a, 2d0, 'refreshed counting from 1')
  end subroutine counting_from_zero

  ! What is not contiguous is copied by the compiler, both ways.
  subroutine sections_of_arrays()
    type(macko_matrix) :: a
    real(c_double) :: wide(2, ncols), y(3, nrows)
    wide = 5
    wide(2, :) = x
    y = 7
    call a%encode(row_ptr, cols, values, int(ncols, c_int64_t))
    call a%multiply(wide(2, :), y(3, :))
    call check(all(y(3, :) == exact(x, .false.)) .and. all(y(1:2, :) == 7), 'sections of arrays')
  end subroutine sections_of_arrays

  subroutine options_by_name()
    type(macko_options) :: options
    type(macko_matrix) :: a
    type(macko_info) :: info
    character(len=100) :: errmsg
    integer(c_int) :: stat
    type(macko_options) :: declared
    integer :: f
    call macko_options_init(options)
    call check(all([declared%format, declared%layout, declared%gap_bits, declared%values, declared%variant, declared%prefer, &
                    declared%overflow, declared%target] == &
                   [options%format, options%layout, options%gap_bits, options%values, options%variant, options%prefer, &
                    options%overflow, options%target]), 'options have their defaults from the declaration on')
    do f = 0, macko_format_auto
      call macko_options_set(options, 'format', macko_format_name(f))
      call check(options%format == f, 'format by name')
    end do
    call macko_options_set(options, 'format', 'macko')
    call macko_options_set(options, 'layout', 'row')
    call macko_options_set(options, 'gap_bits', '4')
    call macko_options_set(options, 'values', 'f16')
    call a%encode(row_ptr, cols, values, int(ncols, c_int64_t), options)
    call a%get_info(info)
    call check(info%layout == macko_layout_row .and. info%gap_bits == 4 .and. info%values == macko_values_f16, 'options are used')
    call check(info%stored_type == macko_f16, 'stored type')
    call macko_options_set(options, 'layout', 'slyce', stat, errmsg)
    call check(stat == macko_invalid_argument .and. errmsg == 'layout "slyce" is unknown; the nearest is "slice"', errmsg)
    call check(macko_layout_name(macko_layout_slice) == 'slice' .and. macko_values_name(macko_values_bf16) == 'bf16', 'names')
    call check(macko_type_name(macko_u16) == 'u16' .and. macko_format_name(99) == '', 'no name')
    do f = macko_variant_auto, macko_variant_paper
      call macko_options_set(options, 'variant', macko_variant_name(f))
      call check(options%variant == f, 'variant by name')
    end do
    call check(macko_prefer_name(macko_prefer_memory) == 'memory' .and. macko_target_name(macko_target_gpu) == 'gpu', 'more names')
    call macko_options_init(options)
    call macko_options_set(options, 'format', 'csr')
    call macko_options_check(options)
    call macko_options_set(options, 'layout', 'slice')
    call macko_options_check(options, stat, errmsg)
    call check(stat == macko_unsupported .and. errmsg == 'format csr has no layout slice; format macko has', errmsg)
    call check(macko_status_text(macko_ok) == 'success', 'status text')
  end subroutine options_by_name

  subroutine refused(stat, status, errmsg, sentence)
    integer(c_int), intent(in) :: stat, status
    character(len=*), intent(in) :: errmsg, sentence
    call check(stat == status .and. errmsg == sentence, '"' // trim(errmsg) // '", not "' // sentence // '"')
  end subroutine refused

  subroutine failures()
    type(macko_matrix) :: a
    type(macko_csr) :: view
    type(macko_info) :: info
    real(c_double) :: y(3)
    real(c_float), allocatable :: reals4(:)
    integer(c_int), allocatable :: back(:), columns(:)
    character(len=120) :: errmsg
    integer(c_int) :: stat
    errmsg = 'untouched'
    call a%multiply([1d0], y, stat=stat, errmsg=errmsg)
    call refused(stat, macko_invalid_argument, errmsg, 'the matrix is empty: nothing has been encoded into it')
    call a%refresh([1, 2], [1], [1d0], stat, errmsg)
    call refused(stat, macko_invalid_argument, errmsg, 'the matrix is empty: nothing has been encoded into it')
    call a%refresh(view, stat, errmsg)
    call refused(stat, macko_invalid_argument, errmsg, 'the matrix is empty: nothing has been encoded into it')
    call a%validate(stat, errmsg)
    call refused(stat, macko_invalid_argument, errmsg, 'the matrix is empty: nothing has been encoded into it')
    call a%save('empty.macko', stat=stat, errmsg=errmsg)
    call refused(stat, macko_invalid_argument, errmsg, 'the matrix is empty: nothing has been encoded into it')
    errmsg = 'untouched'
    call a%encode([1, 2, 4], [1, 3, 2], [1d0, 2d0, 4d0], ncols=3, stat=stat, errmsg=errmsg)
    call check(stat == macko_ok .and. errmsg == 'untouched', 'success leaves errmsg')
    call a%refresh([1, 2, 4], [2, 3, 2], [1d0, 2d0, 4d0], stat, errmsg)
    call refused(stat, macko_invalid_matrix, errmsg, 'row 1 has an entry in column 2 where one in column 1 was encoded')
    call a%encode([1, 2, 4], [1, 3, 5], [1d0, 2d0, 3d0], ncols=3, stat=stat, errmsg=errmsg)
    call refused(stat, macko_invalid_matrix, errmsg, 'column 5 at entry 3 of row 2 is outside 1..3')
    call a%encode([1, 2, 4], [1, 3], [1d0, 2d0, 3d0], ncols=3, stat=stat, errmsg=errmsg)
    call refused(stat, macko_invalid_matrix, errmsg, 'cols and values have 2 and 3 elements and need the 3 that row_ptr ends with')
    call a%encode([integer ::], [1], [1d0], stat=stat, errmsg=errmsg)
    call refused(stat, macko_invalid_matrix, errmsg, 'row_ptr is empty and needs an element more than the matrix has rows')
    call a%refresh([1, 3, 4], [1, 3, 2], [5d0, 6d0, 7d0], stat, errmsg)
    call refused(stat, macko_invalid_matrix, errmsg, 'row 1 has 2 entries; 1 were encoded')
    call a%multiply([1d0, 1d0], y, stat=stat, errmsg=errmsg)
    call refused(stat, macko_invalid_argument, errmsg, 'x and y have 2 and 3 elements and need 3 and 2')
    call a%decode(back, columns, reals4, stat, errmsg)
    call refused(stat, macko_invalid_argument, errmsg, 'the matrix holds values of type f64; the array is of type f32')
    call a%multiply([1d0, 10d0, 100d0], y)
    call check(all(y(1:2) == [1d0, 240d0]), 'the old matrix stays when another is refused')
    call a%encode([1, 1], [integer ::], [real(c_double) ::], ncols=2)
    call a%get_info(info)
    call check(info%nrows == 1 .and. info%nnz == 0, 'a matrix without entries')
    y = 3
    call a%multiply([1d0, 1d0], y(1:1))
    call check(y(1) == 0, 'its product')
  end subroutine failures

  ! Memory checkers see what is freed here, and whether twice.
  subroutine lifetimes()
    type(macko_matrix) :: a, b, empty, several(3)
    call a%encode(row_ptr, cols, values, int(ncols, c_int64_t))
    b = a
    call a%refresh(row_ptr, cols, 2 * values)
    call check_products(a, 2d0, 'the original')
    call check_products(b, 1d0, 'its copy')
    several = b
    several(2) = a
    b = b
    call check_products(b, 1d0, 'assigned to itself')
    call check_products(several(2), 2d0, 'an element')
    call check_products(several(3), 1d0, 'another element')
    b = empty
    call check(.not. c_associated(b%handle()), 'an empty matrix copied')
    call a%destroy()
    call check(.not. c_associated(a%handle()), 'destroyed')
    call a%encode(row_ptr, cols, values, int(ncols, c_int64_t))
    call check_products(a, 1d0, 'encoded again')
  end subroutine lifetimes

  subroutine held()
    type(holder) :: first, second
    type(macko_matrix), allocatable :: a, b
    call first%matrix%encode(row_ptr, cols, values, int(ncols, c_int64_t))
    second = first
    call first%matrix%destroy()
    call check_products(second%matrix, 1d0, 'a component of a type with an assignment of its own')
    allocate (a, b)
    call a%encode(row_ptr, cols, values, int(ncols, c_int64_t))
    b = a
    deallocate (a)
    call check_products(b, 1d0, 'allocated and assigned')
  end subroutine held

  subroutine files()
    character(len=*), parameter :: path = 'fortran-test.mtx'
    type(macko_matrix) :: a
    integer(c_int), allocatable :: row4(:), col4(:)
    integer(c_int64_t), allocatable :: row8(:), col8(:)
    integer(c_int64_t) :: width
    real(c_double), allocatable :: reals(:)
    character(len=200) :: errmsg
    integer(c_int) :: stat
    logical :: symmetric
    integer :: unit
    call macko_write_matrix_market(path, row_ptr, cols, values, int(ncols, c_int64_t))
    call macko_read(path, row4, col4, reals, symmetric=symmetric)
    call check(all(row4 == row_ptr) .and. all(col4 == cols) .and. all(reals == values) .and. .not. symmetric, 'a file, i4')
    call macko_read(path, row8, col8, reals, width)
    call check(all(row8 == row_ptr) .and. all(col8 == cols) .and. all(reals == values) .and. width == ncols, 'a file, i8')
    call a%read(path, symmetric=symmetric)
    call check_products(a, 1d0, 'a file, compressed')
    open (newunit=unit, file=path)
    close (unit, status='delete')
    call a%read(path, stat=stat, errmsg=errmsg)
    call check(stat == macko_io .and. index(errmsg, path) > 0, 'a file that is not there: ' // errmsg)
    call check_products(a, 1d0, 'the old matrix stays')
  end subroutine files

  subroutine compressed_files()
    character(len=*), parameter :: path = 'fortran-test.macko'
    type(macko_matrix) :: a, b
    type(macko_info) :: info
    character(len=200) :: errmsg, source, hash
    integer(c_int) :: stat
    integer :: unit
    errmsg = ''
    call a%encode(row_ptr, cols, values, int(ncols, c_int64_t))
    call a%save(path, source='heat.mtx', stat=stat, errmsg=errmsg)
    if (stat == macko_unsupported) return ! a build without zlib or jansson
    call check(stat == macko_ok, 'saved: ' // errmsg)
    call a%save(path, source=repeat('s', 256), stat=stat, errmsg=errmsg)
    call check(stat == macko_invalid_argument .and. index(errmsg, 'source has 256 characters; 255') > 0, 'a source: ' // errmsg)
    call a%save(path, source=repeat('s', 255), hash=repeat('h', 128), stat=stat, errmsg=errmsg)
    call check(stat == macko_invalid_argument .and. index(errmsg, 'hash has 128 characters; 127') > 0, 'a hash: ' // errmsg)
    source = 'x'
    hash = 'x'
    call b%load(path, source, hash)
    call check_products(b, 1d0, 'saved and loaded')
    call check(source == 'heat.mtx' .and. hash == '' .and. b%reason() == a%reason(), 'what goes with it')
    call b%refresh(row_ptr, cols, 2 * values)
    call check_products(b, 2d0, 'loaded and refreshed')
    call b%get_info(info)
    call check(info%nnz == size(cols), 'sizes of what was loaded')
    open (newunit=unit, file=path)
    close (unit, status='delete')
    call b%load(path, stat=stat, errmsg=errmsg)
    call check(stat == macko_io .and. index(errmsg, path) > 0, 'a .macko file that is not there: ' // errmsg)
    call check_products(b, 2d0, 'the old matrix stays')
  end subroutine compressed_files
end program fortran
