// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "extent/extent.hpp"

namespace millrace::sim {

// Knows all writes, in the order that MPI prescribes where two writes overlap, and which of them were
// acknowledged. The value of a byte identifies its write, except that two writes have the same value by
// chance once in 256 times. Not thread safe.
class Oracle {
 public:
  // The byte that write number `write` has at `offset`.
  static std::byte value(std::uint32_t write, std::uint64_t offset);

  // A new write, whose number is returned.
  std::uint32_t add(std::uint32_t rank, Extent extent);
  void fill(std::uint32_t write, std::uint64_t offset, std::span<std::byte> data) const;

  // The write has returned.
  void finish(std::uint32_t write, std::uint64_t now_ns) { writes_[write - 1].finished_ns = now_ns; }
  // All writes of the rank so far are in the file; `stable`: on the disk; not `there`: perhaps only in a
  // ledger, so reads need not see them before the next opening. Returns the extents of those that were not
  // acknowledged in this way before.
  std::vector<Extent> acknowledge(std::uint32_t rank, bool stable, bool there = true);
  // ... only the writes that have returned.
  void acknowledge_finished(std::uint32_t rank) { acknowledge_old(rank, UINT64_MAX - 1); }
  // ... only the writes that had returned by `until_ns`.
  void acknowledge_old(std::uint32_t rank, std::uint64_t until_ns);
  // The file is opened again, by ranks with the same numbers. None of them has written yet. `lost`: bytes
  // that were not on the disk are not promised any more.
  void begin_again(bool lost);
  // Another file has the name from now on, so earlier writes do not count. Returns that file's bytes, which
  // are on the disk and belong to no rank.
  std::vector<std::byte> renew(std::uint64_t bytes);
  // All writes of the rank so far come before any later read, unless a rank gets an error.
  void order(std::uint32_t rank);
  // The rank's ordered writes may be lost. Only that rank gets the error.
  void forget_order(std::uint32_t rank);
  // Another machine cuts the file short: bytes from there on may be zero, or not be there.
  void cut(std::uint64_t begin) { cut_ = std::min(cut_, begin); }
  // Grows with each of these calls.
  std::uint32_t moment() const { return moment_; }

  // Describes the first wrong byte of `file` in `range`; empty if there is none. Each byte must come from the
  // last acknowledged write or a later one; it may be zero only if no write there was acknowledged. `strict`
  // >= 0: a read of that rank, which must see its own writes and all writes of an earlier order(). `stable`:
  // only bytes on the disk count as acknowledged. `as_of`: only acknowledgements by that moment count,
  // because `file` may be as old; `ordered_by`: likewise for order().
  std::string check(std::span<const std::byte> file, Extent range, int strict, bool stable,
                    std::uint32_t as_of = UINT32_MAX, std::uint32_t ordered_by = UINT32_MAX) const;

 private:
  struct Write {
    std::uint32_t rank;
    Extent extent;
    std::uint64_t finished_ns = UINT64_MAX;  // UINT64_MAX: it has not returned
    std::uint32_t acknowledged = 0;          // at which moment; 0: not yet
    std::uint32_t ordered = 0;               // likewise
    std::uint32_t there = 0;                 // likewise
    bool stable = false;
  };
  // Calls `act` with the rank's writes of this opening.
  template <class Act>
  void each_of(std::uint32_t rank, Act act) {
    for (Write& write : std::span(writes_).subspan(before_))
      if (write.rank == rank) act(write);
  }
  std::string complain(std::byte found, std::uint64_t offset, std::uint32_t least) const;

  std::vector<Write> writes_;  // number n is writes_[n - 1]
  std::size_t old_ = 0;        // the number of writes to an earlier file
  std::size_t before_ = 0;     // the number of writes of earlier openings
  std::uint32_t moment_ = 0;
  std::uint64_t cut_ = UINT64_MAX;
};

}  // namespace millrace::sim
