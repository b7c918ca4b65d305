// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace millrace::client {

// A step from the end of one transfer to the next transfer, and how often it has come in a row.
struct Stride {
  std::int64_t gap = 0;     // from the end of the transfer before to the begin of this one
  std::uint64_t bytes = 0;  // of this transfer
  std::uint64_t times = 1;

  bool same(const Stride& other) const { return gap == other.gap && bytes == other.bytes; }
};

// The transfers that a rank is expected to make next, one after the other.
class Foresight {
 public:
  // The last transfer, which ended at `end`, was the `passed`-th one of the first step. `repeats`: the steps
  // come again and again, without end.
  Foresight(std::vector<Stride> steps, std::uint64_t passed, std::uint64_t end, bool repeats)
      : steps_(std::move(steps)), passed_(passed), end_(end), repeats_(repeats) {}

  struct Foreseen {
    std::uint64_t position;
    std::uint64_t bytes;
  };
  // The next transfer; empty if it is unknown, or would begin before position 0.
  std::optional<Foreseen> next();

 private:
  std::vector<Stride> steps_;
  std::size_t index_ = 0;
  std::uint64_t passed_;
  std::uint64_t end_;
  bool repeats_;
};

// Learns the order in which a rank reads from the transfers so far: one after the other, at a constant
// stride, or nested loops of these. Positions are bytes in the data of the rank's view. Not thread safe.
//
// Equal steps in a row are one run, a step with a count. So the innermost loop is one run. An outer loop is a
// number of runs that came before: the period. If several periods fit, the one counts that repeats furthest
// back. If none fits, a run is expected to be as long as the last run of the same step.
class Sequence {
 public:
  // `follows`: the first transfers are expected one behind the other, because the view says where they lie.
  explicit Sequence(bool follows = false) : follows_(follows) {}

  void add(std::uint64_t position, std::uint64_t bytes);
  // True if the next transfer is known.
  bool foresees() const;
  // Empty: the next transfer is unknown.
  std::optional<Foresight> foresee() const;
  // True if the next transfer is expected there, or is the first one.
  bool expects(std::uint64_t position) const;
  // Bytes of the earlier transfers that the next ones are expected to repeat.
  std::uint64_t repeated_bytes() const { return repeated_bytes_; }

 private:
  // A period has at most half as many. An output of BT-IO has two for each of its planes.
  static constexpr std::size_t runs_max = 2048;
  // A step that has come so often in a row is expected to go on, whatever came before it.
  static constexpr std::uint64_t often = 4;

  bool came_before(std::size_t period) const;
  bool repeats(std::size_t run, std::size_t period) const;
  std::size_t repeated_runs(std::size_t period) const;
  void look_back();
  bool is_in_run() const;

  bool follows_;
  bool begun_ = false;
  std::uint64_t end_ = 0;           // of the last transfer
  std::uint64_t bytes_ = 0;         // of the last transfer
  std::vector<Stride> runs_;        // the oldest first
  std::size_t period_ = 0;          // runs after which they repeat; 0: they do not
  std::uint64_t times_before_ = 0;  // of the last run of this step, if no period is known; 0: it was short
  std::uint64_t repeated_bytes_ = 0;
};

}  // namespace millrace::client
