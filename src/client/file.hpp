// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/settings.hpp"
#include "client/costs.hpp"
#include "client/place.hpp"
#include "client/stint.hpp"
#include "extent/extent.hpp"
#include "transport/route.hpp"

namespace millrace::client {

// What a front end knows of an open that it wants to be accelerated.
struct OpenRequest {
  std::string path;           // as the kernel takes it (file system prefixes such as "ufs:" removed)
  std::string place = {};     // where it is on this node, if that is elsewhere
  std::uint64_t group = 0;    // agreed by all ranks of one collective open
  std::uint32_t members = 1;  // ranks of that open on this node
  FileSettings settings;      // after hints
  bool writable = true;
  Costs costs = {};               // of its file system, the same for all ranks
  std::uint64_t file_system = 0;  // number_of_file_system(); 0: nothing is learned from it
  bool mixed =
      false;  // all ranks know the file's series as mixed: for the report only, nothing will be written
  transport::Routing routing = {};  // if the ranks are on several nodes that work together
  bool through = false;             // also what is only read passes the agents
  const char* left = nullptr;       // why all ranks leave it to the MPI library; a literal
  Place found = {};                 // the file of that path, if the front end has looked for it already
};

// One contiguous piece of a transfer: `size` bytes of memory to `offset` of the file.
struct Piece {
  std::uint64_t offset;
  const void* data;
  std::uint64_t size;
};

class PieceSource;
struct Sweep;

// One open file of this process, as seen by front ends. The agent is contacted (and started) at the first
// write that goes through the pipeline, not before: an open that only reads costs nothing.
// Thread safe: calls of several threads on one file or many are serialised per process channel.
class File {
 public:
  virtual ~File() = default;

  // Policy: should this transfer take the pipeline? Decided once per call, before any byte moves; counts the
  // call either way and remembers the reason for the report.
  virtual bool takes_pipeline(const Transfer& transfer) = 0;

  // Appends pieces in order; when it returns the caller's memory may be reused. Blocks while the channel
  // is full, at most `timeout` without progress. Sticky errors of the file surface here.
  virtual Status write(std::span<const Piece> pieces) = 0;

  // Before the MPI library touches the file itself: bytes of all ranks of this node in `extent` reach the
  // file system; after an order() those of all nodes. No communication if nothing is pending.
  virtual Status flush(Extent extent) = 0;

  // Before ranks of other nodes may write the same bytes: what this rank has written is with the file
  // servers, ahead of what comes later. The next flush() then also covers what other nodes wrote before.
  virtual Status order() { return flush(everything); }
  // Before ranks of other nodes read: as flush() of everything, but no sign that this rank reads.
  virtual Status publish() { return flush(everything); }

  // Of a file that another one stands in for on this node (OpenRequest::place): before the MPI library reads
  // that one, `extent` of the file comes into it, as every write that came before has left it, and its size
  // becomes the file's; of nothing: the size alone. What lies behind the end of the file is not asked for.
  virtual Status fetch(Extent extent) { return flush(extent); }

  // Before the MPI library writes `extent` itself: as flush(), and no communication either if bytes are
  // pending only elsewhere in the file.
  virtual Status prepare_direct_write(Extent extent) { return flush(extent); }

  // Writes pieces with holes between them past the pipeline, by data sieving. False: the file can't be opened
  // for reading and writing here; nothing was written. After prepare_direct_write().
  virtual bool sieve([[maybe_unused]] PieceSource& source, [[maybe_unused]] const Sweep& sweep,
                     [[maybe_unused]] Status& status) {
    return false;
  }

  // What the MPI library takes for a direct write and for MPI_File_sync is taken between these, to be
  // compared with what was expected. close() times itself.
  virtual std::uint64_t start_timing() { return 0; }  // 0: not now
  virtual void stop_timing([[maybe_unused]] std::uint64_t start) {}

  // After the MPI library wrote `extent` itself (direct path): writeback may begin.
  virtual void note_direct_write(Extent extent) = 0;
  // ... or transferred some other way: counted for the report.
  virtual void note_direct_call(std::uint64_t bytes) = 0;

