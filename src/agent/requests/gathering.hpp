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

// The asker of a sync or close.
struct Asker {
  transport::Kind kind;
  SenderId sender;
  std::uint32_t request;
  std::uint64_t group;
  std::uint32_t round;         // of its syncs
  std::uint64_t start_ns = 0;  // when it was first looked at
};

// Whom a sync or close waits for before its bytes leave: chunks that two ranks fill should leave once,
// complete. And how far chunks may leave meanwhile, merged with what agents upstream still send (ADR 16).
// Decides only.
class Gathering {
 public:
  // A rank that sends nothing for so long is not waited for. An agent of strategies sort and journal is
  // silent while it waits for its own ranks: the longest wait for these is its silence.
  static constexpr std::uint64_t silence_ns = 100'000'000;
  static constexpr std::uint64_t longest_ns = 2'000'000'000;
  static_assert(silence_ns < longest_ns);

  Gathering(FilePipeline& pipeline, const Members& members, const std::vector<Sender>& senders)
      : pipeline_(pipeline), members_(members), senders_(senders) {}

  // Until when the wait for the others may last; 0 if nobody is waited for.
  std::uint64_t until_ns(const Asker& asker) const;
  // True if chunks leave in file order, merged with those of other nodes. Not where the file is this agent's
  // alone: there is nothing to merge with.
  bool merges() const;
  // The end of the chunks that may be merged now for this asker; empty during the wait for a rank.
  std::optional<std::uint64_t> merges_until(const Asker& asker) const;

 private:
  bool upstreams_hold() const;
  static bool asked_too(const Member& other, const Asker& asker);

  FilePipeline& pipeline_;
  const Members& members_;
  const std::vector<Sender>& senders_;
};

}  // namespace millrace::agent
