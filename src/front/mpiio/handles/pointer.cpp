// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/handles/pointer.hpp"

// Millrace's own calls of the library use the PMPI names, so that other tools do not count them.
namespace millrace::front {

void FilePointer::start(MPI_Offset position, bool library_knows) {
  const std::lock_guard guard(lock_);
  position_ = position;
  known_ = library_knows ? Known::by_both : Known::by_us;
}

int FilePointer::ask() {
  if (known_ != Known::by_library) return MPI_SUCCESS;
  const int error = call<Slot::MPI_File_get_position>(Entry::pmpi, handle_, &position_);
  if (error == MPI_SUCCESS) known_ = Known::by_both;
  return error;
}

void FilePointer::put(MPI_Offset position) {
  position_ = position;
  known_ = Known::by_us;
}

int FilePointer::get(MPI_Offset& position) {
  const std::lock_guard guard(lock_);
  const int error = ask();
  if (error == MPI_SUCCESS) position = position_;
  return error;
}

int FilePointer::take(MPI_Offset etypes, MPI_Offset& position) {
  const std::lock_guard guard(lock_);
  if (const int error = ask(); error != MPI_SUCCESS) return error;
  position = position_;
  put(position_ + etypes);
  return MPI_SUCCESS;
}

void FilePointer::set(MPI_Offset position) {
  const std::lock_guard guard(lock_);
  put(position);
}

bool FilePointer::seek(MPI_Offset offset, int whence) {
  if (whence != MPI_SEEK_SET && whence != MPI_SEEK_CUR) return false;
  const std::lock_guard guard(lock_);
  if (whence == MPI_SEEK_CUR && ask() != MPI_SUCCESS) return false;
  MPI_Offset target = 0;
  const MPI_Offset base = whence == MPI_SEEK_CUR ? position_ : 0;
  if (__builtin_add_overflow(base, offset, &target) || target < 0) return false;
  put(target);
  return true;
}

void FilePointer::give() {
  if (known_ == Known::by_us) call<Slot::MPI_File_seek>(Entry::pmpi, handle_, position_, MPI_SEEK_SET);
  known_ = Known::by_library;
}

void FilePointer::give_to_library() {
  const std::lock_guard guard(lock_);
  give();
}

}  // namespace millrace::front
