// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// A client without an agent, for tests of the front end: pieces are kept in memory until something flushes
// them, as late as the contract allows, so that a flush that the front end forgets shows. A flush here
// reaches only this process's bytes.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <vector>

#include "client/file/own_pieces.hpp"
#include "client/file/refresh.hpp"
#include "client/file/testing/scripted_process.hpp"
#include "client/open/attendance.hpp"
#include "client/open/open.hpp"
#include "client/open/own_process.hpp"
#include "client/start/job.hpp"
#include "client/start/log.hpp"
#include "io/posix/extent_lock.hpp"
#include "transport/layout.hpp"

extern char** environ;

namespace millrace::client {
namespace {

struct Kept {
  std::uint64_t offset;
  std::vector<std::byte> data;
};

// Which file a path means, whatever it is called later.
struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  explicit Identity(const char* path) {
    struct stat about {};
    if (::stat(path, &about) == 0) *this = Identity(about);
  }
  std::uint64_t number() const { return inode != 0 ? transport::file_number(device, inode) : 0; }
  explicit Identity(const struct stat& about) : device(about.st_dev), inode(about.st_ino) {}
  bool operator==(const Identity&) const = default;
};

class Double;
struct Doubles {
  std::mutex lock;
  std::set<Double*> all;
};
Doubles& doubles() {
  static Doubles& one = *new Doubles;
  return one;
}

// Flushes the kept writes of all handles of the file but one.
Status flush_all_of(const Identity& file, const Double* but = nullptr);

class Double final : public File {
 public:
  explicit Double(OpenRequest request)
      : request_(std::move(request)),
        identity_(request_.path.c_str()),
        fd_(::open(request_.path.c_str(), O_WRONLY | O_CLOEXEC)) {
    (void)target_.remember(request_.path);
    const std::lock_guard guard(doubles().lock);
    doubles().all.insert(this);
  }
  ~Double() override {
    const std::lock_guard guard(doubles().lock);
    doubles().all.erase(this);
    if (fd_ >= 0) ::close(fd_);
  }

  const Identity& identity() const { return identity_; }

  bool enter_pipeline(const Transfer& transfer) override {
    const std::lock_guard guard(lock_);
    const std::uint64_t above = process_settings().direct_above_bytes;
    const bool taken = !direct_ && (above == 0 || transfer.bytes < above);
    (taken ? counts().calls : counts().direct_calls) += transfer.goes_on ? 0 : 1;
    return taken;
  }

  Status write(std::span<const Piece> pieces) override {
    (void)flush_others();  // of two handles that write the same bytes, this one is the later
    const std::lock_guard guard(lock_);
    const char* fail = std::getenv("TEST_DOUBLE_FAIL");  // a Code that every write answers
    if (fail != nullptr) return Status(static_cast<Code>(std::atoi(fail)));
    registered_ = true;
    for (const Piece& piece : pieces) {
      const auto* first = static_cast<const std::byte*>(piece.data);
      kept_.push_back({piece.offset, {first, first + piece.size}});
      ++pieces_;
    }
    return {};
  }

  // For a test of reads by pieces, after which the double tells how often it was asked for pending bytes.
  OwnPieces* own_pieces() override { return counts_flushes() ? &own_ : nullptr; }

  Status flush(Before what, Extent extent) override {
    ++flushes_;
    const Status others = flush_others();
    const Status own = flush_own(what == Before::read || what == Before::write ? extent : everything);
    return own.ok() ? others : own;
  }

  Status flush_own(Extent extent) {
    const std::lock_guard guard(lock_);
    bool wanted = false;
    for (const Kept& one : kept_)
      wanted = wanted || Extent{one.offset, one.offset + one.data.size()}.intersects(extent);
    return wanted ? drain() : Status{};
  }

  void note_direct_write(Extent) override {}

  Status sync() override { return flush(Before::read, everything); }

  Status close() override {
    if (counts_flushes()) log(std::to_string(flushes_) + " flushes");
    const Status status = flush(Before::read, everything);
    if (const char* path = process_settings().stats_path.c_str(); *path != '\0') {
      std::FILE* out = std::fopen(path, "a");
      if (out != nullptr) {
        std::fprintf(out,
                     "{\"schema\": 1, \"kind\": \"client\", \"path\": \"%s\", \"calls\": %lu, "
                     "\"direct_calls\": %lu, \"pieces\": %lu, \"members\": %u}\n",
                     request_.path.c_str(), counts().calls.load(), counts().direct_calls.load(), pieces_,
                     request_.members);
        std::fclose(out);
      }
    }
    return status;
  }

  bool registered() const override { return registered_; }

  Status set_direct(const Ground& ground) override {
    const Status status = flush(Before::read, everything);
    direct_ = ground.reason != Reason::none;
    return status;
  }

  const FileSettings& settings() const override { return request_.settings; }
  std::uint64_t number() const override { return identity_.number(); }

