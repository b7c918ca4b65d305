// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/recovery/recovery.hpp"

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

#include "agent/recovery/group.hpp"
#include "agent/recovery/recovery_list.hpp"
#include "io/posix/descriptor.hpp"
#include "io/posix/owned.hpp"
#include "journal/folder.hpp"
#include "transport/memory.hpp"
#include "transport/presence.hpp"

namespace millrace::agent {

namespace {

// The journals of one file, and the identities by which their headers name it.
struct Journals {
  std::vector<FileIdentity> targets;  // empty: the header is not legible
  std::vector<std::string> paths;

  bool is(const FileIdentity& other) const {
    return std::ranges::any_of(
        targets, [&](const FileIdentity& one) { return same_target(one, other) != Sameness::other; });
  }
};

// Sorts journals by their files. A journal may tell that two groups are of one file, by the inode number that
// it shares with one of them, and the mark that it shares with the other.
class Targets {
 public:
  // `target`: by the journal's header; none: the header is not legible.
  void add(const std::string& path, const std::optional<FileIdentity>& target) {
    if (!target) return all_.push_back({{}, {path}});
    std::set<std::size_t> same;
    for (const std::uint64_t number : {target->inode, target->mark}) {
      const auto [begin, end] = by_number_.equal_range(number);
      for (auto one = begin; one != end; ++one) {
        if (all_[one->second].is(*target)) same.insert(one->second);
      }
    }
    const std::size_t file = same.empty() ? all_.size() : *same.begin();
    if (same.empty()) all_.push_back({});
    for (const std::size_t other : same) {
      if (other != file) merge(std::exchange(all_[other], {}), file);
    }
    merge({{*target}, {path}}, file);
  }
  std::vector<Journals> take() {
    std::erase_if(all_, [](const Journals& one) { return one.paths.empty(); });
    return std::move(all_);
  }

 private:
  void merge(const Journals& journals, std::size_t into) {
    Journals& file = all_[into];
    file.paths.insert(file.paths.end(), journals.paths.begin(), journals.paths.end());
    for (const FileIdentity& target : journals.targets) {
      if (std::ranges::find(file.targets, target) != file.targets.end()) continue;
      file.targets.push_back(target);
      by_number_.emplace(target.inode, into);
      if (target.mark > unmarked) by_number_.emplace(target.mark, into);
    }
  }

  std::vector<Journals> all_;  // those without paths have gone into others
  std::multimap<std::uint64_t, std::size_t>
      by_number_;  // inodes and marks: a mark outlasts the inode's number
};

class Recovery {
 public:
  Recovery(const RecoveryOptions& options, io::Storage& storage, std::ostream& out, std::ostream& error,
           Pace& pace)
      : options_(options), storage_(storage), pace_(pace), outcome_{out, error} {}
  int run();

 private:
  bool wait_for_living();
  Result<Fd> lock_folder();
  std::vector<Journals> by_target(const std::vector<std::string>& paths) const;
  bool is_asked_for(const Journals& journals, const Result<FileIdentity>& target) const;

