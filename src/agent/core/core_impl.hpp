// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/core.hpp"
#include "agent/core/open_file.hpp"

// What the parts of Core (core.cpp, core_open.cpp) share.
namespace millrace::agent {

// A request that several lanes have to answer.
struct Spread {
  ChannelId channel;
  std::uint32_t request;
  std::size_t lanes;  // that have not answered
  Status status;
};

struct Core::Impl {
  Shared shared;
  std::vector<std::unique_ptr<OpenFile>> files;  // by slot; null where a slot is free
  std::vector<Channel> channels;                 // by id
  std::vector<ChannelId> spoke;                  // those of them that spoke: few of many
  std::uint64_t files_opened = 0;
  std::vector<Spread> spreads;
  std::vector<Reply> answers;  // of lanes; scratch
  std::vector<Reply> replies;
  std::vector<std::string> reports;
  std::vector<std::string> messages;
  bool tracing = false;
  bool telling = true;
  std::vector<Span> spans;
  std::vector<io::Completion> completions;

  Impl(io::Storage& storage, std::string journal_directory) : shared{storage, std::move(journal_directory)} {}

  Channel& heard(ChannelId channel) {
    Channel& from = channels[channel];
    if (!std::exchange(from.spoke, true)) spoke.push_back(channel);
    return from;
  }
  OpenFile* file(FileSlot slot) { return slot < files.size() ? files[slot].get() : nullptr; }
  template <class Do>
  void each_lane(Do&& act) const {
    for (const auto& file : files) {
      if (!file) continue;
      for (const auto& lane : file->lanes) act(*file, *lane);
    }
  }
  Status prepare_pool(const FileSettings& settings);
  void allow_records(std::uint32_t most_bytes);
  Status refuse(Status why, std::uint32_t record_max_before);
  FileSlot find(const FileIdentity& identity, const transport::Register& registration);
  Result<FileSlot> add(Fd target, const FileIdentity& identity, const transport::Register& registration,
                       Route route);
  template <class Ask>
  void ask(ChannelId channel, FileSlot slot, std::uint32_t request, Ask&& ask_lane, bool answered = true);
  bool advance_ledgers();
  HoldBound bound_of(const OpenFile& file) const;
  void expire();
  void answer(const Reply& reply);
  bool take_completions();
  void make_room();
  void make_way();
  bool share_out();
  bool evict_one();
  bool retire();
  bool anything_open() const;
  bool has_memory() const {
    const BlockPool* const pool = shared.pool.get();
    return !pool ||
           (!shared.advance_wanted && pool->has_room(shared.record_max_bytes, shared.reserved_blocks));
  }
  bool ready() const { return has_memory() && !shared.ledger_full; }
  void put(OpenFile& to, const Channel& from, std::uint64_t offset, std::span<const std::byte> data) {
    if (to.ledger && !from.upstream) {
      to.keep(offset, data);
      shared.ledger_full |= !to.ledger->ready();
    }
    to.write(offset, data);
  }
};

}  // namespace millrace::agent
