// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "settling.hpp"

#include <utility>

#include "leftovers.hpp"
#include "times.hpp"

namespace millrace::sim {

Settling::Settling(World world, std::uint32_t node, Settings settings, std::string path)
    : world_(world),
      node_(node),
      settings_(std::move(settings)),
      path_(std::move(path)),
      fiber_(std::make_unique<Fiber>([this] { (void)client::settle_ledgers(path_.c_str(), true, *this); })) {}

// A fiber must end before its destruction.
Settling::~Settling() {
  ends_ = true;
  if (planned_) world_.timeline.cancel(*planned_);
  while (fiber_->begun() && !over()) fiber_->resume();
}

void Settling::kill_recovery() {
  if (recovering_ != nullptr) recovering_->kill();
}

void Settling::pause(std::uint32_t for_ms) {
  if (ends_) {
    beyond_ns_ += for_ms * ms;
    return;
  }
  planned_ = world_.timeline.after(for_ms * ms, [this] {
    planned_.reset();
    fiber_->resume();
  });
  fiber_->stop();
}

bool Settling::read_start(const Fd& journal, void* into, std::size_t size) {
  return !ends_ && sim::read_start(world_.disk, journal, into, size);
}

Result<FileIdentity> Settling::identify(const std::string& path) { return sim::identify(world_.disk, path); }

bool Settling::recover(const std::string& directory, const std::string& path) {
  if (ends_) return true;
  recovering_ = std::make_unique<Recovering>(world_, node_, directory, path, [this] { fiber_->resume(); });
  while (!recovering_->over() && !ends_) fiber_->stop();
  return !std::exchange(recovering_, nullptr)->killed();
}

}  // namespace millrace::sim
