// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/mounts.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/fd.hpp"
#include "base/file_system.hpp"

namespace millrace::client {

namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 20;  // of the table

// The device of the path, or of its folder if the path does not exist yet.
bool device_of(const std::string& path, dev_t& device) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    if (::stat(folder.c_str(), &about) != 0) return false;
  }
  device = about.st_dev;
  return true;
}

// Takes only as much memory as the table needs, because fresh pages cost an open more time than the table
// does.
std::string table() {
  const Fd file(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> part;
  while (file.valid() && text.size() < most_bytes) {
    const ssize_t got = ::read(file.get(), part.data(), part.size());
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// The fields of a line, one after the other; empty when there are no more.
std::string_view take_field(std::string_view& line) {
  const std::string_view field = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(line.size(), field.size() + 1));
  return field;
}

}  // namespace

// A line of mountinfo: ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [FIELDS...] - TYPE SOURCE OPTIONS. If a
// device has several mounts, the first one is enough: all have the same type and source.
std::string file_system_of(std::uint64_t device) {
  const std::string wanted = std::to_string(major(device)) + ":" + std::to_string(minor(device));
  const std::string mounts = table();
  for (std::string_view rest = mounts; !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    (void)take_field(line);
    (void)take_field(line);
    if (take_field(line) != wanted) continue;
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    line.remove_prefix(dash + 3);
    const std::string_view type = take_field(line), source = take_field(line);
    if (!source.empty()) return std::string(type) + " " + std::string(source);
  }
  return {};
}

std::string file_system_of(const std::string& path) {
  dev_t device = 0;
  return device_of(path, device) ? file_system_of(device) : std::string();
}

bool is_remote(const TargetFile& target) {
  const std::string file_system = file_system_of(target.device());
  if (file_system.empty()) return !is_local_type(type_of_file_system(target.lasting_path().c_str()));
  return !is_local_type(std::string_view(file_system).substr(0, file_system.find(' ')));
}

}  // namespace millrace::client
