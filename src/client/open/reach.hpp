// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "transport/tcp.hpp"

namespace millrace::client {

// True if this process can connect to each of these agents within the bound. It sends no byte.
bool can_reach(std::span<const transport::TcpAddress> agents, std::uint64_t bound_ms);

}  // namespace millrace::client
