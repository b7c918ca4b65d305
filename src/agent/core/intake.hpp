// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "agent/core/core.hpp"
#include "transport/frame.hpp"

// The interface by which rings and links hand over their frames: records go to Core at once, requests wait.
namespace millrace::agent {

// A request on its way to Core. It waits until the rings of all ranks have been drained.
struct PendingRequest {
  SenderId sender = 0;
  transport::FrameHeader frame{};
  transport::ClientCounters counters{};
  std::uint64_t position = 0;       // in the ring
  std::vector<Extent> wanted = {};  // of a want
};

// The result of draining one ring or one link. `held`: a link's records wait, because Core::holds_back().
enum class Drained { done, held, core_is_full, broken };

constexpr Drained drained(Core::Bundled::BundleEnd end) {
  if (end == Core::Bundled::BundleEnd::corrupt) return Drained::broken;
  return end == Core::Bundled::BundleEnd::all ? Drained::done : Drained::core_is_full;
}

}  // namespace millrace::agent
