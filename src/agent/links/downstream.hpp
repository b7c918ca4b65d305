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

// The sending end of a link: shared by the Carrier that Core has and by Downstreams, which keeps it going.
// Not thread safe.
struct Downstream {
  transport::TcpAddress address;
  transport::LinkKey key;
  transport::LinkIntroduction introduction;
  std::optional<transport::LinkIo> io = {};
  Loop::Socket socket = {};
  Status status = {};
  bool abandoned = false;      // the Carrier has gone
  std::uint64_t progress = 0;  // progress messages of the other end
  std::vector<Carrier::Answer> answers = {};
  std::uint32_t fetch = 0;  // the request that may bring data, now; 0: none
  Extent fetched = {};      // ... of this extent
  std::deque<Carrier::Data> data = {};
  struct Want {
    std::uint64_t bytes;     // of its data
    std::uint64_t come = 0;  // of these
  };
  std::map<std::uint32_t, Want> wants = {};  // by request
  std::deque<Carrier::Wanted> wanted = {};
  std::shared_ptr<Agenda> agenda = {};  // of Downstreams, once there is a connection

  // A reply to this request answers none: it is a sign of progress.
  static constexpr std::uint32_t no_request = 0;

  Status connect(millrace::io::Net& net, const transport::LinkTimes& times, std::uint64_t now_ns);
  // Takes what the other end has said.
  void listen();
  // The Carrier has done something that Downstreams has to see to.
  void touch() {
    if (agenda) agenda->touch(socket.tag);
  }

 private:
  Status take_data(const transport::FrameHeader& frame, const std::byte* payload);
  Status take_wanted(const transport::FrameHeader& frame, const std::byte* payload);
};

// `record_max_bytes`: of the file. `connect` is called when there is something to say and no connection yet;
// it may leave it at that.
std::unique_ptr<Carrier> make_carrier(std::shared_ptr<Downstream> to, std::size_t record_max_bytes,
                                      std::function<void()> connect);

}  // namespace millrace::agent
