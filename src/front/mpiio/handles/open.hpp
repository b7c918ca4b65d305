// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/open/open.hpp"
#include "client/open/stage.hpp"
#include "client/start/log.hpp"
#include "client/view/view.hpp"
#include "front/mpiio/real.hpp"

namespace millrace::front {

struct Pending;  // pending.hpp

// The state of a split collective between its begin and its end.
struct Split {
  enum class State { none, ours, real };
  State state = State::none;
  MPI_Count bytes = 0;  // if `ours` or staged: the count for the status of the end
  bool staged = false;  // state `real`, but the library has read no bytes, because the memory is a device's
  std::shared_ptr<Pending> pending;  // if `ours`: a read whose bytes are on their way
};

// A file that is only read: the bytes read so far, and their source.
struct Reader {
  MPI_File copy = MPI_FILE_NULL;           // the whole file on this node's storage, open for this rank alone
  client::FileStamp original;              // its stamp when it was copied
  std::unique_ptr<client::Source> source;  // StagedCopy
  std::atomic<std::uint64_t> bytes{0};
};

// A communicator of Millrace's own with the ranks of a file. Destroying the last pointer to it is collective.
struct Ranks {
  MPI_Comm comm = MPI_COMM_NULL;  // null: this rank is alone, or no communicator can be made
  int size = 1;
  ~Ranks();
};

struct Meeting;  // nodes.hpp

// Millrace's object for an MPI_File, beside the MPI library's own. MPI_File_open makes it, MPI_File_close
// destroys it, and the table of open files owns it. As thread safe as MPI requires: transfers may run in
// several threads. Calls that change the view or atomic mode are collective and must not run beside a
// transfer.
struct Open {
  MPI_File handle = MPI_FILE_NULL;
  std::string path;
  std::unique_ptr<client::File> file;
  client::FileView view;
  bool mapped = true;                    // Millrace can map this rank's view to pieces
  std::uint32_t views = 0;               // views that the program has set
  std::atomic<bool> fresh_view = false;  // no write has used the last view yet
  bool atomic = false;
  bool one_node = false;           // all ranks of the file are on this node
  bool routed = false;             // several nodes have the file open, and their agents work together
  bool looks_again = false;        // routed, and this rank refreshes the mount of its node at close
  bool meets_at_close = false;     // routed or through: a rank may still need its agent when others close
  bool left = false;               // all ranks leave the file to the MPI library (Apart)
  bool foreign = false;            // a data representation other than native
  client::Sweep sweep;             // for direct writes with holes (sieving.hpp); window 0: no data sieving
  bool collective_direct = false;  // collective calls stay with the MPI library, on all ranks alike
  std::atomic<bool> reads_alone = false;  // reads need no other rank (own_read.hpp), on all ranks alike
  enum class Through : std::uint32_t { none, small, all };
  std::atomic<Through> through = Through::none;  // which reads the agents carry (through.hpp)
  std::shared_ptr<const Meeting> untried;        // a late meeting (nodes.hpp), until agents_carry() tries it
  std::atomic<bool> tried = false;
  bool until_written = false;  // `through` was set at open, on all ranks alike

  bool pipeline() const { return mapped && writes_alone(); }
  // True if writes need no other rank. They take the pipeline or the library's independent functions.
  bool writes_alone() const { return !atomic && !foreign && !left; }

  // True once for each view after the first. The ranks have met in MPI_File_set_view.
  bool takes_meeting() { return views > 1 && fresh_view.exchange(false, std::memory_order_relaxed); }

  // The handle for a view that cannot be mapped (unmapped.hpp).
  MPI_File unmapped = MPI_FILE_NULL;
  std::uint64_t unmapped_etype = 1;  // bytes

  // For agreements between the file's ranks (agreement.hpp).
  std::uint64_t group = 0;             // the same number on all ranks
  std::shared_ptr<const Ranks> ranks;  // nullptr until first needed

  // The individual file pointer, in etypes of the view. `ours`: the MPI library's own pointer is out of date.
  std::mutex pointer_lock;
  MPI_Offset position = 0;
  enum class Holder { ours, real, both } holder = Holder::real;

  std::mutex split_lock;
  Split split;

  // Reads whose bytes are on their way (pending.hpp).
  std::mutex pending_lock;
  std::vector<std::shared_ptr<Pending>> pending;

