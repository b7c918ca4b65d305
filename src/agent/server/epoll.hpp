// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/epoll.h>

#include <cerrno>
#include <cstdint>
#include <span>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace millrace::agent {

// The descriptors that an event loop waits for, each under a tag. Owned by Server. Not thread safe.
class Epoll {
 public:
  Status open() {
    epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
    return epoll_.valid() ? Status() : Status::from_errno(errno);
  }
  Status add(int descriptor, std::uint64_t tag) {
    epoll_event event{.events = EPOLLIN | EPOLLRDHUP, .data = {.u64 = tag}};
    return control(EPOLL_CTL_ADD, descriptor, event) ? Status() : Status::from_errno(errno);
  }
  // Changes the events, or adds the descriptor. Events 0: removes it.
  void watch(int descriptor, std::uint32_t events, std::uint64_t tag) {
    epoll_event event{.events = events, .data = {.u64 = tag}};
    if (events == 0) {
      (void)control(EPOLL_CTL_DEL, descriptor, event);
    } else if (!control(EPOLL_CTL_MOD, descriptor, event)) {
      (void)control(EPOLL_CTL_ADD, descriptor, event);
    }
  }
  int wait(std::span<epoll_event> events, int timeout_ms) {
    return ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
  }

 private:
  bool control(int what, int descriptor, epoll_event& event) {
    return ::epoll_ctl(epoll_.get(), what, descriptor, &event) == 0;
  }

  Fd epoll_;
};

}  // namespace millrace::agent
