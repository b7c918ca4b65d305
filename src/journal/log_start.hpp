// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "io/storage.hpp"
#include "journal/format.hpp"

namespace millrace::journal {

// The start of a log that is being written: the header, and the state, which changes. One write at a time
// brings the latest state to the file, and the first one the header too: a state without a header would look
// like damage. Not thread safe.
class LogStart {
 public:
  explicit LogStart(const Identity& identity) : now_(start_of(identity)) {}

  const Start& now() const { return now_; }
  // For a change of the state.
  StateSector& change() { return changed_ = true, now_.sector; }
  // The state that the file has; none: it does not even have its header.
  const std::optional<StateSector>& seen() const { return seen_; }
  // True if the file, if it has a state, says so, and no write that is due or under way says anything else.
  bool says(Writers writers) const {
    return now_.sector.writers == writers && (!under_way_ || written_.sector.writers == writers) &&
           (!seen_ || seen_->writers == writers);
  }
  // True if the file lacks the latest state.
  bool behind() const { return changed_ || under_way_; }
  bool under_way() const { return under_way_; }

  // The next write, without file and token; false: none is due.
  bool next(io::Request& request) {
    if (!changed_ || under_way_) return false;
    changed_ = false;
    under_way_ = true;
    written_ = now_;
    written_.sector = sealed(now_.sector, now_.header.checksum);
    const std::uint64_t from = seen_ ? sizeof(FileHeader) : 0;
    request.op = io::Op::write;
    request.offset = from;
    request.data = {{reinterpret_cast<std::byte*>(&written_) + from, sizeof written_ - from}};
    return true;
  }
  // The write has ended.
  void end(bool well) {
    under_way_ = false;
    if (well) seen_ = written_.sector;
  }
  void give_up() { changed_ = false; }

 private:
  Start now_;      // as it is to be in the file
  Start written_;  // by the write under way
  std::optional<StateSector> seen_;
  bool changed_ = true;
  bool under_way_ = false;
};

}  // namespace millrace::journal
