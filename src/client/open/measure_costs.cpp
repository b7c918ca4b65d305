// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/measure_costs.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "base/settings.hpp"
#include "client/open/open.hpp"
#include "client/open/own_process.hpp"
#include "client/way/sieve.hpp"
#include "transport/memory.hpp"

namespace millrace::client {

namespace {

// The way of pieces: a call for each piece (past the pipeline or through it), a call for many pieces, or data
// sieving.
enum class Method : std::uint8_t { calls, records, bundles, sweeps };

// A part of the measurement: all ranks write pieces of one size, in turn, to a new file.
struct Part {
  std::uint64_t piece;
  std::uint64_t total;  // of all ranks
  Method way;
};
// Each way has two sizes: the difference of the times gives the cost of a byte.
constexpr std::array<Part, 6> parts{{{4 * KiB, 24 * MiB, Method::calls},
                                     {256 * KiB, 48 * MiB, Method::calls},
                                     {256, 16 * MiB, Method::records},
                                     {16 * KiB, 48 * MiB, Method::records},
                                     {16, 4 * MiB, Method::bundles},
                                     {4 * KiB, 32 * MiB, Method::sweeps}}};
constexpr std::size_t pieces_of_a_bundle = 64;
constexpr std::uint64_t window_bytes = 512 * KiB;  // of a part of a sieve, as with ROMIO
// The first turn finds cold memory and sleeping processors. So the median of several turns counts.
constexpr std::size_t turns = 5;
// After this time, the next turn is the last one: on a slow node a turn takes seconds.
constexpr std::uint64_t enough_ns = 10'000'000'000;
constexpr std::uint64_t part_bound_ns =
    100'000'000;  // on a slow file system, ranks stop writing after this time
constexpr unsigned least_ranks = 2, most_ranks = 4;
constexpr std::uint64_t least_call_ps = 100'000;  // no system call takes less
constexpr int questions = 3;                      // of which the fastest counts
// Without a step of any rank. A node with one processor, where ranks that wait keep the agent from it, takes
// a second for a part.
constexpr std::uint64_t bound_ns = 30'000'000'000;
constexpr std::size_t data_bytes = 256 * KiB;  // of a rank's memory, the most that one call writes
static_assert(window_bytes / least_ranks <= data_bytes);

// Memory that the ranks (forked processes) share. Waiting ranks yield, as ranks in MPI libraries do.
struct Shared {
  std::atomic<unsigned> arrived{0};
  std::atomic<bool> failed{false};
  std::atomic<bool> last{false};  // the turn that begins is the last one
  std::atomic<std::size_t> turns_made{0};
  std::atomic<int> error{0};
  std::atomic<std::uint64_t> start_ns{0}, trip_ns{0}, disk_ns{0}, disk_bytes{0};
  struct PartResult {
    std::atomic<std::uint64_t> ns{0}, pieces{0};
  };
  std::array<std::array<PartResult, parts.size()>, turns> results;
};

class Rank {
 public:
  Rank(Shared& shared, unsigned number, unsigned ranks, std::string path)
      : shared_(shared),
        number_(number),
        ranks_(ranks),
        path_(std::move(path)),
        data_(data_bytes, std::byte{0x5A}) {}

  void run() {
    if (!start_agent()) fail(ECONNREFUSED);
    const std::uint64_t begin = transport::now_ns();
    for (std::size_t turn = 0; !shared_.last.load(); ++turn) {
      if (!meet()) break;
      if (number_ == 0) {
        shared_.turns_made.store(turn + 1);
        shared_.last.store(turn + 1 == turns || transport::now_ns() - begin > enough_ns);
      }
      for (std::size_t i = 0; i < parts.size(); ++i) take_part(parts[i], shared_.results[turn][i]);
    }
    finalize();
  }

 private:
  void fail(int error) {
    shared_.error.store(error);
    shared_.failed.store(true);
  }

  // Waits until all ranks are here. False: a rank has failed.
  bool meet() {
    ++meetings_;
    shared_.arrived.fetch_add(1);
    while (shared_.arrived.load() < meetings_ * ranks_ && !shared_.failed.load()) std::this_thread::yield();
    return !shared_.failed.load();
  }

