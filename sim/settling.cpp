// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "settling.hpp"

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "io/posix/owned.hpp"
#include "journal/format.hpp"
#include "leftovers.hpp"

namespace millrace::sim {

namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t patience_ns = 700'000 * ms;  // as judge.cpp has with agents at rest
constexpr std::size_t stacks = 16;                   // recovery was not made for a rank's stack

struct Found {
  std::size_t living = 0;
  std::size_t dead = 0;
};

Found look(const std::string& directory) {
  Found found;
  const auto paths = io::list_owned(directory, journal::suffix);
  if (!paths) return found;
  for (const std::string& path : *paths) {
    const Result<Fd> file = io::open_owned(path);
    if (file) ++(io::is_locked(*file) ? found.living : found.dead);
  }
  return found;
}

}  // namespace

Settling::Settling(World world, std::uint32_t node, std::string journals)
    : world_(world),
      node_(node),
      journals_(std::move(journals)),
      fiber_(std::make_unique<Fiber>([this] { settle(); }, stacks)) {}

// A fiber has to end before it goes.
Settling::~Settling() {
  ends_ = true;
  kill();
  if (planned_) world_.timeline.cancel(*planned_);
  while (fiber_->begun() && !fiber_->ended()) fiber_->resume();
}

void Settling::begin() { fiber_->resume(); }

void Settling::kill() {
  if (!process_) return;
  killed_ = true;
  world_.disk.crash(*process_, false);
}

void Settling::settle() {
  const std::uint64_t until_ns = now_ns() + patience_ns;
  for (std::uint32_t wait_ms = 1; now_ns() < until_ns; wait_ms = std::min(2 * wait_ms, 16U)) {
    const Found found = look(journals_);
    if (found.dead > unusable_) {
      recover();
    } else if (found.living == 0) {
      return;
    } else {
      pause(wait_ms);
    }
  }
  problem_ = "agents do not bring what they keep to the file";
}

void Settling::recover() {
  Leftovers(world_.disk, journals_, true).restore(journals_);
  process_ = world_.disk.start(node_);
  if (ends_) world_.disk.crash(*process_, false);
  world_.disk.on_change(*process_, [this] {
    if (!planned_) return;
    world_.timeline.cancel(*planned_);
    planned_.reset();
    sleep_for(0);
  });
  const std::vector<std::string> words = {"--dir", journals_};
  std::ostringstream said, refused;
  const int status = agent::recover(words, Settings(), world_.disk.of(*process_), said, refused, *this);
  process_.reset();
  world_.trace.note(world_.timeline.now_ns(), node_, "has recovered: status",
                    static_cast<std::uint64_t>(status));
  world_.trace.say(world_.timeline.now_ns(), node_, said.str() + refused.str());
  if (std::exchange(killed_, false) && !ends_) return;
  if (status != 0) problem_ = refused.str();
  unusable_ = look(journals_).dead;
}

// --- agent::Pace ---

void Settling::sleep_for(std::uint64_t span_ns) {
  planned_ = world_.timeline.after(span_ns, [this] {
    planned_.reset();
    fiber_->resume();
  });
}

void Settling::pause(std::uint32_t for_ms) {
  if (ends_) {
    beyond_ns_ += for_ms * ms;
    return;
  }
  sleep_for(for_ms * ms);
  fiber_->stop();
}

void Settling::wait_for(io::Storage&) { pause(100); }

}  // namespace millrace::sim
