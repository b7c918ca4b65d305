// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace millrace::io {

// The smallest memory limit, in bytes, of this process's control group and the groups above it; UINT64_MAX if
// there is none. Both versions of control groups are read. `groups` and `mount`: for tests.
std::uint64_t memory_limit_bytes(const std::string& groups = "/proc/self/cgroup",
                                 const std::string& mount = "/sys/fs/cgroup");

}  // namespace millrace::io
