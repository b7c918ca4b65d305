// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "client/file/file.hpp"
#include "scenario.hpp"

namespace millrace::sim {

struct Cluster;
class Rank;

// A rank's handle that writes the file, and reads what the rank has written. Owned by its rank, in whose
// fiber the calls block. Not thread safe.
class Writer {
 public:
  Writer(Cluster& cluster, Rank& rank) : cluster_(cluster), rank_(rank) {}

  client::File* file() const { return file_.get(); }
  std::optional<io::Handle> handle() const { return handle_; }
  bool has_written() const { return written_; }  // since its open
  bool has_closed() const { return closed_; }    // without an error
  // Closes what a program has left open.
  void let_go();

  // --- Steps of programs ---

  Status open();
  void open_again();
  void write(const Step& step);
  void read(Extent extent);
  void sync();
  void arrive();
  void turn(client::Reason why_direct);
  void close();

 private:
  Status write(const std::vector<client::Piece>& pieces, std::uint64_t bytes);
  Status write_past(const std::vector<client::Piece>& pieces, Status status);
  void read_from_server(Extent extent);
  Status open_in_library(const Fd& file);

  Cluster& cluster_;
  Rank& rank_;
  std::unique_ptr<client::File> file_;    // nullptr: the file is the MPI library's alone, or is not open
  std::unique_ptr<client::File> second_;  // a handle that only reads, in some runs
  std::optional<io::Handle> handle_;      // the MPI library's, of the same file, while it is open
  bool written_ = false;
  bool closed_ = false;
};

}  // namespace millrace::sim
