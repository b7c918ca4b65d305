// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ior/options.hpp"

namespace bench {

// Runs all repetitions and prints the JSON on rank 0. Returns the exit status, the same on every rank.
int run_ior(const IorOptions& options, int rank, int ranks);

}  // namespace bench
