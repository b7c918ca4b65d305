// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "staging/cuda/api.hpp"

namespace millrace::staging::cuda {

// Returns the driver's functions, or null with the reason in `why`. If `may_load` is false, finds only a
// driver that the program itself has loaded, because a preload must not load the driver into other programs.
// Thread safe. The table is never freed.
const Table* driver(bool may_load, std::string& why);

}  // namespace millrace::staging::cuda
