// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/settings.hpp"
#include "io/storage.hpp"

namespace millrace::agent {

using MakeStorage = Result<std::unique_ptr<io::Storage>> (*)(const Settings& settings);

// Starts a process in the background that serves the job whose abstract socket is `name`. `handed`: the
// socket has that name already and is descriptor transport::handed_socket. In the foreground process, returns
// as soon as the other one listens, or if another agent has the name already. Returns 0 or an errno. The
// process has one thread until it calls `make_storage`. Environment: that of Settings, MILLRACED_LOG (a file
// for errors that no rank can receive), and MILLRACED_LINGER_MS (milliseconds to stay without ranks).
int serve_in_background(const char* name, bool handed, MakeStorage make_storage);
// Serves with the arguments of millraced: NAME, or NAME handed. EINVAL: other arguments.
int serve_by_arguments(int argc, char** argv, MakeStorage make_storage);

}  // namespace millrace::agent
