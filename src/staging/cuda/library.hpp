// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "staging/cuda/api.hpp"

namespace millrace::staging::cuda {

// The driver's functions, or null with the reason in `why`. Without `may_load`, only if the program itself
// has loaded the driver: a preload must not load one into programs that do not use a device. Thread safe; a
// table is never freed.
const Table* driver(bool may_load, std::string& why);

}  // namespace millrace::staging::cuda
