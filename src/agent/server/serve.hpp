// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/settings.hpp"
#include "io/storage.hpp"

namespace millrace::agent {

using MakeStorage = Result<std::unique_ptr<io::Storage>> (*)(const Settings& settings);

// Goes to the background and serves the job whose abstract socket is `name`; with `handed`, that socket
// listens already and is descriptor transport::handed_listener. Returns in the foreground process as soon as
// that listens, or at once if another agent does already. 0, or the errno of what went wrong. The process has
// one thread until `make_storage` is called. Environment: that of Settings, and MILLRACED_LOG (a file for
// errors that no rank can be told), MILLRACED_LINGER_MS (milliseconds to stay without ranks).
int serve_in_background(const char* name, bool handed, MakeStorage make_storage);
// The arguments of millraced that serves: NAME, or NAME handed. EINVAL: they are others.
int serve_by_arguments(int argc, char** argv, MakeStorage make_storage);

}  // namespace millrace::agent
