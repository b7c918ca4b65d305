// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/settings.hpp"

namespace millrace {

// The directory of journals. Without a setting, the directory whose files outlive a boot (FHS): systems empty
// /tmp, and schedulers remove TMPDIR at the end of a job.
inline std::string local_directory(const Settings& settings) {
  return settings.journal_directory.empty() ? "/var/tmp" : settings.journal_directory;
}

}  // namespace millrace
