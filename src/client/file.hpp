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
#include "client/stint.hpp"
#include "client/target_file.hpp"
#include "extent/extent.hpp"
#include "transport/route.hpp"

namespace millrace::client {

// An open that a front end wants accelerated.
struct OpenRequest {
  std::string path;           // as the kernel takes it (file system prefixes such as "ufs:" removed)
  std::string stand_in = {};  // the file that stands in for it on this node, if there is one
  std::uint64_t group = 0;    // agreed by all ranks of one collective open
  std::uint32_t members = 1;  // ranks of that open on this node
  FileSettings settings;      // after hints
  bool writable = true;
  Costs costs = {};               // costs of its file system, the same for all ranks
  std::uint64_t file_system = 0;  // number_of_file_system(); 0: nothing is learned from it
  bool mixed =
      false;  // all ranks know the file's series as mixed: for the report only, nothing will be written
  transport::Routing routing = {};  // if the ranks are on several nodes that work together
  bool through = false;             // reads pass the agents, too
  const char* left = nullptr;       // why all ranks leave the file to the MPI library; a literal
  TargetFile found = {};            // the file of that path, if the front end has looked for it already
};

// One contiguous piece of a transfer: `size` bytes of memory to `offset` of the file.
struct Piece {
  std::uint64_t offset;
  const void* data;
  std::uint64_t size;
};

class PieceSource;
struct Sweep;

// One open file of this process, as seen by front ends. The first write through the pipeline contacts the
// agent (and starts it). So an open that only reads costs nothing. Thread safe: calls of several threads on
// one file or many are serialised per process.
class File {
 public:
  virtual ~File() = default;

  // Policy: decides whether this transfer takes the pipeline, and starts or joins the agent for that. Called
  // once per call, before any byte moves. Counts the call either way and remembers the reason for the report.
  virtual bool enter_pipeline(const Transfer& transfer) = 0;

  // Appends pieces in order; when it returns the caller's memory may be reused. Blocks while the ring
  // is full, at most `timeout` without progress. Sticky errors of the file surface here.
  virtual Status write(std::span<const Piece> pieces) = 0;

  // Before the MPI library reads the file itself: pending bytes of all ranks of this node in `extent` reach
  // the file system; after an order(), those of all nodes. No communication if no bytes are pending.
  virtual Status flush(Extent extent) = 0;

  // Before ranks of other nodes may write the same bytes: this rank's bytes are with the file servers, ahead
  // of later ones. The next flush() then also covers earlier writes of other nodes.
  virtual Status order() { return flush(everything); }
  // Before ranks of other nodes read: as flush() of everything, but does not count as a read of this rank.
  virtual Status publish() { return flush(everything); }

  // For a file with a stand-in on this node (OpenRequest::stand_in), before the MPI library reads the
  // stand-in. `extent` of the file, with all earlier writes, comes into the stand-in, whose size becomes the
  // file's. With an empty extent, only the size comes. Bytes behind the end of the file are not fetched.
  virtual Status fetch(Extent extent) { return flush(extent); }

  // Before the MPI library writes `extent` itself: as flush(). Also no communication if bytes are pending
  // only elsewhere in the file.
  virtual Status prepare_direct_write(Extent extent) { return flush(extent); }

  // Writes pieces with holes between them past the pipeline, by data sieving. Call it after
  // prepare_direct_write(). False: the file cannot be opened for reading and writing here, and nothing was
  // written.
  virtual bool sieve([[maybe_unused]] PieceSource& source, [[maybe_unused]] const Sweep& sweep,
                     [[maybe_unused]] Status& status) {
    return false;
  }

  // Reads pieces from the file system itself, past the MPI library. Call it after flush(). Not ok: this is
  // not possible here, or the file ends before the last piece; the pieces' memory then has any contents, and
  // the caller leaves the transfer to the MPI library.
  virtual Status read([[maybe_unused]] PieceSource& source) { return Code::unsupported; }

  // These two measure the time of the MPI library's direct writes and of MPI_File_sync, for a comparison with
  // the expected time. close() times itself.
  virtual std::uint64_t start_timing() { return 0; }  // 0: not now
  virtual void stop_timing([[maybe_unused]] std::uint64_t start) {}

