// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/settings.hpp"
#include "client/file/target_file.hpp"
#include "client/open/place.hpp"
#include "client/open/route.hpp"
#include "client/open/team.hpp"

// The ranks that open a file together, and their agreement: every rank tells rank 0 about itself, and rank 0
// tells all ranks a summary. The summary grows with the nodes, not with the ranks.
namespace millrace::client {

// A number for this node. Ranks with the same number reach the same agent.
std::uint64_t node_number();

// A rank's message about itself.
struct Peer {
  std::uint64_t node;
  std::uint64_t inode;       // of the file on this node; 0: the node does not see the file
  std::uint64_t own_system;  // 0: the file system may be one of several machines; else a number for it
  std::uint64_t probed;      // the result of an earlier probe (meeting.hpp)
  std::uint64_t alone;       // 1: the rank has a handle of the file without ranks of other nodes
  std::uint64_t host;        // own_host_number()
  AgentAddress agent;        // port 0: not known
  std::uint64_t share = 0;   // that the rank has read of the series' last file
};

// A rank's answer to the roll call. Ranks of other builds read it, so its layout never changes.
struct Answer {
  std::uint64_t magic;
  std::uint64_t build;
  std::uint64_t node;
  std::uint64_t agent;
};
static_assert(sizeof(Answer) == 32);

struct Differing {
  std::vector<int> build;  // ranks with another build than rank 0
  std::vector<int> agent;  // ranks with another agent than the first rank of their node
};
// `answers` has one answer of each rank, in their order.
Differing differing(std::span<const Answer> answers);

// This rank's message. It has the agent's address if an earlier file has asked for it. `alone` is the value
// of Peer::alone. With `meets`, the rank starts its agent, if there is none.
Peer describe_self(const TargetFile& target, const Settings& settings, bool alone, bool meets,
                   Place& place = own_place());

// A node of the open, as all ranks know it.
struct Node {
  std::uint64_t number;
  std::uint64_t host;
  AgentAddress agent;   // port 0: not known
  std::uint32_t first;  // its first rank in the open
  std::uint32_t ranks;  // its ranks in the open
};

struct Company {
  std::vector<Node> nodes;  // in the order of their first ranks
  // The words of all ranks together.
  struct Heard {
    std::uint64_t one_file = 1;  // all see the same file
    std::uint64_t alone = 0;     // some rank is (Peer::alone)
    std::uint64_t probed = 0;    // the common value of Peer::probed; 0: there is none
    std::uint64_t share = 0;     // the least sum of Peer::share of one node's ranks
  } heard;

  bool on_one_node() const { return nodes.size() == 1; }
  std::vector<AgentAddress> agents() const;
  std::size_t index_of(std::uint64_t number) const {
    return static_cast<std::size_t>(std::ranges::find(nodes, number, &Node::number) - nodes.begin());
  }
};

// For rank 0: finds the company from the messages of all ranks, in their order.
class Counted {
 public:
  void add(const Peer& one);
  Company take();

 private:
  Company company_;
  Peer first_{};
  std::uint32_t ranks_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> known_;  // node -> its place in the list
  std::vector<std::uint64_t> shares_;                     // by node
};

// The maximum, word by word. T consists of 64-bit words that are below 2^63, or are only compared for
// equality.
template <class T>
void merge_max(T& all, const T& one) {
  static_assert(sizeof(T) % sizeof(std::uint64_t) == 0, "merged as words");
  auto* words = reinterpret_cast<std::uint64_t*>(&all);
  const auto* more = reinterpret_cast<const std::uint64_t*>(&one);
  for (std::size_t i = 0; i < sizeof(T) / sizeof(std::uint64_t); ++i) words[i] = std::max(words[i], more[i]);
}

// A rank's message at an open: words for the agreement, and the rank itself.
template <class Words>
struct Introduction {
  Words words;
  Peer self;
};

// The end of the exchange: every rank has the maximum of all words, and rank 0's word.
template <class Words, class Word>
struct Introductions {
  Words words{};
  Word word{};
  Company company;
};

// Exchanges the messages of an open. `heard.word` is rank 0's word. False: an error. Collective.
template <class Words, class Word>
bool introduce(Team& team, const Introduction<Words>& mine, Introductions<Words, Word>& heard) {
  std::vector<Introduction<Words>> all;
  if (!gather(team, mine, all)) return false;
  Counted counted;
  for (const auto& one : all) {
    merge_max(heard.words, one.words);
    counted.add(one.self);
  }
  if (team.rank() == 0) heard.company = counted.take();
  all = {};
  struct Told {
    Words words;
    Word word;
    Company::Heard heard;
    std::uint64_t nodes;
  } told{heard.words, heard.word, heard.company.heard, heard.company.nodes.size()};
  if (!tell(team, told)) return false;
  heard.words = told.words;
  heard.word = told.word;
  heard.company.heard = told.heard;
  heard.company.nodes.resize(told.nodes);
  if (told.nodes > 1) return team.tell(std::as_writable_bytes(std::span(heard.company.nodes)));
  // The ranks of one node need no list of nodes.
  const Peer& self = mine.self;
  heard.company.nodes = {{self.node, self.host, self.agent, 0, static_cast<std::uint32_t>(team.size())}};
  return true;
}

}  // namespace millrace::client
