// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "client/file.hpp"
#include "client/stage.hpp"
#include "client/view.hpp"
#include "front/mpiio/real.hpp"

namespace millrace::front {

// A split collective between its begin and its end.
struct Split {
  enum class State { none, ours, real };
  State state = State::none;
  MPI_Count bytes = 0;  // ours, or staged: the count for the status of the end
  bool staged = false;  // real, but the library has read no bytes, because the memory is a device's
};

// A file that is only read: the bytes read so far, and their source.
struct Reader {
  MPI_File copy = MPI_FILE_NULL;           // the whole file on this node's storage, open for this rank alone
  client::FileStamp original;              // its stamp when it was copied
  std::unique_ptr<client::Source> source;  // StagedCopy
  std::atomic<std::uint64_t> bytes{0};
};

// The ranks of a file, as a communicator of Millrace's own. Destroying the last pointer to it is collective.
struct Ranks {
  MPI_Comm comm = MPI_COMM_NULL;  // none: this rank is alone, or no communicator can be made
  int size = 1;
  ~Ranks();
};

// One MPI_File that Millrace accelerates, beside the MPI library's own object for it. Made by MPI_File_open,
// destroyed by MPI_File_close. As thread safe as MPI requires: transfers may run in several threads. Calls
// that change `view` or `direct` are collective and must not run beside a transfer.
struct Open {
  MPI_File handle = MPI_FILE_NULL;
  std::string path;
  std::unique_ptr<client::File> file;
  client::FileView view;
  bool mapped = true;                    // this rank's view can be mapped to pieces
  std::uint32_t views = 0;               // that the program has set
  std::atomic<bool> fresh_view = false;  // nothing has been written through the last one
  bool atomic = false;
  bool routed = false;       // ranks of several nodes have it open, and their agents work together
  bool looks_again = false;  // routed, and this rank makes the mount look again at close, for its node
  bool left = false;         // to the MPI library, on all ranks alike (Apart)
  bool foreign = false;      // a data representation other than native
  client::Sweep sweep;  // direct writes with holes go by data sieving (sieving.hpp); window 0: they must not
  bool collective_direct = false;  // collective calls stay with the MPI library, on all ranks alike
  bool reads_alone = false;        // reads need no other rank (own_read.hpp), on all ranks alike

  bool pipeline() const { return mapped && writes_alone(); }
  // True if writes need no other rank: they take the pipeline, or the library's independent functions.
  bool writes_alone() const { return !atomic && !foreign && !left; }

  // True once for each view after the first: the ranks met as they set it.
  bool takes_meeting() { return views > 1 && fresh_view.exchange(false, std::memory_order_relaxed); }

  // For a view that cannot be mapped (unmapped.hpp).
  MPI_File unmapped = MPI_FILE_NULL;
  std::uint64_t unmapped_etype = 1;  // bytes

  // For agreements of the file's ranks (agreement.hpp).
  std::uint64_t group = 0;             // the same number on all ranks
  std::shared_ptr<const Ranks> ranks;  // nullptr: not needed yet

  // The individual file pointer, in etypes of the view. `ours`: the MPI library's own is out of date.
  std::mutex pointer_lock;
  MPI_Offset position = 0;
  enum class Holder { ours, real, both } holder = Holder::real;

  std::mutex split_lock;
  Split split;

  // target=first: a file that only the first rank's node has. Elsewhere the library has a stand-in, which
  // contains only bytes that were fetched for reads.
  enum class Location { everywhere, here, elsewhere } location = Location::everywhere;
  Fd stand_in;  // the file of the library's handle, held so that the library can open it again by name
  bool delete_on_close = false;  // by this rank
  bool writable = true;
  bool maker = false;  // rank 0

  // The handle is the MPI library's alone. It only asks for pending bytes of its file.
  bool visitor = false;

  std::unique_ptr<Reader> reader;  // nullptr: the file may be written
  MPI_File reading() const {
    return reader != nullptr && reader->copy != MPI_FILE_NULL ? reader->copy : handle;
  }
};

// A thread's last look-ups, including those of files that Millrace does not accelerate (nullptr).
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

// Changes whenever a file is added or removed, which invalidates the threads' last look-ups.
extern std::atomic<std::uint64_t> files_generation;

// The accelerated files of this process.
Open* find_slowly(Remembered& place, MPI_File handle);
void add(std::unique_ptr<Open> open);
std::unique_ptr<Open> remove(MPI_File handle);
// A handle that is left to the MPI library sees what other handles and ranks have written to its file.
void add_visitor(MPI_File handle, const std::string& path);
// This process's handles of the file of a path.
struct Handles {
  bool left = false;    // one is left to the MPI library because of other nodes
  bool routed = false;  // one is of several nodes that work together
  bool plain = false;   // one is of ranks of this node only, and this process has written through the agent
};
Handles handles_of(const char* path);
// Turns the pipeline off for these handles, because another handle of the file is left to the MPI library.
void leave_same_file(const char* path, const char* reason);
// Brings pending bytes of files that several nodes have open to their file servers; an error stays with its
// file.
void order_routed_files();

// Marks this thread as inside a hook: calls of the MPI library or of a tool from there go straight to the
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

// Measures the time of the MPI library in a call on a file.
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

// Maps `status` to an MPI error class and raises it through the file's error handler, as the MPI library
// would. Returns what the call shall return.
int raise(const Open& open, Status status);
// ... the same for a class that has no Status.
int raise_class(const Open& open, int error_class);

// Hands the individual pointer over to the MPI library for the next call.
void hand_over(Open& open);
// The current individual pointer, in etypes. Call with pointer_lock held.
int current_position(Open& open, MPI_Offset& position);

}  // namespace millrace::front
