! SPDX-FileCopyrightText: 2026 The Millrace authors
! SPDX-License-Identifier: Apache-2.0
!
! The C API for Fortran 2008. millrace.h describes each call and its errors. Names and the order of arguments are the
! same here. Only the flags have other names, such as millrace_flag_write, because Fortran ignores case.
!
!     gfortran -c $(pkg-config --variable=fortran_source millrace)
!     gfortran program.f90 millrace.o $(pkg-config --libs millrace)
!
! Results are 0 or a count, or a negative errno; millrace_explain() gives the reason. Addresses are type(c_ptr): c_loc()
! of an array with millrace_no_device, or an address from millrace_alloc. Memory of a request or a queue must be
! `target`, and also `asynchronous` if the compiler checks that. It must stay valid until the program has waited for it.
module millrace
  use, intrinsic :: iso_c_binding, only: c_ptr, c_null_ptr, c_int, c_int32_t, c_int64_t, c_intptr_t, c_double, c_float, &
                                         c_char, c_null_char, c_size_t, c_f_pointer
  implicit none
  private
  public :: c_ptr, c_null_ptr, c_int, c_int64_t

  integer(c_int), parameter, public :: millrace_flag_read = 1, millrace_flag_write = 2, millrace_flag_create = 4
  integer(c_int), parameter, public :: millrace_flag_truncate = 8, millrace_flag_exclusive = 16, &
                                       millrace_flag_append = 32
  integer(c_int), parameter, public :: millrace_set = 0, millrace_current = 1, millrace_end = 2
  integer(c_int), parameter, public :: millrace_thread = 0, millrace_process = 1
  integer(c_int32_t), parameter, public :: millrace_in = 3, millrace_out = 4, millrace_inout = 5, millrace_call = 6

  ! Handles are opaque, as in C. Each kind has its own type, so that the compiler finds mistakes.
  type, bind(c), public :: millrace_file
    private
    type(c_ptr) :: handle = c_null_ptr
  end type millrace_file
  type, bind(c), public :: millrace_device
    private
    type(c_ptr) :: handle = c_null_ptr
  end type millrace_device
  type, bind(c), public :: millrace_request
    private
    type(c_ptr) :: handle = c_null_ptr
  end type millrace_request
  type, bind(c), public :: millrace_channel
    private
    type(c_ptr) :: handle = c_null_ptr
  end type millrace_channel
  type, bind(c), public :: millrace_queue
    private
    type(c_ptr) :: handle = c_null_ptr
  end type millrace_queue
  ! In place of a device, this means the memory of this process.
  type(millrace_device), parameter, public :: millrace_no_device = millrace_device(c_null_ptr)

  ! millrace_integer, millrace_real, millrace_memory and millrace_argument_of make arguments.
  type, bind(c), public :: millrace_argument
    private
    integer(c_int32_t) :: kind = 0
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: integer = 0
    real(c_double) :: real = 0
    type(c_ptr) :: address = c_null_ptr
    integer(c_int64_t) :: bytes = 0
    type(millrace_device) :: device
  end type millrace_argument

  interface millrace_real
    module procedure real64_argument, real32_argument
  end interface millrace_real

  public :: millrace_explain, millrace_open, millrace_device_open, millrace_install, millrace_find
  public :: millrace_integer, millrace_real, millrace_memory, millrace_argument_of, millrace_address, millrace_offset
  public :: millrace_api_version, millrace_checksum
  public :: millrace_adopt, millrace_descriptor, millrace_close, millrace_write, millrace_write_at, millrace_read, &
            millrace_read_at, millrace_seek, millrace_size, millrace_truncate, millrace_sync
  public :: millrace_device_close, millrace_alloc, millrace_free, millrace_read_mem, millrace_write_mem
  public :: millrace_request_init, millrace_request_write, millrace_request_read, millrace_request_query, &
            millrace_request_wait, millrace_request_fini
  public :: millrace_channel_open, millrace_channel_close, millrace_uninstall, millrace_invoke
  public :: millrace_queue_open, millrace_queue_close, millrace_queue_read_mem, millrace_queue_write_mem, &
            millrace_queue_call, millrace_queue_peek, millrace_queue_wait, millrace_queue_sync

  interface
    function millrace_api_version() bind(c, name='millrace_api_version') result(done)
      import
      integer(c_int) :: done
    end function millrace_api_version
    function millrace_checksum(data, bytes) bind(c, name='millrace_checksum') result(done)
      import
      type(c_ptr), value :: data
      integer(c_int64_t), value :: bytes
      integer(c_int64_t) :: done
    end function millrace_checksum
    function millrace_adopt(descriptor, file) bind(c, name='millrace_adopt') result(done)
      import
      integer(c_int), value :: descriptor
      type(millrace_file), intent(out) :: file
      integer(c_int) :: done
    end function millrace_adopt
    function millrace_descriptor(file) bind(c, name='millrace_descriptor') result(done)
      import
      type(millrace_file), value :: file
      integer(c_int) :: done
    end function millrace_descriptor
    function millrace_close(file) bind(c, name='millrace_close') result(done)
      import
      type(millrace_file), value :: file
      integer(c_int) :: done
    end function millrace_close
    function millrace_write(file, device, from, bytes) bind(c, name='millrace_write') result(done)
      import
      type(millrace_file), value :: file
      type(millrace_device), value :: device
      type(c_ptr), value :: from
      integer(c_int64_t), value :: bytes
      integer(c_int64_t) :: done
    end function millrace_write
    function millrace_write_at(file, device, from, bytes, offset) bind(c, name='millrace_write_at') result(done)
      import
      type(millrace_file), value :: file
      type(millrace_device), value :: device
      type(c_ptr), value :: from
      integer(c_int64_t), value :: bytes, offset
      integer(c_int64_t) :: done
    end function millrace_write_at
    function millrace_read(file, device, to, bytes) bind(c, name='millrace_read') result(done)
      import
      type(millrace_file), value :: file
      type(millrace_device), value :: device
      type(c_ptr), value :: to
      integer(c_int64_t), value :: bytes
      integer(c_int64_t) :: done
    end function millrace_read
    function millrace_read_at(file, device, to, bytes, offset) bind(c, name='millrace_read_at') result(done)
      import
      type(millrace_file), value :: file
      type(millrace_device), value :: device
      type(c_ptr), value :: to
      integer(c_int64_t), value :: bytes, offset
      integer(c_int64_t) :: done
    end function millrace_read_at
    function millrace_seek(file, offset, whence) bind(c, name='millrace_seek') result(done)
      import
      type(millrace_file), value :: file
      integer(c_int64_t), value :: offset
      integer(c_int), value :: whence
      integer(c_int64_t) :: done
    end function millrace_seek
    function millrace_size(file) bind(c, name='millrace_size') result(done)
      import
      type(millrace_file), value :: file
      integer(c_int64_t) :: done
    end function millrace_size
    function millrace_truncate(file, bytes) bind(c, name='millrace_truncate') result(done)
      import
      type(millrace_file), value :: file
      integer(c_int64_t), value :: bytes
      integer(c_int) :: done
    end function millrace_truncate
    function millrace_sync(file) bind(c, name='millrace_sync') result(done)
      import
      type(millrace_file), value :: file
      integer(c_int) :: done
    end function millrace_sync
    function millrace_device_close(device) bind(c, name='millrace_device_close') result(done)
      import
      type(millrace_device), value :: device
      integer(c_int) :: done
    end function millrace_device_close
    function millrace_alloc(device, bytes, address) bind(c, name='millrace_alloc') result(done)
      import
      type(millrace_device), value :: device
      integer(c_int64_t), value :: bytes
      type(c_ptr), intent(out) :: address
      integer(c_int) :: done
    end function millrace_alloc
    function millrace_free(device, address) bind(c, name='millrace_free') result(done)
      import
      type(millrace_device), value :: device
      type(c_ptr), value :: address
      integer(c_int) :: done
    end function millrace_free
    function millrace_read_mem(device, host, from, bytes) bind(c, name='millrace_read_mem') result(done)
      import
      type(millrace_device), value :: device
      type(c_ptr), value :: host, from
      integer(c_int64_t), value :: bytes
      integer(c_int) :: done
    end function millrace_read_mem
    function millrace_write_mem(device, to, host, bytes) bind(c, name='millrace_write_mem') result(done)
      import
      type(millrace_device), value :: device
      type(c_ptr), value :: to, host
      integer(c_int64_t), value :: bytes
      integer(c_int) :: done
    end function millrace_write_mem
    function millrace_request_init(request) bind(c, name='millrace_request_init') result(done)
      import
      type(millrace_request), intent(out) :: request
      integer(c_int) :: done
    end function millrace_request_init
    function millrace_request_write(request, file, device, from, bytes, offset) bind(c, name='millrace_request_write') result(done)
      import
      type(millrace_request), value :: request
      type(millrace_file), value :: file
      type(millrace_device), value :: device
      type(c_ptr), value :: from
      integer(c_int64_t), value :: bytes, offset
      integer(c_int) :: done
    end function millrace_request_write
    function millrace_request_read(request, file, device, to, bytes, offset) bind(c, name='millrace_request_read') result(done)
      import
      type(millrace_request), value :: request
      type(millrace_file), value :: file
      type(millrace_device), value :: device
      type(c_ptr), value :: to
      integer(c_int64_t), value :: bytes, offset
      integer(c_int) :: done
    end function millrace_request_read
    function millrace_request_query(request) bind(c, name='millrace_request_query') result(done)
      import
      type(millrace_request), value :: request
      integer(c_int) :: done
    end function millrace_request_query
    function millrace_request_wait(request, timeout_ms) bind(c, name='millrace_request_wait') result(done)
      import
      type(millrace_request), value :: request
      integer(c_int64_t), value :: timeout_ms
      integer(c_int64_t) :: done
    end function millrace_request_wait
    function millrace_request_fini(request) bind(c, name='millrace_request_fini') result(done)
      import
      type(millrace_request), value :: request
      integer(c_int) :: done
    end function millrace_request_fini
    function millrace_channel_open(where, channel) bind(c, name='millrace_channel_open') result(done)
      import
      integer(c_int), value :: where
      type(millrace_channel), intent(out) :: channel
      integer(c_int) :: done
    end function millrace_channel_open
    function millrace_channel_close(channel) bind(c, name='millrace_channel_close') result(done)
      import
      type(millrace_channel), value :: channel
      integer(c_int) :: done
    end function millrace_channel_close
    function millrace_uninstall(channel, library) bind(c, name='millrace_uninstall') result(done)
      import
      type(millrace_channel), value :: channel
      integer(c_int64_t), value :: library
      integer(c_int) :: done
    end function millrace_uninstall
    function millrace_invoke(channel, symbol, arguments, count, device, returned) bind(c, name='millrace_invoke') result(done)
      import
      type(millrace_channel), value :: channel
      integer(c_int64_t), value :: symbol, count
      type(millrace_argument), intent(in) :: arguments(*)
      type(millrace_device), value :: device
      integer(c_int64_t), intent(out) :: returned
      integer(c_int) :: done
    end function millrace_invoke
    function millrace_queue_open(device, queue) bind(c, name='millrace_queue_open') result(done)
      import
      type(millrace_device), value :: device
      type(millrace_queue), intent(out) :: queue
      integer(c_int) :: done
    end function millrace_queue_open
    function millrace_queue_close(queue) bind(c, name='millrace_queue_close') result(done)
      import
      type(millrace_queue), value :: queue
      integer(c_int) :: done
    end function millrace_queue_close
    function millrace_queue_read_mem(queue, host, from, bytes, ticket) bind(c, name='millrace_queue_read_mem') result(done)
      import
      type(millrace_queue), value :: queue
      type(c_ptr), value :: host, from
      integer(c_int64_t), value :: bytes
      integer(c_int64_t), intent(out) :: ticket
      integer(c_int) :: done
    end function millrace_queue_read_mem
    function millrace_queue_write_mem(queue, to, host, bytes, ticket) bind(c, name='millrace_queue_write_mem') result(done)
      import
      type(millrace_queue), value :: queue
      type(c_ptr), value :: to, host
      integer(c_int64_t), value :: bytes
      integer(c_int64_t), intent(out) :: ticket
      integer(c_int) :: done
    end function millrace_queue_write_mem
    function millrace_queue_call(queue, channel, symbol, arguments, count, ticket) bind(c, name='millrace_queue_call') result(done)
      import
      type(millrace_queue), value :: queue
      type(millrace_channel), value :: channel
      integer(c_int64_t), value :: symbol, count
      type(millrace_argument), intent(in) :: arguments(*)
      integer(c_int64_t), intent(out) :: ticket
      integer(c_int) :: done
    end function millrace_queue_call
    function millrace_queue_peek(queue, ticket) bind(c, name='millrace_queue_peek') result(done)
      import
      type(millrace_queue), value :: queue
      integer(c_int64_t), value :: ticket
      integer(c_int) :: done
    end function millrace_queue_peek
    function millrace_queue_wait(queue, ticket, timeout_ms, returned) bind(c, name='millrace_queue_wait') result(done)
      import
      type(millrace_queue), value :: queue
      integer(c_int64_t), value :: ticket, timeout_ms
      integer(c_int64_t), intent(out) :: returned
      integer(c_int) :: done
    end function millrace_queue_wait
    function millrace_queue_sync(queue, timeout_ms) bind(c, name='millrace_queue_sync') result(done)
      import
      type(millrace_queue), value :: queue
      integer(c_int64_t), value :: timeout_ms
      integer(c_int) :: done
    end function millrace_queue_sync

    function c_open(path, flags, permissions, file) bind(c, name='millrace_open') result(done)
      import
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: flags, permissions
      type(millrace_file), intent(out) :: file
      integer(c_int) :: done
    end function c_open
    function c_device_open(which, device) bind(c, name='millrace_device_open') result(done)
      import
      character(kind=c_char), intent(in) :: which(*)
      type(millrace_device), intent(out) :: device
      integer(c_int) :: done
    end function c_device_open
    function c_install(channel, path, library) bind(c, name='millrace_install') result(done)
      import
      type(millrace_channel), value :: channel
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int64_t), intent(out) :: library
      integer(c_int) :: done
    end function c_install
    function c_find(channel, library, name, symbol) bind(c, name='millrace_find') result(done)
      import
      type(millrace_channel), value :: channel
      integer(c_int64_t), value :: library
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), intent(out) :: symbol
      integer(c_int) :: done
    end function c_find
    function c_explain() bind(c, name='millrace_explain') result(text)
      import
      type(c_ptr) :: text
    end function c_explain
    function c_length(text) bind(c, name='strlen') result(length)
      import
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function c_length
  end interface

