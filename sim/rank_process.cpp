// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "rank_process.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "client/file/other_agents.hpp"
#include "io/posix/descriptor.hpp"
#include "journal/folder.hpp"
#include "transport/socket.hpp"

namespace millrace::sim {

namespace {
constexpr std::uint64_t wait_ns = 100'000;  // between two looks at an agent that starts

// The node's agent, as a process sees it that has no session with it.
class Outlived final : public client::OtherAgent {
 public:
  Outlived(Node& node, Seat& seat, std::uint64_t timeout_ms)
      : node_(node), seat_(seat), timeout_ms_(timeout_ms), view_(node.shown()) {}

  int process() const override { return 1; }
  bool lives() const override { return node_.alive(); }
  const client::PageView& view() const override { return view_; }
  Result<std::unique_ptr<client::Session>> ask() override {
    if (!node_.admits()) return Code::timeout;
    return node_.connect(seat_, timeout_ms_);
  }
  bool end() override {
    node_.crash(false);
    return true;
  }
  bool bury() override { return true; }

 private:
  Node& node_;
  Seat& seat_;
  const std::uint64_t timeout_ms_;
  const client::PageView view_;
};

}  // namespace

// Leaves the sessions as a child of fork() does: every wait ends, and no ring is saved.
void RankProcess::vanish() {
  set_child();
  world_.disk.crash(files_.process(), false);
  for (const auto& session : sessions_) session->abandon_in_child();
  seat_.vanish();
}

void RankProcess::leave() {
  for (const auto& session : sessions_) session->leave();
}

// --- The agent ---

Status RankProcess::join() {
  Result<std::unique_ptr<client::Session>> session = agent_.connect(seat_, settings_.timeout_ms);
  if (session) sessions_.push_back(*std::move(session));
  return session.status();
}

// Follows client/open/own_process.
client::Session* RankProcess::session(bool may_start, client::Reason& why) {
  if (unable_ && may_start) {
    why = client::Reason::agent_cannot_start;
    return nullptr;
  }
  if (has_joined()) return &session();
  const std::uint64_t begin_ns = now_ns();
  if (!may_start && begin_ns < look_at_ns_) return nullptr;
  if (find_agent(may_start) && join().ok()) return &session();
  look_at_ns_ = begin_ns + transport::look_again_ns;
  if (may_start) why = client::Reason::agent_silent;
  return nullptr;
}

bool RankProcess::agent_is_up() {
  if (!has_joined() && !unable_ && !agent_.named()) agent_.come();
  return has_joined() || unable_ || agent_.alive();
}

// Follows client/open/own_process too.
client::Session* RankProcess::successor(client::Reason&) {
  const std::uint64_t begin_ns = now_ns();
  if (has_joined() && begin_ns >= look_for_successor_ns_) {
    if (sessions_.back()->gone() && find_agent(false)) (void)join();
    look_for_successor_ns_ = begin_ns + transport::look_again_ns;
  }
  return sessions_.size() < 2 ? nullptr : sessions_.back().get();
}

// Waits until the agent accepts ranks. False: there is no agent, or the rank has died.
bool RankProcess::find_agent(bool may_start) {
  while (!seat_.gone()) {
    if (agent_.admits()) return true;
    if (!agent_.alive() && !may_start) return false;
    if (!agent_.named()) agent_.come();
    seat_.sleep_until(world_.now_ns() + wait_ns);
  }
  return false;
}

// --- The system ---

client::OtherAgents::List VirtualProcess::agent_as_another() {
  if (!agent_.alive() || seat_.gone()) return {};
  return {std::make_shared<Outlived>(agent_, seat_, settings_.timeout_ms)};
}

// A rank that has no session with its node's agent sees it among the others.
Result<client::OtherAgents::List> RankProcess::other_agents() {
  const bool own =
      has_joined() && sessions_.front()->view().page().shown.number == agent_.shown().shown.number;
  return own ? client::OtherAgents::List() : agent_as_another();
}

// A process that has died must find no journal, because it must not mark one.
Result<std::size_t> VirtualProcess::read_start(const Fd& journal, std::span<std::byte> into) {
  if (seat_.gone()) return 0;
  if (!world_.disk.knows(journal)) return journal::read_start(journal, into);
  const std::span<const std::byte> contents = world_.disk.contents(journal);
  return std::ranges::copy(contents.first(std::min(contents.size(), into.size())), into.begin()).in -
         contents.begin();
}

Result<std::uint64_t> VirtualProcess::size_of(const std::string& path) {
  const Result<Fd> file = io::open_to_read(path.c_str());
  return file ? Result(std::uint64_t{world_.disk.contents(*file).size()}) : file.status();
}

Result<FileIdentity> VirtualProcess::identify(const std::string& path) {
  const Result<Fd> file = io::open_to_read(path.c_str());
  return file ? Result(world_.disk.identify(*file)) : file.status();
}

bool VirtualProcess::recover(const std::string&, const std::string& path) {
  if (seat_.gone()) return true;
  recovering_ = std::make_unique<Recovering>(agent_, path, [this] { seat_.rouse_after(0); });
  while (!recovering_->over() && !seat_.gone()) seat_.sleep();
  return !std::exchange(recovering_, nullptr)->killed();
}

}  // namespace millrace::sim
