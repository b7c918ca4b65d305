// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/costs/cost_record.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/checksum.hpp"
#include "base/fd.hpp"

namespace millrace::client {

namespace {

constexpr std::string_view first_line = "millrace-costs 1\n";
constexpr std::size_t most_bytes = 4096;  // the most bytes of a record

// Takes only as much memory as the file needs, because fresh pages cost an open more time than the file does.
std::string contents(const char* path, std::size_t most) {
  const Fd file(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::string text;
  std::array<char, 4096> part;
  while (file.valid() && text.size() < most) {
    const ssize_t got = ::read(file.get(), part.data(), std::min(part.size(), most - text.size()));
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

void make_folders(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    (void)::mkdir(path.substr(0, slash).c_str(), 0700);
}

}  // namespace

std::string cost_directory() {
  const auto from = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && value[0] == '/' ? std::string(value) : std::string();
  };
  const std::string cache = from("XDG_CACHE_HOME");
  if (!cache.empty()) return cache + "/millrace";
  // The home of `nobody` and of daemons does not exist, and root could make it.
  const std::string home = from("HOME");
  struct stat about {};
  const bool exists = ::stat(home.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
  return exists ? home + "/.cache/millrace" : std::string();
}

std::string cost_record(const std::string& directory, const std::string& file_system) {
  char name[32];
  std::snprintf(name, sizeof name, "/costs-%016llx",
                static_cast<unsigned long long>(checksum(file_system.data(), file_system.size()) | 1u));
  return directory + name;
}

bool load_costs(const std::string& record, Costs& costs) {
  const std::string text = contents(record.c_str(), most_bytes);
  // The second line names the file system, for human readers.
  if (!text.starts_with(first_line) || !text.ends_with('\n')) return false;
  const std::size_t named = text.find('\n', first_line.size());
  return named != std::string::npos && parse(std::string_view(text).substr(named + 1), costs);
}

Status store_costs(const std::string& record, const std::string& file_system, const Costs& costs) {
  make_folders(record);
  const std::string fresh = record + "." + std::to_string(::getpid());
  const std::string text = std::string(first_line) + "file_system " + file_system + "\n" + to_text(costs);
  const Fd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return Status::from_errno(errno);
  const ssize_t written = ::write(file.get(), text.data(), text.size());
  const bool whole = written == static_cast<ssize_t>(text.size());
  if (whole && ::rename(fresh.c_str(), record.c_str()) == 0) return {};
  const int reason = written >= 0 && !whole ? ENOSPC : errno;
  (void)::unlink(fresh.c_str());
  return Status::from_errno(reason);
}

Costs CostBook::of(const std::string& file_system) {
  const std::lock_guard lock(mutex_);
  if (file_system == file_system_) return known_;
  file_system_ = file_system;
  known_ = typical_costs();
  const std::string directory = cost_directory();
  if (!directory.empty()) (void)load_costs(cost_record(directory, file_system), known_);
  return known_;
}

}  // namespace millrace::client
