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
#include <system_error>

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

void write_out(const std::string& file, std::span<const std::byte> contents) {
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(contents.data()), static_cast<std::streamsize>(contents.size()));
}

}  // namespace

Folder::Folder() : path_((fs::temp_directory_path() / "millrace-sim-XXXXXX").string()) {
  if (::mkdtemp(path_.data()) == nullptr) path_.clear();
}

Folder::~Folder() {
  std::error_code unheeded;
  if (!path_.empty()) fs::remove_all(path_, unheeded);
}

std::vector<Leftover> find_leftovers(io::VirtualDisk& disk, const std::string& directory, bool dead) {
  std::vector<Leftover> found;
  const auto paths = io::list_owned(directory, journal::suffix);
  for (std::size_t i = 0; paths && i < paths->size(); ++i) {
    const std::string& path = (*paths)[i];
    const Result<Fd> file = io::open_owned(path);
    if (!file || !disk.knows(*file) || (dead && io::is_locked(*file))) continue;
    const std::span<const std::byte> contents = disk.contents(*file);
    found.push_back({path, {contents.begin(), contents.end()}, disk.state_of(*file)->mtime_ns});
  }
  return found;
}

void restore(const std::vector<Leftover>& files, const std::string& directory) {
  if (files.empty()) return;
  std::error_code unheeded;
  fs::create_directories(io::owned_folder(directory), unheeded);
  fs::permissions(io::owned_folder(directory), fs::perms::owner_all, unheeded);
  for (const Leftover& file : files) {
    fs::remove(file.path, unheeded);
    write_out(file.path, file.contents);
    set_date(file.path, file.mtime_ns);
  }
}

void date_rescues(const io::VirtualDisk& disk, const std::string& directory) {
  const auto paths = io::list_owned(directory, journal::suffix);
  for (std::size_t i = 0; paths && i < paths->size(); ++i) {
    const Result<Fd> file = io::open_owned((*paths)[i]);
    if (!file || disk.knows(*file)) continue;
    if (const auto state = io::state_of(*file); state && state->mtime_ns > no_run_ns)
      set_date((*paths)[i], disk.wall_ns());
  }
}

}  // namespace millrace::sim
