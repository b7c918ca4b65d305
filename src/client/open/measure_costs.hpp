// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.hpp"
#include "client/costs/costs.hpp"

namespace millrace::client {

// Measures the costs of writes in this folder with a small job. A few forked ranks write a file together,
// past the pipeline and through it, with an agent of their own. The measurement takes less than a second on a
// fast disk. Its file of 48 MiB has no name where the file system allows it, and is removed afterwards. Call
// it in a process that has not used the client yet.
Result<Costs> measure_costs(const std::string& folder);

}  // namespace millrace::client
