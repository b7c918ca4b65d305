// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

// The reasons why transfers or whole files take a way, for reports (docs/reference/statistics.md).
namespace millrace::client {

enum class Reason : std::uint8_t {
  none,
  // Of a transfer.
  strategy_chosen,
  direct_above,
  pipeline_faster,
  library_as_fast,
  too_little_so_far,
  on_another_node,
  other_process,
  // Of a file.
  set_direct,
  only_reads,
  cannot_open_again,
  atomic_mode,
  view_unmapped,
  other_handle,
  // Of the agent.
  agent_gone,
  agent_silent,
  agent_cannot_start,
  // Of a file that several nodes open.
  other_file,
  open_alone,
  unreachable,
  incoherent,
  // Of reads.
  stage_chosen,
  read_by_each_node,
  copy_on_node,
  small_reads,
  end_of_list
};

// The meaning of a reason's two numbers: the one that decided, and the one that it was compared with.
enum class Unit : std::uint8_t {
  none,
  bytes,
  ns,           // the expected times of the transfer: by the MPI library, and through the pipeline
  ns_saved,     // the time that the pipeline would have saved so far, and the cost of entering it
  thousandths,  // of a file
};

struct ReasonText {
  Reason reason;
  std::string_view text;
  std::string_view setting;  // would change the way; empty: no setting does
  Unit unit = Unit::none;
};

const ReasonText& text_of(Reason reason);
std::string_view name_of(Unit unit);

// A reason, with the numbers of the decision.
struct Ground {
  Reason reason = Reason::none;
  std::uint64_t piece_bytes = 0;  // mean size of the contiguous pieces; 0: unknown
  std::uint64_t value = 0;
  std::uint64_t bound = 0;
};

// The setting that would change the way, with its value; empty if there is none. `pipeline`: the ground led
// into the pipeline.
std::string setting_for(const Ground& ground, bool pipeline);

// The last ground of one way. Thread safe; the numbers may come from another call at the same time.
class LastGround {
 public:
  void store(const Ground& ground) {
    piece_bytes_.store(ground.piece_bytes, std::memory_order_relaxed);
    value_.store(ground.value, std::memory_order_relaxed);
    bound_.store(ground.bound, std::memory_order_relaxed);
    reason_.store(ground.reason, std::memory_order_relaxed);
  }
  Ground load() const {
    return {reason_.load(std::memory_order_relaxed), piece_bytes_.load(std::memory_order_relaxed),
            value_.load(std::memory_order_relaxed), bound_.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<Reason> reason_{Reason::none};
  std::atomic<std::uint64_t> piece_bytes_{0}, value_{0}, bound_{0};
};

}  // namespace millrace::client