contains

  function millrace_explain() result(text)
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    type(c_ptr) :: said
    integer :: i
    said = c_explain()
    call c_f_pointer(said, letters, [c_length(said)])
    allocate (character(len=size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function millrace_explain

  ! Trailing blanks are not part of a path or name.
  function millrace_open(path, flags, permissions, file) result(done)
    character(len=*), intent(in) :: path
    integer(c_int), intent(in) :: flags, permissions
    type(millrace_file), intent(out) :: file
    integer(c_int) :: done
    done = c_open(trim(path)//c_null_char, flags, permissions, file)
  end function millrace_open

  function millrace_device_open(which, device) result(done)
    character(len=*), intent(in) :: which
    type(millrace_device), intent(out) :: device
    integer(c_int) :: done
    done = c_device_open(trim(which)//c_null_char, device)
  end function millrace_device_open

  function millrace_install(channel, path, library) result(done)
    type(millrace_channel), intent(in) :: channel
    character(len=*), intent(in) :: path
    integer(c_int64_t), intent(out) :: library
    integer(c_int) :: done
    done = c_install(channel, trim(path)//c_null_char, library)
  end function millrace_install

  function millrace_find(channel, library, name, symbol) result(done)
    type(millrace_channel), intent(in) :: channel
    integer(c_int64_t), intent(in) :: library
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(out) :: symbol
    integer(c_int) :: done
    done = c_find(channel, library, trim(name)//c_null_char, symbol)
  end function millrace_find

  pure function millrace_argument_of(kind) result(made)
    integer(c_int32_t), intent(in) :: kind
    type(millrace_argument) :: made
    made%kind = kind
  end function millrace_argument_of

  pure function millrace_integer(value) result(made)
    integer(c_int64_t), intent(in) :: value
    type(millrace_argument) :: made
    made%integer = value
  end function millrace_integer

  pure function real64_argument(value) result(made)
    real(c_double), intent(in) :: value
    type(millrace_argument) :: made
    made%kind = 1
    made%real = value
  end function real64_argument

  pure function real32_argument(value) result(made)
    real(c_float), intent(in) :: value
    type(millrace_argument) :: made
    made%kind = 2
    made%real = real(value, c_double)
  end function real32_argument

  ! `kind` is millrace_in, millrace_out or millrace_inout.
  function millrace_memory(kind, device, address, bytes) result(made)
    integer(c_int32_t), intent(in) :: kind
    type(millrace_device), intent(in) :: device
    type(c_ptr), intent(in) :: address
    integer(c_int64_t), intent(in) :: bytes
    type(millrace_argument) :: made
    made%kind = kind
    made%device = device
    made%address = address
    made%bytes = bytes
  end function millrace_memory

  ! millrace_address: an address as a number, for send_data and recv_data. millrace_offset: the address plus `bytes`.
  pure function millrace_address(address) result(number)
    type(c_ptr), intent(in) :: address
    integer(c_int64_t) :: number
    number = transfer(address, 0_c_intptr_t)
  end function millrace_address

  pure function millrace_offset(address, bytes) result(place)
    type(c_ptr), intent(in) :: address
    integer(c_int64_t), intent(in) :: bytes
    type(c_ptr) :: place
    place = transfer(transfer(address, 0_c_intptr_t) + bytes, place)
  end function millrace_offset

end module millrace
