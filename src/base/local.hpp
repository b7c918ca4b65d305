// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>

#include "base/settings.hpp"

namespace millrace {

// The directory of journals: the setting, or else the temporary directory.
inline std::string local_directory(const Settings& settings) {
  if (!settings.journal_directory.empty()) return settings.journal_directory;
  const char* temporary = std::getenv("TMPDIR");
  return temporary != nullptr && *temporary != 0 ? temporary : "/tmp";
}

}  // namespace millrace
