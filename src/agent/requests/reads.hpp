// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "agent/pipeline/file_pipeline.hpp"
#include "agent/requests/read_list.hpp"
#include "agent/requests/sender.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "io/storage.hpp"

namespace millrace::agent {

struct ReadsCounters {
  std::uint64_t lists = 0;      // that have ended
  std::uint64_t requests = 0;   // blocks of the file that were read, or lists that the next agent got
  std::uint64_t bytes_in = 0;   // from the file, or from the next agent
  std::uint64_t bytes_out = 0;  // to ranks and to agents upstream
};

// Reads through one lane (ADR 24): lists of extents come in, their bytes go to the ranks and to the agents
// upstream that asked. Requests first lets all earlier records of the extents depart.
//
//   rank --list--> agent --one list for all its ranks--> ... --> file server
//     <--bytes--         <------------- bytes ----------------      |
//                                                                  file
//
// There are two kinds: the file server's reads the file, the others ask the next agent. A list that fails
// gets its error as the answer; then its sender reads the file itself. A deterministic state machine; not
// thread safe.
class Reads {
 public:
  virtual ~Reads() = default;

  // Reads the target, of which this agent is the lane's file server.
  static Result<std::unique_ptr<Reads>> of_file(Shared& shared, Fd target);
  // Asks the next agent.
  static std::unique_ptr<Reads> of_next(FilePipeline& pipeline);

  virtual void begin(WaiterId waiter, ReadList list) = 0;
  // The sender has gone: nothing is handed out to it any more.
  virtual void abandon(SenderId sender) = 0;
  // The next agent takes no more lists: those that it has not got end with an error. All members close the
  // file, so these lists are guesses that nobody needs.
  virtual void drop() {}
  // The next agent is asked no more: all lists end with an error. Nobody has the file open any more.
  virtual void give_up() {}
  // Starts what can be started, and hands out bytes as far as there is room. True if anything moved.
  virtual bool pass(ReadTaker& to) = 0;

  struct EndedList {
    WaiterId waiter;
    Status status;
  };
  // The lists that have ended since the last call.
  std::vector<EndedList> take() { return std::exchange(done_, {}); }

  // A completion of the storage; ignored if it is for another owner.
  virtual void complete(const io::Completion&) {}
  virtual bool in_flight() const = 0;
  // No list is here.
  virtual bool empty() const = 0;
  const ReadsCounters& counters() const { return counters_; }

 protected:
  // One list, and whom its end concerns.
  struct Reader {
    WaiterId waiter;
    ReadList list;
    std::uint64_t begun = 0;  // counts the lists
    bool gone = false;        // abandoned
    Status status = {};
    bool over() const { return gone || !status.ok() || list.over(); }
  };
  // A part of the file, in memory.
  struct LoadedPart {
    Extent extent;
    const std::byte* data;
  };

  // Hands out the next bytes of the list that lie in the segments, which ascend.
  void hand_out(Reader& reader, std::span<const LoadedPart> segments, ReadTaker& to);
  void end(const Reader& reader) {
    ++counters_.lists;
    done_.push_back({reader.waiter, reader.status});
  }

  ReadsCounters counters_;

 private:
  std::vector<EndedList> done_;
  std::vector<std::byte> bytes_;  // scratch
};

}  // namespace millrace::agent
