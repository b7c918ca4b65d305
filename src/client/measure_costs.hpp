// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.hpp"
#include "client/costs.hpp"

namespace millrace::client {

// Measures the costs of writes in this folder by a small job. A few forked ranks write a file together, past
// the pipeline and through it, with an agent of their own. It takes less than a second unless the disk takes
// longer. The file of 48 MiB has no name and is gone afterwards. Call it in a process that has not used the
// client yet.
Result<Costs> measure_costs(const std::string& folder);

}  // namespace millrace::client
