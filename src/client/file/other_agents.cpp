// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/file/other_agents.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "client/file/process.hpp"
#include "client/session/ask_files.hpp"
#include "client/start/start.hpp"
#include "transport/presence.hpp"

namespace millrace::client {

using transport::FileNumbers;

namespace {

class RealOtherAgent final : public OtherAgent {
 public:
  RealOtherAgent(transport::Neighbour found, const Settings& settings)
      : found_(std::move(found)), settings_(settings), view_(found_.page()) {}

  int process() const override { return found_.process(); }
  bool lives() const override { return found_.lives(); }
  const PageView& view() const override { return view_; }
  // In another namespace of the network, another agent may have the name.
  Result<std::unique_ptr<Session>> ask() override {
    Result<std::unique_ptr<Session>> session = question_session(settings_, found_.name());
    if (!session || (*session)->view().page().shown.number == found_.number()) return session;
    (*session)->leave();
    return Code::timeout;
  }
  bool end() override { return found_.end(settings_.timeout_ms); }
  bool bury() override { return found_.bury(); }

 private:
  const transport::Neighbour found_;
  const Settings& settings_;
  const PageView view_;
};

std::string described(const char* path, const OtherAgent& other) {
  return std::string(path) + ": process " + std::to_string(other.process()) + ", the agent of another job, ";
}

// The bytes of a file that an open needs from an agent.
struct Wanted {
  const char* path;
  FileNumbers file;
  bool ledgers;  // the agent has to give up its ledger too

