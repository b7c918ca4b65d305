// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "agent/links/agenda.hpp"
#include "agent/links/loop.hpp"
#include "agent/pipeline/carrier.hpp"
#include "io/net.hpp"
#include "transport/link_io.hpp"
#include "transport/tcp.hpp"

namespace millrace::agent {

// The sending end of a link. Core's Carrier and Downstreams share it: the Carrier puts frames into it, and
// Downstreams moves the bytes. Not thread safe.
struct Downstream {
  transport::TcpAddress address;
  transport::LinkKey key;
  transport::LinkIntroduction introduction;
  std::optional<transport::LinkIo> io = {};
  Loop::Socket socket = {};
  Status status = {};
  bool abandoned = false;      // the Carrier has gone
  std::uint64_t progress = 0;  // signs of progress from the other end
  std::vector<Carrier::Answer> answers = {};
  struct Want {
    std::uint64_t bytes;     // of its data
    std::uint64_t come = 0;  // of these
  };
  std::map<std::uint32_t, Want> wants = {};  // by request
  std::deque<Carrier::Wanted> wanted = {};
  std::shared_ptr<Agenda> agenda = {};  // of Downstreams, once there is a connection

  // A reply with this request number answers no request: it is a sign of progress.
  static constexpr std::uint32_t no_request = 0;

  Status connect(millrace::io::Net& net, const transport::LinkTimes& times, std::uint64_t now_ns);
  // Takes the frames that have arrived.
  void listen();
  // Downstreams has something to do for this link.
  void touch() {
    if (agenda) agenda->touch(socket.tag);
  }

 private:
  Status take_wanted(const transport::FrameHeader& frame, const std::byte* payload);
};

// `record_max_bytes`: of the file. The carrier calls `connect` before a frame if there is no connection. If
// `connect` fails, to->status has the reason.
std::unique_ptr<Carrier> make_carrier(std::shared_ptr<Downstream> to, std::size_t record_max_bytes,
                                      std::function<void()> connect);

}  // namespace millrace::agent
