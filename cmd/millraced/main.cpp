// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>

#include "agent/serve.hpp"
#include "io/make_storage.hpp"

// millraced NAME: the agent of one job on this node, started by the job's first rank that needs it. NAME is
// the abstract UNIX socket that the ranks connect to. Exit status: 0 it listens, else an errno.
int main(int argc, char** argv) {
  if (argc != 2) return EINVAL;
  return millrace::agent::serve_in_background(argv[1], [](const millrace::Settings&) {
    return millrace::io::make_storage();
  });
}