  const RecoveryOptions& options_;
  io::Storage& storage_;
  Pace& pace_;
  RecoveryOutcome outcome_;
};

// The living agents that have bytes, and what they have done so far.
struct Agents {
  std::string first;  // its process
  std::size_t count = 0;
  std::uint64_t progress = 0;
};

// An agent that has bytes of a file, in its memory or in the rings of its ranks, shows it in its page.
Result<Agents> agents_with_bytes(const std::string& directory) {
  Agents found;
  const Result<std::vector<std::string>> paths = transport::presences();
  if (!paths) return paths.status();
  for (const std::string& path : *paths) {
    const Result<transport::Neighbour> agent = transport::Neighbour::look_at(path);
    const Code code = agent.status().code();
    if (code == Code::not_found || code == Code::unsupported) continue;
    if (!agent) return agent.status();
    if (!agent->has_journals_in(directory) || !transport::holds_bytes(agent->page())) continue;
    if (found.count++ == 0) found.first = std::to_string(agent->process());
    found.progress += agent->page().progress.load();
  }
  return found;
}

// True when no living process has a journal any more, and no living agent has bytes. False after --timeout
// without progress, or if the folder cannot be used.
bool Recovery::wait_for_living() {
  std::uint64_t since_ns = pace_.now_ns();
  std::uint64_t seen = 0;
  std::size_t told = 0;
  for (;;) {
    std::size_t living = 0;
    std::uint64_t progress = 0;
    const auto paths = journals_in(options_.directory, outcome_.error);
    if (!paths) return false;
    for (const std::string& path : *paths) {
      const Result<journal::Named> log = journal::look_at(path);
      if (!log || !log->living) continue;
      ++living;
      progress += log->start.sector.progress;
    }
    const Result<Agents> agents = agents_with_bytes(options_.directory);
    if (!agents) {
      outcome_.refuse(options_.directory,
                      "cannot look for agents in /dev/shm: " + agents.status().describe());
      return false;
    }
    progress += agents->progress;
    const std::uint64_t now_ns = pace_.now_ns();
    const std::size_t waiting = living + agents->count;
    if (waiting == 0) return true;
    if (waiting != told && living > 0)
      outcome_.out << "waiting for " << living << (living == 1 ? " file" : " files")
                   << " that agents are writing" << std::endl;
    if (waiting != told && agents->count > 0)
      outcome_.out << "waiting for " << agents->count << (agents->count == 1 ? " agent" : " agents")
                   << " with bytes of files" << std::endl;
    if (waiting != told || progress != seen) since_ns = now_ns;
    told = waiting;
    seen = progress;
    if (now_ns - since_ns > options_.timeout_ms * 1'000'000) {
      if (agents->count > 0)
        outcome_.refuse(options_.directory,
                        "process " + agents->first +
                            ", an agent, has bytes of files and has made no "
                            "progress within --timeout; continue it if it is stopped, or check its "
                            "disks, then run millrace drain again");
      if (living > 0)
        outcome_.refuse(
            options_.directory,
            "living agents have made no progress within --timeout, and their journals stay; check their "
            "disks and their nodes, then run millrace drain again");
      return false;
    }
    pace_.pause(50);
  }
}

// One recovery at a time: two of them could write the journals of a file in the wrong order.
Result<Fd> Recovery::lock_folder() {
  bool told = options_.dry_run;
  for (std::uint32_t wait_ms = 1;; wait_ms = std::min(2 * wait_ms, 50U)) {
    Result<Fd> locked = io::lock_folder(options_.directory);
    if (locked || locked.status().code() != Code::timeout) return locked;
    if (!told && wait_ms >= 50) {
      outcome_.out << "waiting for another recovery in " << io::owned_folder(options_.directory) << std::endl;
      told = true;
    }
    pace_.pause(wait_ms);
  }
}

// The files in the order of their first journals' names. What has no legible header is alone.
std::vector<Journals> Recovery::by_target(const std::vector<std::string>& paths) const {
  Targets targets;
  std::vector<std::string> unopened;
  for (const std::string& path : paths) {
    const Result<journal::Named> log = journal::look_at(path);
    if (!log && log.status().code() != Code::not_found) unopened.push_back(path);
    if (!log) continue;  // removed meanwhile
    const journal::FileHeader& header = log->start.header;
    const bool legible = std::memcmp(header.magic, journal::magic, sizeof journal::magic) == 0;
    targets.add(path, legible ? std::optional(journal::target_of(header)) : std::nullopt);
  }
  std::vector<Journals> all = targets.take();
  // LogGroup::take() refuses them, with the other journals of their files. Their names tell the inode.
  for (const std::string& path : unopened) {
    bool known = false;
    for (Journals& journals : all) {
      const bool may_be = std::ranges::any_of(journals.targets, [&path](const FileIdentity& target) {
        return path.ends_with(journal::suffix_of(target.inode));
      });
      if (may_be) journals.paths.push_back(path);
      known |= may_be;
    }
    if (!known) all.push_back({{}, {path}});
  }
  return all;
}

bool Recovery::is_asked_for(const Journals& journals, const Result<FileIdentity>& target) const {
  if (options_.target.empty()) return true;
  return target && journals.is(*target);
}

int Recovery::run() {
  transport::bury_dead();
  if (options_.drain && !wait_for_living()) return 1;
  Result<FileIdentity> target = Code::not_found;
  if (!options_.target.empty()) {
    const Result<Fd> file = io::open_to_read(options_.target.c_str());
    target = file ? storage_.identify(*file, false) : file.status();
    if (!target) outcome_.refuse(options_.target, target.status().describe());
  }
  const Result<Fd> locked = lock_folder();
  const auto paths = journals_in(options_.directory, outcome_.error);
  if (!paths) return 1;
  if (!locked && !paths->empty())
    outcome_.refuse(options_.directory, io::describe_unusable(options_.directory, locked.status()));
  for (const Journals& journals : locked ? by_target(*paths) : std::vector<Journals>()) {
    if (is_asked_for(journals, target)) LogGroup(options_, storage_, pace_, outcome_).recover(journals.paths);
  }
  const bool found = outcome_.dead + outcome_.living > 0;
  if (found && !options_.target.empty()) return outcome_.failed ? 1 : 0;
  if (outcome_.living > 0)
    outcome_.out << outcome_.living << (outcome_.living == 1 ? " journal is" : " journals are")
                 << " still in use by living agents; millrace drain waits for them\n";
  outcome_.failed |= tell_of_others(options_.directory, outcome_.error);
  if (!outcome_.failed && !found)
    outcome_.out << "nothing to recover " << (options_.target.empty() ? "" : "for " + options_.target + ' ')
                 << "in " << options_.directory << '\n';
  return outcome_.failed ? 1 : 0;
}

}  // namespace

std::uint64_t Pace::now_ns() const { return transport::now_ns(); }

void Pace::pause(std::uint32_t for_ms) {
  const timespec pause{for_ms / 1000, for_ms % 1000 * 1'000'000L};
  ::nanosleep(&pause, nullptr);
}

void Pace::wait_for(io::Storage& storage) {
  pollfd ready{storage.event_fd(), POLLIN, 0};
  if (ready.fd >= 0) (void)::poll(&ready, 1, 100);
}

std::uint64_t Pace::boot() const { return io::boot_number(); }

int recover(const RecoveryOptions& options, io::Storage& storage, std::ostream& out, std::ostream& error,
            Pace& pace) {
  return Recovery(options, storage, out, error, pace).run();
}

}  // namespace millrace::agent
