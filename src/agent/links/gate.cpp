// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/links/gate.hpp"

#include <utility>

namespace millrace::agent {

Result<std::uint16_t> Gate::listen() {
  if (listener_ == nullptr) {
    Result<std::unique_ptr<io::Listener>> listener = loop_.net.listen();
    if (!listener) return listener.status();
    listener_ = *std::move(listener);
    watch_door(loop_.clock.now_ns());
  }
  return listener_->port();
}

void Gate::watch_door(std::uint64_t now_ns) {
  if (listener_ == nullptr) return;
  const bool open = door_.open(now_ns);
  if (std::exchange(watched_, open) == open) return;
  loop_.watch(listener_->descriptor(), open ? std::uint32_t{EPOLLIN} : 0, loop_.first_tag);
}

Gate::Next Gate::next(std::uint64_t now_ns, std::uint64_t& oldest, std::unique_ptr<io::Stream>& stream) {
  if (!door_.open(now_ns)) return Next::nobody;
  const Strangers::Room room = strangers_.room(now_ns, oldest);
  if (room == Strangers::Room::to_be_made) return Next::makes_way;
  if (room == Strangers::Room::free) {
    Result<std::unique_ptr<io::Stream>> accepted = listener_->accept();
    if (accepted) {
      stream = *std::move(accepted);
      return stream != nullptr ? Next::comes : Next::nobody;
    }
  }
  door_.shut(now_ns);  // no descriptor, no memory or no room: tries again in the next window
  return Next::nobody;
}

void Gate::knows(std::uint64_t tag) {
  strangers_.remove(tag);
  door_.knows_one();
}

void Gate::log_refused(const std::string& why) {
  constexpr std::uint64_t most_lines = 16;
  if (++refused_ <= most_lines) loop_.log("refused an agent: " + why);
  if (refused_ == most_lines) loop_.log("refuses further agents without a log line");
}

}  // namespace millrace::agent
