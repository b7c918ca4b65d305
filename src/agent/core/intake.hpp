// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "agent/core/core.hpp"
#include "transport/frame.hpp"

// Rings and links pass their frames on: records go to Core at once, requests wait.
namespace millrace::agent {

// A request on its way to Core: it waits until the rings of all ranks have been drained.
struct PendingRequest {
  SenderId sender = 0;
  transport::FrameHeader frame{};
  transport::ClientCounters counters{};
  std::uint64_t position = 0;       // in the ring
  std::vector<Extent> wanted = {};  // of a want
};

// The result of draining one ring or one link. `held`: the rest can wait, because no rank waits for it.
enum class Drained { done, held, core_is_full, broken };

// ... when that is all there is to say of a bundle.
constexpr Drained drained(Core::Bundled::End end) {
  if (end == Core::Bundled::End::corrupt) return Drained::broken;
  return end == Core::Bundled::End::all ? Drained::done : Drained::core_is_full;
}

}  // namespace millrace::agent