 private:
  static bool counts_flushes() { return std::getenv("TEST_DOUBLE_COUNT") != nullptr; }
  Status flush_others() { return flush_all_of(identity_, this); }

  Status drain() {
    if (kept_.empty()) return {};
    if (fd_ < 0) return Code::access;
    Status status;
    for (const Kept& one : kept_) {
      const io::ExtentLock lock(fd_, one.offset, one.data.size());
      const ssize_t wrote = ::pwrite(fd_, one.data.data(), one.data.size(), static_cast<off_t>(one.offset));
      if (wrote != static_cast<ssize_t>(one.data.size()))
        status = Status::from_errno(wrote < 0 ? errno : ENOSPC);
    }
    kept_.clear();
    return status;
  }

  std::mutex lock_;
  OpenRequest request_;
  const Identity identity_;
  const int fd_;
  testing::ScriptedProcess process_;
  TargetFile target_;
  OwnPieces own_{process_, target_, request_.writable};
  std::vector<Kept> kept_;
  unsigned long pieces_ = 0, flushes_ = 0;
  bool registered_ = false;
  bool direct_ = false;
};

Status flush_all_of(const Identity& file, const Double* but) {
  const std::lock_guard guard(doubles().lock);
  Status first;
  for (Double* one : doubles().all) {
    if (one == but || !(one->identity() == file)) continue;
    if (const Status status = one->flush_own(everything); first.ok()) first = status;
  }
  return first;
}

class GuestFile final : public File {
 public:
  explicit GuestFile(const std::string& path) : identity_(path.c_str()) {}
  bool enter_pipeline(const Transfer&) override { return false; }
  Status write(std::span<const Piece>) override { return Code::unsupported; }
  Status flush(Before, Extent) override { return flush_all_of(identity_); }
  void note_direct_write(Extent) override {}
  Status sync() override { return {}; }
  Status close() override { return {}; }
  bool registered() const override { return false; }
  Status set_direct(const Ground&) override { return flush_all_of(identity_); }
  const FileSettings& settings() const override { return process_settings().file; }
  std::uint64_t number() const override { return identity_.number(); }

 private:
  const Identity identity_;
};

// Takes everything and keeps nothing: the remaining cost is the front end's.
class Null final : public File {
 public:
  bool enter_pipeline(const Transfer&) override { return true; }
  Status write(std::span<const Piece>) override { return {}; }
  Status flush(Before, Extent) override { return {}; }
  void note_direct_write(Extent) override {}
  Status sync() override { return {}; }
  Status close() override { return {}; }
  bool registered() const override { return true; }
  Status set_direct(const Ground&) override { return {}; }
  const FileSettings& settings() const override { return process_settings().file; }
};

}  // namespace

Result<transport::TcpAddress> meet() { return Code::lost_agent; }
transport::TcpAddress met() { return {}; }
bool spans_nodes(int) { return false; }
void prepare_start() {}
bool leads_node(int) { return false; }
bool is_last_of_node(int) { return false; }
bool may_span_nodes(int) { return false; }
bool is_first_of_node() { return true; }
History& history() {
  static History history;
  return history;
}
Costs costs_of(const TargetFile& /*target*/) { return {}; }
void refresh(const std::string& /*path*/) {}

std::unique_ptr<File> open(OpenRequest request) {
  if (request.guest) return std::make_unique<GuestFile>(request.path);
  if (std::getenv("TEST_DOUBLE_NULL") != nullptr) return std::make_unique<Null>();
  return std::make_unique<Double>(std::move(request));
}

const Settings& process_settings() {
  static const Settings& settings = *new Settings([] {
    std::vector<std::string> messages;
    Settings read = from_environment(environ, messages);
    return read;
  }());
  return settings;
}

Status secure_name(const std::string&, const FileSettings&) { return {}; }
bool settle_ledgers(const char* path, bool /*writes*/) {
  (void)flush_all_of(Identity(path));
  return true;
}
void attend() {}
bool world_is_here(int) { return false; }
bool attends(int) { return true; }
Fd show_waiting() { return {}; }
bool waits(int) { return true; }
std::uint64_t agent_number() { return 0; }
std::uint64_t build_number() { return 0; }

bool anything_pending(bool /*writes*/) { return true; }
void settle_file(std::uint64_t device, std::uint64_t inode, bool /*writes*/) {
  struct stat about {};
  about.st_dev = device;
  about.st_ino = inode;
  (void)flush_all_of(Identity(about));
}
bool reserve_descriptors() { return true; }

void let_agent_work() {}
void finalize() {}

void calls_are_serialized() {}  // always locks

void log(const std::string& line, bool once) {
  static std::mutex lock;
  static std::set<std::string>& said = *new std::set<std::string>;
  const std::lock_guard guard(lock);
  if (once && !said.insert(line).second) return;
  std::fprintf(stderr, "millrace: %s\n", line.c_str());
}

}  // namespace millrace::client
