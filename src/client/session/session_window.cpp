// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/session/session_window.hpp"

#include <algorithm>
#include <utility>

#include "client/session/session.hpp"

namespace millrace::client {

// Parts of forgotten lists that are answered are free again.
void SessionWindow::reclaim() {
  std::erase_if(forgotten_, [this](const Wanted& wanted) {
    if (!session_.answered(wanted.request)) return false;
    (void)session_.answer(wanted.request);
    taken_[wanted.part] = false;
    return true;
  });
}

// The lowest part: its memory is likely to be in the caches.
std::optional<std::uint32_t> SessionWindow::take_part() {
  const std::lock_guard guard(mutex_);
  reclaim();
  const auto free = std::ranges::find(taken_, false);
  if (free == taken_.end()) return std::nullopt;
  *free = true;
  return static_cast<std::uint32_t>(free - taken_.begin());
}

void SessionWindow::give_back(std::uint32_t part) {
  const std::lock_guard guard(mutex_);
  taken_[part] = false;
}

Result<SessionWindow::Wanted> SessionWindow::want(std::uint32_t file, std::uint32_t part,
                                                  std::span<const std::byte> list) {
  const Result<std::uint32_t> request = session_.want(file, place_ + part * part_bytes, list);
  if (!request) return request.status();
  return Wanted{*request, part};
}

Status SessionWindow::await(const Wanted& wanted) { return session_.answer(wanted.request); }

void SessionWindow::forget(const Wanted& wanted) {
  const std::lock_guard guard(mutex_);
  forgotten_.push_back(wanted);
}

bool SessionWindow::await_part() {
  const std::lock_guard guard(mutex_);
  if (forgotten_.empty()) return false;
  const Wanted wanted = forgotten_.front();
  // After a timeout the agent may still write to the part: it stays taken.
  const bool answered = session_.answer(wanted.request).code() != Code::timeout;
  forgotten_.erase(forgotten_.begin());
  if (answered) taken_[wanted.part] = false;
  return true;
}

}  // namespace millrace::client
