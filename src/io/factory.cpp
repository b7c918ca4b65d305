// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/factory.hpp"

#include <cerrno>
#include <utility>

#include "io/posix/threads_storage.hpp"
#ifdef MILLRACE_HAVE_LIBURING
#include "io/uring/uring_storage.hpp"
#endif

namespace millrace::io {

namespace {

#ifdef MILLRACE_HAVE_LIBURING
std::string explain(Status status) {
  switch (status.error()) {
    case ENOSYS:
      return "this kernel has no io_uring, or lacks an operation that is needed";
    case EPERM:
    case EACCES:
      return "io_uring is forbidden here: see sysctl kernel.io_uring_disabled, or the container's seccomp "
             "profile";
    case ENOMEM:
      return "no memory for a ring: the limit of locked memory (ulimit -l) may be too low";
    default:
      return "io_uring cannot be set up: " + status.describe();
  }
}
#endif

Result<std::unique_ptr<Storage>> try_uring(std::string& reason) {
#ifdef MILLRACE_HAVE_LIBURING
  Result<std::unique_ptr<Storage>> ring = make_uring_storage();
  if (!ring) reason = explain(ring.status());
  return ring;
#else
  reason = "built without liburing";
  return Status(Code::unsupported);
#endif
}

}  // namespace

Availability io_uring_availability() {
  std::string reason;
  const bool usable = try_uring(reason).ok();
  return {usable, reason};
}

Result<Chosen> make_storage(SinkMode mode) {
  std::string reason = "buffered writes with early writeback";
  if (mode == SinkMode::direct) {
    Result<std::unique_ptr<Storage>> ring = try_uring(reason);
    if (ring) return Chosen{*std::move(ring), "io_uring", "direct writes"};
  }
  Result<std::unique_ptr<ThreadsStorage>> threads = ThreadsStorage::create();
  if (!threads) return threads.status();
  return Chosen{*std::move(threads), "threads", reason};
}

}  // namespace millrace::io
