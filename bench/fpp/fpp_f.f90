! SPDX-FileCopyrightText: 2026 The Millrace authors
! SPDX-License-Identifier: Apache-2.0
!
! A rank's own file as Fortran programs write it: sequential, unformatted, one record.
module fpp_f
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_double, c_char, c_null_char
  implicit none
  integer, save :: unit = -1

contains

  function fpp_f_open(path, writes, buffer_bytes) bind(c) result(failed)
    character(kind=c_char), intent(in) :: path(*)
    integer(c_int), value :: writes
    integer(c_int64_t), value :: buffer_bytes  ! the runtime's own setting
    integer(c_int) :: failed
    character(len=4096) :: name
    integer :: i
    name = ' '
    do i = 1, len(name)
      if (path(i) == c_null_char) exit
      name(i:i) = path(i)
    end do
    failed = 0
    if (buffer_bytes < 0) failed = 1
    if (writes /= 0) then
      open (newunit=unit, file=trim(name), form='unformatted', access='sequential', action='write', &
            status='replace', iostat=failed)
    else
      open (newunit=unit, file=trim(name), form='unformatted', access='sequential', action='read', &
            status='old', iostat=failed)
    end if
  end function fpp_f_open

  function fpp_f_write(values, count) bind(c) result(failed)
    integer(c_int64_t), value :: count
    real(c_double), intent(in) :: values(count)
    integer(c_int) :: failed
    write (unit, iostat=failed) values
    if (failed == 0) flush (unit, iostat=failed)
  end function fpp_f_write

  function fpp_f_read(values, count) bind(c) result(failed)
    integer(c_int64_t), value :: count
    real(c_double), intent(out) :: values(count)
    integer(c_int) :: failed
    read (unit, iostat=failed) values
  end function fpp_f_read

  function fpp_f_close() bind(c) result(failed)
    integer(c_int) :: failed
    close (unit, iostat=failed)
  end function fpp_f_close

end module fpp_f
