// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/factory.hpp"

#include <cerrno>
#include <utility>

#include "io/posix/devices_storage.hpp"
#include "io/posix/threads_storage.hpp"
#ifdef MILLRACE_HAVE_LIBURING
#include "io/uring/uring_storage.hpp"
#endif

namespace millrace::io {

namespace {

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
      return status.code() == Code::unsupported ? "built without liburing"
                                                : "io_uring cannot be set up: " + status.describe();
  }
}

Result<std::unique_ptr<Storage>> make_ring() {
#ifdef MILLRACE_HAVE_LIBURING
  return make_uring_storage();
#else
  return Status(Code::unsupported);
#endif
}

Result<std::unique_ptr<Storage>> make_threads() {
  Result<std::unique_ptr<ThreadsStorage>> made = ThreadsStorage::create();
  if (!made) return made.status();
  return std::unique_ptr<Storage>(*std::move(made));
}

}  // namespace

Availability io_uring_availability() {
  const Status status = make_ring().status();
  return {status.ok(), status.ok() ? std::string() : explain(status)};
}

Result<Chosen> make_storage(SinkMode mode) {
  std::string reason = "buffered writes with early writeback";
  if (mode == SinkMode::direct) {
    auto rings = DevicesStorage::create(make_ring);
    if (rings) return Chosen{*std::move(rings), "io_uring", "direct writes"};
    reason = explain(rings.status());
  }
  auto threads = DevicesStorage::create(make_threads);
  if (!threads) return threads.status();
  return Chosen{*std::move(threads), "threads", reason};
}

}  // namespace millrace::io
