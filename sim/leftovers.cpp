// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "leftovers.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <system_error>

#include "agent/recovery/recovery.hpp"
#include "io/factory.hpp"
#include "io/posix/descriptor.hpp"
#include "io/posix/identity.hpp"
#include "io/posix/owned.hpp"
#include "journal/folder.hpp"
#include "journal/format.hpp"

namespace millrace::sim {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t no_run_ns = 10 * io::VirtualDisk::epoch_ns;  // later than any run

void set_date(const std::string& path, std::uint64_t date_ns) {
  const auto seconds = static_cast<time_t>(date_ns / 1'000'000'000);
  const timespec time{seconds, static_cast<long>(date_ns % 1'000'000'000)};
  const timespec times[2] = {time, time};
  (void)::utimensat(AT_FDCWD, path.c_str(), times, 0);
}

}  // namespace

Folder::Folder() : path_((fs::temp_directory_path() / "millrace-sim-XXXXXX").string()) {
  if (::mkdtemp(path_.data()) == nullptr) path_.clear();
}

Folder::~Folder() {
  std::error_code unheeded;
  if (!path_.empty()) fs::remove_all(path_, unheeded);
}

Leftovers::Leftovers(io::VirtualDisk& disk, const std::string& directory, bool dead) {
  const auto paths = io::list_owned(directory, journal::suffix);
  if (!paths) return;
  for (const std::string& path : *paths) {
    const Result<Fd> file = io::open_owned(path);
    if (!file || !disk.knows(*file) || (dead && io::is_locked(*file))) continue;
    const std::span<const std::byte> contents = disk.contents(*file);
    files_.push_back({path, {contents.begin(), contents.end()}, disk.state_of(*file)->mtime_ns});
  }
}

void Leftovers::restore(const std::string& directory) const {
  if (files_.empty()) return;
  std::error_code unheeded;
  fs::create_directories(io::owned_folder(directory), unheeded);
  fs::permissions(io::owned_folder(directory), fs::perms::owner_all, unheeded);
  for (const File& file : files_) {
    fs::remove(file.path, unheeded);
    write_out(file.path, file.contents);
    set_date(file.path, file.mtime_ns);
  }
}

Result<std::size_t> read_start(io::VirtualDisk& disk, const Fd& journal, std::span<std::byte> into) {
  if (!disk.knows(journal)) return journal::read_start(journal, into);
  const std::span<const std::byte> contents = disk.contents(journal);
  const std::size_t size = std::min(contents.size(), into.size());
  if (size > 0) std::memcpy(into.data(), contents.data(), size);
  return size;
}

bool write_out(const std::string& file, std::span<const std::byte> contents) {
  std::ofstream out(file, std::ios::binary | std::ios::in | std::ios::out | std::ios::ate);
  if (!out) out.open(file, std::ios::binary);
  out.seekp(0);
  out.write(reinterpret_cast<const char*>(contents.data()), static_cast<std::streamsize>(contents.size()));
  return out.good();
}

std::vector<std::byte> read_in(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

Result<FileIdentity> identify(io::VirtualDisk& disk, const std::string& path) {
  const Result<Fd> file = io::open_to_read(path.c_str());
  if (!file) return file.status();
  return disk.identify(*file);
}

namespace {

// Writes to real files in place of the disk's files.
class RealStorage final : public io::Storage {
 public:
  RealStorage(io::Storage& real, io::VirtualDisk& disk) : real_(real), disk_(disk) {}

  Result<io::Handle> adopt(Fd file, bool direct) override { return real_.adopt(std::move(file), direct); }
  void release(io::Handle file) override { real_.release(file); }
  Result<std::uint64_t> size(io::Handle file) override { return real_.size(file); }
  Result<FileIdentity> identify(const Fd& file, bool) override { return disk_.identify(file); }
  Result<FileState> state_of(const Fd& file) override { return disk_.state_of(file); }
  void submit(io::Request request) override { real_.submit(std::move(request)); }
  void kick() override { real_.kick(); }
  void poll(std::vector<io::Completion>& out) override { real_.poll(out); }
  int event_fd() const override { return real_.event_fd(); }

 private:
  io::Storage& real_;
  io::VirtualDisk& disk_;
};

class BootedPace final : public agent::Pace {
 public:
  explicit BootedPace(std::uint64_t boots) : boots_(boots) {}
  std::uint64_t boot() const override { return Pace::boot() + boots_; }

 private:
  std::uint64_t boots_;
};

}  // namespace

void date_rescues(const io::VirtualDisk& disk, const std::string& directory) {
  const auto paths = io::list_owned(directory, journal::suffix);
  for (std::size_t i = 0; paths && i < paths->size(); ++i) {
    const Result<Fd> file = io::open_owned((*paths)[i]);
    if (!file || disk.knows(*file)) continue;
    if (const auto state = io::state_of(*file); state && state->mtime_ns > no_run_ns)
      set_date((*paths)[i], disk.wall_ns());
  }
}

std::pair<int, std::string> recover(io::VirtualDisk& disk, std::uint32_t node, const std::string& directory,
                                    const std::string& target) {
  date_rescues(disk, directory);
  auto made = io::make_storage(SinkMode::buffered);
  if (!made) return {1, "no storage"};
  std::ostringstream said, refused;
  RealStorage storage(*made->storage, disk);
  BootedPace pace(disk.boots(node));
  const int status = agent::recover({.directory = directory, .target = target}, storage, said, refused, pace);
  return {status, refused.str()};
}

}  // namespace millrace::sim
