// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "journal/retirements.hpp"

#include <algorithm>

#include "journal/folder.hpp"

namespace millrace::journal {

void Retirements::add(Retired log) {
  const std::uint32_t number = next_++;
  RetiredLog made{std::make_shared<const Fd>(std::move(log.file)), std::move(log.path), std::move(log.target),
                  log.identity, log.ledger};
  start(number, logs_.emplace(number, std::move(made)).first->second);
}

void Retirements::start(std::uint32_t number, RetiredLog& log) {
  io::Request request;
  request.op = io::Op::call;
  request.token = std::uint64_t{owner_} << 32 | number;
  request.act = [file = log.file, path = log.path] { return retire(*file, path); };
  log.in_flight = true;
  ++in_flight_;
  storage_.submit(std::move(request));
}

void Retirements::advance(std::uint64_t now_ns) {
  now_ns_ = now_ns;
  if (now_ns < next_deadline_ns()) return;
  tried_ns_ = now_ns;
  for (auto& [number, log] : logs_) {
    if (log.in_flight) continue;
    log.last = false;  // the process has not ended after all
    start(number, log);
  }
}

std::uint64_t Retirements::next_deadline_ns() const {
  const bool any = std::ranges::any_of(logs_, [](const auto& one) { return !one.second.in_flight; });
  return any ? tried_ns_ + retry_ns : UINT64_MAX;
}

bool Retirements::end() {
  for (auto& [number, log] : logs_) {
    if (log.in_flight || std::exchange(log.last, true)) continue;
    tried_ns_ = now_ns_;
    start(number, log);
  }
  return quiet();
}

void Retirements::complete(const io::Completion& completion) {
  if (!owns(completion)) return;
  const auto found = logs_.find(static_cast<std::uint32_t>(completion.token));
  if (found == logs_.end()) return;
  ++completions_;
  --in_flight_;
  RetiredLog& log = found->second;
  log.in_flight = false;
  if (completion.status.ok()) {
    logs_.erase(found);
    return;
  }
  const bool first = log.refused.ok();
  log.refused = completion.status;
  if (first) tried_ns_ = now_ns_;
  const std::string what = log.path + ": " + log.refused.describe() + "; the journal cannot be removed. ";
  if (first)
    messages_.push_back(what + log.target +
                        " has all its records. The agent tries again until it ends. Until then no program "
                        "can open that file for writing: repair the disk of the journals");
  if (log.last)
    messages_.push_back(what +
                        "Its records are not needed any more, and the agent ends. When the disk works again, "
                        "remove the journal with millrace recover --discard, before anybody recovers older "
                        "bytes from it");
}

bool Retirements::busy_for(std::uint32_t ledger) const {
  return std::ranges::any_of(
      logs_, [&](const auto& one) { return one.second.ledger == ledger && one.second.in_flight; });
}

Status Retirements::refused(std::uint32_t ledger) const {
  for (const auto& [number, log] : logs_) {
    if (log.ledger == ledger && !log.refused.ok()) return log.refused;
  }
  return {};
}

std::vector<FileIdentity> Retirements::refused() const {
  std::vector<FileIdentity> files;
  for (const auto& [number, log] : logs_) {
    if (!log.refused.ok()) files.push_back(log.identity);
  }
  return files;
}

}  // namespace millrace::journal
