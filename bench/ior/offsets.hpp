// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "ior/options.hpp"

namespace bench {

// The file offsets of one rank's transfers, in the order in which it makes them.
//
//   shared file:  | segment 0: block of rank 0 | block of rank 1 | ... | segment 1: ...
//   transfer i of a block in segment s: s * (block * ranks) + rank * block + i * transfer
//
// With -z and a shared file, every transfer of the whole file is dealt to a rank at random, and each rank
// shuffles its hand: counts differ between ranks, as in IOR. With -F a rank shuffles its own file.
class Offsets {
 public:
  Offsets(const IorOptions& options, int rank, int ranks);

  std::uint64_t count() const { return random_.empty() ? count_ : random_.size(); }
  std::uint64_t operator[](std::uint64_t i) const {
    if (!random_.empty()) return random_[i];
    const std::uint64_t segment = i / per_block_;
    return segment * stride_ + start_ + (i - segment * per_block_) * transfer_;
  }

 private:
  std::uint64_t count_ = 0, per_block_ = 1, stride_ = 0, start_ = 0, transfer_ = 0;
  std::vector<std::uint64_t> random_;
};

// Bytes of one file: the shared one, or one of the ranks' own.
std::uint64_t file_bytes(const IorOptions& options, int ranks);

}  // namespace bench
