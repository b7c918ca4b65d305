// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "agent/core/files.hpp"
#include "agent/pipeline/shared.hpp"
#include "base/settings.hpp"

namespace millrace::agent {

// Divides the agent's pool among its files and lanes, as the budget says. Decides which chunks depart to make
// room. Not thread safe.
class Memory {
 public:
  Memory(Shared& shared, const Files& files) : shared_(shared), files_(files) {}

  // Prepares for a file that is opened: makes the pool if there is none, or takes the one that rests, and
  // room for records of its size. Code::unsupported if two of its records do not fit.
  Status prepare(const FileSettings& settings);
  // Counts shares and reserved blocks anew. False: too many lanes are fed.
  bool share_out();
  // The open is refused: undoes prepare(). Returns `why`.
  Status refuse(Status why, std::uint32_t record_max_before);
  // The last file has ended. Its pool rests: new memory costs more than a copy into it, and a program that
  // writes a checkpoint writes the next one.
  void let_go();

  // As Shared::ready(), for a record of an agent upstream: a fed lane has a share of its own.
  bool ready(const Lane& lane) const;
  // True if memory is so short that an agent upstream that is ahead of others has to wait.
  bool scarce() const;
  // Makes chunks depart, so that memory is free when records come.
  void make_room();

 private:
  void allow_records(std::uint32_t most_bytes);
  bool evict_one();
  void make_way();

  Shared& shared_;
  const Files& files_;
  std::unique_ptr<BlockPool> resting_;
  std::vector<Budget::LaneNeeds> lanes_;  // scratch
};

}  // namespace millrace::agent
