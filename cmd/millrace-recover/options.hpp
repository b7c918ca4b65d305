// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "agent/recovery/recovery.hpp"

// The options of millrace-recover.
struct Options : millrace::agent::RecoveryOptions {
  bool list = false;
  bool discard = false;
  bool help = false;
  std::vector<std::string> journals;  // to discard
};

extern const char* const usage;

// Parses into `options`, which have their defaults. Returns the error; empty if there is none.
std::string understand(std::span<const std::string> arguments, Options& options);
