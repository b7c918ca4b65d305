// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/epoll.h>

#include "agent/links/links.hpp"
#include "transport/bundle.hpp"

// What the parts of Links (links.cpp, links_answers.cpp) share.
namespace millrace::agent {

struct Links::Group {
  transport::LinkKey key;
  std::uint32_t node;
  std::uint32_t lanes;
  FileSlot file;
  std::uint64_t file_number;
  std::uint64_t record_max_bytes;                     // 0: nobody writes
  std::map<std::uint32_t, std::uint64_t> heard = {};  // by lane: signs of progress from downstream
};

// The receiving end of a link.
struct Links::Upstream {
  transport::LinkIo io;
  std::uint64_t tag;
  std::uint32_t watched = 0;
  std::uint32_t events = EPOLLIN;
  bool known = false;  // it has named a group
  bool joined = false;
  bool closed = false;  // it has asked to close: what it says after that is of no interest
  ChannelId channel = 0;
  FileSlot file = 0;
  std::uint32_t lane = 0;
  std::uint64_t record_max_bytes = 0;
  std::uint64_t shown = 0;           // of what its lane has heard
  transport::Unbundler bundle = {};  // of the frame that has been taken in part
};

inline void Links::touch(Upstream& from) { from_up_.touch(from.tag); }

}  // namespace millrace::agent
