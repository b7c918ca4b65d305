// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/settings.hpp"

namespace millrace::client {

std::string job_key(const Settings& settings);

// The number that the launcher gave to this process; -1 if there is no launcher.
int launcher_rank();

}  // namespace millrace::client
