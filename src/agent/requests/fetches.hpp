// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "agent/pipeline/file_pipeline.hpp"
#include "agent/requests/sender.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "extent/extent.hpp"
#include "io/storage.hpp"

namespace millrace::agent {

// Brings bytes of a file that only the file server sees to its stand-in files on other nodes. Before a fetch
// begins, Requests makes all earlier records depart.
//
//   rank --fetch--> agent --fetch--> ... --fetch--> file server
//                     |  <--data--        <--data--      |
//                 stand-in                             file
//
//   arriving  if there is a next agent: asks it, one fetch after another, and writes the data to the stand-in
//   leaving   if an agent upstream asks: reads the file here, and sends data as the link has room
//
// A fetch may need both steps, in this order. Memory: `pieces_max` pieces of `piece_bytes` for arriving data,
// and as much for each of `leaving_max` leaving fetches.
//
// `target` is the stand-in or the file. A deterministic state machine; not thread safe.
class Fetches {
 public:
  static constexpr std::uint64_t piece_bytes = 256 * KiB;
  static constexpr std::size_t pieces_max = 4;
  static constexpr std::size_t leaving_max = 16;

  static Result<std::unique_ptr<Fetches>> open(Shared& shared, Fd target);
  // Nothing may be in flight.
  ~Fetches();
  Fetches(const Fetches&) = delete;
  Fetches& operator=(const Fetches&) = delete;

  // The extent that has to depart before begin(): the bytes of `extent`, and records that may decide the
  // file's size.
  Extent depends_on(const FilePipeline& pipeline, Extent extent);

  struct Asked {
    WaiterId waiter;
    SenderId sender;
    std::uint32_t request;
    Extent extent;
    bool upstream;  // the sender is an agent
  };
  void begin(const Asked& asked);
  // The sender has gone. Its fetches hand out nothing more.
  void abandon(SenderId sender);

  // True if anything moved.
  bool advance(FilePipeline& pipeline);
  // Hands out the bytes read, as far as there is room. True if anything moved.
  bool pass(FetchTaker& to);

  struct Done {
    WaiterId waiter;
    Status status = {};
  };
  // The fetches that have ended since the last call.
  std::vector<Done> take() { return std::exchange(done_, {}); }

  // A completion of the storage; ignored if it is for another owner.
  void complete(const io::Completion& completion);
  bool in_flight() const { return !transfers_.empty(); }
  bool empty() const { return fetches_.empty() && done_.empty() && !in_flight(); }

 private:
  // Memory of a read or write. Storage may still use it after its fetch has ended.
  struct Piece {
    std::uint64_t offset = 0;
    std::vector<std::byte> bytes;
    bool done = false;
    std::uint64_t moved = 0;
    Status status = {};
  };
  enum class Step { waiting, arriving, leaving };
  struct Fetch {
    Asked asked;
    Step step = Step::waiting;
    bool gone = false;  // its sender has gone
    Status status = {};
    bool sized = false;    // file_bytes is known
    bool resized = false;  // the file has this size, or the storage has a request for it
    std::uint64_t file_bytes = 0;

    sink::Ticket ticket = 0;  // arriving: of the question to the next agent
    bool answered = false;

    std::uint64_t next = 0;  // leaving: reads have been submitted up to this offset
    std::uint64_t end = 0;
    std::deque<std::shared_ptr<Piece>> pieces = {};  // in order
    bool passed = false;                             // all data and end_of_data() are handed out
  };
  using Iterator = std::list<Fetch>::iterator;

  Fetches(io::Storage& storage, std::uint32_t owner, io::Handle file)
      : storage_(storage), owner_(owner), file_(file) {}
  void submit(io::Op op, std::shared_ptr<Piece> piece, std::uint64_t length = 0);
  Iterator arriving();
  bool arrive(FilePipeline& pipeline);
  void end_arrival(Fetch& fetch);
  void start_leaving(Fetch& fetch);
  bool leave(Fetch& fetch);
  bool pass(Fetch& fetch, FetchTaker& to);

  io::Storage& storage_;
  std::uint32_t owner_;
  io::Handle file_;
  std::list<Fetch> fetches_;                                   // in the order of begin()
  std::map<std::uint32_t, std::shared_ptr<Piece>> transfers_;  // with storage, by token
  std::uint32_t next_transfer_ = 1;
  std::vector<std::shared_ptr<Piece>> writes_;  // of the fetch that arrives
  std::vector<Done> done_;
};

}  // namespace millrace::agent
