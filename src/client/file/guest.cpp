// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/file/guest.hpp"

#include "client/session/ask_files.hpp"
#include "client/session/trace.hpp"

namespace millrace::client {

Session* Guest::session(Reason& why) {
  return of_ == Of::agent ? process_.session(false, why) : process_.successor(why);
}

Session* Guest::session_that_knows(std::uint64_t number, Status& heard) {
  if (number == 0 || agent_had_gone_ || process_.is_child()) return nullptr;
  Reason why = Reason::none;
  Session* const asked = session(why);
  if (asked == nullptr && why == Reason::agent_silent) heard = Code::timeout;
  if (asked == nullptr) return nullptr;
  std::uint64_t seen = openings_seen_.load(std::memory_order_relaxed);
  const bool knows = asked->view().knows(number, seen);
  openings_seen_.store(seen, std::memory_order_relaxed);
  return knows ? asked : nullptr;
}

Status Guest::ask(std::uint64_t number, Extent extent, const TargetFile* target, bool writes) {
  Status heard;
  if (writes) process_.read_aheads().drop(number);
  Session* session = session_that_knows(number, heard);
  if (session == nullptr || extent.empty()) return heard;
  const bool elsewhere =
      elsewhere_.exchange(false, std::memory_order_relaxed) && session->view().routed(number);
  if (!writes && !elsewhere && !session->view().pending_in(number, everything)) return {};
  if (elsewhere) extent = everything;
  // Ranks of other nodes may have written what this process has read ahead.
  if (elsewhere) process_.read_aheads().drop(number);
  if (target != nullptr) extent = process_.with_the_end(extent, *target);
  const TraceSpan span("ask for pending bytes");
  // The agent logs records when it takes them out of rings. So the flush of the rings comes first.
  Status status = flush_file(*session, number, extent, elsewhere, tally_);
  if (writes && status.ok()) status = settle_ledgers_of(*session, {.number = number}, tally_);
  if (elsewhere && !status.ok()) order();
  return status;
}

void Guest::before_opening(const transport::FileNumbers& file) {
  Reason why = Reason::none;
  Session* const asked = session(why);
  (void)before_reading(asked != nullptr ? asked->view().known_as(file) : file.number, everything);
  if (asked != nullptr && !agent_had_gone_ && !process_.is_child()) (void)flush_stand_ins(*asked, tally_);
}

}  // namespace millrace::client
