// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "ior/offsets.hpp"

#include <random>
#include <utility>

namespace bench {

Offsets::Offsets(const IorOptions& options, int rank, int ranks) {
  const auto files_ranks = static_cast<std::uint64_t>(options.file_per_process ? 1 : ranks);
  transfer_ = options.transfer;
  per_block_ = options.block / options.transfer;
  stride_ = options.block * files_ranks;
  start_ = options.file_per_process ? 0 : options.block * static_cast<std::uint64_t>(rank);
  count_ = per_block_ * options.segments;
  if (!options.random) return;

  // All ranks draw the same numbers for the deal, and their own for the shuffle.
  std::mt19937_64 deal(options.seed + 1);
  const std::uint64_t all = count_ * files_ranks;
  for (std::uint64_t i = 0; i < all; i++) {
    if (files_ranks == 1 || deal() % files_ranks == static_cast<std::uint64_t>(rank)) {
      random_.push_back(i * transfer_);
    }
  }
  count_ = 0;  // a rank may have been dealt nothing
  std::mt19937_64 shuffle(options.seed * 1000003 + static_cast<std::uint64_t>(rank) + 7);
  for (std::uint64_t i = random_.size(); i > 1; i--) std::swap(random_[i - 1], random_[shuffle() % i]);
}

std::uint64_t file_bytes(const IorOptions& options, int ranks) {
  return options.block * options.segments * static_cast<std::uint64_t>(options.file_per_process ? 1 : ranks);
}

}  // namespace bench
