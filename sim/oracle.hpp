// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "extent/extent.hpp"

namespace millrace::sim {

// What has been written, in an order that MPI prescribes wherever two writes have a byte in common, and what
// of it was acknowledged. Every byte tells its write by its value (one in 256 by chance only). Not thread
// safe.
class Oracle {
 public:
  // The bytes that write number `write` puts at `offset`.
  static std::byte value(std::uint32_t write, std::uint64_t offset);

  // A new write, whose number is returned.
  std::uint32_t add(std::uint32_t rank, Extent extent);
  void fill(std::uint32_t write, std::uint64_t offset, std::span<std::byte> data) const;

  // The write has returned.
  void finish(std::uint32_t write, std::uint64_t now_ns) { writes_[write - 1].finished_ns = now_ns; }
  // All writes of the rank so far are in the file; `stable`: on the disk. Returns where those are that were
  // not acknowledged so before.
  std::vector<Extent> acknowledge(std::uint32_t rank, bool stable);
  // ... as far as they have returned.
  void acknowledge_finished(std::uint32_t rank);
  // ... as far as they had returned by then.
  void acknowledge_old(std::uint32_t rank, std::uint64_t until_ns);
  // The file is opened again, by ranks of the same numbers: none of them has written anything yet. `lost`:
  // what was not on the disk is not promised any more.
  void begin_again(bool lost);
  // Another file has the name now: nothing that was written counts. Its bytes are returned, so many, which
  // are on the disk, and nobody's.
  std::vector<std::byte> renew(std::uint64_t bytes);
  // All of them come before what anybody reads from now on, if it is told of no error.
  void order(std::uint32_t rank);
  // They may be lost, of which the rank alone is told.
  void forget_order(std::uint32_t rank);
  // Grows with each of these calls.
  std::uint32_t moment() const { return moment_; }

  // What is wrong with `file` in `range`; empty if nothing is. Each byte has to be that of the last write
  // that was acknowledged, or of a later one; zero where none was. `strict` >= 0: as that rank reads it,
  // whose own writes have to be there, and what came before in an order(). `stable`: only what is on the disk
  // counts as acknowledged. `as_of`: only what was by that moment, for `file` may be as old; `ordered_by`:
  // likewise for order().
  std::string check(std::span<const std::byte> file, Extent range, int strict, bool stable,
                    std::uint32_t as_of = UINT32_MAX, std::uint32_t ordered_by = UINT32_MAX) const;

 private:
  struct Write {
    std::uint32_t rank;
    Extent extent;
    std::uint64_t finished_ns = UINT64_MAX;  // UINT64_MAX: it has not returned
    std::uint32_t acknowledged = 0;          // at which moment; 0: not yet
    std::uint32_t ordered = 0;               // likewise
    bool stable = false;
  };
  std::string complain(std::byte found, std::uint64_t offset, std::uint32_t least) const;

  std::vector<Write> writes_;  // number n is writes_[n - 1]
  std::size_t old_ = 0;        // so many are of another file
  std::size_t before_ = 0;     // so many are of who had the file open before
  std::uint32_t moment_ = 0;
};

}  // namespace millrace::sim
