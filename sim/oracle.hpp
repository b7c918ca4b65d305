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

// All writes, in an order that MPI prescribes where two writes overlap, and which of them were acknowledged.
// The value of a byte identifies its write (with one in 256 by chance). Not thread safe.
class Oracle {
 public:
  // The bytes of write number `write` at `offset`.
  static std::byte value(std::uint32_t write, std::uint64_t offset);

  // A new write, whose number is returned.
  std::uint32_t add(std::uint32_t rank, Extent extent);
  void fill(std::uint32_t write, std::uint64_t offset, std::span<std::byte> data) const;

  // The write has returned.
  void finish(std::uint32_t write, std::uint64_t now_ns) { writes_[write - 1].finished_ns = now_ns; }
  // All writes of the rank so far are in the file; `stable`: on the disk. Returns the extents of those that
  // were not acknowledged in this way before.
  std::vector<Extent> acknowledge(std::uint32_t rank, bool stable);
  // ... as far as they have returned.
  void acknowledge_finished(std::uint32_t rank);
  // ... as far as they had returned by then.
  void acknowledge_old(std::uint32_t rank, std::uint64_t until_ns);
  // The file is opened again, by ranks with the same numbers that have not written yet. `lost`: bytes that
  // were not on the disk are not promised any more.
  void begin_again(bool lost);
  // Another file has the name now, so no earlier write counts. Returns that file's bytes, which are on the
  // disk and belong to no rank.
  std::vector<std::byte> renew(std::uint64_t bytes);
  // All of these writes come before any later read, unless a rank gets an error.
  void order(std::uint32_t rank);
  // These writes may be lost; only the rank gets the error.
  void forget_order(std::uint32_t rank);
  // Grows with each of these calls.
  std::uint32_t moment() const { return moment_; }

  // Describes the first wrong byte of `file` in `range`; empty if there is none. Each byte has to be that of
  // the last acknowledged write or of a later one, and zero if there was none. `strict` >= 0: a read of that
  // rank, which has to see its own writes and all writes of an earlier order(). `stable`: only bytes on the
  // disk count as acknowledged. `as_of`: only acknowledgements by that moment count, because `file` may be as
  // old; `ordered_by`: likewise for order().
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
  std::size_t old_ = 0;        // the number of writes to an earlier file
  std::size_t before_ = 0;     // the number of writes of earlier openings
  std::uint32_t moment_ = 0;
};

}  // namespace millrace::sim
