! SPDX-FileCopyrightText: 2026 The Millrace authors
! SPDX-License-Identifier: Apache-2.0
!
! One program, three interfaces: -DMPIF_H, -DUSE_MPI, or mpi_f08. usage: rows DIRECTORY
#if defined(MPIF_H) || defined(USE_MPI)
#define HANDLE(kind) integer
#define STATUS_ integer, dimension(MPI_STATUS_SIZE)
#else
#define HANDLE(kind) type(kind)
#define STATUS_ type(MPI_Status)
#endif
program rows
#if defined(USE_MPI)
  use mpi
  implicit none
#elif defined(MPIF_H)
  implicit none
  include 'mpif.h'
#else
  use mpi_f08
  implicit none
#endif
  integer, parameter :: n = 40
  integer :: ierr, rank, nranks, failures, i, got, all
  integer :: buf(n), back(n)
  integer, target :: absolute(n)
  integer(kind=MPI_OFFSET_KIND) :: at, zero
  integer(kind=MPI_ADDRESS_KIND) :: place(1)
  integer :: lengths(1)
  character(len=1024) :: directory
  HANDLE(MPI_File) :: fh
  HANDLE(MPI_Datatype) :: tile, far, kinds(1)
  HANDLE(MPI_Request) :: request
  STATUS_ :: status

  failures = 0
  zero = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, nranks, ierr)
  call get_command_argument(1, directory)

  call MPI_File_open(MPI_COMM_WORLD, trim(directory)//'/write', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, fh, ierr)
  call expect(ierr == MPI_SUCCESS, 'open')
  call MPI_Type_vector(1, n, n * nranks, MPI_INTEGER, far, ierr)
  call MPI_Type_create_resized(far, int(0, MPI_ADDRESS_KIND), int(4 * n * nranks, MPI_ADDRESS_KIND), tile, ierr)
  call MPI_Type_commit(tile, ierr)
  call MPI_Type_free(far, ierr)
  at = 4 * n * rank
  call MPI_File_set_view(fh, at, MPI_INTEGER, tile, 'native', MPI_INFO_NULL, ierr)
  call MPI_Type_free(tile, ierr)

  call fill(0)
  call MPI_File_write(fh, buf, n, MPI_INTEGER, status, ierr)
  call expect(ierr == MPI_SUCCESS, 'write')
  call MPI_Get_count(status, MPI_INTEGER, got, ierr)
  call expect(got == n, 'count')
  call fill(1)
  call MPI_File_write_all(fh, buf, n, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
  call expect(ierr == MPI_SUCCESS, 'write_all')
  call fill(2)
  at = 2 * n
  call MPI_File_write_at(fh, at, buf, n, MPI_INTEGER, status, ierr)
  call expect(ierr == MPI_SUCCESS, 'write_at')
  call fill(3)
  at = 3 * n
  call MPI_File_write_at_all(fh, at, buf, n, MPI_INTEGER, status, ierr)
  call expect(ierr == MPI_SUCCESS, 'write_at_all')
  call fill(4)
  at = 4 * n
  call MPI_File_iwrite_at(fh, at, buf, n, MPI_INTEGER, request, ierr)
  call MPI_Wait(request, status, ierr)
  call expect(ierr == MPI_SUCCESS, 'iwrite_at')
  call MPI_Get_count(status, MPI_INTEGER, got, ierr)
  call expect(got == n, 'count of iwrite_at')
  call fill(5)
  at = 5 * n
  call MPI_File_write_at_all_begin(fh, at, buf, n, MPI_INTEGER, ierr)
  call MPI_File_write_at_all_end(fh, buf, status, ierr)
  call expect(ierr == MPI_SUCCESS, 'write_at_all_end')
  call MPI_Get_count(status, MPI_INTEGER, got, ierr)
  call expect(got == n, 'count of the split call')
  call fill(6)
#ifdef OTHER_NAMES
  ! MPI_BOTTOM is a common block, and the MPI library knows it by the name that its own compiler gives it.
  at = 6 * n
  call MPI_File_write_at(fh, at, buf, n, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
  call expect(ierr == MPI_SUCCESS, 'the last row')
#else
  ! An absolute address from MPI_BOTTOM.
  absolute = buf
  call MPI_Get_address(absolute, place(1), ierr)
  lengths(1) = n
  kinds(1) = MPI_INTEGER
  call MPI_Type_create_struct(1, lengths, place, kinds, far, ierr)
  call MPI_Type_commit(far, ierr)
  at = 6 * n
  call MPI_File_write_at(fh, at, MPI_BOTTOM, 1, far, MPI_STATUS_IGNORE, ierr)
  call expect(ierr == MPI_SUCCESS, 'MPI_BOTTOM')
  call MPI_Type_free(far, ierr)
#endif

  do i = 0, 6
    call fill(i)
    at = i * n
    back = -1
    call MPI_File_read_at(fh, at, back, n, MPI_INTEGER, status, ierr)
    call expect(ierr == MPI_SUCCESS .and. .not. any(back /= buf), 'read_at')
  end do
  call MPI_File_seek(fh, zero, MPI_SEEK_SET, ierr)
  call MPI_File_get_position(fh, at, ierr)
  call expect(at == 0, 'get_position')
  call MPI_File_read_all(fh, back, n, MPI_INTEGER, status, ierr)
  call fill(0)
  call expect(.not. any(back /= buf), 'read_all')
  call MPI_File_sync(fh, ierr)
  call expect(ierr == MPI_SUCCESS, 'sync')
  call MPI_File_close(fh, ierr)
  call expect(ierr == MPI_SUCCESS, 'close')
  call MPI_Allreduce(failures, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0 .and. all == 0) print '(a)', 'pass fortran'
  if (rank == 0 .and. all /= 0) print '(a)', 'FAIL fortran'
  if (rank == 0) print '(a)', 'end'
  call MPI_Finalize(ierr)

contains

  subroutine fill(k)
    integer, intent(in) :: k
    integer :: j
    buf = [(1000 * (k * nranks + rank) + j, j = 1, n)]
  end subroutine

  subroutine expect(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    failures = failures + 1
    print '(a,i0,a,a)', 'rank ', rank, ' not true: ', what
  end subroutine

end program rows
