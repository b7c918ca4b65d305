// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/carrier.hpp"
#include "agent/file_pipeline.hpp"
#include "agent/requests.hpp"
#include "agent/watch.hpp"

namespace millrace::agent {

// What goes to one file server: all of a file, or its stripes of one lane.
struct Lane {
  std::unique_ptr<FilePipeline> pipeline;
  Requests requests;
  Watch watch;
  std::uint32_t upstreams;

  Lane(std::unique_ptr<FilePipeline> way, const std::vector<Channel>& channels, std::uint32_t agents)
      : pipeline(std::move(way)), requests(*pipeline, channels, agents), upstreams(agents) {}
};

// One target file, whoever has it open.
struct OpenFile {
  // Takes the route as it is for as long as the file is open.
  static Result<std::unique_ptr<OpenFile>> open(Shared& shared, Fd target, const struct stat& about,
                                                const transport::Register& registration, Route route,
                                                const std::vector<Channel>& channels);

  std::uint64_t number = 0;  // Core::file_number()
  dev_t device = 0;
  ino_t inode = 0;
  std::string path;
  FileSettings asked;
  std::uint64_t stripe_bytes = 0;
  std::uint32_t node = 0;  // index of this one of `nodes`
  std::uint32_t nodes = 1;
  Topology topology = Topology::automatic;
  std::vector<std::unique_ptr<Lane>> lanes;  // at least one

  void write(std::uint64_t offset, std::span<const std::byte> data) {
    if (lanes.size() == 1) return lanes.front()->pipeline->write(offset, data);
    write_striped(offset, data);
  }
  // Nobody has it open, and nothing is left to do.
  bool over() const;
  Status error() const;
  bool dirty() const;

 private:
  void write_striped(std::uint64_t offset, std::span<const std::byte> data);
};

}  // namespace millrace::agent
