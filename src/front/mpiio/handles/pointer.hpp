// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "front/mpiio/real.hpp"

namespace millrace::front {

// The individual file pointer of one open, in etypes of its view. Millrace moves it for the transfers that it
// carries out, and gives it to the MPI library before the library's next call that uses it. Thread safe.
class FilePointer {
 public:
  // The library has the pointer of `handle` at first.
  explicit FilePointer(const MPI_File& handle) : handle_(handle) {}

  // The next transfer begins here, after an open or with a new view.
  void start(MPI_Offset position, bool library_knows);

  // An error of the library, if it alone knows the position and does not tell.
  int get(MPI_Offset& position);
  // Moves the pointer past `etypes`; `position` gets the old one.
  int take(MPI_Offset etypes, MPI_Offset& position);
  void set(MPI_Offset position);
  // MPI_File_seek. False: the library has to do it.
  bool seek(MPI_Offset offset, int whence);
  void give_to_library();
  // The same for a call of the library that this function makes: no other thread sees the position before the
  // call has moved it.
  template <class Call>
  int lend(Call call) {
    const std::lock_guard guard(lock_);
    give();
    return call();
  }

 private:
  enum class Known { by_us, by_library, by_both };

  int ask();
  void give();
  void put(MPI_Offset position);

  std::mutex lock_;
  const MPI_File& handle_;
  MPI_Offset position_ = 0;
  Known known_ = Known::by_library;
};

}  // namespace millrace::front
