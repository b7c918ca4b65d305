// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace::sim {

struct Cluster;
struct Opening;

// Between two openings of the file, dead processes start again, and the logs that are left are settled. Then
// programs open the file themselves. False: they cannot begin.
bool open_again(Cluster& cluster, const Opening& opening);

}  // namespace millrace::sim
