// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.hpp"
#include "client/costs.hpp"

namespace millrace::client {

// What writes cost in this folder, by a small job: a few ranks, forked here, write a file together, past the
// pipeline and through it, with an agent of their own. Takes less than a second where the disk does not; the
// file of 48 MiB has no name, and is gone afterwards. Call it in a process that has used nothing of the
// client yet.
Result<Costs> measure_costs(const std::string& folder);

}  // namespace millrace::client