  // MPI_File_sync: flush of everything, then stable storage. ok at once if nothing of this file ever
  // went through the pipeline (the caller then leaves it to the MPI library).
  virtual Status sync() = 0;

  // Flushes as `durability` says and leaves the file. Collective over the group; waits for its registered
  // members with the usual bound. The object is dead afterwards.
  virtual Status close() = 0;

  // True once a byte of this process went through the pipeline.
  virtual bool registered() const = 0;

  // Turns the pipeline off for the rest of this open (atomic mode, shared pointers, ...), after a flush;
  // `reason` goes into the report. Passing nullptr turns it on again.
  virtual Status set_direct(const char* reason) = 0;

  // ... for good: another handle of the file never takes it, and their writes are to stay in order.
  virtual Status bar(const char* reason) { return set_direct(reason); }

  virtual const FileSettings& settings() const = 0;

  // A name by which the MPI library can open the same file again while this object lives, whatever its own
  // name means meanwhile; empty: there is none but that.
  virtual std::string lasting_name() const { return {}; }
};

// The costs that all ranks of a file go by, and the number of its file system: of rank 0, which has the
// record of this user (client/cost_record.hpp).
struct KnownCosts {
  Costs costs;
  std::uint64_t file_system = 0;
};
KnownCosts costs_of(const std::string& path);
// What this rank's files took.
ObservedFiles observed_files();
// Of rank 0: what all ranks' files took. Is added to the record when the program ends.
void learn_costs(const ObservedFiles& observed);
// Whether files of such a name are read after every few writes, as this rank has seen.
bool is_mixed(std::string_view path);

// The process-wide entry. Never fails an open: if acceleration is not possible the file is direct, with
// the reason in the report and one log line per process.
std::unique_ptr<File> open(OpenRequest request);

// Of a handle that is the MPI library's alone (opened for reading, left to it by a setting): never takes the
// pipeline and is in no report. Its flush() and prepare_direct_write() bring what other handles of this
// process and other ranks of this node have pending of the same file, under whatever name.
std::unique_ptr<File> visit(const std::string& path);

// Whether any rank of this node has bytes pending in any file; `writes`: or in a ledger. A few loads.
bool anything_pending(bool writes);
// Before this file is read or written past MPI-IO: what they have pending of it reaches the file system. An
// error stays with the open that wrote.
void settle_file(std::uint64_t device, std::uint64_t inode, bool writes);

// Before the MPI library opens a file: what this process and other ranks of its node have pending of it
// reaches the file system. What closed files of this node still lack (durability node), or ranks left that
// went without closing, is waited for, and finished where its agent has died. Costs one look at a folder that
// is rarely there, and one at the agent's page. What can't be finished is told on stderr; who `writes` then
// writes without it, and recovery leaves it alone from then on.
void settle_ledgers(const char* path, bool writes);

// A close with durability disk or node promises that bytes outlive the node: so has the name of the file that
// they are in, which may have just been made. Once per open file, by the rank that made it, before anybody's
// open returns. Where the file system refuses it, it keeps names itself.
void secure_name(const std::string& path, const FileSettings& settings);

// File systems that remember a file's size for a while (FUSE, NFS) look again: another node has written it.
void refresh(const std::string& path);

// The settings of this process (environment); parsed once.
const Settings& process_settings();

// Tells that the MPI library did not provide MPI_THREAD_MULTIPLE, so that calls never overlap and need no
// locks. Before the first write, or without effect.
void calls_are_serialized();

// Holds the descriptors that this process needs to reach an agent later, so that a shortage is known before
// any rank writes. Starts no agent. False: there are too few.
bool reserve_descriptors();

// Where agents of other nodes reach this node's, which is started if need be.
Result<transport::TcpAddress> meet();
// ... as a meet() before has found; port 0: none has, or the agent is lost since.
transport::TcpAddress met();

// At MPI_Finalize and at exit: leaves the agent. Safe to call twice.
void finalize();

// One line on stderr, prefixed "millrace: "; at most `once` per process and text when `once` is true.
void log(const std::string& line, bool once = true);

}  // namespace millrace::client
