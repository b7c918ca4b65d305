// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/recovery/group.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "agent/recovery/recovery_list.hpp"
#include "agent/recovery/replay.hpp"
#include "io/posix/descriptor.hpp"
#include "io/posix/owned.hpp"

namespace millrace::agent {

namespace {

using journal::LogState;
using journal::Writers;

bool unreadable_header(const journal::Summary& summary) {
  return summary.verdict == journal::Verdict::not_a_journal ||
         (summary.verdict == journal::Verdict::corrupt && summary.end == 0);
}

// Tries several times, because a process that only looks at the log holds its lock for a moment.
Status lock(const Fd& file, Pace& pace) {
  Status locked = io::try_lock(file);
  for (int tries = 1; tries < 20 && locked.code() == Code::timeout; ++tries) {
    pace.pause(2);
    locked = io::try_lock(file);
  }
  return locked;
}

// Stamps of two boots, or of two clocks, cannot be compared.
std::pair<std::uint64_t, std::uint32_t> clock_of(const journal::Start& start) {
  return {start.header.boot, start.header.clock};
}

}  // namespace

void LogGroup::take(const std::string& path) {
  Result<Fd> file = io::open_owned(path);
  if (!file) {
    if (file.status().code() == Code::not_found) return;
    return block(path, file.status().describe(), path);
  }
  const Status locked = lock(*file, pace_);
  if (locked.code() == Code::unsupported) return block(path, no_lock(locked), path);
  if (!locked.ok()) {
    const bool lives = io::has_name(*file);
    outcome_.living += lives ? 1 : 0;
    complete_ &= !lives;
    return;
  }
  ++outcome_.dead;
  pace_.between_steps();
  Found found{path, *std::move(file)};
  const Result<FileState> log = storage_.state_of(found.file);
  journal::JournalReader reader(found.file);
  if (reader.open() == journal::Verdict::clean) {
    found.start = {reader.header(), reader.state()};
    journal::StateSector sector = found.start.sector;
    found.alive_ns = sector.alive_ns = journal::alive_ns(sector, log);
    if (sector.state == LogState::open) sector.state = LogState::draining;  // an open of the target waits
    // A disk that takes no write is told later: begin() comes before any write to the target.
    if (!options_.dry_run) (void)journal::put_state(found.file, found.start, sector);
  }
  const bool shows = found.start.header.version == journal::version && !options_.dry_run;
  found.summary = journal::scan(found.file, [&] {
    if (shows) journal::show_progress(found.file, found.start);
  });
  if (usable(found)) found_.push_back(std::move(found));
}

// `blocker`: without this journal, no other one of the file is used.
void LogGroup::block(const std::string& path, const std::string& why, const std::string& blocker) {
  outcome_.refuse(path, why);
  blocker_ = blocker;
  complete_ = false;
}

// False: the journal is refused, with a message, or has no records.
bool LogGroup::usable(Found& found) {
  using journal::Verdict;
  if (found.start.sector.state == LogState::done) return true;  // it is only removed
  journal::Summary& summary = found.summary;
  const Result<std::uint64_t> size = io::size_of(found.file);
  // If only the agent has died, the node has every byte, and what does not fit is damage.
  const std::uint64_t boot = journal::boot_of(found.file);
  const bool crashed = boot == 0 || boot != pace_.boot();
  // Its agent died before it had written the header, or the disk was full.
  const bool headless = summary.verdict == Verdict::not_a_journal && size && *size < sizeof summary.header;
  if (headless || (crashed && unreadable_header(summary) && journal::never_committed(found.file))) {
    if (!size || *size > 0)
      outcome_.out << found.path << ": the journal has no record, because "
                   << (headless ? "its header was not written"
                                : "its node went down before one was on the disk")
                   << '\n';
    if (!options_.dry_run) (void)io::remove_owned(found.path);
    return false;
  }
  if (summary.verdict == Verdict::corrupt && summary.end > 0 &&
      (options_.force || (crashed && !journal::commit_behind(found.file, summary))))
    summary.verdict = Verdict::torn;
  if (journal::to_status(summary.verdict).ok() && summary.records == 0 && !options_.dry_run)
    return (void)io::remove_durably(found.path), false;
  if (journal::to_status(summary.verdict).ok()) return true;
  std::string why = journal::describe(summary.verdict);
  if (summary.verdict == Verdict::unsupported)
    why = "a Millrace journal of format version " + std::to_string(summary.header.version) +
          ", and this build reads version " + std::to_string(journal::version) +
          " only; none of its records was used. Recover it with the build that wrote it, or remove it with "
          "--discard";
  if (summary.verdict == Verdict::corrupt)
    why += " (byte " + std::to_string(summary.end) +
           "); none of its records was used; --force uses the records before that byte";
  const bool passed_over = found.start.sector.passed_over != 0;
  block(found.path, why, passed_over ? blocker_ : found.path);
  return false;
}

void LogGroup::refuse_all(const std::string& why) {
  for (const Found& found : found_) outcome_.refuse(found.path, why + " (" + found.what() + ")");
}

// Logs that are done, and those that they lead: a recovery died after the target had all their records, or an
// agent could not remove its ledger. A log that is done goes when no other log of its file is left that it
// may lead.
void LogGroup::remove_done() {
  const auto is_done = [](const Found& one) { return one.start.sector.state == LogState::done; };
  std::set<std::uint64_t> leaders;
  for (const Found& found : found_) {
    if (is_done(found)) leaders.insert(found.start.header.checksum);
  }
  const auto goes = [&](const Found& one) {
    return is_done(one) || leaders.contains(one.start.sector.leader);
  };
  std::ranges::stable_partition(found_, std::not_fn(is_done));
  for (const Found& found : found_) {
    if (!goes(found) || options_.dry_run || (is_done(found) && !complete_)) continue;
    const Status gone = io::remove_durably(found.path);
    if (gone.ok()) continue;
    outcome_.refuse(found.path, "cannot be removed: " + gone.describe() +
                                    "; its records are not needed any more, and will not be written");
    complete_ = false;
  }
  std::erase_if(found_, goes);
}

void LogGroup::drop_passed_over() {
  if (options_.force) return;
  std::erase_if(found_, [this](const Found& found) {
    if (found.start.sector.passed_over == 0) return false;
    outcome_.refuse(found.path, path_of(found.summary.header) + " was opened for writing without these " +
                                    found.what() +
                                    ", and may have newer bytes; --force writes the records nevertheless");
    return true;
  });
}

// The last sign of life of the processes that shared the log's open, by their node's clock. The clock may
// have been set back since: what a rank saves after the death of its agent may be older by the clock.
std::uint64_t LogGroup::alive_ns(const Found& found) const {
  std::uint64_t last = found.alive_ns;
  for (const Found& other : found_) {
    if (other.start.header.group == found.start.header.group) last = std::max(last, other.alive_ns);
  }
  return last;
}

// The reason why the logs are not used; empty if they are.
std::string LogGroup::trouble(const RecoveryTarget& target) const {
  if (const std::string why = refusal(target); !why.empty()) return why;
  if (!blocker_.empty())
    return "was not used, because the order of writing needs all journals of " + target.name + ", and " +
           blocker_ + " cannot be used; it stays. --force uses the others";
  const auto other_clock = [this](const Found& one) {
    return clock_of(one.start) != clock_of(found_.front().start);
  };
  if (std::ranges::any_of(found_, other_clock))
    return "was not used, because " + target.name +
           " has journals from before and after a boot of the node; --force writes the older ones first";
  const Result<FileState> now = storage_.state_of(*target.file);
  if (!now) return target.name + ": " + now.status().describe() + "; the journal stays";
  const bool changed = std::ranges::any_of(found_, [&](const Found& one) {
    return changed_since({one.start.header, one.start.sector, alive_ns(one)}, *now, pace_.boot());
  });
  if (!changed) return {};
  return target.name +
         " was changed after the end of its agent, and may have newer bytes than this journal; nothing was "
         "written "
         "to it. Compare the file with your program's output, then write the journal into it with --force, "
         "or "
         "remove the journal with --discard";
}

void LogGroup::recover(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    pace_.between_steps();
    take(path);
  }
  remove_done();
  drop_passed_over();
  if (found_.empty()) return;
  RecoveryTarget target = find_target(storage_, found_.front().summary.header, true, options_.target);
  for (const Found& found : found_) {  // all of them have to be of this very file
    if (target.file && target.sameness == Sameness::same)
      target.sameness = sameness_of(storage_, *target.file, found.summary.header);
  }
  if (const std::string name = target.file ? io::path_of(target.file->get()) : ""; !name.empty())
    target.name = name;
  if (const std::string why = trouble(target); !why.empty() && !(target.file && options_.force))
    return refuse_all(why);
  if (options_.dry_run) {
    for (const Found& found : found_)
      outcome_.out << found.path << ": " << found.what() << " for " << target.name << '\n';
    return;
  }
  if (!begin().ok())
    return refuse_all("the folder or the disk of the journal takes no write, so nothing was written to " +
                      target.name + "; the journal stays");
  const Result<Fd> seen = io::duplicate(*target.file);
  Status ended = write_all(*std::move(target.file));
  if (!ended.ok() && seen) leave(storage_.state_of(*seen));
  if (!ended.ok()) return refuse_all(target.name + ": " + ended.describe() + "; the journal stays");
  if (ended = remove_all(); !ended.ok()) return refuse_all(ended.describe());
  for (const Found& found : found_)
    outcome_.out << target.name << ": recovered " << found.what() << std::endl;
}

