// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agent/core/core.hpp"
#include "agent/core/intake.hpp"
#include "agent/links/agenda.hpp"
#include "agent/links/loop.hpp"
#include "transport/bundle.hpp"
#include "transport/link_io.hpp"

namespace millrace::agent {

// The receiving end of a link: an agent upstream, once it has named its group. Nothing that it sends is
// trusted. Owned by Links; not thread safe.
struct Upstream {
  transport::LinkIo io;
  Loop::Socket socket;
  Agenda& agenda;
  bool known = false;  // it has named a group
  bool joined = false;
  bool closed = false;  // it has asked to close: later messages have no meaning
  SenderId sender = 0;
  FileSlot file = 0;
  std::uint32_t lane = 0;
  std::uint64_t record_max_bytes = 0;  // 0: nobody writes
  std::uint64_t shown = 0;             // of what its lane has heard
  transport::Unbundler bundle = {};    // of the frame that has been taken in part
  std::uint64_t frames = 0;            // of records, passed on to Core
  std::uint64_t records = 0;           // ... a frame of many counts each of them

  // Links has something to do for it.
  void touch() { agenda.touch(socket.tag); }
  // Passes its records on to core; requests go to `requests`. When broken, `why` says so.
  Drained drain(Core& core, std::vector<PendingRequest>& requests, std::string& why);
  void answer(std::uint32_t request, Status status);
  // Bytes of the data of a want.
  void put_wanted(std::uint32_t request, std::uint32_t position, std::span<const std::byte> bytes);
  // Bytes that were fetched, from `offset` on; no bytes: their end.
  void put_data(std::uint32_t request, std::uint64_t offset, std::span<const std::byte> bytes,
                std::uint64_t file_bytes = 0);

 private:
  Drained take_records(Core& core, const transport::FrameHeader& frame, std::span<const std::byte> payload,
                       std::string& why);
  bool take_request(const transport::FrameHeader& frame, std::span<const std::byte> payload,
                    std::vector<PendingRequest>& requests);
  void put_bytes(transport::FrameHeader frame, std::span<const std::byte> bytes);
};

}  // namespace millrace::agent
