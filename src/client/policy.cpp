// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/policy.hpp"

#include <algorithm>

namespace millrace::client {

namespace {

bool is_direct_call(const Settings& settings, const char* name) {
  return std::find(settings.direct_calls.begin(), settings.direct_calls.end(), name) !=
         settings.direct_calls.end();
}

// Where the rule's way has been measured, and the other has not, that is tried.
Choice by_cost(const Choice& rule, const Costs& costs) {
  const std::uint64_t own = rule.pipeline ? costs.pipeline : costs.direct;
  const std::uint64_t other = rule.pipeline ? costs.direct : costs.pipeline;
  if (own == 0) return {rule.pipeline, rule.why, true};
  if (other == 0) return {!rule.pipeline, "a trial: files of this name went the other way", true};
  if (other < own - own / 10) return {!rule.pipeline, "measured to be faster for files of this name", true};
  return {rule.pipeline, rule.why, true};
}

}  // namespace

Choice choose(const Settings& process, const FileSettings& file, const Transfer& transfer) {
  if (!process.direct_calls.empty()) {
    if (is_direct_call(process, transfer.collective ? "collective" : "independent")) {
      return {false, "such calls are set to stay direct"};
    }
    if (transfer.nonblocking && is_direct_call(process, "nonblocking")) {
      return {false, "non-blocking calls are set to stay direct"};
    }
  }
  if (file.durability == Durability::node) return {true, "durability node: the node keeps what is written"};
  if (file.strategy != Strategy::automatic) return {true, "the strategy was chosen"};
  if (transfer.bytes == 0) return {true, "nothing to write"};
  const std::uint64_t mean = transfer.bytes / std::max<std::uint64_t>(transfer.pieces, 1);
  if (process.direct_above_bytes != 0) {
    return mean < process.direct_above_bytes ? Choice{true, "pieces below direct_above"}
                                             : Choice{false, "pieces of direct_above or more"};
  }
  std::uint64_t bound = direct_above_default;
  const char* why = "small pieces";
  if (transfer.made_stable) {
    bound = stable_direct_above;
    if (mean >= direct_above_default) why = "pieces that go to the disk at once";
  } else if (transfer.pieces >= many_pieces) {
    bound = many_pieces_direct_above;
    if (mean >= direct_above_default) why = "many pieces";
  }
  const Choice rule = mean < bound ? Choice{true, why} : Choice{false, "large pieces"};
  const std::uint64_t unsure_from = std::min(bound / 2, direct_above_default);
  return mean >= unsure_from && mean < unsure_to ? by_cost(rule, transfer.costs) : rule;
}

bool FlushWatch::flushed(std::uint64_t bytes) {
  small_in_a_row_ = bytes < small_flush_bytes ? small_in_a_row_ + 1 : 0;
  return small_in_a_row_ > small_flushes_max;
}

}  // namespace millrace::client
