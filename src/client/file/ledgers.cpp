// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/file/ledgers.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/local.hpp"
#include "client/file/guest.hpp"
#include "client/file/process.hpp"
#include "client/session/ask_files.hpp"
#include "journal/folder.hpp"
#include "transport/layout.hpp"

namespace millrace::client {

namespace {

// The state of one target's ledgers.
struct Found {
  bool living = false;      // processes have ledgers with bytes that a recovery would bring back
  bool foreign = false;     // ... and this open cannot ask for one of them
  bool draining = false;    // an agent or a recovery writes a ledger's records to the target
  bool recovering = false;  // a recovery works in the folder, and will come to these ledgers
  std::size_t dead = 0;     // ledgers without an owner
  std::uint64_t progress = 0;
};

// True if the ledger of a dead agent has bytes that the file may lack, and no mark.
bool is_left(const journal::StateSector& ledger) {
  return ledger.passed_over == 0 && ledger.state != journal::LogState::done;
}

constexpr int most_deaths = 3;  // after so many killed recoveries, an open goes on without
// A process that only looks at a journal holds its lock for a moment.
constexpr int most_marks = 100;

// Asks this node's agent for its bytes of the file. An error stays with the open that wrote. Errors of bytes
// that ranks have left are reported here, because no later call reports them.
// If the open `writes`, the ledgers of earlier closes forget these bytes.
void flush_open(Process& process, const char* path, const transport::FileNumbers& file, bool writes) {
  Guest guest(process);
  guest.before_opening(file);
  Tally tally;
  if (Session* const session = process.joined(); session != nullptr && writes)
    (void)settle_ledgers_of(*session, file, tally);  // an error is that of the earlier close
  if (!guest.first_error().ok()) process.say(std::string(path) + ": " + guest.first_error().describe());
}

// The ledgers of the file that an open needs.
class Ledgers {
 public:
  Ledgers(Process& process, const char* path, std::string directory, const FileIdentity& target, bool writes)
      : process_(process), path_(path), directory_(std::move(directory)), target_(target), writes_(writes) {}

  // False: the open has to fail. A line has told why.
  bool settle();

 private:
  Result<Found> look();
  Status recover();
  Status wait();
  Status pass_over();
  bool is_known(const journal::Named& ledger) const;
  bool is_stuck() const;
  bool refuse(const std::string& why);
  journal::ReadStart reader() {
    return [this](const Fd& log, std::span<std::byte> into) { return process_.read_start(log, into); };
  }