  // For target=first, where only rank 0's node has the file. On other nodes the library has a stand-in. The
  // stand-in contains only bytes that were fetched for reads.
  enum class Location { everywhere, here, elsewhere } location = Location::everywhere;
  Fd stand_in;  // the file of the library's handle; held so that the library can open its name again
  bool delete_on_close = false;  // this rank deletes the file at close
  bool writable = true;
  bool maker = false;  // rank 0

  // The MPI library alone uses this handle. Millrace only asks for pending bytes of the file before a call.
  bool guest = false;

  std::unique_ptr<Reader> reader;     // nullptr: the file may be written, or its reads need no other rank
  std::atomic<bool> written = false;  // this rank has written the file by this handle, or later by another
  std::uint64_t size_at_open = 0;     // of a file that is only read, through the agents
  std::atomic<std::uint64_t> bytes_read{0};  // ... by this rank, past the library
  MPI_File reading() const {
    return reader != nullptr && reader->copy != MPI_FILE_NULL ? reader->copy : handle;
  }
};

// A look-up that a thread remembers. `open` is nullptr for a file that Millrace does not accelerate.
struct Remembered {
  std::uint64_t generation = 0;
  MPI_File handle{};
  Open* open = nullptr;
};
struct ThreadState {
  unsigned depth = 0;  // hooks that this thread is in
  std::array<Remembered, 8> files;
};
extern constinit thread_local ThreadState thread_state;

// Changes whenever a file is added or removed, so that threads forget their look-ups.
extern std::atomic<std::uint64_t> files_generation;

// The table of this process's open files. Thread safe.
Open* find_slowly(Remembered& place, MPI_File handle);
void add(std::unique_ptr<Open> open);
std::unique_ptr<Open> remove(MPI_File handle);
// Adds a handle that is left to the MPI library. Its calls find the bytes that other handles and ranks have
// written to the file.
void add_guest(MPI_File handle, const std::string& path);
// The facts about this process's handles of one file.
struct Handles {
  bool left = false;    // a handle is left to the MPI library because of other nodes
  bool routed = false;  // a handle is of several nodes that work together
  bool plain = false;  // a handle has ranks of this node only, and this process has written through the agent
  bool written = false;  // this rank has written by a handle
};
Handles handles_of(const std::string& path);
// Turns the pipeline off for these handles, because another handle of the file is left to the MPI library.
void leave_same_file(const std::string& path, client::Reason reason);
// Agents carry reads of a file until it is written. A direct write goes through the writer's own node, and
// another node's cache may lack it. So a rank reads by itself after its first write, and all ranks leave
// reads to the library once all of them know of a write.
//
// Called before this rank writes, or changes the size of the file. `on_all`: all ranks make this call.
void note_write(Open& open, bool on_all);
// Called at MPI_File_sync, and before a collective read of a file that may be written. Collective over the
// file, if the agents carry its reads.
void agree_on_writes(Open& open);
// The open files, for a thread that alone makes MPI calls.
std::vector<Open*> all_files();
// Brings pending bytes of files that several nodes have open to their file servers. An error stays with its
// file.
void order_routed_files();

// Marks this thread as inside a hook. MPI calls that the library or a tool makes there go straight to the
// real functions.
class Scope {
 public:
  Scope() : state_(thread_state), outermost_(state_.depth++ == 0) {}
  ~Scope() { --state_.depth; }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  bool outermost() const { return outermost_; }

  // The accelerated file behind a handle of the program; nullptr if there is none, or inside another hook.
  Open* find(MPI_File handle) const {
    if (!outermost_) return nullptr;
    Remembered& place = state_.files[(reinterpret_cast<std::uintptr_t>(handle) >> 6) % state_.files.size()];
    const bool hit =
        place.handle == handle && place.generation == files_generation.load(std::memory_order_acquire);
    return hit ? place.open : find_slowly(place, handle);
  }

 private:
  ThreadState& state_;
  bool outermost_;
};

// Measures the time that the MPI library takes in a call on a file.
class Timed {
 public:
  explicit Timed(client::File& file) : file_(file), start_(file.start_timing()) {}
  ~Timed() {
    if (start_ != 0) file_.stop_timing(start_);
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  client::File& file_;
  std::uint64_t start_;
};

// Maps `status` to an MPI error class and calls the file's error handler with it, as the MPI library does.
// Returns the return value of the call.
int raise(const Open& open, Status status);
// The same for an error class that no Status has.
int raise_class(const Open& open, int error_class);

// Moves the library's individual pointer to the current position, for the next call of the library.
void hand_over(Open& open);
// The current individual pointer, in etypes. Call with pointer_lock held.
int current_position(Open& open, MPI_Offset& position);

}  // namespace millrace::front
