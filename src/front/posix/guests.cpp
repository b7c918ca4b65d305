// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// For processes that also use MPI-IO: a descriptor must find the bytes that MPI-IO has written to its file.
// When it opens its first file, the library with the MPI-IO hooks (libmillrace-<mpi>.so) stores the address
// of a function here. The hooks ask that function.
#include <cerrno>

#include "front/posix/hook.hpp"
#include "front/posix/real.hpp"

namespace millrace::front {

constinit std::atomic<AskMpi> ask_mpi{nullptr};

void ask_mpi_about(int fd, bool writes, AskMpi ask) {
  const int error = errno;
  struct stat about;
  if (fd >= 0 && ask(nullptr, writes) && real::fstat(fd, &about) == 0 && S_ISREG(about.st_mode))
    (void)ask(&about, writes);
  errno = error;
}

void ask_mpi_about(int folder, const char* path, int flags, bool writes, AskMpi ask) {
  const int error = errno;
  struct stat about;
  if (path != nullptr && ask(nullptr, writes) && real::fstatat(folder, path, &about, flags) == 0 &&
      S_ISREG(about.st_mode))
    (void)ask(&about, writes);
  errno = error;
}

}  // namespace millrace::front

MILLRACE_HOOK void millrace_posix_guests(millrace::front::AskMpi ask) {
  millrace::front::ask_mpi.store(ask, std::memory_order_release);
}
