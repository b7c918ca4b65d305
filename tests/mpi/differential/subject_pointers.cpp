// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// A subject's queries of a file, and its changes of size and pointers.
#include <linux/magic.h>
#include <sys/vfs.h>

#include <vector>

#include "implementation.h"
#include "subject.hpp"

bool on_nfs(const std::string& path) {
  struct statfs file_system {};
  return statfs(path.c_str(), &file_system) == 0 && file_system.f_type == NFS_SUPER_MAGIC;
}

void Subject::resize() {
  const MPI_Offset size = common_size();
  check("set_size", MPI_File_set_size(file_, dice_.shared.range(0, size)));
  const bool preallocate = dice_.shared.range(0, 1) == 0;
#ifdef OPEN_MPI
  // OMPIO 4.1 does it by reading and writing through the view, from its pointer on, and leaves the other
  // ranks in a broadcast.
  (void)preallocate;
#else
  if (preallocate) check("preallocate", MPI_File_preallocate(file_, size));
#endif
  check("set_size", MPI_File_set_size(file_, size));
  common_size();
}

// Asking is not collective: nobody may go on to change the size before all have it.
MPI_Offset Subject::common_size() {
  MPI_Offset size = -1;
  MPI_Barrier(comm_);
  check("get_size", MPI_File_get_size(file_, &size));
  MPI_Barrier(comm_);
  observer_.note("size", size);
  return size;
}

void Subject::ask() {
  MPI_Offset value = -1;
  const MPI_Offset etype = base_ / etype_size_ + dice_.own.range(0, span_ / etype_size_ - 1);
  check("get_byte_offset", MPI_File_get_byte_offset(file_, etype, &value));
  observer_.note("byte offset", value);
  MPI_Aint extent = -1;
  check("get_type_extent", MPI_File_get_type_extent(file_, MPI_DOUBLE, &extent));
  observer_.note("extent", extent);
  int atomic = -1;
  check("get_atomicity", MPI_File_get_atomicity(file_, &atomic));
  observer_.note("atomic", atomic);
  common_size();
}

void Subject::seek_somewhere() {
  const MPI_Offset etypes = span_ / etype_size_;
  check("seek", MPI_File_seek(file_, base_ / etype_size_ + dice_.own.range(0, etypes), MPI_SEEK_SET));
  check("seek", MPI_File_seek(file_, 0, MPI_SEEK_CUR));
  note_position();
}

void Subject::note_position() {
  MPI_Offset position = -1;
  check("position", MPI_File_get_position(file_, &position));
  // ROMIO of MPICH 3.4 tells less for some views of pieces.
  if (mpich_major() != 3) observer_.note("position", position);
}

// Shared file pointer, in the order of the ranks; for that all see the file as bytes.
void Subject::ordered() {
  check("set_view", MPI_File_set_view(file_, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  check("seek_shared", MPI_File_seek_shared(file_, dice_.shared.range(0, 5000), MPI_SEEK_SET));
  std::vector<unsigned char> data(static_cast<std::size_t>(dice_.own.range(0, 3000)),
                                  static_cast<unsigned char>(dice_.own.range(0, 255)));
  MPI_Status status;
  check("write_ordered",
        MPI_File_write_ordered(file_, data.data(), static_cast<int>(data.size()), MPI_BYTE, &status));
  MPI_Offset position = -1;
  check("position_shared", MPI_File_get_position_shared(file_, &position));
  observer_.note("shared position", position);
  settle();
  new_view();
}
