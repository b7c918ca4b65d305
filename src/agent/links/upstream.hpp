// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
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

// The receiving end of a link. The other end is a stranger until it has named its group. Then it is an agent
// upstream. All its input is checked. Owned by Links; not thread safe.
struct Upstream {
  transport::LinkIo io;
  Loop::Socket socket;
  Agenda& agenda;
  bool known = false;  // it has named a group
  bool joined = false;
  bool closed = false;  // it has asked to close: a later frame is an error
  SenderId sender = 0;
  FileSlot file = 0;
  std::uint32_t lane = 0;
  std::uint64_t record_max_bytes = 0;  // 0: open for reading only
  std::uint64_t shown = 0;             // Links::Group::heard at the last sign of progress to it
  transport::Unbundler bundle = {};    // of the frame that Core has taken in part
  std::set<std::uint32_t> wants = {};  // its lists that have no answer yet
  std::uint64_t frames = 0;            // with records, that Core has taken
  std::uint64_t records = 0;           // in these frames

  // Links has something to do for this link.
  void touch() { agenda.touch(socket.tag); }
  // Passes its records to core, and its requests to `requests`. If broken, `why` has the reason.
  Drained drain(Core& core, std::vector<PendingRequest>& requests, std::string& why);
  void answer(std::uint32_t request, Status status);
  // Bytes of the data of a want.
  void put_wanted(std::uint32_t request, std::uint32_t position, std::span<const std::byte> bytes);

 private:
  Drained take_records(Core& core, const transport::FrameHeader& frame, std::span<const std::byte> payload,
                       std::string& why);
  bool take_request(const transport::FrameHeader& frame, std::span<const std::byte> payload,
                    std::vector<PendingRequest>& requests);
};

}  // namespace millrace::agent
