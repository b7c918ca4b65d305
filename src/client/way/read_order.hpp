// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "client/view/view.hpp"
#include "client/way/sequence.hpp"
#include "extent/extent.hpp"

namespace millrace::client {

// Learns the order in which a rank reads a file from its transfers, and tells the extents that it is expected
// to read next. There are two kinds of order:
//
// - Within a view, the sequence counts bytes of the view's data. The view tells where they lie in the file.
// - Some programs set a view for each transfer, as PnetCDF does for each variable. If the view before had one
//   transfer, the sequence counts bytes of the file. The next transfer is expected to be a copy of the last
//   one, moved within the file.
//
// Not thread safe.
class ReadOrder {
 public:
  // Guesses are bounded by what has been read in order. A view with holes tells the order from the start, and
  // counts as so many bytes.
  static constexpr std::uint64_t known_bytes = std::uint64_t{2} << 20;

  // Notes the next transfer: `bytes` from `position` of the view's data on, whose last byte lies before `end`
  // of the file. True: the extents that next() has told belong to an order that no longer holds.
  bool add(const FileView& view, std::uint64_t position, std::uint64_t bytes, std::uint64_t end);
  // Bytes that were read in the order that is expected to go on, now and when the same was read before.
  std::uint64_t in_order() const { return in_order_ + sequence_.repeated_bytes(); }
  // True if the next transfer is known.
  bool foresees() const { return sequence_.foresees(); }

  // The next extent behind those that this function has told since restart(). False: it is unknown, or does
  // not end before `file_bytes`.
  bool next(std::uint64_t file_bytes, Extent& extent);
  // next() begins anew, behind the last transfer.
  void restart();

 private:
  // A transfer: bytes of the data of a view.
  struct SeenTransfer {
    FileView view;
    std::uint64_t position = 0;
    std::uint64_t bytes = 0;
    Extent hull;
  };
  void begin(const FileView& view, bool follows);
  bool begin_next();

  std::optional<SeenTransfer> last_;
  std::uint64_t transfers_ = 0;  // with the view of the last one
  bool moves_ = false;           // each view has one transfer: the sequence counts bytes of the file
  Sequence sequence_;
  std::uint64_t in_order_ = 0;
  std::optional<Foresight> foresight_;  // behind the transfers that next() has told
  FileView guess_view_;                 // of guess_, which needs its type map
  std::optional<Cursor> guess_;         // within one expected transfer
  std::uint64_t guess_left_ = 0;        // bytes of it
};

}  // namespace millrace::client
