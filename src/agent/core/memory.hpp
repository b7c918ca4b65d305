// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "agent/core/files.hpp"
#include "agent/pipeline/shared.hpp"
#include "base/settings.hpp"

namespace millrace::agent {

// Divides the memory of one agent among its files and lanes: one pool for all of them. Decides which chunks
// depart to make room. Not thread safe.
class Memory {
 public:
  Memory(Shared& shared, const Files& files) : shared_(shared), files_(files) {}

  // For a file that is opened: the pool, if there is none yet, and room for its records. Code::unsupported if
  // two of its records do not fit.
  Status prepare(const FileSettings& settings);
  // A file has been opened, or has gone. False: there are too many lanes that agents upstream feed.
  bool share_out();
  // The open is refused: records of other files get the room back that they had.
  Status refuse(Status why, std::uint32_t record_max_before);
  // The last file has gone.
  void let_go() { shared_.pool.reset(); }

  // As Shared::ready(), for a record of an agent upstream: each lane that agents feed has a little memory of
  // its own.
  bool ready(const Lane& lane) const;
  // There is little left: an agent upstream that is ahead of others has to wait.
  bool scarce() const;
  // Chunks depart, so that memory is free when records come.
  void make_room();

 private:
  void allow_records(std::uint32_t most_bytes);
  bool evict_one();
  void make_way();

  Shared& shared_;
  const Files& files_;
  std::vector<Budget::Lane> lanes_;  // scratch
};

}  // namespace millrace::agent
