// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/pipeline/carrier.hpp"
#include "agent/requests/sender.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "base/settings.hpp"
#include "extent/extent.hpp"
#include "io/storage.hpp"
#include "transport/bundle.hpp"
#include "transport/frame.hpp"

namespace millrace::agent {

// The index of an open file. All opens for writing share one slot. Opens for reading only
// share one if they are of the same group.
using FileSlot = std::uint32_t;

// The phases of a file's work, for traces.
enum class Phase : std::uint8_t { sort, write, gather, drain, sync, read };
inline constexpr std::size_t phase_count = 6;

// The time that one lane of a file spent in a phase. Phases overlap; spans of one phase and lane do not.
struct Span {
  Phase phase;
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
  // sort: taken in; write: handed to the file system or the next agent; read: from these; else 0
  std::uint64_t bytes;
  std::string path;
};

// The agent without a process around it: a deterministic state machine. The caller passes events in by the
// methods below. Core writes through Storage and answers through take_replies(). Core reads no clock, because
// the caller tells it the time. It starts no thread, and uses a descriptor only to identify a file. Tests and
// the simulator run it over a Storage in memory. Not thread safe; one thread drives it.
class Core {
 public:
  Core(io::Storage& storage, std::string journal_directory);
  // If Core is not idle(), drops the buffered bytes and waits for requests in flight.
  ~Core();

  // Opens a target for a sender. Takes the descriptor, and waits for no file system. The same file
  // (same_open_file()) gives the same slot, so that two opens of one file see one order. Each group that only
  // reads has a slot of its own.
  //
  // Memory: one pool serves all files. The sort_buffer and record_max of the first file fix its size for as
  // long as any file is open.
  //
  // A file that is only read ends with its last rank and its last agent upstream: it waits for no agent that
  // may still come, and asks the next agent for no close.
  //
  // If the file is open already, it keeps its strategy, its sink and its first route. A later open can only
  // strengthen the durability. If all ranks of this node have closed a file and nothing of it is pending, the
  // next open gets a new slot (OpenFile::left_by).
  //
  // With a route, records travel along it. This agent writes to the target if it is the file server of a lane
  // or if the lane keeps a copy here.
  //
  // Code::unsupported: the pool cannot hold two of this file's largest records, or the shares of all fed
  // lanes would need more than half of the pool (ADR 22). Other files lose nothing then. Code::refused: the
  // file is open, and its agents on other nodes would not know this open's records (OpenFile::takes_routed).
  Result<FileSlot> open(SenderId sender, Fd target, const transport::Register& registration,
                        Route route = {});

  // The sender is an agent that passes its records of one lane on to this agent. Its requests concern only
  // that lane.
  Status join(SenderId sender, FileSlot file, std::uint32_t lane, std::uint64_t group);

  // True if Core can take a record of a rank. False: advance() has work to start, or memory or a ledger is at
  // its bound. The caller then takes no records and calls advance(). If ready() stays false, writes are in
  // flight, and each advance() after their completions may change the answer.
  bool ready() const;

  // As ready(), for a record of an agent upstream. Each fed lane has a share of the memory. Otherwise agents
  // that are each other's file servers would wait for each other when their buffers are full.
  bool ready(FileSlot file, std::uint32_t lane) const;

  // True if the records of this agent upstream can wait: the agent is ahead of others in the file, and these
  // need the memory (ADR 16). Requests never wait for this.
  bool holds_back(SenderId sender, FileSlot file, std::uint32_t lane) const;

  // An agent upstream has sent all its records below `offset` for its next sync or close. A hint.
  void mark(SenderId sender, FileSlot file, std::uint64_t offset);

  // One write record of at most record_max bytes; copies the bytes. The sender has the file open, ready() is
  // true, and the caller has verified the checksum.
  // `stamp`: the time of a rank's write (transport/stamp.hpp), for the ledger.
  void write(SenderId sender, FileSlot file, std::uint64_t offset, std::span<const std::byte> data,
             std::uint64_t stamp = 0);

  // Takes the records of a bundle, as write() does, until ready() is false for this sender. `at` is then
  // behind the last record taken; otherwise it is reset. The caller has verified the checksum and the frame's
  // offset.
  struct Bundled {
    enum class BundleEnd { all, core_is_full, corrupt } end = BundleEnd::all;
    std::uint64_t records = 0;  // taken by this call
  };
  Bundled write_bundle(SenderId sender, FileSlot file, std::uint64_t offset,
                       std::span<const std::byte> payload, transport::Unbundler& at, std::uint64_t stamp = 0);

  // The rank wrote this extent itself, past the pipeline.
  void note(SenderId sender, FileSlot file, Extent extent);

