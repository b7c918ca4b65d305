// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/node_copy.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "client/open/company.hpp"
#include "client/open/route.hpp"

namespace millrace::client {
namespace {

enum class Problem : std::uint32_t { none, not_seen, no_room, no_directory, no_copy, no_agent, no_key };

const char* words_for(Problem problem) {
  switch (problem) {
    case Problem::none:
      break;
    case Problem::not_seen:
      return "does not see the file, or sees another file of that name";
    case Problem::no_room:
      return "has too little room for a copy; set TMPDIR to a folder with more room";
    case Problem::no_directory:
      return "has a TMPDIR with too long a name; set TMPDIR to a shorter one";
    case Problem::no_copy:
      return "cannot make a copy in TMPDIR, or in /tmp without it; set TMPDIR to another folder";
    case Problem::no_agent:
      return "has no agent that other nodes can reach; check MILLRACE_INTERFACES";
    case Problem::no_key:
      return "has no random numbers (getrandom)";
  }
  return "";
}

using Name = std::array<char, 208>;

// The message of each node's first rank to rank 0.
struct Offer {
  Problem problem;
  FileStamp original;
  AgentAddress agent;
  Name copy;  // the copy's name on this node
};

// Rank 0's message to all ranks.
struct Answer {
  Problem problem;      // of the first node that has one
  std::uint32_t whose;  // that node's first rank
  FileStamp original;
  std::array<std::byte, 32> key;
};

class NodeCopies {
 public:
  NodeCopies(Team& team, Place& place, Company& company, const StagePlan& plan)
      : team_(team), place_(place), company_(company), plan_(plan), node_(company.index_of(place.node())) {}
  ~NodeCopies() {
    if (made_) remove_copy(name());
  }
  NodeCopies(const NodeCopies&) = delete;
  NodeCopies& operator=(const NodeCopies&) = delete;

  // The steps. Each is collective and returns the same on all ranks.
  bool gather_offers();
  bool join(bool passes);
  bool pass();

  StagedCopy take() { return {std::move(fd_), answer_.original, std::move(source_)}; }

 private:
  bool first_of_node() const { return static_cast<int>(company_.nodes[node_].first) == team_.rank(); }
  Problem prepare();
  const char* name() const { return offer_.copy.data(); }
  bool tell_answer(std::span<const Offer> offers);
  void unname();
  void tell(const std::string& why) const;

  bool all_of(bool mine) { return team_.least(mine ? 1 : 0) == 1; }

  Team& team_;
  Place& place_;
  Company& company_;
  const StagePlan& plan_;
  const std::size_t node_;  // index of this rank's node
  Offer offer_{};           // of this node
  Answer answer_{};
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

// The checks and steps of a node's first rank before the copying begins.
Problem NodeCopies::prepare() {
  if (!plan_.first || team_.rank() == 0) offer_.original = place_.stamp_of(plan_.path);
  if (!plan_.first && (offer_.original.inode == 0 || offer_.original.size == 0)) return Problem::not_seen;
  const std::uint64_t size = plan_.first ? plan_.size : offer_.original.size;
  const std::string folder = place_.stage_directory();
  const int length = std::snprintf(offer_.copy.data(), offer_.copy.size(), "%s/millrace-stage-%016llx-%zu",
                                   folder.c_str(), static_cast<unsigned long long>(plan_.group), node_);
  if (length < 0 || static_cast<std::size_t>(length) >= offer_.copy.size()) return Problem::no_directory;
  if (!place_.has_room(folder, size, plan_.careful)) return Problem::no_room;
  const Result<AgentAddress> agent = place_.meet();
  if (!agent) return Problem::no_agent;
  offer_.agent = *agent;
  if (team_.rank() == 0 && !place_.draw(answer_.key)) return Problem::no_key;
  made_ = create_copy(name()).ok();
  return made_ ? Problem::none : Problem::no_copy;
}

bool NodeCopies::gather_offers() {
  if (first_of_node()) offer_.problem = prepare();
  std::vector<Offer> offers;
  if (!client::gather(team_, offer_, offers) || !tell_answer(offers)) return false;
  if (answer_.problem == Problem::none) return true;
  tell("the node of rank " + std::to_string(answer_.whose) + " " + words_for(answer_.problem));
  return false;
}

// All ranks get the answer, the agents' addresses, and the names of all nodes' copies.
bool NodeCopies::tell_answer(std::span<const Offer> offers) {
  std::vector<Name> names;
  if (team_.rank() == 0) {
    answer_.original = offers[0].original;
    for (Node& node : company_.nodes) {
      const Offer& offer = offers[node.first];
      names.push_back(offer.copy);
      node.agent = offer.agent;
      if (answer_.problem != Problem::none) continue;
      const bool other = !plan_.first && offer.original != answer_.original;
      answer_.problem = offer.problem == Problem::none && other ? Problem::not_seen : offer.problem;
      answer_.whose = node.first;
    }
  }
  if (!client::tell(team_, answer_) || !tell_list(team_, company_.nodes) || !tell_list(team_, names))
    return false;
  offer_.copy = names[node_];
  return true;
}

// All ranks hold the copy open, and the copy loses its name. So no file stays behind, whatever happens later.
// If the agents pass bytes, each of them hears of its node's copy before.
bool NodeCopies::join(bool passes) {
  fd_ = place_.open_copy(name());
  bool ready = fd_.valid();
  if (ready && passes && first_of_node()) {
    OpenRequest request{.path = name(), .group = plan_.group, .settings = stage_settings()};
    request.routing = chain_of(company_.agents(), static_cast<std::uint32_t>(node_));
    request.routing.key = answer_.key;
    chain_ = place_.open(std::move(request));
    ready = chain_ != nullptr && chain_->registered();
  }
  const bool all = all_of(ready);
  unname();
  if (all) return true;
  tell("a node's agent or ranks cannot open the copy there");
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
      status = send_whole(*chain_, *source_, answer_.original);
    }
    if (!status.ok())
      tell(status.code() == Code::corrupt ? "the file changed while it was copied" : status.describe());
  }
  const bool sent = all_of(status.ok());
  const bool whole = all_of(sent && place_.size_of(fd_) == answer_.original.size);
  if (chain_ != nullptr) (void)chain_->close();
  return whole;
}

void NodeCopies::unname() {
  if (made_) remove_copy(name());
  made_ = false;
}

}  // namespace

std::optional<StagedCopy> stage_whole(Team& team, Place& place, Company& company, const StagePlan& plan) {
  NodeCopies copies(team, place, company, plan);
  if (!copies.gather_offers() || !copies.join(true) || !copies.pass()) return std::nullopt;
  return copies.take();
}

Fd stand_in(Team& team, Place& place, Company& company, const StagePlan& plan) {
  NodeCopies copies(team, place, company, plan);
  return copies.gather_offers() && copies.join(false) ? copies.take().fd : Fd();
}

}  // namespace millrace::client
