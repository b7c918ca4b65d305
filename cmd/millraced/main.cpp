// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <utility>

#include "agent/server/serve.hpp"
#include "io/factory.hpp"

namespace {

millrace::Result<std::unique_ptr<millrace::io::Storage>> make_storage(const millrace::Settings& settings) {
  millrace::Result<millrace::io::Chosen> chosen = millrace::io::make_storage(settings.file.sink);
  if (!chosen) return chosen.status();
  return std::move(chosen->storage);
}

// For `millrace doctor`.
int probe() {
  const millrace::io::Availability uring = millrace::io::io_uring_availability();
  std::printf("io_uring: %s%s\n", uring.usable ? "usable" : "not usable: ", uring.reason.c_str());
  return 0;
}

}  // namespace

// millraced --probe: prints what this machine offers. millraced NAME: the agent of one job on this node,
// started by the job's first rank that needs it. NAME is the abstract UNIX socket that the ranks connect to,
// which the rank hands over. Exit status: 0 or an errno.
int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--probe") return probe();
  const int status = millrace::agent::serve_by_arguments(argc, argv, make_storage);
  if (status == EINVAL) std::fputs("millraced is started by Millrace itself; see millrace run\n", stderr);
  return status;
}