  std::unique_ptr<File> open_file(std::uint64_t group, std::uint32_t members) const {
    return open({.path = path_,
                 .stand_in = path_,
                 .group = group,
                 .members = members,
                 .settings = process_settings().file});
  }

  // The first rank starts the agent with its first piece. Then this rank measures several questions to the
  // agent.
  bool start_agent() {
    if (!meet()) return false;
    if (number_ != 0) return true;
    const std::unique_ptr<File> file = open_file(1, 1);
    const std::uint64_t begin = transport::now_ns();
    if (!file->enter_pipeline({1, 1, 1})) return false;
    shared_.start_ns.store(transport::now_ns() - begin);
    std::uint64_t best = UINT64_MAX;
    for (int i = 0; i < questions; ++i) {
      const Piece piece{0, data_.data(), 1};
      if (!file->write({&piece, 1}).ok()) return false;
      const std::uint64_t asked = transport::now_ns();
      if (!file->flush(Before::read).ok()) return false;
      best = std::min(best, transport::now_ns() - asked);
    }
    shared_.trip_ns.store(best);
    return file->close().ok();
  }

  void take_part(const Part& part, Shared::PartResult& result) {
    if (number_ == 0 && ::truncate(path_.c_str(), 0) != 0) fail(errno);
    if (!meet()) return;
    const Fd own(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
    const bool pipeline = part.way == Method::records || part.way == Method::bundles;
    const std::unique_ptr<File> file = pipeline ? open_file(2 + ++opens_, ranks_) : nullptr;
    if (!own.valid()) fail(errno);
    if (!meet()) return;
    const std::uint64_t begin = transport::now_ns();
    const std::uint64_t row = ranks_ * part.piece;
    const std::uint64_t each = pieces_of_a_call(part.way, row);
    std::uint64_t pieces = 0;
    for (std::uint64_t at = number_ * part.piece; at + (each - 1) * row < part.total; at += each * row) {
      if (!write(part, at, each, own, file.get())) return;
      pieces += each;
      if (transport::now_ns() - begin > part_bound_ns) break;
    }
    if (file != nullptr && !file->close().ok()) fail(EIO);
    result.pieces.fetch_add(pieces);
    if (!meet()) return;
    if (number_ == 0) result.ns.store(transport::now_ns() - begin);
    if (number_ == 0 && part.way == Method::calls && shared_.last.load())
      sync(own, result.pieces.load() * part.piece);
  }

  static std::uint64_t pieces_of_a_call(Method way, std::uint64_t row) {
    if (way == Method::bundles) return bundle_.size();
    return way == Method::sweeps ? std::max<std::uint64_t>(window_bytes / row, 1) : 1;
  }

  bool write(const Part& part, std::uint64_t at, std::uint64_t each, const Fd& own, File* file) {
    if (part.way == Method::sweeps) return sweep(part, at, each, own);
    if (part.way == Method::bundles) return bundle(part, at, *file);
    if (file == nullptr) {
      const ssize_t written = ::pwrite(own.get(), data_.data(), part.piece, static_cast<off_t>(at));
      if (written != static_cast<ssize_t>(part.piece)) fail(written < 0 ? errno : ENOSPC);
      return written == static_cast<ssize_t>(part.piece);
    }
    const Piece piece{at, data_.data(), part.piece};
    const bool written = file->enter_pipeline({part.piece, 1, 1}) && file->write({&piece, 1}).ok();
    if (!written) fail(EIO);
    return written;
  }

  bool bundle(const Part& part, std::uint64_t at, File& file) {
    for (Piece& piece : bundle_) {
      piece = {at, data_.data(), part.piece};
      at += ranks_ * part.piece;
    }
    const std::uint64_t pieces = bundle_.size();
    const bool written =
        file.enter_pipeline({pieces * part.piece, pieces, pieces}) && file.write(bundle_).ok();
    if (!written) fail(EIO);
    return written;
  }

  bool sweep(const Part& part, std::uint64_t at, std::uint64_t each, const Fd& own) {
    const std::uint64_t row = ranks_ * part.piece;
    const auto rows = std::make_shared<const TypeMap>(
        resized(contiguous_type(part.piece), 0, static_cast<std::int64_t>(row)));
    const FileView view(at, 1, rows);
    const TypeMap bytes = contiguous_type(1);
    PieceSource source(view, 0, bytes, data_.data(), each * part.piece);
    const Status written = sieve_.write(own.get(), source, {.window = window_bytes, .gap = row});
    if (!written.ok()) fail(written.error() != 0 ? written.error() : EIO);
    return written.ok();
  }

  void sync(const Fd& own, std::uint64_t bytes) {
    const std::uint64_t begin = transport::now_ns();
    if (::fdatasync(own.get()) != 0) fail(errno);
    shared_.disk_ns.fetch_add(transport::now_ns() - begin);
    shared_.disk_bytes.fetch_add(bytes);
  }

  Shared& shared_;
  const unsigned number_, ranks_;
  const std::string path_;
  const std::vector<std::byte> data_;
  Sieve sieve_;
  inline static std::array<Piece, pieces_of_a_bundle> bundle_;
  unsigned meetings_ = 0;
  std::uint64_t opens_ = 0;
};

// Waits for all ranks. Kills them if none has arrived at its next meeting for too long: slow ranks are not
// lost.
Status await(const std::vector<pid_t>& ranks, const Shared& shared) {
  std::uint64_t since = transport::now_ns();
  unsigned seen = 0;
  bool late = false, good = true;
  for (const pid_t rank : ranks) {
    int status = 0;
    while (::waitpid(rank, &status, WNOHANG) == 0) {
      const unsigned arrived = shared.arrived.load();
      if (std::exchange(seen, arrived) != arrived) since = transport::now_ns();
      late |= transport::now_ns() - since > bound_ns;
      if (late) ::kill(rank, SIGKILL);
      ::usleep(1000);
    }
    good &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  if (late) return Code::timeout;
  return good && !shared.failed.load() ? Status() : Status(Code::lost_agent);
}

// The time for a piece in the median turn.
std::uint64_t ps_each(const Shared& shared, std::size_t part) {
  std::vector<std::uint64_t> all;
  for (std::size_t turn = 0; turn < shared.turns_made.load(); ++turn) {
    const auto& result = shared.results[turn][part];
    all.push_back(result.ns.load() * 1000 / std::max<std::uint64_t>(result.pieces.load(), 1));
  }
  std::ranges::sort(all);
  return all[all.size() / 2];
}

void take_costs(const Shared& shared, unsigned ranks, Costs& costs) {
  const auto byte_of = [](std::uint64_t small_ps, std::uint64_t large_ps, const Part& small,
                          const Part& large) {
    const std::uint64_t more = large_ps > small_ps ? large_ps - small_ps : 0;
    return std::max<std::uint64_t>(more / (large.piece - small.piece), 1);
  };
  const auto rest_of = [](std::uint64_t ps, std::uint64_t bytes_ps, std::uint64_t least) {
    return ps > bytes_ps + least ? ps - bytes_ps : least;
  };
  const std::uint64_t call = ps_each(shared, 0), block = ps_each(shared, 1);
  const std::uint64_t brief = ps_each(shared, 2), record = ps_each(shared, 3);
  costs.byte_ps = byte_of(call, block, parts[0], parts[1]);
  costs.call_ps = rest_of(call, parts[0].piece * costs.byte_ps, least_call_ps);
  const std::uint64_t both = byte_of(brief, record, parts[2], parts[3]);
  costs.through_byte_ps = rest_of(both, costs.byte_ps, 1);
  costs.record_ps = rest_of(brief, parts[2].piece * both, 1);
  const std::uint64_t bundled = ps_each(shared, 4);
  costs.bundled_ps = rest_of(bundled, parts[4].piece * (both + costs.byte_ps / 2), 1);
  // One size of pieces gives only the cost of a byte. The cost of a piece stays the typical one of Costs.
  costs.swept_byte_ps = std::max<std::uint64_t>(ps_each(shared, 5) / (parts[5].piece * ranks), 1);
  costs.disk_byte_ps = std::max<std::uint64_t>(
      shared.disk_ns.load() * 1000 / std::max<std::uint64_t>(shared.disk_bytes.load(), 1), 1);
  costs.trip_ps = std::max<std::uint64_t>(shared.trip_ns.load() * 1000, 1);
  costs.start_ps = std::max<std::uint64_t>(shared.start_ns.load() * 1000, 1);
}

void use_own_agent() {
  std::array<char, 4096> self{};
  const ssize_t size = ::readlink("/proc/self/exe", self.data(), self.size() - 1);
  const std::string folder =
      size > 0 ? std::string(self.data(), static_cast<std::size_t>(size)) : std::string();
  const std::size_t slash = folder.rfind('/');
  if (slash != std::string::npos)
    ::setenv("MILLRACE_AGENT", (folder.substr(0, slash) + "/millraced").c_str(), 0);
}

// Makes this forked process a rank, with settings for the measurement.
[[noreturn]] void be_rank(Shared& shared, unsigned number, unsigned ranks, const std::string& path,
                          pid_t parent) {
  for (const char* name : {"MILLRACE_STATS", "MILLRACE_TRACE", "MILLRACE_STRATEGY", "MILLRACE_DURABILITY"})
    ::unsetenv(name);
  ::setenv("MILLRACE_JOB", ("costs-" + std::to_string(parent)).c_str(), 1);
  ::setenv("MILLRACE_DIRECT_ABOVE", "1GiB", 1);
  // Without a parent, no process would end ranks that wait for a dead rank. The parent may die before
  // prctl().
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  use_own_agent();
  Rank(shared, number, ranks, path).run();
  ::_exit(shared.failed.load() ? 1 : 0);
}

// The file that ranks write. The file has no name, so it disappears even if this process is killed. Ranks
// open it by the descriptor that they inherit. On a file system without nameless files, it has a name until
// the end.
class Scratch {
 public:
  static Result<Scratch> make(const std::string& folder) {
    Fd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (file.valid() && opens_again(file)) return Scratch(std::move(file), "");
    for (const bool named : {false, true}) {
      std::string name = folder + "/.millrace-costs-XXXXXX";
      file = Fd(::mkostemp(name.data(), O_CLOEXEC));
      if (!file.valid()) return Status::from_errno(errno);
      if (named) return Scratch(std::move(file), name);
      (void)::unlink(name.c_str());
      if (opens_again(file)) break;
    }
    return Scratch(std::move(file), "");
  }
  ~Scratch() {
    if (!name_.empty()) (void)::unlink(name_.c_str());
  }
  Scratch(Scratch&& other) noexcept : file_(std::move(other.file_)), name_(std::exchange(other.name_, {})) {}
  Scratch& operator=(Scratch&&) = delete;

  std::string path() const { return path_of(file_); }

 private:
  Scratch(Fd file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}

  static std::string path_of(const Fd& file) { return "/proc/self/fd/" + std::to_string(file.get()); }
  static bool opens_again(const Fd& file) {
    return Fd(::open(path_of(file).c_str(), O_RDWR | O_CLOEXEC)).valid();
  }

  Fd file_;
  std::string name_;
};

}  // namespace

Result<Costs> measure_costs(const std::string& folder) {
  const Result<Scratch> scratch = Scratch::make(folder);
  if (!scratch) return scratch.status();
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Code::no_memory;
  auto& shared = *new (memory) Shared;
  const unsigned ranks = std::clamp(std::thread::hardware_concurrency(), least_ranks, most_ranks);
  const pid_t parent = ::getpid();
  std::vector<pid_t> children;
  for (unsigned number = 0; number < ranks; ++number) {
    const pid_t child = ::fork();
    if (child == 0) be_rank(shared, number, ranks, scratch->path(), parent);
    if (child < 0) shared.failed.store(true);
    if (child > 0) children.push_back(child);
  }
  const Status status = await(children, shared);
  Costs costs;
  if (status.ok()) take_costs(shared, ranks, costs);
  const int error = shared.error.load();
  ::munmap(memory, sizeof(Shared));
  if (status.ok()) return costs;
  return error != 0 ? Status::from_errno(error) : status;
}

}  // namespace millrace::client
