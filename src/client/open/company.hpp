// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/settings.hpp"
#include "client/file/target_file.hpp"
#include "client/open/place.hpp"
#include "client/open/route.hpp"
#include "client/open/team.hpp"

// The ranks that open a file together, and their agreement. Its messages grow with the nodes, not with the
// ranks.
namespace millrace::client {

// A number for this node. Ranks with the same number reach the same agent.
std::uint64_t node_number();

// A node of the open, as all ranks know it.
struct Node {
  std::uint64_t number = 0;
  std::uint64_t host = 0;   // own_host_number()
  AgentAddress agent = {};  // port 0: not known
  std::uint32_t first = 0;  // its first rank in the open
  std::uint32_t ranks = 0;  // its ranks in the open
  std::uint32_t share = 0;  // that these ranks have read of the series' last file, together
};
static_assert(sizeof(Node) == 48);

// A rank's part of the exchange.
struct Peer {
  Node node = {};                // without `first` and `ranks`
  std::uint64_t inode = 0;       // of the file on this node; 0: the node does not see the file
  std::uint64_t own_system = 0;  // 0: the file system may be one of several machines; else a number for it
  std::uint64_t probed = 0;      // the result of an earlier probe (meeting.hpp)
  std::uint64_t alone = 0;       // 1: the rank has a handle of the file without ranks of other nodes
};

// The answer of a node's ranks to the roll call. Ranks of other builds read it, so its layout never changes.
struct Answer {
  std::uint64_t magic, build, number, agent;  // `number`: of the node
  std::uint32_t first;                        // its first rank, which has this build and agent
  std::uint32_t other;                        // its first rank with others; 0: none
};
static_assert(sizeof(Answer) == 40);

// Makes one element of two with the same number, and returns how many stay. Each part of the list is in the
// order of the numbers, and so is the result. merge(one, more): `more` is of later ranks.
template <class Element, class Merge>
std::size_t join_nodes(std::span<Element> list, std::size_t middle, Merge merge) {
  std::ranges::inplace_merge(list, list.begin() + static_cast<std::ptrdiff_t>(middle), {}, &Element::number);
  std::size_t last = 0;
  for (std::size_t i = 1; i < list.size(); ++i) {
    if (list[i].number == list[last].number)
      merge(list[last], list[i]);
    else
      list[++last] = list[i];
  }
  return last + 1;
}

// Tells every rank, in the order of ranks, the first rank of each node that has another build than rank 0, or
// that has another agent or build than the first rank of its node. Collective; false: an error.
bool differing(Team& team, const Answer& mine, std::vector<int>& ranks);

// This rank's part. It has the agent's address if an earlier file has asked for it. `alone` is the value
// of Peer::alone. With `meets`, the rank starts its agent, if there is none.
Peer describe_self(const TargetFile& target, const Settings& settings, bool alone, bool meets,
                   Place& place = own_place());

// The knowledge that all ranks have of each other.
struct Company {
  std::vector<Node> nodes;   // in the order of their first ranks
  bool one_file = true;      // all see the same file
  bool alone = false;        // some rank is (Peer::alone)
  std::uint64_t probed = 0;  // the common value of Peer::probed; 0: there is none
  std::uint32_t share = 0;   // the least share of a node

  bool on_one_node() const { return nodes.size() == 1; }
  std::vector<AgentAddress> agents() const;
  std::size_t index_of(std::uint64_t number) const {
    return static_cast<std::size_t>(std::ranges::find(nodes, number, &Node::number) - nodes.begin());
  }
};

// The words of Peer, of which all ranks hear the maximum.
struct PeerWords {
  Same node, inode, own_system, probed;
  std::uint64_t alone;
};
// The rest of introduce(). The first words are those of the peer.
bool meet(Team& team, const Peer& self, std::span<std::uint64_t> words, Company& company);

// The exchange of an open. Every rank hears the maximum of all ranks' words, and knows the company.
// Collective; false: an error.
template <class Words>
bool introduce(Team& team, const Peer& self, Words& words, Company& company) {
  struct {
    PeerWords peer;
    Words words;
  } all{{Same(self.node.number), Same(self.inode), Same(self.own_system), Same(self.probed), self.alone},
        words};
  const bool met = meet(team, self, words_of(all), company);
  words = all.words;
  return met;
}

}  // namespace millrace::client