  // A flush, arrive or sync. An advance() answers each once; without such a file the answer is
  // Code::invalid at once. The answer carries the file's first write error. If there is none and a rank of
  // the group has gone, the next answer carries lost_peer. Before a flush or sync, the caller passes on all
  // records that the senders have written so far. Only a flush has an extent.
  //
  // - arrive: the file servers have the sender's records, and take all later records after these.
  void ask(transport::Kind kind, SenderId sender, FileSlot file, std::uint32_t request,
           Extent extent = everything);
  // The bytes of the extents go to ReadTaker::wanted(), as all that came before leaves them at the file
  // servers. The extents are those of one list (transport/want_list.hpp). The answer follows the bytes. An
  // error (Code::unsupported without a route, Code::io behind the end of the file) leaves the file as usable
  // as before.
  void want(SenderId sender, FileSlot file, std::uint32_t request, std::span<const Extent> extents);
  // With durability node, a rank's close is answered when the ledger has this node's records on its disk. The
  // remaining work goes on until idle().
  // `withdrawn`: the open failed on another node, so nobody has written, and no agent will come.
  void close(SenderId sender, FileSlot file, std::uint32_t request, const transport::ClientCounters& counters,
             bool withdrawn = false);
  // Hands out the bytes of wants, as far as there is room. True if anything moved: advance() has something to
  // do.
  bool pass_read(ReadTaker& to);

  // The sender has gone without closing. Its records stay valid, and Core writes them.
  void abandon(SenderId sender);

  // Takes completions from storage and starts new work. True if anything moved, or if ready() has become
  // true.
  bool advance(std::uint64_t now_ns);

  // The latest time for the next advance(), even if nothing happens; UINT64_MAX: never.
  std::uint64_t next_deadline_ns() const;
  // `blocks`: blocks of incomplete chunks, which leave as soon as their neighbours in the file come. `many`:
  // the number that is worth a wait for slower ranks.
  struct Partial {
    std::uint32_t blocks;
    std::uint32_t many;
  };
  Partial partial() const;

  struct Bounds {
    // The longest time from a write until its bytes leave for the file although no rank asks for them
    // (hold_bound_ns() in expiry.hpp).
    std::uint64_t write_within_ns = 5'000'000'000;
    // The most bytes of the pool, whatever sort_buffer says: a share of the node's or job's memory limit.
    std::uint64_t pool_bytes = UINT64_MAX;
    // The transport::StampClock of all stamps.
    std::uint32_t stamp_clock = 0;
    // The number of the agent's page, by which other processes know its ledgers.
    std::uint64_t agent = 0;
  };
  void set_bounds(const Bounds& bounds);
  // The longest time between two looks at a ring that keeps this bound; UINT64_MAX: no file is open.
  std::uint64_t look_every_ns() const;
  // All records depart now, also those that a ledger keeps.
  void write_out();

  std::vector<Reply> take_replies();

  // Facts that no answer to a rank tells.
  struct News {
    std::vector<std::string> messages;  // for the log and one of the ranks, one line each
    // JSON documents, one line each: one for each lane of a file that has ended, and progress of requests
    // that take longer than 2 s, every half second.
    std::vector<std::string> reports;
    // The files whose ledgers the disk of the journals does not take back, though nobody needs them any more.
    std::vector<FileIdentity> stuck;
    std::uint64_t taken_bytes = 0;   // of all records so far
    std::uint64_t buffer_bytes = 0;  // of sort buffers: memory that was ever used
  };
  News take_news();

  // Turns on lines about long requests (at first: on), and spans of phases (at first: off).
  void follow(bool lines, bool spans);
  std::vector<Span> take_spans();

  // The file's first error, which all its ranks get; Code::invalid if no file has that slot.
  Status error(FileSlot file) const;
  // True if Core has bytes of the file that may not be in its file system yet.
  bool dirty(FileSlot file) const;
  // True if the file's ledger has records that may not be in the file yet, or its removal is under way.
  bool keeps(FileSlot file) const;
  // For a file with strategy journal: a mark behind all records that its ranks have written; else 0.
  std::uint64_t ledger_mark(FileSlot file) const;
  // True if the records before the mark outlive this process, or if the file has no working ledger.
  bool kept(FileSlot file, std::uint64_t mark) const;
  // True if nothing is open, buffered or in flight.
  bool idle() const;
  // Call it when idle(), before the process ends. False: a last try for stuck ledgers has begun, and idle()
  // tells its end.
  bool end();
  // A number that no other open file of this Core ever has; 0 if no file has that slot.
  std::uint64_t file_number(FileSlot file) const;
  struct Look {
    FileIdentity identity = {};  // without a mark
    std::string_view path = {};
    bool reading = false;                   // a want is not over
    bool in_flight = false;                 // the storage or the next agent has a request of the file
    std::uint64_t silent_ns = 0;            // a file system has requests, and has completed none for so long
    std::string_view silent_journals = {};  // the directory of the journals, if it is theirs
  };
  // Empty if no file has that slot. The path is valid until the next call that is not const.
  Look look(FileSlot file) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::agent
