// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
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

using FileSlot = std::uint32_t;  // one target file (device and inode); all opens share it

// The steps of a file, for traces.
enum class Phase : std::uint8_t { sort, write, gather, drain, sync };
inline constexpr std::size_t phase_count = 5;

// A time in which a file was at a phase, by the told clock. Phases overlap, spans of one phase do not.
struct Span {
  Phase phase;
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
  std::uint64_t bytes;  // sort: taken in; write: handed to the file system
  std::string path;
};

// The agent without a process around it: a deterministic state machine. Events come in by the methods
// below, work goes out through Storage, answers through take_replies(). It reads no clock (time is told),
// starts no thread, asks a descriptor only which file it is: tests and the simulator run it over an in-memory
// Storage. Not thread safe; one thread drives it.
class Core {
 public:
  Core(io::Storage& storage, std::string journal_directory);
  // Normally called when idle(). Else drops what is buffered, and waits for what is in flight.
  ~Core();

  // Registers a sender's interest in a target. The same device and inode give the same slot, so that two
  // opens of one file see one order; opens for reading only have one of their own. Takes the descriptor.
  // Memory is one pool for all files: the first file's sort_buffer and record_max fix it for as long as any
  // file is open; a later file shares it, whatever its own sort_buffer says. A file that is open already
  // keeps the strategy, sink and durability with which it was opened first. Code::unsupported if the pool
  // cannot hold two of this file's largest records, for each lane that agents feed; other files lose nothing
  // then. With a route, records travel along it; the target is written where this agent is the file server of
  // a lane. A file that is open already keeps its first route; one that all ranks of this node have closed is
  // another one.
  Result<FileSlot> open(SenderId sender, Fd target, const transport::Register& registration,
                        Route route = {});

  // The sender is an agent that passes its records of one lane on to this one. It may only ask for what lies
  // there; its requests are for that lane.
  Status join(SenderId sender, FileSlot file, std::uint32_t lane, std::uint64_t group);

  // True while a record may be taken. False means that advance() has something to start, or that memory or a
  // ledger is at its bound: stop taking records and call advance(); while it is false then too, writes
  // are in flight, and it may change with every advance() that follows their completions.
  bool ready() const;

  // As ready(), for a record that an agent upstream passes on: each lane that is fed so has a little memory
  // of its own. Or agents that are each other's file servers would wait for each other when their buffers are
  // full.
  bool ready(FileSlot file, std::uint32_t lane) const;

  // True while what an agent upstream sends next can wait, because it is ahead of others in the file, and
  // they need the memory (ADR 16). It does not keep requests waiting.
  bool holds_back(SenderId sender, FileSlot file, std::uint32_t lane) const;

  // An agent upstream has sent all below `offset` that it has for the sync or close that is to come. A hint.
  void mark(SenderId sender, FileSlot file, std::uint64_t offset);

  // One write record of at most record_max bytes, from a registered sender; copies the bytes. Only after
  // ready(). The checksum has been verified by the caller.
  void write(SenderId sender, FileSlot file, std::uint64_t offset, std::span<const std::byte> data);

  // The records of a bundle, as write() takes them, until ready() is false; `at` is behind the last one
  // taken, and at the begin when all are. The caller has verified the checksum and the frame's offset.
  struct Bundled {
    enum class End { all, core_is_full, corrupt } end = End::all;
    std::uint64_t records = 0;  // taken by this call
  };
  Bundled write_bundle(SenderId sender, FileSlot file, std::uint64_t offset,
                       std::span<const std::byte> payload, transport::Unbundler& at);

  // The rank wrote this extent itself, past the pipeline.
  void note(SenderId sender, FileSlot file, Extent extent);

  // A flush, arrive, sync or fetch; each is answered once, by an advance() (with Code::invalid at once if
  // there is no such file). Answers carry the file's first write error; else lost_peer once, if a rank of the
  // group has gone. The caller has consumed every sender's records up to now before it passes a flush or
  // sync on, so that bytes of all ranks are covered. Only a flush and a fetch have an extent.
  //
  //   arrive  what the sender has written is with the file servers, ahead of what anybody writes after the
  //   answer fetch   of a file with a route that stands_in: `extent`, as all that came before leaves it at
  //   the file
  //           server, comes into the file here, whose size becomes that of the other; of nothing, the size
  //           alone. For an agent upstream the bytes go to pass_fetched() instead. Code::unsupported for any
  //           other file
  void ask(transport::Kind kind, SenderId sender, FileSlot file, std::uint32_t request,
           Extent extent = everything);
  // The bytes of the extents go to FetchTaker::wanted(), as all that came before leaves them at the file
  // servers. The extents are those of one list (transport/want_list.hpp). The answer follows the bytes. An
  // error (Code::unsupported without a route, Code::io behind the end of the file) leaves the file as usable
  // as before.
  void want(SenderId sender, FileSlot file, std::uint32_t request, std::span<const Extent> extents);
  // With durability node, the answer to a close comes when the ledger has this node's records on its disk.
  // The remaining work goes on until idle().
  void close(SenderId sender, FileSlot file, std::uint32_t request,
             const transport::ClientCounters& counters);
  // Hands out what was fetched for agents upstream, and what is wanted, as far as there is room. True if
  // anything moved: advance() has something to do.
  bool pass_fetched(FetchTaker& to);

  // The rank has gone without closing. Its records stay valid and are written.
  void abandon(SenderId sender);

  // Takes completions from storage, starts what can be started. True if anything moved, or if ready() is true
  // again: nothing else tells of that.
  bool advance(std::uint64_t now_ns);

  // When advance() should be called again though nothing happens (a bounded wait for stragglers), in the
  // same clock; UINT64_MAX = never.
  std::uint64_t next_deadline_ns() const;
  // Blocks of memory whose neighbours in the file have not come yet; they leave at once when these do. `many`
  // are worth a wait for ranks that lag.
  struct Partial {
    std::uint32_t blocks;
    std::uint32_t many;
  };
  Partial partial() const;

  // Bound of the time from a write until its bytes are in the file, or on their way to the next agent, though
  // nobody asks for them. 5 s at first.
  void set_write_within(std::uint64_t bound_ns);
  // How often rings have to be looked at for that; UINT64_MAX: no file is open.
  std::uint64_t look_every_ns() const;
  // All that is here sets out now: the process may be killed soon. Nobody waits for it.
  void write_out();

  std::vector<Reply> take_replies();

  // For people, of what no rank can be told: one line each.
  std::vector<std::string> take_messages();

  // One JSON document (no newline) for every file that was closed for good since the last call, and for
  // every half second of a request that takes longer than two.
  std::vector<std::string> take_reports();

  // Turns on lines about long requests (at first: on), and spans of phases (at first: off).
  void follow(bool lines, bool spans);
  std::vector<Span> take_spans();

  // A sticky error of the file, to be shown to all its ranks; ok if none.
  Status error(FileSlot file) const;
  // True if the file holds bytes that its file system does not have yet.
  bool dirty(FileSlot file) const;
  // True while a fetch or a want is not over.
  bool fetching(FileSlot file) const;
  // True if the file's ledger has records that may not be in the file yet.
  bool keeps(FileSlot file) const;
  // For a file with strategy journal: the number of records that its ranks have written, and whether so many
  // outlive this process. 0 and true for other files.
  std::uint64_t ledger_mark(FileSlot file) const;
  bool kept(FileSlot file, std::uint64_t mark) const;
  // True if nothing is open, buffered or in flight.
  bool idle() const;
  // Another number for every file that was ever open; 0 if none is at that slot.
  std::uint64_t file_number(FileSlot file) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::agent
