// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "client/read_window.hpp"
#include "client/sequence.hpp"
#include "client/view.hpp"
#include "extent/extent.hpp"
#include "transport/want_list.hpp"

namespace millrace::client {

// Counters of read-ahead for one file.
struct ReadCounters {
  std::uint64_t lists = 0;          // sent to the agent
  std::uint64_t bytes = 0;          // read by the program this way
  std::uint64_t guessed_bytes = 0;  // ... that were on their way before the call
  std::uint64_t wrong_bytes = 0;    // guessed, and not read
  Status error = {};                // why later calls were read from the file
};

// Reads a file through the agents (ADR 24). The rank sends lists of extents, and the agent puts their bytes
// into the rank's window. Behind the pieces of a call, the rank asks for those that it expects to read next,
// so that their bytes are there when the program asks for them:
//
//      call              guesses
//   |--- list ---|--- list ---|--- list ---|     in the order in which the rank reads
//    ^ the next piece
//
// Guesses that turn out wrong are dropped. Their bytes stay below an eighth of the bytes that the program has
// read. Thread safe.
class ReadAhead {
 public:
  // `file_bytes`: the size of the file; nothing behind it is asked for. `leaves_small`: the caller can read
  // the file itself, as fast as through the agents if nobody can foresee a small read.
  ReadAhead(ReadWindow& window, std::uint32_t file, std::uint64_t file_bytes, bool leaves_small)
      : window_(window), file_(file), file_bytes_(file_bytes), leaves_small_(leaves_small) {}
  ~ReadAhead() { drop(); }
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Reads the pieces of a transfer from `position` of the view's data on, into their memory, which has to be
  // writable. `end` is the end of the last piece in the file. Not ok: some of the memory may have changed,
  // and the caller reads the file itself. Code::unsupported: the read is small and nobody could foresee it,
  // or it goes over the end of the file. After an error of the agents, all later calls fail at once.
  Status read(const FileView& view, std::uint64_t position, const PieceSource& source, std::uint64_t end);
  // The bytes of the file may have changed: forgets all that is on its way.
  void drop();
  ReadCounters counters();

 private:
  // A list on its way, or come.
  struct List {
    ReadWindow::Wanted wanted;
    std::vector<Extent> extents;      // the rest of the first one begins at the next byte
    std::size_t index = 0;            // of the extent with the next byte
    const std::byte* next = nullptr;  // the next byte, in the window
    std::uint64_t left = 0;           // bytes
    bool guessed = false;
    bool answered = false;
  };
  // The pieces of a call that have not been asked for yet.
  struct Asking {
    PieceSource source;
    Piece rest{};
    void skip(std::uint64_t bytes);
    bool next(Extent& extent);
  };

  bool expects(PieceSource source) const;
  Status take(const Piece& piece, std::uint64_t& taken, const PieceSource& call);
  Status await(List& list);
  void ask();
  template <class Next>
  bool send_list(std::uint64_t most, bool guessed, Next&& next);
  bool next_guess(Extent& extent);
  std::uint64_t guess_limit() const;
  void forget_guesses();
  void forget_all();

  ReadWindow& window_;
  const std::uint32_t file_;
  const std::uint64_t file_bytes_;
  const bool leaves_small_;
  std::mutex mutex_;
  std::optional<FileView> view_;  // of the last call
  Sequence sequence_;
  std::uint64_t in_order_ = 0;  // bytes that the program has read in the order that was expected
  std::deque<List> lists_;      // in the order in which the rank is to read
  std::optional<Asking> asking_;
  Extent held_{};          // the rest of the last extent that was taken from asking_
  bool foreseen_ = false;  // the guesses go on behind lists_, if there are more
  std::optional<Foresight> foresight_;
  std::optional<Cursor> guess_;   // within one expected transfer
  std::uint64_t guess_left_ = 0;  // bytes of it
  Extent held_guess_{};           // the rest of the last extent that was guessed
  std::uint64_t on_the_way_ = 0;  // bytes in lists_
  std::uint64_t guessed_ = 0;     // ... in guessed ones
  Status broken_;                 // the agents' first error
  ReadCounters counters_;
};

}  // namespace millrace::client
