// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "settling.hpp"

#include <utility>

#include "client/file/file.hpp"
#include "client/file/ledgers.hpp"
#include "leftovers.hpp"
#include "outlived.hpp"

namespace millrace::sim {

Settling::Settling(World world, Node& agent, bool asks, std::uint32_t node, Settings settings,
                   std::string path)
    : world_(world),
      node_(node),
      settings_(std::move(settings)),
      path_(std::move(path)),
      agent_(agent),
      asks_(asks),
      seat_(agent, world.timeline) {}

// A fiber must end before its destruction.
Settling::~Settling() {
  if (!over_) seat_.vanish();
}

void Settling::begin() {
  seat_.begin(
      [this] {
        (void)client::settle_ledgers(path_.c_str(), true, *this);
        over_ = true;
      },
      0);
}

void Settling::kill_recovery() {
  if (recovering_ != nullptr) recovering_->kill();
}

Result<client::OtherAgents::List> Settling::other_agents() {
  if (!asks_ || !agent_.alive() || seat_.gone()) return client::OtherAgents::List();
  return client::OtherAgents::List{std::make_shared<Outlived>(agent_, seat_, settings_.timeout_ms)};
}

Result<std::size_t> Settling::read_start(const Fd& journal, std::span<std::byte> into) {
  return seat_.gone() ? 0 : sim::read_start(world_.disk, journal, into);
}

Result<FileIdentity> Settling::identify(const std::string& path) { return sim::identify(world_.disk, path); }

bool Settling::recover(const std::string& directory, const std::string& path) {
  if (seat_.gone()) return true;
  recovering_ =
      std::make_unique<Recovering>(world_, node_, directory, path, [this] { seat_.rouse_after(0); });
  while (!recovering_->over() && !seat_.gone()) seat_.sleep();
  return !std::exchange(recovering_, nullptr)->killed();
}

}  // namespace millrace::sim
