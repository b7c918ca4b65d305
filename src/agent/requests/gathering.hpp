// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "agent/pipeline/file_pipeline.hpp"
#include "agent/requests/members.hpp"
#include "agent/requests/sender.hpp"
#include "transport/frame.hpp"

namespace millrace::agent {

// A request, its sender and the sender's group.
struct Asker {
  transport::Kind kind;
  SenderId sender;
  std::uint32_t request;
  std::uint64_t group;
  std::uint32_t round;         // the number of syncs that the sender has asked for
  std::uint64_t start_ns = 0;  // of the first advance() that saw the request; 0: none has
};

// Decides for which members a sync or close waits before its bytes leave, because a chunk that two ranks fill
// should leave once and complete. Decides also which chunks may leave meanwhile, merged with records that
// agents upstream still send (ADR 16). Changes nothing.
class Gathering {
 public:
  // A request does not wait for a rank that has sent nothing for `silence_ns`. With the strategies sort and
  // journal, an agent upstream is silent while it waits for its own ranks, so its limit is `longest_ns`.
  static constexpr std::uint64_t silence_ns = 100'000'000;
  static constexpr std::uint64_t longest_ns = 2'000'000'000;
  static_assert(silence_ns < longest_ns);

  Gathering(FilePipeline& pipeline, const Members& members, const std::vector<Sender>& senders)
      : pipeline_(pipeline), members_(members), senders_(senders) {}

  // The end of the asker's wait for other members; 0 if there is no wait.
  std::uint64_t until_ns(const Asker& asker) const;
  // True if chunks leave in file order, merged with those of other nodes. Never if no other agent has the
  // lane.
  bool merges() const;
  // The end of the chunks that may be merged now for this asker; empty while it waits for a rank, or for an
  // agent that has not come.
  std::optional<std::uint64_t> merges_until(const Asker& asker) const;

 private:
  bool upstreams_hold() const;
  static bool asked_too(const Member& other, const Asker& asker);

  FilePipeline& pipeline_;
  const Members& members_;
  const std::vector<Sender>& senders_;
};

}  // namespace millrace::agent