  // After the MPI library wrote `extent` itself (direct path): writeback may begin.
  virtual void note_direct_write(Extent extent) = 0;
  // ... or transferred some other way: counted for the report.
  virtual void note_direct_call(std::uint64_t bytes) = 0;
  // ... a read, whoever carried it out.
  virtual void note_read(std::uint64_t bytes) { note_direct_call(bytes); }

  // MPI_File_sync: flush of everything, then stable storage. ok at once if nothing of this file ever
  // went through the pipeline (the caller then leaves it to the MPI library).
  virtual Status sync() = 0;

  // Flushes as `durability` says and leaves the file. Collective over the group; waits for its registered
  // members with the usual bound. The object is dead afterwards.
  virtual Status close() = 0;

  // True once a byte of this process went through the pipeline.
  virtual bool registered() const = 0;

  // Turns the pipeline off for the rest of this open (atomic mode, shared pointers, ...), after a flush.
  // `reason` goes into the report; nullptr turns the pipeline on again.
  virtual Status set_direct(const char* reason) = 0;

  // ... for good: another handle of the file never takes the pipeline, and the writes of both have to stay in
  // order.
  virtual Status bar(const char* reason) { return set_direct(reason); }

  virtual const FileSettings& settings() const = 0;

  // A name by which the MPI library can open the same file again while this object lives, even if the file's
  // own name means another file by then. Empty: there is no other name.
  virtual std::string lasting_name() const { return {}; }
};

// The costs that all ranks of a file use, and the number of its file system. Rank 0 takes both from the
// user's record (client/cost_record.hpp).
struct KnownCosts {
  Costs costs;
  std::uint64_t file_system = 0;
};
KnownCosts costs_of(const std::string& path);
// The times of this rank's files.
ObservedFiles observed_files();
// For rank 0: adds the times of all ranks' files to the record when the program ends.
void learn_costs(const ObservedFiles& observed);
// Whether this rank has seen files of such a name read after every few writes.
bool is_mixed(std::string_view path);

// The process-wide entry. Never fails an open: if acceleration is not possible the file is direct, with
// the reason in the report and one log line per process.
std::unique_ptr<File> open(OpenRequest request);

// For a handle that is the MPI library's alone (opened for reading, or direct by a setting). It never takes
// the pipeline and is in no report. Its flush() and prepare_direct_write() write pending bytes of the same
// file, under any name, from other handles of this process and other ranks of this node.
std::unique_ptr<File> visit(const std::string& path);

// Whether any rank of this node has bytes pending in any file; `writes`: or in a ledger. A few loads.
bool anything_pending(bool writes);
// Before this file is read or written past MPI-IO: its pending bytes of all ranks of this node reach the file
// system. An error stays with the open that wrote.
void settle_file(std::uint64_t device, std::uint64_t inode, bool writes);

// Before the MPI library opens a file. Pending bytes of this process and of other ranks of its node reach the
// file system. The call waits for ledgers of closed files (durability node) and for bytes of ranks that went
// without a close. It recovers ledgers of dead agents. It costs one look at a folder that rarely exists, and
// one at the agent's page. If a ledger cannot be recovered, a line on stderr says so. If the open `writes`,
// recovery leaves that ledger alone from then on.
void settle_ledgers(const char* path, bool writes);

// A close with durability disk or node promises that bytes outlive the node. So the name of a new file has to
// outlive it too. Call it once per open file, on the rank that made the file, before any rank's open returns.
// A file system that refuses the sync keeps names by itself.
void secure_name(const std::string& path, const FileSettings& settings);

// Makes file systems that remember a file's size for a while (FUSE, NFS) look again, after another node has
// written the file.
void refresh(const std::string& path);

// The settings of this process (environment); parsed once.
const Settings& process_settings();

// The MPI library did not provide MPI_THREAD_MULTIPLE, so calls never overlap and need no locks. Has an
// effect only before the first write.
void calls_are_serialized();

// Reserves the descriptors that this process needs for a later session, so that a shortage is known before
// any rank writes. Starts no agent. False: there are too few.
bool reserve_descriptors();

// The address of this node's agent for agents of other nodes. Starts the agent if there is none.
Result<transport::TcpAddress> meet();
// ... from an earlier meet(); port 0: there was none, or the agent is lost.
transport::TcpAddress met();

// At MPI_Finalize and at exit: leaves the agent. Safe to call twice.
void finalize();

// One line on stderr, prefixed "millrace: "; at most `once` per process and text when `once` is true.
void log(const std::string& line, bool once = true);

}  // namespace millrace::client
