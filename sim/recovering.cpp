// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "recovering.hpp"

#include <sstream>
#include <utility>
#include <vector>

#include "leftovers.hpp"
#include "times.hpp"

namespace millrace::sim {

namespace {
constexpr std::uint64_t start_ns = ms;  // the start of a process
constexpr std::size_t stacks = 16;      // recovery needs more than a rank's stack
}  // namespace

Recovering::Recovering(Node& node, std::string target, std::function<void()> over)
    : node_(node),
      world_(node.world()),
      target_(std::move(target)),
      over_(std::move(over)),
      process_(world_.disk.start(node.number())),
      fiber_(std::make_unique<Fiber>([this] { recover(); }, stacks)) {
  world_.disk.of(process_).on_change([this] {
    if (planned_ && !this->over()) go_on_after(0);
  });
  go_on_after(start_ns);
}

// A fiber must end before its destruction.
Recovering::~Recovering() {
  ends_ = true;
  if (planned_) world_.timeline.cancel(*planned_);
  if (!over()) kill();
  while (fiber_->begun() && !over()) fiber_->resume();
  world_.disk.of(process_).on_change(nullptr);
}

void Recovering::recover() {
  restore(find_leftovers(world_.disk, node_.journals(), true), node_.journals());
  date_rescues(world_.disk, node_.journals());
  std::ostringstream said, refused;
  status_ = agent::recover({.directory = node_.journals(), .target = target_}, world_.disk.of(process_), said,
                           refused, *this);
  refused_ = refused.str();
  world_.note(node_.number(), "has recovered: status", static_cast<std::uint64_t>(status_));
  world_.say(node_.number(), said.str() + refused_);
  if (ends_) return;
  planned_ = world_.timeline.after(0, [this] {
    planned_.reset();
    if (over_) over_();
  });
}

// --- agent::Pace ---

void Recovering::go_on_after(std::uint64_t span_ns) {
  if (planned_) world_.timeline.cancel(*planned_);
  planned_ = world_.timeline.after(span_ns, [this] {
    planned_.reset();
    fiber_->resume();
  });
}

void Recovering::pause(std::uint32_t for_ms) {
  if (ends_) {
    beyond_ns_ += for_ms * ms;
    return;
  }
  go_on_after(for_ms * ms);
  fiber_->stop();
}

}  // namespace millrace::sim
