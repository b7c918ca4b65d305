// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.hpp"
#include "base/settings.hpp"
#include "client/costs/costs.hpp"
#include "client/costs/reasons.hpp"
#include "client/file/call_counts.hpp"
#include "client/file/target_file.hpp"
#include "client/view/piece.hpp"
#include "extent/extent.hpp"
#include "transport/route.hpp"

namespace millrace::client {

// An open of a file, as a front end passes it to the pipeline.
struct OpenRequest {
  std::string path;           // the kernel's name of the file, without prefixes such as "ufs:"
  std::string stand_in = {};  // the stand-in: a file on this node that the MPI library uses instead
  std::uint64_t group = 0;    // all ranks of one collective open have agreed on this number
  std::uint32_t members = 1;  // ranks of that open on this node
  FileSettings settings;      // after hints
  bool writable = true;
  Costs costs = {};                 // costs of its file system, the same for all ranks, and
  Factors factors = {};             // of the last such file
  transport::Routing routing = {};  // for ranks on several nodes whose agents work together
  bool through = false;             // the agents carry reads too
  Reason left = Reason::none;       // why all ranks leave the file to the MPI library
  TargetFile found = {};            // the file of `path`, if the front end has already looked for it
  std::uint64_t file_bytes = 0;     // size of a file that is only read, as the ranks agreed; 0: not known
  Status named = {};          // the error of bringing the file's name to the disk: sync or close tells it
  bool leaves_small = false;  // AgentReads::read() leaves small reads that nobody can foresee to the caller
  bool late = false;          // this rank registers the file with its agent at its first need
  bool guest = false;         // guest_of()

  // Such a handle has no bytes of its own, and asks for those of other handles as a guest does.
  bool only_reads() const { return !writable && stand_in.empty(); }
};

// The event that follows a flush of an extent.
enum class Before {
  read,    // The MPI library or this process reads the extent. The pending bytes there of all ranks of this
           // node reach the file system; after others_write, those of all nodes.
  write,   // The MPI library or this process writes the extent. The same, for the writes that overlap it.
  size,    // The MPI library tells the size of the file. On one node, only the last pending bytes are needed.
  resize,  // The MPI library sets the size of the file to the begin of the extent.
  others_write,  // Other ranks may write the same bytes. This rank's bytes reach the file servers on other
                 // nodes ahead of later bytes. On one node, a rank whose agent has gone saves its ring.
  others_read,   // Ranks of other nodes read. This does not count as a read of this rank.
};

class AgentReads;
class OwnPieces;
class Process;

// One open file of this process, as seen by front ends. The first write through the pipeline contacts the
// agent (and starts it). So an open that only reads costs nothing. Thread safe: calls of several threads on
// one file or many are serialised per process.
class File {
 public:
  virtual ~File() = default;

  // Decides whether this transfer takes the pipeline. If it does, this rank starts or joins the agent. Call
  // the function once per call of the program, before any byte moves. It counts the call in both cases and
  // keeps the reason for the report.
  virtual bool enter_pipeline(const Transfer& transfer) = 0;

  // Appends pieces in order. The caller may reuse the memory after the return. Blocks while the ring is full,
  // but at most for the setting `timeout` without progress. Returns the sticky error of the file, if there is
  // one.
  virtual Status write(std::span<const Piece> pieces) = 0;

  // Brings pending bytes to the file system, as far as `what` needs them there. Needs no communication if no
  // such bytes are pending.
  virtual Status flush(Before what, Extent extent = everything) = 0;

  // Pieces that this process writes and reads by itself, after a flush(). nullptr:
  // only the MPI library does.
  virtual OwnPieces* own_pieces() { return nullptr; }

  // Reads through the agents. Never nullptr for an open with OpenRequest::through or a stand-in.
  virtual AgentReads* agent_reads() { return nullptr; }

  // These two functions measure the time of the MPI library's direct writes, which is compared with the
  // expected time.
  virtual std::uint64_t start_timing() { return 0; }  // 0: this open is not measured
  virtual void stop_timing([[maybe_unused]] std::uint64_t start) {}

  // Call it after the MPI library wrote `extent` itself. Writeback of these bytes may then begin.
  virtual void note_direct_write(Extent extent) = 0;

  // For MPI_File_sync: flushes everything, then syncs the file to stable storage. Returns ok at once if no
  // byte of the file ever went through the pipeline; the caller then leaves the sync to the MPI library.
  virtual Status sync() = 0;

  // Flushes as the setting `durability` demands, and ends the open. The call is collective over the group: it
  // waits for the registered members, with the usual bound. Do not use the object afterwards.
  virtual Status close() = 0;

  // Ends an open that failed on another node, in place of close(): no rank of the group has written, and the
  // agents of other nodes may never come.
  virtual void withdraw() { (void)close(); }

  // True once this rank has registered the file with the agent.
  virtual bool registered() const = 0;

  // Turns the pipeline off for the rest of this open (atomic mode, shared pointers, ...), after a flush.
  // `ground` goes into the report; without a reason, the pipeline is on again.
  virtual Status set_direct(const Ground& ground) = 0;

  // Turns the pipeline off for good. Another handle of the file never takes the pipeline, and the writes of
  // both handles have to stay in order.
  virtual Status bar(Reason reason) { return set_direct({reason}); }

  virtual const FileSettings& settings() const = 0;

  // The number of the open file, which stays when the file gets another name (transport::file_number()). 0:
  // not known.
  virtual std::uint64_t number() const { return 0; }

  // A name by which the MPI library can open the same file again while this object lives, even if the file's
  // own name means another file by then. Empty: there is no other name.
  virtual std::string lasting_name() const { return {}; }

  // The calls of this open, for the report. The caller counts reads, and writes without enter_pipeline().
  CallCounts& counts() { return counts_; }

 private:
  CallCounts counts_;
};

// Opens a file for a process. It never fails. If the file cannot take the pipeline, the MPI library writes
// it: the report has the reason, and the process logs one line.
std::unique_ptr<File> open(OpenRequest request, Process& process);

// The request for a handle that only the MPI library reads and writes (opened for reading, or direct by a
// setting). The handle never takes the pipeline and is in no report. Its flush() writes pending bytes of the
// same file, under any name, from other handles of this process and other ranks of this node.
inline OpenRequest guest_of(const std::string& path, const FileSettings& settings) {
  return {.path = path, .settings = settings, .writable = false, .guest = true};
}

}  // namespace millrace::client