Status LogGroup::write_all(Fd target) {
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> begun;  // of the oldest log of each clock
  for (const Found& found : found_) {
    std::uint64_t& first = begun.try_emplace(clock_of(found.start), UINT64_MAX).first->second;
    first = std::min(first, found.summary.header.created_ns);
  }
  std::vector<Replayed> logs;
  logs.reserve(found_.size());
  for (const Found& found : found_)
    logs.push_back({found.file, found.summary.end, begun[clock_of(found.start)]});
  return replay(logs, std::move(target), storage_, pace_, [this](bool progress) { show_life(progress); });
}

// From here on, the changes of the target are those of this recovery. The next one goes on if this one dies.
Status LogGroup::begin() {
  const std::uint64_t leader = found_.back().start.header.checksum;
  for (Found& found : found_) {
    journal::StateSector sector = found.start.sector;
    if (sector.writers == Writers::nobody) sector.writers = Writers::owner;
    sector.leader = leader;
    sector.alive_ns = std::max(found.alive_ns, storage_.wall_ns());
    if (Status put = journal::put_state(found.file, found.start, sector, true); !put.ok()) return put;
  }
  return {};
}

void LogGroup::show_life(bool progress) {
  for (Found& found : found_) {
    journal::StateSector sector = found.start.sector;
    sector.progress += progress ? 1 : 0;
    sector.alive_ns = std::max(found.alive_ns, storage_.wall_ns());
    (void)journal::put_state(found.file, found.start, sector);
  }
}

// The target's disk has failed.
void LogGroup::leave(const Result<FileState>& target) {
  for (Found& found : found_) {
    journal::StateSector sector = found.start.sector;
    sector.alive_ns = std::max(found.alive_ns, storage_.wall_ns());
    if (target && sector.writers == Writers::owner) {
      sector.writers = Writers::nobody;
      sector.target = *target;
    }
    (void)journal::put_state(found.file, found.start, sector);
  }
}

// Logs that stay would bring old bytes back. So one log says that all are done, and goes last.
Status LogGroup::remove_all() {
  Found& leader = found_.back();
  journal::StateSector sector = leader.start.sector;
  sector.state = LogState::done;
  if (Status put = journal::put_state(leader.file, leader.start, sector, true); !put.ok()) return put;
  for (const Found& found : found_) {
    if (Status gone = io::remove_durably(found.path); !gone.ok()) return gone;
  }
  return {};
}

}  // namespace millrace::agent
