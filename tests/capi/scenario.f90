! SPDX-FileCopyrightText: 2026 The Millrace authors
! SPDX-License-Identifier: Apache-2.0
!
! scenario DEVICE FOLDER FUNCTIONS: as scenario.c, by `use millrace`.
program scenario
  use, intrinsic :: iso_fortran_env, only: real64, real32
  use, intrinsic :: iso_c_binding, only: c_loc
  use millrace
  implicit none
  integer(c_int64_t), parameter :: n = 1000000, bytes = n * 8
  real(real64), target :: values(n), back(n), total(1)
  character(len=4096) :: which, folder, functions_path
  type(millrace_device) :: device
  type(c_ptr) :: memory
  integer :: i

  call get_command_argument(1, which)
  call get_command_argument(2, folder)
  call get_command_argument(3, functions_path)
  values = [(real(i, real64), i=0, int(n) - 1)]
  call expect(millrace_api_version() >= 1, 'version')
  call well(millrace_device_open(which, device), 'device_open')
  call well(millrace_alloc(device, bytes, memory), 'alloc')
  call files()
  call functions(millrace_thread)
  call functions(millrace_process)
  call well(millrace_free(device, memory), 'free')
  call expect(millrace_free(device, memory) < 0, 'freed twice')
  call well(millrace_device_close(device), 'device_close')
  call expect(millrace_device_close(device) < 0, 'closed twice')
  print '(a)', 'all is well'

contains

  subroutine expect(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    if (.not. right) then
      print '(2a)', 'not so: ', what
      stop 1
    end if
  end subroutine expect

  subroutine well(done, what)
    integer(c_int), intent(in) :: done
    character(len=*), intent(in) :: what
    if (done < 0) then
      print '(3a,i0)', what, ': ', millrace_explain(), done
      stop 1
    end if
  end subroutine well

  subroutine files()
    type(millrace_file) :: file
    type(millrace_request) :: request
    integer(c_int) :: flags
    flags = millrace_flag_read + millrace_flag_write + millrace_flag_create + millrace_flag_truncate
    call well(millrace_open(trim(folder)//'/fortran', flags, int(o'600', c_int), file), 'open')
    call well(millrace_write_mem(device, memory, c_loc(values), bytes), 'write_mem')
    call expect(millrace_write(file, device, memory, bytes) == bytes, 'write')
    call well(millrace_request_init(request), 'init')
    call well(millrace_request_write(request, file, device, memory, bytes / 2, bytes), 'request_write')
    do while (millrace_request_query(request) == 0)
    end do
    call expect(millrace_request_wait(request, -1_c_int64_t) == bytes / 2, 'wait')
    call well(millrace_request_read(request, file, millrace_no_device, c_loc(back), bytes, bytes / 2), 'request_read')
    call expect(millrace_request_wait(request, 60000_c_int64_t) == bytes, 'wait for the read')
    call expect(all(back(:n / 2) == values(n / 2 + 1:)) .and. all(back(n / 2 + 1:) == values(:n / 2)), 'what was read')
    call well(millrace_request_fini(request), 'fini')
    call expect(millrace_seek(file, 8_c_int64_t, millrace_set) == 8, 'seek')
    call expect(millrace_read(file, device, memory, 16_c_int64_t) == 16, 'read')
    call well(millrace_read_mem(device, c_loc(back), millrace_offset(memory, 8_c_int64_t), 16_c_int64_t), 'read_mem')
    call expect(back(1) == values(3) .and. back(2) == values(3), 'a part of memory')
    call well(millrace_truncate(file, bytes + 8), 'truncate')
    call expect(millrace_size(file) == bytes + 8, 'size')
    call well(millrace_sync(file), 'sync')
    call well(millrace_close(file), 'close')
    call expect(millrace_close(file) < 0, 'closed twice')
    call expect(index(millrace_explain(), 'no such handle') > 0, millrace_explain())
    call expect(millrace_open('/no/such/file', millrace_flag_read, 0_c_int, file) < 0, 'open nothing')
  end subroutine files

  subroutine functions(place)
    integer(c_int), intent(in) :: place
    type(millrace_channel) :: channel
    type(millrace_queue) :: queue
    type(millrace_argument) :: arguments(6)
    integer(c_int64_t) :: library, sum_of, fill, weigh, returned, written, called, brought
    character(len=8), target :: text
    call well(millrace_channel_open(place, channel), 'channel_open')
    call well(millrace_install(channel, functions_path, library), 'install')
    call well(millrace_find(channel, library, 'sum', sum_of), 'find')
    call well(millrace_find(channel, library, 'fill', fill), 'find')
    call well(millrace_find(channel, library, 'weigh', weigh), 'find')
    call well(millrace_write_mem(device, memory, c_loc(values), bytes), 'write_mem')
    back = values
    arguments(1) = millrace_memory(millrace_in, device, memory, bytes)
    arguments(2) = millrace_integer(n)
    arguments(3) = millrace_memory(millrace_out, millrace_no_device, c_loc(total), 8_c_int64_t)
    arguments(4) = millrace_memory(millrace_inout, millrace_no_device, c_loc(back), bytes)
    call well(millrace_invoke(channel, sum_of, arguments, 4_c_int64_t, millrace_no_device, returned), 'invoke')
    call expect(returned == n .and. abs(total(1) - 0.5_real64 * n * (n - 1)) < 1 .and. nint(back(4)) == 9, 'sum')
    text = 'seven!!'//achar(0)
    arguments(1) = millrace_integer(3_c_int64_t)
    arguments(2) = millrace_real(1.5_real64)
    arguments(3) = millrace_memory(millrace_in, millrace_no_device, c_loc(text), 8_c_int64_t)
    arguments(4) = millrace_real(2.5_real32)
    arguments(5) = millrace_integer(10000_c_int64_t)
    arguments(6) = millrace_real(500.0_real64)
    call well(millrace_invoke(channel, weigh, arguments, 6_c_int64_t, millrace_no_device, returned), 'invoke')
    call expect(returned == 3010682, 'arguments of all kinds')

    call well(millrace_queue_open(device, queue), 'queue_open')
    call well(millrace_queue_write_mem(queue, memory, c_loc(back), bytes, written), 'queue_write_mem')
    arguments(1) = millrace_argument_of(millrace_call)
    arguments(2) = millrace_integer(millrace_address(memory))
    arguments(3) = millrace_integer(16_c_int64_t)
    arguments(4) = millrace_integer(0_c_int64_t)
    call well(millrace_queue_call(queue, channel, fill, arguments, 4_c_int64_t, called), 'queue_call')
    call well(millrace_queue_read_mem(queue, c_loc(back), memory, 32_c_int64_t, brought), 'queue_read_mem')
    call well(millrace_queue_sync(queue, 60000_c_int64_t), 'queue_sync')
    call expect(millrace_queue_peek(queue, brought) == 1, 'peek')
    call well(millrace_queue_wait(queue, called, -1_c_int64_t, returned), 'queue_wait')
    call expect(returned == 0 .and. nint(back(2)) == 0 .and. nint(back(3)) == 4 .and. nint(back(4)) == 9, 'fill')
    call well(millrace_queue_wait(queue, written, -1_c_int64_t, returned), 'queue_wait')
    call well(millrace_queue_wait(queue, brought, -1_c_int64_t, returned), 'queue_wait')
    call well(millrace_queue_close(queue), 'queue_close')
    call expect(millrace_find(channel, library, 'no_such_function', fill) < 0, 'find nothing')
    call well(millrace_uninstall(channel, library), 'uninstall')
    call well(millrace_channel_close(channel), 'channel_close')
  end subroutine functions

end program scenario
