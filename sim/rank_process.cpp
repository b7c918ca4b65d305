// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "rank_process.hpp"

#include <utility>

#include "leftovers.hpp"
#include "outlived.hpp"
#include "transport/socket.hpp"

namespace millrace::sim {

namespace {
constexpr std::uint64_t wait_ns = 100'000;  // between two looks at an agent that starts
}  // namespace

// Leaves the sessions as a child of fork() does: every wait ends, and no ring is saved.
void RankProcess::vanish() {
  set_child();
  world_.disk.crash(files_.process(), false);
  if (session_ != nullptr) session_->abandon_in_child();
  for (const auto& successor : successors_) successor->abandon_in_child();
  seat_.vanish();
}

void RankProcess::leave() {
  if (session_ != nullptr) session_->leave();
  for (const auto& successor : successors_) successor->leave();
}

// --- The agent ---

// Does the work of client/start/start.
Status RankProcess::join(std::unique_ptr<client::Session>& session) {
  agent::SenderId sender = 0;
  Result<client::SessionParts> parts = agent_.connect(sender);
  if (!parts) return parts.status();
  parts->contact = std::make_unique<Line>(seat_, sender);
  parts->timeout_ms = settings_.timeout_ms;
  parts->slice_ms = slice_ms_;
  session = std::make_unique<client::Session>(*std::move(parts));
  return {};
}

// Follows client/open/own_process.
client::Session* RankProcess::session(bool may_start, client::Reason& why) {
  if (unable_ && may_start) {
    why = client::Reason::agent_cannot_start;
    return nullptr;
  }
  if (session_ != nullptr) return session_.get();
  const std::uint64_t begin_ns = now_ns();
  if (!may_start && begin_ns < look_at_ns_) return nullptr;
  if (find_agent(may_start) && join().ok()) return session_.get();
  look_at_ns_ = begin_ns + transport::look_again_ns;
  if (may_start) why = client::Reason::agent_silent;
  return nullptr;
}

// Follows client/open/own_process too.
client::Session* RankProcess::successor(client::Reason&) {
  client::Session* const known = successors_.empty() ? nullptr : successors_.back().get();
  const std::uint64_t begin_ns = now_ns();
  if (session_ == nullptr || begin_ns < look_for_successor_ns_) return known;
  std::unique_ptr<client::Session> found;
  if ((known != nullptr ? known : session_.get())->gone() && find_agent(false) && join(found).ok())
    successors_.push_back(std::move(found));
  look_for_successor_ns_ = begin_ns + transport::look_again_ns;
  return successors_.empty() ? nullptr : successors_.back().get();
}

// Waits until the agent accepts ranks. False: there is no agent, or the rank has died.
bool RankProcess::find_agent(bool may_start) {
  while (!seat_.gone()) {
    if (agent_.admits()) return true;
    if (!agent_.listens() && !may_start) return false;
    if (!agent_.listens()) agent_.come();
    seat_.sleep_until(world_.now_ns() + wait_ns);
  }
  return false;
}

// --- The system ---

// A rank that has no session with its node's agent sees it among the others.
Result<client::OtherAgents::List> RankProcess::other_agents() {
  if (!agent_.alive() || seat_.gone()) return client::OtherAgents::List();
  if (session_ != nullptr && session_->view().page().shown.number == agent_.shown().shown.number)
    return client::OtherAgents::List();
  return client::OtherAgents::List{std::make_shared<Outlived>(agent_, seat_, settings_.timeout_ms)};
}

// A process that has died must find no journal, because it must not mark one.
Result<std::size_t> VirtualProcess::read_start(const Fd& journal, std::span<std::byte> into) {
  return seat_.gone() ? 0 : sim::read_start(world_.disk, journal, into);
}

Result<FileIdentity> VirtualProcess::identify(const std::string& path) {
  return sim::identify(world_.disk, path);
}

bool VirtualProcess::recover(const std::string& directory, const std::string& path) {
  if (seat_.gone()) return true;
  recovering_ =
      std::make_unique<Recovering>(world_, node_, directory, path, [this] { seat_.rouse_after(0); });
  while (!recovering_->over() && !seat_.gone()) seat_.sleep();
  return !std::exchange(recovering_, nullptr)->killed();
}

}  // namespace millrace::sim