  Process& process_;
  const char* const path_;
  const std::string directory_;
  const FileIdentity target_;
  const bool writes_;
  std::size_t left_ = 0;  // ledgers that recovery could not bring to the target
  bool foreign_ = false;  // a process has a ledger that may bring older bytes back
  bool stuck_ = false;    // the disk of the journals does not take a ledger back
  bool told_ = false;     // a line has said that somebody writes older bytes to the file
  std::string unmarked_;  // the ledger that pass_over() could not mark
};

Result<Found> Ledgers::look() {
  Found found;
  // A recovery that locks a ledger may begin or end between these looks.
  const Result<bool> recovered = journal::is_recovering(directory_);
  if (!recovered) return recovered.status();
  const Result<std::vector<journal::Named>> logs = journal::logs_of(directory_, target_, reader());
  if (!logs) return logs.status();
  for (const journal::Named& log : *logs) {
    const journal::StateSector& now = log.start.sector;
    if (is_left(now) && !log.living) ++found.dead;
    if (is_left(now) && log.living) found.living = true, found.foreign |= !is_known(log);
    if (log.living && now.state == journal::LogState::draining) {
      found.draining = true;
      found.progress += now.progress;
    }
  }
  if (found.dead == 0 && !found.foreign) return found;  // a recovery may have locked one
  const Result<bool> recovering = journal::is_recovering(directory_);
  if (!recovering) return recovering.status();
  found.recovering = *recovering || (*recovered && found.foreign);
  if (!found.recovering) return found;
  const Result<std::uint64_t> progress = journal::progress_in(directory_, reader());
  if (!progress) return progress.status();
  found.progress += *progress;
  found.draining = true;
  return found;
}

// Sets the number of ledgers that are left.
Status Ledgers::recover() {
  for (int deaths = 0; deaths < most_deaths; ++deaths) {
    const bool ended = process_.recover(directory_, path_);
    const Result<Found> found = look();
    if (!found) return found.status();
    left_ = found->dead;
    if (ended || left_ == 0) break;
  }
  return {};
}

// Waits until the file has the bytes of all ledgers that it can get. Code::timeout: a process may still write
// to the file. Another error: this process cannot look for ledgers.
Status Ledgers::wait() {
  // An agent that waits for a lost agent of another node shows no progress, and gives up by itself.
  const std::uint64_t bound_ns = process_.settings().timeout_ms * 1'000'000 + transport::await_ns;
  std::uint64_t progress = 0;
  std::uint64_t since_ns = process_.now_ns();
  for (std::uint32_t wait_ms = 1;; wait_ms = wait_ms < 16 ? 2 * wait_ms : wait_ms) {
    const Result<Found> looked = look();
    if (!looked) return looked.status();
    const Found& found = *looked;
    // This open may have waited for an agent that died and left a ledger.
    if (found.dead > left_ && !found.recovering) {
      if (const Status looked_again = recover(); !looked_again.ok()) return looked_again;
      continue;
    }
    foreign_ = found.foreign;
    stuck_ = found.living && is_stuck();
    if (!found.recovering) left_ = found.dead;
    if (!found.draining && !(foreign_ && writes_)) return {};
    // The agent has written all bytes of the file, but the ledger cannot go.
    if (!found.recovering && stuck_) return {};
    const std::uint64_t now_ns = process_.now_ns();
    if (found.progress != progress) since_ns = now_ns;
    progress = found.progress;
    if (now_ns - since_ns > bound_ns) {
      left_ = found.dead;
      if (!found.draining) return Code::timeout;
      told_ = true;
      process_.say(
          std::string(path_) +
          ": an agent or a recovery is still writing bytes of an earlier program to this file, without "
          "progress for " +
          std::to_string(bound_ns / 1'000'000'000) +
          " s: reads may return old bytes; run millrace drain to wait for it");
      return Code::timeout;
    }
    process_.pause(wait_ms);
  }
}

// Marks the ledgers of dead agents. Recovery must not write their records over the bytes that the program
// writes now. Code::timeout: a process works on a ledger, and may still write its records.
Status Ledgers::pass_over() {
  const Result<std::vector<journal::Named>> logs = journal::logs_of(directory_, target_, reader());
  if (!logs) return logs.status();
  Status first;
  std::size_t marked = 0;
  for (const journal::Named& log : *logs) {
    const journal::StateSector& now = log.start.sector;
    Status status;
    if (log.living && now.state == journal::LogState::draining) status = Code::timeout;
    if (!log.living && is_left(now)) status = journal::pass_over(log);
    if (!log.living && status.ok()) ++marked;
    if (!first.ok() || status.ok()) continue;
    first = status;
    unmarked_ = log.path;
  }
  // A process has taken a ledger that was dead a moment ago.
  if (first.ok() && marked < left_) first = Code::timeout;
  return first;
}

// True if the ledger has no record of the time before this open that can come back. Agents of other jobs have
// been asked to forget those, or have come later. This job's agent is asked before this process writes past
// it (Guest::before_writing).
bool Ledgers::is_known(const journal::Named& ledger) const {
  const std::uint64_t agent = ledger.start.sector.agent;
  if (agent == 0) return false;
  const Session* const session = process_.joined();
  if (session != nullptr && !session->lost() && session->view().page().shown.number == agent) return true;
  const Result<OtherAgents::List> others = process_.other_agents();
  return others && std::ranges::any_of(*others, [agent](const auto& other) {
           return other->view().page().shown.number == agent && other->lives();
         });
}

bool Ledgers::is_stuck() const {
  const std::uint64_t number = transport::numbers_of(target_).number;
  const Session* const session = process_.joined();
  if (session != nullptr && session->view().is_stuck(number)) return true;
  const Result<OtherAgents::List> others = process_.other_agents();
  return others &&
         std::ranges::any_of(*others, [&](const auto& other) { return other->view().is_stuck(number); });
}

bool Ledgers::refuse(const std::string& why) {
  process_.say(std::string(path_) + ": " + why);
  return false;
}

bool Ledgers::settle() {
  for (int tries = 1;; ++tries) {
    const Status waited = wait();
    if (!waited.ok() && waited.code() != Code::timeout)
      return refuse("cannot look for journals in " + directory_ + ": " + waited.describe() +
                    ". The file is not opened, because bytes of an earlier program may be in a journal");
    if (writes_ && foreign_ && told_) return false;
    if (writes_ && (foreign_ || stuck_))
      return refuse("another agent has a journal of this file in " + directory_ +
                    (stuck_ ? ", and cannot remove it, because the disk of the journals takes no write. "
                              "The file has all bytes of the journal"
                            : ", and cannot be asked to give it up") +
                    ". The file is not opened for writing, because a recovery could later write older bytes "
                    "over newer ones. Repair the disk of the journals, or wait for the end of the other job");
    if (!writes_ || (waited.ok() && left_ == 0)) break;
    const Status marked = pass_over();
    if (marked.ok()) break;
    if (marked.code() == Code::timeout && told_) return false;
    if (marked.code() != Code::timeout || tries == most_marks)
      return refuse(
          "bytes that were written before a crash are in the journal " + unmarked_ +
          ", which cannot be marked as passed over: " +
          (marked.code() == Code::timeout ? "another process works on it" : marked.describe()) +
          ". The file is not opened for writing, because a recovery could later write these bytes over newer "
          "ones. Repair the disk of the journals, then open the file again");
    process_.pause(2);
  }
  if (left_ == 0) return true;
  process_.say(std::string(path_) + ": bytes that were written before a crash are in " + directory_ +
               " and not in the file; run millrace recover to see why" +
               (writes_ ? ". It needs --force from now on, because this program may write newer bytes to the "
                          "file"
                        : " and to finish the file"));
  return true;
}

}  // namespace

bool settle_ledgers(const char* path, bool writes, Process& process) {
  if (!process.settings().enabled) return true;
  const Session* const session = process.joined();
  // Flush also the bytes that earlier ranks have left: otherwise this open would get their errors. The flush
  // comes first, because the ledgers do not change any more after the agent has answered or has gone.
  if (session != nullptr && session->view().knows_any()) {
    const Result<FileIdentity> target = process.identify(std::string(path));
    const auto numbers = target ? transport::numbers_of(*target) : transport::FileNumbers();
    flush_open(process, path, numbers, writes);
  }
  return settle_ledgers_of_others(path, writes, process);
}

bool settle_ledgers_of_others(const char* path, bool writes, Process& process) {
  const std::string directory = local_directory(process.settings());
  const Result<OtherAgents::List> others = process.other_agents();
  if (!others) {
    process.say(std::string(path) +
                ": other jobs may have bytes of this file, and this process cannot look "
                "for their agents in /dev/shm: " +
                others.status().describe() + ". The file is not opened");
    return false;
  }
  Result<bool> logs = journal::has_logs(directory);
  if (others->empty() && logs && !*logs) return true;
  const Result<FileIdentity> target = process.identify(std::string(path));
  if (!target) return true;  // the file may be on another node
  // Another job's agent that ends here may leave a ledger.
  if (!settle_other_agents(process, *others, path, transport::numbers_of(*target), writes)) return false;
  logs = journal::has_logs(directory);
  if (logs && !*logs) return true;
  return Ledgers(process, path, directory, *target, writes).settle();
}

}  // namespace millrace::client
