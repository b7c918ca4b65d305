// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "client/open/open.hpp"
#include "client/open/own_process.hpp"
#include "client/open/testing/job.hpp"
#include "transport/topology.hpp"

// Calls for ranks of tests. All of them except create() belong into the body of a rank.
namespace millrace::client::testing {

// Within five seconds.
template <class Condition>
bool eventually(Condition&& holds) {
  for (int i = 0; i < 500 && !holds(); ++i) ::usleep(10'000);
  return holds();
}

inline std::set<std::string> files_of(const char* folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path());
  return names;
}

inline std::string text_of(const std::string& path) {
  const std::vector<std::byte> bytes = contents(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline void create(const std::string& path) { Fd(::open(path.c_str(), O_CREAT | O_RDWR, 0600)); }

inline std::unique_ptr<File> open_file(const std::string& path, std::uint32_t members = 1) {
  OpenRequest request;
  request.path = path;
  request.group = 1;
  request.members = members;
  request.settings = process_settings().file;
  return open(std::move(request));
}

// A request for a file of several nodes. The agent of this node, which the call starts, is the only file
// server.
inline OpenRequest routed_request(const std::string& path, std::uint64_t group) {
  OpenRequest request;
  request.path = path;
  request.group = group;
  request.settings = process_settings().file;
  if (const Result<transport::TcpAddress> address = meet())
    request.routing = transport::routing_of({Topology::direct, 1, MiB}, std::vector{*address}, 0);
  return request;
}

// Writes [begin, end) in pieces of at most `most` bytes.
inline int write_range(File& file, unsigned seed, std::uint64_t begin, std::uint64_t end,
                       std::uint64_t most) {
  std::mt19937_64 random(seed);
  while (begin < end) {
    const std::uint64_t size = std::min<std::uint64_t>(1 + random() % most, end - begin);
    const std::vector<std::byte> data = pattern(seed, begin, size);
    RANK_CHECK(file.enter_pipeline({size, 1, 1}));
    const Piece piece{begin, data.data(), size};
    RANK_CHECK(file.write({&piece, 1}).ok());
    begin += size;
  }
  return 0;
}

}  // namespace millrace::client::testing
