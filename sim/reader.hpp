// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "client/file/file.hpp"
#include "client/open/plan.hpp"
#include "scenario.hpp"

namespace millrace::sim {

struct Cluster;
class Rank;

// A rank's handle that reads through the agents, or as a guest. In runs that read until they write, it is the
// rank's file. The rank reads the file itself if the agents fail, as in the front. Owned by its rank, in
// whose fiber the calls block. Not thread safe.
class Reader {
 public:
  Reader(Cluster& cluster, Rank& rank) : cluster_(cluster), rank_(rank) {}

  // The rank has opened its file. `through`: all agents know it.
  void begin(bool through) {
    through_ = through;
    refresh();
  }
  // Bytes that it has read ahead are dropped.
  void refresh() { refreshed_ = true; }

  // --- Steps of programs ---

  void open();
  void read(const Step& step);
  // A collective function of all ranks.
  void order();
  void sync();
  // From now on the rank reads the file itself.
  void leave();
  // The ranks tell each other whether they have written.
  void tell_writes();
  void close();
  // Ends the reads that MPI demands to end before this step.
  void end_reads(const Step& step);
  // All parts of the window have come back, also those of guesses that nobody needs.
  void check_window();

 private:
  // A read whose bytes may be on their way.
  struct Read {
    std::span<std::byte> data();
    client::PieceSource source();

    const client::FileView* view;
    Extent positions;
    std::vector<std::byte> memory;  // with a guard on both sides
    std::uint32_t fresh, ordered;   // the reader's, when it began
    std::unique_ptr<client::PendingRead> pending = {};
  };

  client::File* file() const;  // nullptr: it is not open
  bool start(Read& read, Status& got);
  void end(Read read, Status got);
  void end(std::size_t which);
  Status read_from_file(Read& read);
  void check(Read& read);

  Cluster& cluster_;
  Rank& rank_;
  std::unique_ptr<client::File> file_;
  std::optional<io::Handle> handle_;                // the MPI library's, while that handle is open
  bool through_ = false;                            // all agents know the file; otherwise it asks as a guest
  std::shared_ptr<const client::Meeting> untried_;  // a late meeting, until the first read
  bool blind_ = false;       // its agent had gone before: it cannot ask for the bytes of older handles
  std::vector<Read> reads_;  // whose bytes are on their way
  bool had_window_ = false;
  bool refreshed_ = false;
  std::uint32_t fresh_ = 0;    // the oracle's moment since when it may have read ahead
  std::uint32_t ordered_ = 0;  // when the ranks had last met before
};

}  // namespace millrace::sim
