// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "client/session/read_window.hpp"
#include "client/view/view.hpp"
#include "client/way/pending_read.hpp"
#include "client/way/read_order.hpp"
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
// into the rank's window. Behind the pieces of its calls, the rank asks for those that it expects to read
// next, so that their bytes are there when the program asks for them:
//
//      calls             guesses
//   |--- list ---|--- list ---|--- list ---|     in the order in which the rank reads
//    ^ the next piece
//
// Calls take their bytes in the order in which they began. So whoever waits for one call also ends those
// before it, and no call waits for a part of the window that a later call of this file has.
//
// Guesses that turn out wrong are dropped. When their bytes exceed an eighth of the bytes that the program
// has read, and 64 KiB, the rank guesses no more until it has read more. Thread safe.
class ReadAhead {
 public:
  // `file_bytes`: the size of the file; nothing behind it is asked for. `leaves_small`: the caller can read
  // the file itself, as fast as through the agents if nobody can foresee a small read.
  ReadAhead(ReadWindow& window, std::uint32_t file, std::uint64_t file_bytes, bool leaves_small)
      : window_(window), file_(file), file_bytes_(file_bytes), leaves_small_(leaves_small) {}
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Reads the pieces of a transfer from `position` of the view's data on, into their memory, which has to be
  // writable. `end` is the end of the last piece in the file. Not ok: some of the memory may have changed,
  // and the caller reads the file itself. Code::unsupported: the read is small and nobody could foresee it,
  // it goes over the end of the file, or it would wait for more than is on its way. After an error of the
  // agents, all later calls fail at once.
  Status read(const FileView& view, std::uint64_t position, const PieceSource& source, std::uint64_t end);
  // Begins such a read and does not wait for its bytes. Not ok: as for read(), and no memory has changed.
  // Code::no_memory: nothing can be on its way now. The result must not outlive this object.
  Result<std::unique_ptr<PendingRead>> start(const FileView& view, std::uint64_t position,
                                             const PieceSource& source, std::uint64_t end);
  // The bytes of the file may have changed: forgets all that is on its way, but for calls that have begun.
  void drop();
  ReadCounters counters();

 private:
  // A list on its way, or come. Calls claim its bytes from the front, and take them in the same order.
  struct List {
    ReadWindow::Wanted wanted;
    std::vector<Extent> extents;      // the rest of the first one begins at the next byte
    std::size_t index = 0;            // of the extent with the next byte
    const std::byte* next = nullptr;  // the next byte, in the window
    std::uint64_t left = 0;           // bytes
    std::uint64_t guessed = 0;        // ... at the end, which no call has claimed
    Extent guess;                     // the rest of the first extent of these
    std::size_t guess_index = 0;
    bool answered = false;
  };
  // A call that has begun.
  struct BegunRead {
    explicit BegunRead(const PieceSource& source)
        : asking(source), taking(source), left(source.bytes_left()) {}
    PieceSource asking;   // the pieces that have been neither claimed nor asked for
    Piece asking_rest{};  // ... before these
    PieceSource taking;   // the pieces that have not been copied
    Piece taking_rest{};  // ... before these
    std::uint64_t left;   // bytes that have not been copied
    bool ended = false;
    Status status;
  };
  class Background;

  Status begin(const FileView& view, std::uint64_t position, const PieceSource& source, std::uint64_t end,
               BegunRead& call);
  bool expects(PieceSource source) const;
  const List* first_guess() const;
  bool claim(BegunRead& call);
  void take(const BegunRead& until, bool guesses);
  bool take_list(bool guesses);
  void end_first(Status status);
  void end_all(Status status);
  Status await(List& list);
  void ask(bool guesses);
  template <class Next>
  bool send_list(std::uint64_t most, bool guessed, Next&& next);
  bool next_wanted(Extent& extent);
  std::uint64_t guess_limit() const;
  void forget(const List& list);
  void forget_guesses();
  void forget_all();

  ReadWindow& window_;
  const std::uint32_t file_;
  const std::uint64_t file_bytes_;
  const bool leaves_small_;
  std::mutex mutex_;
  ReadOrder order_;
  std::deque<List> lists_;        // in the order in which the rank is to read
  std::deque<BegunRead*> calls_;  // that have not ended, as many as the program has begun
  std::size_t asking_ = 0;        // the first of these that may have pieces to ask for
  Extent held_{};                 // the rest of the last extent that was taken from a call
  Extent held_guess_{};           // the rest of the last extent that was guessed
  std::uint64_t guessed_ = 0;     // bytes in lists_ that no call has claimed
  std::uint64_t left_bytes_ = 0;  // of small reads that the caller does itself
  Status broken_;                 // the agents' first error
  ReadCounters counters_;
};

}  // namespace millrace::client
