// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "seat.hpp"

#include <algorithm>
#include <utility>

#include "node.hpp"

namespace millrace::sim {

void Seat::begin(std::function<void()> program, std::uint64_t after_ns) {
  fiber_ = std::make_unique<Fiber>(std::move(program));
  rouse_after(after_ns);
}

// --- Time ---

// If the seat has a plan already, the earlier one counts.
void Seat::plan(std::uint64_t time_ns) {
  if (planned_ && planned_->time_ns <= time_ns) return;
  if (planned_) timeline_.cancel(*planned_);
  planned_ = timeline_.at(time_ns, [this] {
    planned_.reset();
    fiber_->resume();
  });
}

void Seat::vanish() {
  gone_ = true;
  if (planned_) timeline_.cancel(*planned_);
  planned_.reset();
  if (fiber_ != nullptr && fiber_->begun()) fiber_->resume();
}

void Seat::sleep_until(std::uint64_t time_ns) {
  const std::uint64_t now = timeline_.now_ns() + beyond_ns_;
  sleep_for(time_ns - std::min(time_ns, now));
}

void Seat::sleep_for(std::uint64_t span_ns) {
  if (gone_) {
    beyond_ns_ += span_ns;
    return;
  }
  rouse_after(span_ns);
  fiber_->stop();
}

// --- For sessions ---

std::uint64_t Seat::now_ns() const { return node_.clock().now_ns() + beyond_ns_; }

void Seat::wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                      std::uint32_t bound_ms) {
  if (word.load() != expected) return;
  word_ = &word;
  expected_ = expected;
  sleep_for(bound_ms * ms);
  word_ = nullptr;
}

void Seat::jumped() {
  if (std::exchange(word_, nullptr) != nullptr) rouse_after(0);
}

void Seat::look() {
  if (word_ != nullptr && word_->load() != expected_) jumped();
}

Line::Line(Seat& seat, agent::SenderId sender) : seat_(seat), sender_(sender) {
  seat_.node().taken(sender, this);
}

Line::~Line() {
  if (sender_) seat_.node().taken(*sender_, nullptr);
}

bool Line::hung_up() { return seat_.gone() || !sender_ || !seat_.node().serves(*sender_); }

void Line::wake() {
  if (sender_) seat_.node().wake();
}

Status Line::send(std::span<const std::byte> message, std::initializer_list<int> descriptors) {
  if (hung_up()) return Code::lost_agent;
  answer_ = seat_.node().ask(*sender_, message, descriptors.size() == 0 ? -1 : *descriptors.begin());
  return {};
}

Result<std::size_t> Line::receive(std::span<std::byte> answer) {
  std::copy_n(answer_.begin(), std::min(answer.size(), answer_.size()), answer.begin());
  return std::exchange(answer_, {}).size();
}

void Line::hang_up() {
  if (sender_) seat_.node().hang_up(*sender_);
}

void Line::say(const std::string& line) { seat_.node().say(line); }

}  // namespace millrace::sim
