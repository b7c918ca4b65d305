// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/file/other_agents.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/local.hpp"
#include "client/file/process.hpp"
#include "client/session/ask_files.hpp"
#include "client/start/start.hpp"
#include "transport/presence.hpp"

namespace millrace::client {

using transport::FileNumbers;

namespace {

class RealOtherAgent final : public OtherAgent {
 public:
  // The agent shows its page.
  RealOtherAgent(transport::Neighbour found, const Settings& settings)
      : found_(std::move(found)), settings_(settings), view_(*found_.page()) {}

  bool is(const transport::Neighbour& agent) const {
    return agent.process() == found_.process() && agent.name() == found_.name();
  }
  int process() const override { return found_.process(); }
  bool lives() const override { return found_.lives(); }
  const PageView& view() const override { return view_; }
  Result<std::unique_ptr<Session>> ask() override { return question_session(settings_, found_.name()); }
  bool end() override { return found_.end(settings_.timeout_ms); }
  bool bury() override {
    const bool first = found_.bury();
    transport::bury_dead(local_directory(settings_));
    return first;
  }

 private:
  const transport::Neighbour found_;
  const Settings& settings_;
  const PageView view_;
};

std::string described(const char* path, const OtherAgent& other) {
  return std::string(path) + ": process " + std::to_string(other.process()) + ", the agent of another job, ";
}

// The agent writes all bytes of the file that it has now. Code::timeout: it made no progress for `timeout`.
// Code::lost_agent: it has gone.
Status flush(Process& process, const FileNumbers& file, OtherAgent& other) {
  const std::uint64_t bound_ns = process.settings().timeout_ms * 1'000'000;
  const auto& progress = other.view().page().progress;
  std::uint64_t seen = progress.load();
  std::uint64_t since_ns = process.now_ns();
  Result<std::unique_ptr<Session>> session = other.ask();
  for (; !session; session = other.ask()) {
    if (!other.lives()) return Code::lost_agent;
    if (std::exchange(seen, progress.load()) != progress.load()) since_ns = process.now_ns();
    if (process.now_ns() - since_ns > bound_ns) return Code::timeout;
    process.pause(10);
    if (!other.view().has(file)) return {};
  }
  Tally tally;
  const Status status = flush_all_of(**session, file, tally);
  (*session)->leave();
  return status.ok() ? tally.first_error : status;
}

// The agent has gone, with bytes of the file.
void tell_of_loss(Process& process, const char* path, OtherAgent& other, bool logged, bool fenced) {
  if (!other.bury()) return;  // another rank tells it
  std::string line = described(path, other);
  line += fenced ? "made no progress for " + std::to_string(process.settings().timeout_ms / 1000) +
                       " s, so it was ended"
                 : "has died";
  line += logged ? ". Bytes that the other job wrote to this file are in a journal"
                 : ". Bytes that the other job wrote to this file after its last sync may be lost";
  process.say(line);
}

bool settle_with(Process& process, const char* path, const FileNumbers& file, OtherAgent& other) {
  if (!other.view().has(file)) return true;
  const bool logged = other.view().logs(file);
  const Status status = flush(process, file, other);
  if (status.ok()) return true;
  if (status.code() == Code::lost_agent) {
    tell_of_loss(process, path, other, logged, false);
  } else if (status.code() != Code::timeout) {
    process.say(described(path, other) + "could not write all bytes of its job: " + status.describe());
  } else if (other.end()) {
    tell_of_loss(process, path, other, logged, true);
  } else {
    process.say(described(path, other) +
                "has bytes of this file, makes no progress and cannot be ended. The file is not opened: wait "
                "until the file system answers, or end that process");
    return false;
  }
  return true;
}

using Agents = std::map<std::string, std::shared_ptr<RealOtherAgent>>;  // by the paths of their presences

// The agent of this presence, one of those that were `found` by another presence, or a new one. nullptr: it
// is no other agent, or cannot be asked.
std::shared_ptr<RealOtherAgent> look_at(const std::string& path, const Agents& found,
                                        const std::string& own_name, Process& process) {
  constexpr int most_looks = 10;
  Result<transport::Neighbour> shown = transport::Neighbour::look_at(path);
  // A process that ends loses its descriptors some moments before its locks.
  for (int looks = 1; looks < most_looks && shown && shown->page() == nullptr; ++looks) {
    process.pause(10);
    shown = transport::Neighbour::look_at(path);
  }
  if (shown.status().code() == Code::not_found || (shown && shown->name() == own_name)) return nullptr;
  if (!shown || shown->page() == nullptr) {
    process.say("an agent of another job cannot be asked for its bytes: it " +
                (shown ? "runs in another container" : std::string("is of another build of Millrace")) +
                "; do not open its files before that job has ended");
    return nullptr;
  }
  const auto same = [&shown](const auto& entry) { return entry.second->is(*shown); };
  const auto twin = std::ranges::find_if(found, same);
  return twin != found.end() ? twin->second
                             : std::make_shared<RealOtherAgent>(*std::move(shown), process.settings());
}

}  // namespace

struct OtherAgents::Known {
  explicit Known(const std::string& directory) : watch(directory), memory(transport::memory_directory) {}
  bool changed() {
    const bool own = watch.changed();
    return memory.changed() || own;
  }
  transport::FolderWatch watch, memory;
  Agents agents;
  List living;
};

OtherAgents::OtherAgents(const Settings& settings, std::string own_name)
    : settings_(settings),
      own_name_(std::move(own_name)),
      known_(std::make_unique<Known>(local_directory(settings))) {}

OtherAgents::~OtherAgents() = default;

OtherAgents::List OtherAgents::look(Process& process) {
  const std::lock_guard lock(mutex_);
  if (!known_->changed()) return known_->living;
  Agents found;
  known_->living.clear();
  for (const std::string& path : transport::presences_on_node(local_directory(settings_))) {
    const auto known = known_->agents.find(path);
    std::shared_ptr<RealOtherAgent> agent = known != known_->agents.end() ? known->second : nullptr;
    if (agent == nullptr || !agent->lives()) agent = look_at(path, found, own_name_, process);
    if (agent == nullptr) continue;
    const bool again = std::ranges::find(known_->living, agent) != known_->living.end();
    if (!again) known_->living.push_back(agent);
    found.emplace(path, std::move(agent));
  }
  known_->agents = std::move(found);
  return known_->living;
}

bool settle_other_agents(Process& process, const OtherAgents::List& others, const char* path,
                         const FileNumbers& file) {
  bool settled = true;
  for (const std::shared_ptr<OtherAgent>& other : others) settled &= settle_with(process, path, file, *other);
  return settled;
}

}  // namespace millrace::client