  bool all_of(const PageView& shown) const { return !shown.dirty(file) && !(ledgers && shown.logs(file)); }
};

// Waits until the agent answers. Code::not_found: there is nothing to ask for any more. Code::timeout: it
// made no progress for `timeout`. Code::lost_agent: it has gone. Other errors: this process cannot ask.
Result<std::unique_ptr<Session>> ask(Process& process, const Wanted& wanted, OtherAgent& other) {
  const std::uint64_t bound_ns = process.settings().timeout_ms * 1'000'000;
  const auto& progress = other.view().page().progress;
  std::uint64_t seen = progress.load();
  std::uint64_t since_ns = process.now_ns(), let_in_ns = since_ns;
  for (;;) {
    if (!other.view().owes(wanted.file)) return Code::not_found;
    Result<std::unique_ptr<Session>> session = other.ask();
    const Status refused = session.status();
    const bool no_room = refused.code() == Code::no_memory;
    if (session || (no_room && refused.error() != 0)) return session;
    if (!other.lives()) return Code::lost_agent;
    const bool turned = std::exchange(seen, progress.load()) != progress.load();
    // The agent writes out what it has if it lets nobody in.
    if ((turned || no_room) && wanted.all_of(other.view())) return Code::not_found;
    const std::uint64_t now_ns = process.now_ns();
    if (turned) since_ns = now_ns;
    if (!no_room) let_in_ns = now_ns;
    if (now_ns - let_in_ns > bound_ns) return refused;
    if (now_ns - since_ns > bound_ns) return Code::timeout;
    process.pause(10);
  }
}

// The agent writes all bytes of the file that it has now, and its ledger forgets them.
Status flush(Session& session, const Wanted& wanted) {
  Tally tally;
  Status status = flush_all_of(session, wanted.file, tally);
  if (status.ok() && wanted.ledgers) status = settle_ledgers_of(session, wanted.file, tally);
  session.leave();
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

bool settle_with(Process& process, const Wanted& wanted, OtherAgent& other) {
  const PageView& shown = other.view();
  if (!shown.owes(wanted.file)) return true;
  const bool logged = shown.logs(wanted.file);
  const Result<std::unique_ptr<Session>> asked = ask(process, wanted, other);
  const Status status = asked ? flush(**asked, wanted) : asked.status();
  const Code code = status.code();
  if (code == Code::ok || code == Code::not_found) return true;
  if (code == Code::lost_agent) {
    tell_of_loss(process, wanted.path, other, logged, false);
    return true;
  }
  const std::string who = described(wanted.path, other);
  if (asked && code != Code::timeout) {
    const bool safe = !wanted.ledgers || !shown.logs(wanted.file);
    process.say(who + "could not write all bytes of its job: " + status.describe() +
                (safe ? "" : ". It has them in a journal, so the file is not opened for writing"));
    return safe;
  }
  // An agent without bytes of this node's ranks does no harm.
  if (!shown.keeps(wanted.file)) return true;
  // It lives, and waits for its file system.
  const bool waits = shown.silent_ms(wanted.file) >= process.settings().storage_timeout_ms;
  if (code == Code::timeout && !waits && other.end()) {
    tell_of_loss(process, wanted.path, other, logged, true);
    return true;
  }
  const std::string why = code != Code::timeout ? "and cannot be asked for them: " + status.describe()
                          : waits               ? "but its file system does not answer"
                                                : "makes no progress and cannot be ended";
  process.say(who + "has bytes of this file, " + why +
              ". The file is not opened: wait until that job has closed it, or end that process");
  return false;
}

}  // namespace

struct OtherAgents::Known {
  transport::PresenceWatch watch;
  Fd spare = spare_descriptor();                              // a look needs one
  bool whole = true;                                          // the last look had no error
  std::map<std::string, std::shared_ptr<OtherAgent>> agents;  // by the paths of their pages
};

OtherAgents::OtherAgents(const Settings& settings) : settings_(settings), known_(std::make_unique<Known>()) {}

OtherAgents::~OtherAgents() = default;

Status OtherAgents::look_at(const std::string& path, Process& process) {
  Result<transport::Neighbour> shown = transport::Neighbour::look_at(path);
  const Status status = shown.status();
  if (shown) known_->agents.emplace(path, std::make_shared<RealOtherAgent>(*std::move(shown), settings_));
  if (status.code() == Code::unsupported)
    process.say(
        "an agent of another job cannot be asked for its bytes: it is of another build of Millrace; do "
        "not open its files before that job has ended");
  return status.code() == Code::not_found || status.code() == Code::unsupported ? Status() : status;
}

Result<OtherAgents::List> OtherAgents::look(Process& process) {
  const std::lock_guard lock(mutex_);
  if (known_->watch.changed() || !known_->whole) {
    known_->whole = false;
    known_->spare.reset();
    std::erase_if(known_->agents, [](const auto& entry) { return !entry.second->lives(); });
    const Result<std::vector<std::string>> paths = transport::presences();
    if (!paths) return paths.status();
    for (const std::string& path : *paths) {
      if (known_->agents.contains(path)) continue;
      if (Status looked = look_at(path, process); !looked.ok()) return looked;
    }
    known_->whole = true;
    known_->spare = spare_descriptor();
  }
  const Session* const own = process.joined();
  const std::uint64_t own_number = own == nullptr || own->lost() ? 0 : own->view().page().shown.number;
  List others;
  for (const auto& [path, agent] : known_->agents) {
    if (agent->view().page().shown.number != own_number) others.push_back(agent);
  }
  return others;
}

bool settle_other_agents(Process& process, const OtherAgents::List& others, const char* path,
                         const FileNumbers& file, bool writes) {
  bool settled = true;
  for (const std::shared_ptr<OtherAgent>& other : others)
    settled &= settle_with(process, {path, file, writes}, *other);
  return settled;
}

void sync_with_other_agents(Process& process, const char* path, std::uint64_t number, bool writes) {
  if (!process.settings().enabled || process.is_child()) return;
  const Result<OtherAgents::List> others = process.other_agents();
  if (!others) return;
  const Wanted wanted{path, {.number = number}, writes};
  for (const std::shared_ptr<OtherAgent>& other : *others) {
    if (wanted.all_of(other->view())) continue;
    const Result<std::unique_ptr<Session>> asked = other->ask();
    const Status status = asked ? flush(**asked, wanted) : asked.status();
    if (!status.ok())
      process.say(described(path, *other) +
                  "has bytes of this file, which this sync does not see: " + status.describe());
  }
}

}  // namespace millrace::client
