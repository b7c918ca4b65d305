! SPDX-FileCopyrightText: 2026 The Millrace authors
! SPDX-License-Identifier: Apache-2.0
! records SEED: Fortran's own input and output, unformatted, stream, direct and formatted, with what INQUIRE says.
program records
  implicit none
  integer :: seed, i, n, ios, width, kind_of, lines, place, next
  logical :: there, connected
  integer(8) :: state, size_bytes, pos
  real(8), allocatable :: values(:), back(:)
  character(32) :: word
  character(10) :: text

  call get_command_argument(1, word)
  read (word, *) seed
  state = int(seed, 8) * 7919 + 12345

  open (11, file="seq.bin", form="unformatted", access="sequential", status="replace")
  open (12, file="stream.bin", form="unformatted", access="stream", status="replace")
  open (13, file="direct.bin", form="unformatted", access="direct", recl=80008, status="replace")
  open (14, file="text.txt", form="formatted", status="replace")
  do i = 1, 12
    n = 1 + draw(merge(600000, 3000, draw(4) == 0))
    allocate (values(n), back(n))
    values = [(real(mod(i * 7 + n, 1000), 8) + place / 3d0, place = 1, n)]
    kind_of = draw(11)
    select case (kind_of)
    case (0, 1)
      write (11) values
      inquire (11, size=size_bytes)
      print *, i, "sequential", n, size_bytes
    case (2)
      write (11) n, values(1:n / 2)
      backspace (11)
      read (11) width, back(1:n / 2)
      print *, i, "read back", width == n, all(back(1:n / 2) == values(1:n / 2))
    case (3, 4)
      inquire (12, pos=pos)
      write (12) values
      inquire (12, size=size_bytes)
      print *, i, "stream", pos, size_bytes
    case (5)
      pos = 1 + draw(100000)
      write (12, pos=pos) values(1:min(n, 500))
      read (12, pos=pos) back(1:min(n, 500))
      print *, i, "at", pos, all(back(1:min(n, 500)) == values(1:min(n, 500)))
      inquire (12, size=size_bytes)
      read (12, pos=size_bytes + 1, iostat=ios) text
      print *, i, "past the end", ios
      write (12, pos=size_bytes + 1) i
    case (6)
      width = 1 + draw(20)
      write (13, rec=width) values(1:min(n, 10001))
      read (13, rec=width, iostat=ios) back(1:min(n, 10001))
      print *, i, "record", width, ios
    case (7)
      do lines = 1, draw(3000)
        write (14, "(i6,1x,f20.10)") lines, values(1 + mod(lines, n))
      end do
      flush (14)
      inquire (14, size=size_bytes)
      print *, i, "lines", size_bytes
    case (8)
      ! Back over several records, of which the last is written anew: what followed is gone.
      write (11) values
      write (11) n
      write (11) values(1:n / 3), i
      backspace (11)
      backspace (11)
      read (11) width
      write (11) i, width
      backspace (11)
      read (11) next, width
      inquire (11, opened=connected, position=word, size=size_bytes)
      print *, i, "back over", next, width, connected, trim(word), size_bytes
    case (9)
      inquire (file="seq.bin", exist=there, opened=connected, number=width, size=size_bytes)
      inquire (13, nextrec=next, recl=lines)
      print *, i, "inquired", there, connected, width, size_bytes, next, lines
      inquire (file="none.bin", exist=there, opened=connected)
      print *, there, connected
      endfile (14)
      backspace (14)
      write (14, *) values(1)
      inquire (14, size=size_bytes)
      print *, size_bytes
    case default
      close (11)
      open (11, file="seq.bin", form="unformatted", access="sequential", position="append")
      flush (12)
      print *, i, "opened again"
    end select
    deallocate (values, back)
  end do
  rewind (11)
  n = 0
  do
    read (11, iostat=ios)
    if (ios /= 0) exit
    n = n + 1
  end do
  print *, "records", n, ios
  close (11)
  close (12)
  close (14)
contains
  integer function draw(below)
    integer, intent(in) :: below
    state = mod(state * 1103515245_8 + 12345_8, 2147483648_8)
    draw = int(mod(state / 65536, int(below, 8)))
  end function
end program
