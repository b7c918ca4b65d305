// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/settings.hpp"
#include "io/storage.hpp"

namespace millrace::agent {

using MakeStorage = Result<std::unique_ptr<io::Storage>> (*)(const Settings& settings);

// Serves the job whose abstract socket is argv[1], the only argument, in another process; this one returns.
// The socket is descriptor transport::handed_socket. transport::handed_answer hears how the start has ended.
// Returns 0 or an errno; EINVAL: other arguments or descriptors. The server has one thread until it calls
// `make_storage`. Environment: that of Settings, MILLRACED_LOG (a file for errors that no rank can receive),
// and MILLRACED_LINGER_MS (milliseconds to stay without ranks).
int serve_by_arguments(int argc, char** argv, MakeStorage make_storage);

}  // namespace millrace::agent
