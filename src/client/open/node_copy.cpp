// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/node_copy.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "client/open/company.hpp"
#include "client/open/route.hpp"

namespace millrace::client {
namespace {

enum class Problem : std::uint32_t { none, not_seen, no_room, no_copy, no_agent, no_key };

const char* words_for(Problem problem) {
  switch (problem) {
    case Problem::none:
      break;
    case Problem::not_seen:
      return "does not see the file, or sees another file of that name";
    case Problem::no_room:
      return "has too little room for a copy; set TMPDIR to a folder with more room";
    case Problem::no_copy:
      return "cannot make a copy in TMPDIR, or in /tmp without it; set TMPDIR to another folder";
    case Problem::no_agent:
      return "has no agent that other nodes can reach; check MILLRACE_INTERFACES";
    case Problem::no_key:
      return "has no random numbers (getrandom)";
  }
  return "";
}

// Rank 0's words to all ranks.
struct Original {
  FileStamp stamp;
  std::array<std::byte, 32> key;
};

// The answer of the first rank of each node.
struct Offer {
  AgentAddress agent;
  Problem problem;
};

class NodeCopies {
 public:
  NodeCopies(Team& team, Place& place, Company& company, const StagePlan& plan)
      : team_(team),
        place_(place),
        company_(company),
        plan_(plan),
        node_(company.index_of(place.node())),
        name_(name_of_copy()) {}
  ~NodeCopies() {
    if (made_) remove_copy(name_);
  }
  NodeCopies(const NodeCopies&) = delete;
  NodeCopies& operator=(const NodeCopies&) = delete;

  // The steps. Each is collective and returns the same on all ranks.
  bool prepare_all();
  bool join(bool passes);
  bool pass();

  StagedCopy take() { return {std::move(fd_), original_.stamp, std::move(source_)}; }

 private:
  bool first_of_node() const { return static_cast<int>(company_.nodes[node_].first) == team_.rank(); }
  Offer prepare();
  std::string name_of_copy() const;
  void unname();
  void tell(const std::string& why) const;

  bool all_of(bool mine) { return team_.least(mine ? 1 : 0) == 1; }

  Team& team_;
  Place& place_;
  Company& company_;
  const StagePlan& plan_;
  const std::size_t node_;  // index of this rank's node
  const std::string name_;  // of the copy on this node
  Original original_{};
  bool made_ = false;  // the copy has a name, which this rank made
  std::unique_ptr<File> chain_;
  std::unique_ptr<Source> source_;  // on rank 0
  Fd fd_;
};

void NodeCopies::tell(const std::string& why) const {
  if (team_.rank() != 0) return;
  place_.say(plan_.path +
             (plan_.first ? " cannot be reached from every node: "
                          : " is read where it is, not copied to every node: ") +
             why);
}

// The same on all ranks of the node, if they have one TMPDIR.
std::string NodeCopies::name_of_copy() const {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "/millrace-stage-%016llx-%zu",
                static_cast<unsigned long long>(plan_.group), node_);
  return place_.stage_directory() + name.data();
}

// The checks and steps of a node's first rank before the copying begins.
Offer NodeCopies::prepare() {
  const FileStamp& original = original_.stamp;
  if (!plan_.first && (original.inode == 0 || original.size == 0 || place_.stamp_of(plan_.path) != original))
    return {{}, Problem::not_seen};
  if (original_.key == decltype(original_.key){}) return {{}, Problem::no_key};
  if (!place_.has_room(place_.stage_directory(), plan_.first ? plan_.size : original.size, plan_.careful))
    return {{}, Problem::no_room};
  const Result<AgentAddress> agent = place_.meet();
  if (!agent) return {{}, Problem::no_agent};
  made_ = create_copy(name_).ok();
  return {*agent, made_ ? Problem::none : Problem::no_copy};
}

// All ranks get the file's stamp and the key, and then the addresses of the agents.
bool NodeCopies::prepare_all() {
  if (team_.rank() == 0) {
    original_.stamp = place_.stamp_of(plan_.path);
    if (!place_.draw(original_.key)) original_.key = {};
  }
  if (!most(team_, original_)) return false;
  std::vector<Offer> offers;
  if (first_of_node()) offers = {prepare()};
  if (!fold(team_, offers) || offers.size() != company_.nodes.size()) return false;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    Node& node = company_.nodes[i];
    node.agent = offers[i].agent;
    if (offers[i].problem == Problem::none) continue;
    tell("the node of rank " + std::to_string(node.first) + " " + words_for(offers[i].problem));
    return false;
  }
  return true;
}

// All ranks hold the copy open, and the copy loses its name. So no file stays behind, whatever happens later.
// If the agents pass bytes, each of them hears of its node's copy before.
bool NodeCopies::join(bool passes) {
  fd_ = place_.open_copy(name_);
  bool ready = fd_.valid();
  if (ready && passes && first_of_node()) {
    OpenRequest request{.path = name_, .group = plan_.group, .settings = stage_settings()};
    request.routing = chain_of(company_.agents(), static_cast<std::uint32_t>(node_));
    request.routing.key = original_.key;
    chain_ = place_.open(std::move(request));
    ready = chain_ != nullptr && chain_->registered();
  }
  const bool all = all_of(ready);
  unname();
  if (all) return true;
  tell("a node's agent or ranks cannot open the copy there; set one TMPDIR for all ranks of a node");
  if (chain_ != nullptr) chain_->withdraw();
  chain_.reset();
  return false;
}

bool NodeCopies::pass() {
  Status status;
  if (team_.rank() == 0) {
    auto source = place_.open_source(plan_.path);
    status = source.status();
    if (source) {
      source_ = *std::move(source);
      status = send_whole(*chain_, *source_, original_.stamp);
    }
    if (!status.ok())
      tell(status.code() == Code::corrupt ? "the file changed while it was copied" : status.describe());
  }
  const bool sent = all_of(status.ok());
  const bool whole = all_of(sent && place_.size_of(fd_) == original_.stamp.size);
  if (chain_ != nullptr) (void)chain_->close();
  return whole;
}

void NodeCopies::unname() {
  if (made_) remove_copy(name_);
  made_ = false;
}

}  // namespace

std::optional<StagedCopy> stage_whole(Team& team, Place& place, Company& company, const StagePlan& plan) {
  NodeCopies copies(team, place, company, plan);
  if (!copies.prepare_all() || !copies.join(true) || !copies.pass()) return std::nullopt;
  return copies.take();
}

Fd stand_in(Team& team, Place& place, Company& company, const StagePlan& plan) {
  NodeCopies copies(team, place, company, plan);
  return copies.prepare_all() && copies.join(false) ? copies.take().fd : Fd();
}

}  // namespace millrace::client
