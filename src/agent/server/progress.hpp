// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "agent/links/links.hpp"
#include "transport/layout.hpp"

namespace millrace::agent {

// Signs of progress travel up the links to the ranks that wait for it, however many agents there are in
// between. Not thread safe.
class Progress {
 public:
  // `every_ns`: between agents; to ranks, half as often at least.
  Progress(Links& links, transport::AgentPage& page, std::uint64_t every_ns)
      : links_(links), page_(page), every_ns_(every_ns) {}

  std::uint64_t every_ns() const { return every_ns_; }
  // Ranks see that their agent got on.
  void made() { page_.progress.fetch_add(1, std::memory_order_relaxed); }
  void share(std::uint64_t now_ns) {
    if (std::exchange(heard_, links_.progress()) != links_.progress()) {
      ++heard_steps_;
      made();
    }
    if (now_ns - shared_ns_ < every_ns_) return;
    const std::uint64_t own = page_.progress.load(std::memory_order_relaxed) - heard_steps_;
    if (own == shared_own_ && shared_heard_ == heard_) return;
    shared_ns_ = now_ns;
    shared_heard_ = heard_;
    links_.show_progress(std::exchange(shared_own_, own) != own);
  }

 private:
  Links& links_;
  transport::AgentPage& page_;
  std::uint64_t every_ns_;
  std::uint64_t shared_ns_ = 0;
  std::uint64_t shared_own_ = 0;    // ours, as upstream agents were last told
  std::uint64_t heard_ = 0;         // of agents downstream,
  std::uint64_t heard_steps_ = 0;   // ... in the page's count, and
  std::uint64_t shared_heard_ = 0;  // ... as upstream agents were last told
};

}  // namespace millrace::agent
