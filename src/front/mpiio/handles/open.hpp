// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "client/open/open.hpp"
#include "client/open/plan.hpp"
#include "client/start/log.hpp"
#include "client/view/view.hpp"
#include "front/mpiio/handles/pointer.hpp"
#include "front/mpiio/ranks/communicator.hpp"
#include "front/mpiio/real.hpp"

namespace millrace::front {

using client::Before;

struct Pending;  // call/pending.hpp

// A split collective between its begin and its end.
struct Split {
  bool ours = false;    // the MPI library does not know of it
  bool staged = false;  // the library does, but it has read no bytes, because the memory is a device's
  MPI_Count bytes = 0;  // for the status of the end
  std::shared_ptr<Pending> pending = nullptr;  // if `ours`: a read whose bytes are on their way
};

// A file that is only read: the source of its bytes.
struct Reader {
  MPI_File copy = MPI_FILE_NULL;   // the whole file on this node's storage, open for this rank alone
  std::atomic<bool> left = false;  // this process has written the file, so it reads the file itself
  client::StagedCopy staged;
};

// The view of a file, as this rank has set it.
struct View {
  client::FileView map;
  bool mapped = true;               // `map` is the view; else Millrace cannot map it to pieces
  bool foreign = false;             // a data representation other than native
  std::uint32_t set = 0;            // views that the program has set
  std::atomic<bool> fresh = false;  // no write has used the last view yet
  // The handle for a view that cannot be mapped (call/unmapped.hpp).
  MPI_File unmapped = MPI_FILE_NULL;
  std::uint64_t unmapped_etype = 1;  // bytes

  // True once for each view after the first. The ranks have met in MPI_File_set_view.
  bool takes_meeting() { return set > 1 && fresh.exchange(false, std::memory_order_relaxed); }
};

// The ranks of a file, and how their nodes work together.
struct NodesOfFile {
  bool one = false;             // all ranks are on this node
  bool routed = false;          // several nodes have the file open, and their agents work together
  bool looks_again = false;     // routed, and this rank refreshes the mount of its node at close
  bool meets_at_close = false;  // a rank may still need its agent when others close
  bool bypassed = false;        // all ranks leave the file to the MPI library (client::Apart)
  // For agreements between the ranks (all_ranks).
  std::uint64_t group = 0;             // the same number on all ranks
  std::shared_ptr<const Ranks> ranks;  // nullptr until first needed
};

// The way that reads of a file take, if it is not the MPI library's own (call/read.hpp).
struct ReadsOfFile {
  std::atomic<bool> alone = false;  // reads need no other rank, on all ranks alike
  std::atomic<client::Through> through =
      client::Through::none;  // which reads File::agent_reads() carries (open/open_read.hpp)
  std::shared_ptr<const client::Meeting> untried;  // a late meeting, until agents_carry() tries it
  std::once_flag tried;
  bool until_written = false;            // `through` was set at open, on all ranks alike
  std::unique_ptr<Reader> reader;        // nullptr: the file may be written, or its reads need no other rank
  std::uint64_t size_at_open = 0;        // of a file that is only read, through the agents
  std::atomic<std::uint64_t> bytes = 0;  // that this rank has read
};

// Calls that have begun, and have not ended yet.
struct Begun {
  // Replaces the split collective, and returns the one before: one at a time.
  Split change(Split by) {
    const std::lock_guard guard(split_lock);
    return std::exchange(split, std::move(by));
  }
  bool has_split() {
    const std::lock_guard guard(split_lock);
    return split.ours;
  }

  std::mutex split_lock;
  Split split;
  std::mutex pending_lock;
  std::vector<std::shared_ptr<Pending>> pending;  // reads whose bytes are on their way (call/pending.hpp)
};

// For target=first, where only rank 0's node has the file. On other nodes the library has a stand-in, a file
// without bytes.
struct OnFirst {
  enum class Location { everywhere, here, elsewhere } location = Location::everywhere;
  Fd stand_in;  // the file of the library's handle; held so that the library can open its name again
  bool delete_on_close = false;  // this rank deletes the file at close
  bool maker = false;            // rank 0
  std::string name;              // absolute, without "." and ".."
};

// Millrace's object for an MPI_File, beside the MPI library's own. MPI_File_open makes it, MPI_File_close
// destroys it, and the table of open files owns it. As thread safe as MPI requires: transfers may run in
// several threads. Calls that change the view or atomic mode are collective and must not run beside a
// transfer.
struct Open {
  using Location = OnFirst::Location;

  MPI_File handle = MPI_FILE_NULL;
  std::string path;
  std::unique_ptr<client::File> file;
  View view;
  FilePointer pointer{handle};
  NodesOfFile nodes;
  ReadsOfFile reads;
  Begun begun;
  OnFirst first;
  client::SieveBounds sweep;   // for direct writes with holes (open/sieving.hpp); window 0: no data sieving
  bool library_sieves = true;  // Sieving::by_library
  bool atomic = false;
  bool writable = true;
  bool guest = false;  // the MPI library alone uses this handle, after a question for pending bytes
  std::atomic<bool> written = false;  // this rank has written the file by this handle, or later by another

  // True if Millrace does not follow the handle's view and pointer.
  bool left_to_library() const { return guest || reads.reader != nullptr; }
  bool pipeline() const { return view.mapped && writes_alone(); }
  // True if writes need no other rank. They take the pipeline or the library's independent functions.
  bool writes_alone() const { return !atomic && !view.foreign && !nodes.bypassed; }
  bool has_copy() const { return reads.reader != nullptr && reads.reader->copy != MPI_FILE_NULL; }
  // The handle that reads the bytes.
  MPI_File reading() const { return has_copy() && !reads.reader->left ? reads.reader->copy : handle; }
};

// Makes the object for a handle of this plan.
std::unique_ptr<Open> open_of(MPI_File handle, const std::string& path, client::Plan& plan);

// True if `mine` is true on every rank of the file. Collective over the file. All ranks must make the same
// choice between the pipeline and the MPI library's collective functions. A rank in the pipeline never enters
// the collective function, so other ranks there would wait for ever.
bool all_ranks(Open& open, bool mine);

// Maps `status` to an MPI error class and calls the file's error handler with it, as the MPI library does.
// Returns the return value of the call.
int raise(const Open& open, Status status);
// The same for an error class that no Status has.
int raise_class(const Open& open, int error_class);
// The MPI error class of a code.
int error_class(Code code);

}  // namespace millrace::front
