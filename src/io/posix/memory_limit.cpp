// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/posix/memory_limit.hpp"

#include <algorithm>
#include <fstream>
#include <limits>

namespace millrace::io {

namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

// A group without a limit has the word `max`, or no such file.
std::uint64_t read_limit(const std::string& file) {
  std::uint64_t bytes = 0;
  return std::ifstream(file) >> bytes ? bytes : no_limit;
}

// From `group` up to the root of its hierarchy.
std::uint64_t least_limit(const std::string& hierarchy, std::string group, const char* file) {
  std::uint64_t least = read_limit(hierarchy + "/" + file);
  while (group.size() > 1) {
    least = std::min(least, read_limit(std::string(hierarchy).append(group).append("/").append(file)));
    group.resize(group.rfind('/'));
  }
  return least;
}

}  // namespace

std::uint64_t memory_limit_bytes(const std::string& groups, const std::string& mount) {
  std::uint64_t least = no_limit;
  std::ifstream lines(groups);
  for (std::string line; std::getline(lines, line);) {  // number:controllers:/path
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos || line.compare(second + 1, 1, "/") != 0)
      continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") {
      for (const char* place : {"", "/unified"})
        least = std::min(least, least_limit(mount + place, group, "memory.max"));
    } else if (controllers.find(",memory,") != std::string::npos) {
      least = std::min(least, least_limit(mount + "/memory", group, "memory.limit_in_bytes"));
    }
  }
  return least;
}

}  // namespace millrace::io
