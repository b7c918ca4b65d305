// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "agent/core/core.hpp"
#include "agent/links/links.hpp"
#include "transport/layout.hpp"

namespace millrace::agent {

// Passes signs of progress to ranks and to agents upstream, so that a rank sees the progress of agents that
// are several links away. Not thread safe.
class Progress {
 public:
  // `every_ns`: the shortest time between two signs to agents upstream.
  Progress(Links& links, transport::AgentPage& page, std::uint64_t every_ns)
      : links_(links), page_(page), every_ns_(every_ns) {}

  std::uint64_t every_ns() const { return every_ns_; }
  // Shows ranks that their agent's loop turns.
  void turned() { page_.progress.fetch_add(1, std::memory_order_relaxed); }
  // Shows ranks that their agent has done something.
  void made() {
    turned();
    page_.moved.fetch_add(1, std::memory_order_relaxed);
  }
  // Shows ranks how much work their agent has done so far.
  void worked(const Core::News& news, std::uint64_t ns) {
    page_.taken_bytes.store(news.taken_bytes);
    page_.buffer_bytes.store(news.buffer_bytes);
    page_.worked_ns.store(ns);
  }
  // Passes the signs of agents downstream on. Sends a sign to agents upstream if there is news.
  void share(std::uint64_t now_ns) {
    if (std::exchange(heard_, links_.progress()) != links_.progress()) {
      ++heard_steps_;
      made();
    }
    if (now_ns - shared_ns_ < every_ns_) return;
    const std::uint64_t own = page_.moved.load(std::memory_order_relaxed) - heard_steps_;
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
  std::uint64_t shared_own_ = 0;    // own steps at the last sign to agents upstream
  std::uint64_t heard_ = 0;         // signs of agents downstream
  std::uint64_t heard_steps_ = 0;   // steps in the page that come from these signs
  std::uint64_t shared_heard_ = 0;  // heard_ at the last sign to agents upstream
};

}  // namespace millrace::agent
