// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/core.hpp"
#include "agent/core/files.hpp"
#include "agent/core/memory.hpp"

namespace millrace::agent {

// A request that several lanes have to answer, or the file's ledger behind them.
struct Spread {
  std::size_t lanes;  // that have not answered
  Status status = {};
  FileSlot slot = 0;
  std::optional<Ledger::Cut> cut = {};  // the records that the file's ledger has to forget
  bool told = false;                    // the sender does not wait
};

// A request as Core asks the lanes.
struct Asked {
  bool answered = true;  // the lanes answer
  bool told = false;     // ... but the sender has its answer before
  bool forgets = false;  // the file's ledger forgets all records so far when the lanes have answered well
};

// The state of Core.
struct Core::Impl {
  Shared shared;
  Files files;
  Memory memory{shared, files};
  std::vector<Sender> senders;  // by id
  std::vector<SenderId> spoke;  // senders of records since the last advance(): few of many
  std::multimap<std::pair<SenderId, std::uint32_t>, Spread> spreads;  // by sender and request
  std::vector<Reply> answers;                                         // of single lanes; scratch
  std::vector<Reply> replies;
  std::vector<std::string> reports;
  std::vector<std::string> messages;
  std::uint64_t taken_bytes = 0;
  bool tracing = false;
  bool telling = true;
  std::vector<Span> spans;
  std::vector<io::Completion> completions;

  Impl(io::Storage& storage, std::string journal_directory) : shared{storage, std::move(journal_directory)} {}

  Sender& sender(SenderId id) {
    if (id >= senders.size()) senders.resize(id + 1);
    return senders[id];
  }
  Sender& heard(SenderId id) {
    Sender& from = senders[id];
    if (!std::exchange(from.spoke, true)) spoke.push_back(id);
    return from;
  }
  Result<FileSlot> add(Fd& target, const FileIdentity& identity, const transport::Register& registration,
                       Route route);
  Result<FileSlot> open(SenderId sender, Fd& target, const transport::Register& registration, Route route);
  OpenFile* open_here(const Fd& target);
  template <class Ask>
  void ask(SenderId sender, FileSlot slot, std::uint32_t request, Ask&& ask_lane, Asked how);
  void answer(const Reply& reply);
  bool take_completions(std::uint64_t elapsed_ns);
  bool advance_ledgers();
  std::uint64_t bound_ns_of(const OpenFile& file) const;
  void expire();
  bool retire();
  bool ready() const { return shared.ready() && !shared.ledger_full; }
  void put(OpenFile& to, const Sender& from, std::uint64_t offset, std::span<const std::byte> data,
           std::uint64_t stamp) {
    if (to.ledger && !from.upstream) {
      to.keep(offset, data, stamp);
      shared.ledger_full |= !to.ledger->ready();
    }
    taken_bytes += data.size();
    to.write(offset, data);
  }
};

}  // namespace millrace::agent
