// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "pattern.hpp"

// Catwalk-ROMIO as its paper describes it, with five strategies, in virtual time and without contents.
// (Millrace's own agent in virtual time is sim/cluster.)
namespace millrace::model {

enum class Strategy : std::uint8_t { immediate, sort, journal };

// The client process of a node.
struct ClientPlan {
  std::uint64_t request_ns = 0;    // a rank's call reaches it, and is answered
  std::uint64_t record_ns = 0;     // a record comes in, or goes out
  std::uint64_t byte_ps = 0;       // a byte comes in, or goes out
  std::uint64_t grain = 64 << 10;  // bytes that it takes from its ranks, then from upstream, before it sends
};

// The link of each node.
struct LinkPlan {
  std::uint64_t bytes_per_second = 0;
  std::uint64_t latency_ns = 0;
  std::uint64_t piece_ns = 0;
  std::uint64_t window = 256 << 10;  // bytes that may be on it or unread
};

// The file server and its disk.
struct ServerPlan {
  std::uint64_t record_ns = 0;
  std::uint64_t byte_ps = 0;
  std::uint64_t buffers = 1024;  // of record_max
  std::uint64_t sync_every = 64 << 20;
  std::uint64_t disk_bytes_per_second = 0;
  std::uint64_t seek_ns = 0;
  std::uint64_t page = 4096;
};

struct PipelinePlan {
  std::uint32_t nodes = 16;
  std::uint32_t ranks_per_node = 16;
  Strategy strategy = Strategy::sort;
  bool merge = false;
  std::uint64_t sort_buffer = 0;
  std::uint64_t record_max = 32 << 10;
  Pattern pattern;
  std::uint64_t compute_ns = 0;  // of all ranks before each output
  std::uint64_t open_ns = 0;     // the ring is set up
  ClientPlan client;
  LinkPlan link;
  ServerPlan server;
};

struct PipelineResult {
  std::uint64_t bytes = 0;
  std::uint64_t end_ns = 0;      // from open to the end of close
  std::uint64_t compute_ns = 0;  // of which computing
  std::uint64_t records = 0;     // that came to the server
  std::uint64_t gaps = 0;        // ... and did not begin where the last one ended
  std::uint64_t seeks = 0;       // of the disk, after its cache had put them in order
  std::uint64_t journaled = 0;   // bytes
  std::uint64_t disk_busy_ns = 0;
  std::uint64_t events = 0;
};

PipelineResult run(const PipelinePlan& plan);

}  // namespace millrace::model
