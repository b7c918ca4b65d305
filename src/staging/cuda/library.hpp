// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "staging/cuda/api.hpp"

namespace millrace::staging::cuda {

// The driver's functions, or null, and why not. Without `may_load` only if the program itself has the driver
// loaded: a preload brings none into programs that don't compute on a device. Thread safe; a table stays.
const Table* driver(bool may_load, std::string& why);

}  // namespace millrace::staging::cuda
