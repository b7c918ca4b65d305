// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace millrace::client {

// A step from the end of one transfer to the next transfer, and how often it has come in a row.
struct Step {
  std::int64_t gap = 0;     // from the end of the transfer before to the begin of this one
  std::uint64_t bytes = 0;  // of this transfer
  std::uint64_t times = 1;

  bool same(const Step& other) const { return gap == other.gap && bytes == other.bytes; }
};

// The transfers that a rank is expected to make next, one after the other, without end.
class Foresight {
 public:
  // `period` repeats for ever. The last transfer, which ended at `end`, was the `passed`-th one of its first
  // step.
  Foresight(std::vector<Step> period, std::uint64_t passed, std::uint64_t end)
      : period_(std::move(period)), passed_(passed), end_(end) {}

  struct Transfer {
    std::uint64_t position;
    std::uint64_t bytes;
  };
  // The next transfer; empty if it would begin before position 0.
  std::optional<Transfer> next();

 private:
  std::vector<Step> period_;
  std::size_t index_ = 0;
  std::uint64_t passed_;
  std::uint64_t end_;
};

// Learns the order in which a rank reads from the transfers so far: one after the other, at a constant
// stride, or nested loops of these. Positions are bytes in the data of the rank's view. Not thread safe.
class Sequence {
 public:
  // `follows`: the first transfers are expected one behind the other, because the view says where they lie.
  explicit Sequence(bool follows = false) : follows_(follows) {}

  void add(std::uint64_t position, std::uint64_t bytes);
  // Empty: the next transfer is unknown.
  std::optional<Foresight> foresee() const;
  // True if the next transfer is expected there, or is the first one.
  bool expects(std::uint64_t position) const;

 private:
  static constexpr std::size_t steps_max = 96;
  // A step that has come so often in a row is expected again, whatever came before it.
  static constexpr std::uint64_t often = 4;

  bool repeats_after(std::size_t period) const;

  bool follows_;
  bool begun_ = false;
  std::uint64_t end_ = 0;    // of the last transfer
  std::uint64_t bytes_ = 0;  // of the last transfer
  std::vector<Step> steps_;  // the oldest first
};

}  // namespace millrace::client
