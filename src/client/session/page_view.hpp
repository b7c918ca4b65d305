// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "extent/extent.hpp"
#include "transport/layout.hpp"

namespace millrace::client {

// The work of an agent so far: the bytes that it has taken, the memory that it has used for them, and the
// time of the processors.
struct Work {
  std::uint64_t bytes = 0;
  std::uint64_t memory = 0;
  std::uint64_t ns = 0;
};

// Reads the agent's page in shared memory: the states of files that ranks of this node have open through the
// pipeline. Each function costs a few loads and no communication. Thread safe.
class PageView {
 public:
  explicit PageView(transport::AgentPage& page) : page_(page) {}

  transport::AgentPage& page() const { return page_; }
  transport::SharedFileState& state(std::uint32_t file) const { return page_.files[file]; }
  // Files have slots below this; some of these are free.
  std::uint32_t slots() const { return std::min(page_.slots.load(), transport::max_files); }

  // As of the last close that it has answered.
  Work work() const { return {page_.taken_bytes.load(), page_.buffer_bytes.load(), page_.worked_ns.load()}; }

  // False if the file system has every byte that any rank of the node wrote to the file.
  bool dirty(std::uint32_t file) const { return state(file).dirty.load(std::memory_order_seq_cst) != 0; }
  // False if the file is not dirty, and its ledger (if any) has no byte that may be missing in the file.
  bool keeps(std::uint32_t file) const { return dirty(file) || state(file).kept.load() != 0; }
  // False if no rank of the node has bytes pending in `extent`.
  bool pending(std::uint32_t file, Extent extent) const {
    const std::uint64_t wanted = transport::places(extent);
    return (state(file).fresh.load(std::memory_order_seq_cst) & wanted) != 0 ||
           (state(file).held.load(std::memory_order_seq_cst) & wanted) != 0;
  }

  // False if no rank of the node has a file of this number open through the pipeline. `seen` (0 at first)
  // avoids the search as long as no rank opens another file.
  bool knows(std::uint64_t number, std::uint64_t& seen) const {
    const std::uint64_t openings = page_.openings.load();
    if (openings == seen) return false;
    if (any_of(number, [](std::uint32_t) { return true; })) return true;
    seen = openings;
    return false;
  }
  // True if an agent has bytes that this node's ranks have written, and the file lacks them.
  bool dirty(const transport::FileNumbers& numbers) const {
    return any([&](std::uint32_t file) { return numbers.are_of(state(file)) && dirty(file); });
  }
  // True if the file may lack bytes that this node's ranks have written.
  bool keeps(const transport::FileNumbers& numbers) const {
    return any([&](std::uint32_t file) { return numbers.are_of(state(file)) && keeps(file); });
  }
  // The same, of ranks of other nodes too, if they have opened it together with ranks of this node.
  bool owes(const transport::FileNumbers& numbers) const {
    return keeps(numbers) || any([&](std::uint32_t file) {
             return numbers.are_of(state(file)) && state(file).routed.load() != 0;
           });
  }
  // For so long the file system has not answered the agent.
  std::uint32_t silent_ms(const transport::FileNumbers& numbers) const {
    std::uint32_t longest = 0;
    (void)any([&](std::uint32_t file) {
      if (numbers.are_of(state(file))) longest = std::max(longest, state(file).silent_ms.load());
      return false;
    });
    return longest;
  }
  // True if the disk of the journals does not take the file's ledger back (AgentPage::stuck).
  bool is_stuck(std::uint64_t number) const {
    return std::ranges::any_of(page_.stuck, [number](const auto& stuck) {
      return stuck.load() == number || stuck.load() == transport::any_file;
    });
  }
  // The number by which the agent knows the file.
  std::uint64_t known_as(const transport::FileNumbers& file) const {
    std::uint64_t number = file.number;
    const auto is = [&](std::uint32_t slot) {
      return file.are_of(state(slot)) && (number = state(slot).number.load()) != 0;
    };
    return any(is) ? number : file.number;
  }
  // True if a ledger has records of the file.
  bool logs(const transport::FileNumbers& numbers) const {
    return any(
        [&](std::uint32_t file) { return numbers.are_of(state(file)) && state(file).kept.load() != 0; });
  }
  // True if some rank of the node wrote bytes to a file of this number that may be missing in the file.
  bool holds(std::uint64_t number) const {
    return any_of(number, [this](std::uint32_t file) { return keeps(file); });
  }
  // True if some rank of the node has bytes pending in `extent` of a file of this number. Bytes that only a
  // ledger has do not count.
  bool pending_in(std::uint64_t number, Extent extent) const {
    return any_of(number, [&](std::uint32_t file) { return dirty(file) && pending(file, extent); });
  }
  // No byte that ranks of the node have pending in a file of this number lies behind it.
  std::uint64_t end_of(std::uint64_t number) const {
    std::uint64_t end = 0;
    (void)any_of(number, [&](std::uint32_t file) {
      end = std::max(end, state(file).end.load());
      return false;
    });
    return end;
  }
  // True if ranks of other nodes have opened a file of this number together with ranks of this node.
  bool routed(std::uint64_t number) const {
    return any_of(number, [this](std::uint32_t file) { return state(file).routed.load() != 0; });
  }
  // False if no rank of the node has a file open through the pipeline.
  bool knows_any() const {
    return any([](std::uint32_t) { return true; });
  }
  // True if some rank of the node has bytes pending in some file. With `kept`, bytes in a ledger count too.
  bool anything_pending(bool kept) const {
    return any([&](std::uint32_t file) { return kept ? keeps(file) : dirty(file); });
  }

 private:
  template <class Is>
  bool any(Is&& is) const {
    for (std::uint32_t file = 0, end = slots(); file < end; ++file) {
      if (state(file).number.load() != 0 && is(file)) return true;
    }
    return false;
  }
  template <class Is>
  bool any_of(std::uint64_t number, Is&& is) const {
    return any([&](std::uint32_t file) { return state(file).number.load() == number && is(file); });
  }

  transport::AgentPage& page_;
};

}  // namespace millrace::client
