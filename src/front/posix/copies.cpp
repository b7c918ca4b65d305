// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// Copies of files on this node (ADR 25). At MPI_Init, the library with the MPI-IO hooks
// (libmillrace-<mpi>.so) copies the files that the user has named, and passes the copies to this library.
#include "plain/copies.hpp"

#include "front/posix/hook.hpp"
#include "front/posix/real.hpp"

namespace millrace::front {
namespace {

constinit std::atomic<bool (*)()> in_mpi_hook{nullptr};

}  // namespace

void take_copy(int fd) {
  // Files that the MPI library opens may be written by other ranks through it, which no copy shows.
  const auto in_hook = in_mpi_hook.load(std::memory_order_acquire);
  if (in_hook == nullptr || in_hook()) return;
  ask_for(fd);  // pending bytes of MPI-IO change the file
  copies().exchange(fd);
}

void show_original(struct stat* about) { copies().disguise(about); }

}  // namespace millrace::front

// `original` is the state of a file, and `fd` has its copy open. `in_hook` tells whether this thread runs in
// a hook of the MPI library. nullptr: no open gets a copy any more. The result says whether the copy will be
// used.
MILLRACE_HOOK bool millrace_posix_copy(const struct stat* original, int fd, bool (*in_hook)()) {
  using millrace::front::copies;
  if (original == nullptr) {
    copies().forget();
    return true;
  }
  millrace::front::in_mpi_hook.store(in_hook, std::memory_order_release);
  return copies().add(*original, fd);
}
