// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/recovery/recovery.hpp"

#include <poll.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <ostream>
#include <vector>

#include "agent/core/core.hpp"
#include "agent/recovery/recovery_list.hpp"
#include "agent/recovery/recovery_target.hpp"
#include "io/posix/descriptor.hpp"
#include "io/posix/owned.hpp"
#include "journal/folder.hpp"
#include "journal/reader.hpp"
#include "transport/memory.hpp"
#include "transport/presence.hpp"

namespace millrace::agent {

namespace {

// A journal that this process has checked and locked.
struct Found {
  std::string path;
  Fd file;
  journal::Summary summary;

  std::string target() const { return path_of(summary.header); }
  bool passed_over() const { return summary.state.passed_over != 0; }
};

class Recovery {
 public:
  Recovery(const RecoveryOptions& options, io::Storage& storage, std::ostream& out, std::ostream& error,
           Pace& pace)
      : options_(options), storage_(storage), out_(out), error_(error), pace_(pace) {}
  int run();

 private:
  bool wait_for_living();
  bool lock(const Fd& file);
  void take(const std::string& path);
  bool usable(Found& found);
  Status write_all(const Found& found, Fd target);
  void finish(Found& found);
  void refuse(const std::string& path, const std::string& why) {
    error_ << "millrace recover: " << path << ": " << why << '\n';
    failed_ = true;
  }

  const RecoveryOptions& options_;
  io::Storage& storage_;
  std::ostream& out_;
  std::ostream& error_;
  Pace& pace_;
  std::vector<Found> found_;
  std::size_t living_ = 0;
  bool failed_ = false;
};

bool unreadable_header(const journal::Summary& summary) {
  return summary.verdict == journal::Verdict::not_a_journal ||
         (summary.verdict == journal::Verdict::corrupt && summary.end == 0);
}

// Tries several times, because a process that only looks at the log holds its lock for a moment.
bool Recovery::lock(const Fd& file) {
  for (int tries = 0; tries < 20; ++tries) {
    if (io::take_lock(file)) return true;
    pace_.pause(2);
  }
  return false;
}

// The living agents that have bytes, and what they have done so far.
struct Agents {
  std::string first;  // its process
  std::size_t count = 0;
  std::uint64_t progress = 0;
};

// An agent that has bytes of a file, in its memory or in the rings of its ranks, shows it in its page.
Agents agents_with_bytes(const std::string& directory) {
  Agents found;
  for (const std::string& path : transport::presences_in(directory)) {
    const Result<transport::Neighbour> agent = transport::Neighbour::look_at(path);
    const transport::AgentPage* const page = agent ? agent->page() : nullptr;
    if (page == nullptr || !transport::holds_bytes(*page)) continue;
    if (found.count++ == 0) found.first = std::to_string(agent->process());
    found.progress += page->progress.load();
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
    const auto paths = journals_in(options_.directory, error_);
    if (!paths) return false;
    for (const std::string& path : *paths) {
      const Result<journal::Named> log = journal::look_at(path);
      if (!log || !log->living) continue;
      ++living;
      progress += log->start.sector.progress;
    }
    const Agents agents = agents_with_bytes(options_.directory);
    progress += agents.progress;
    const std::uint64_t now_ns = pace_.now_ns();
    const std::size_t waiting = living + agents.count;
    if (waiting == 0) return true;
    if (waiting != told && living > 0)
      out_ << "waiting for " << living << (living == 1 ? " file" : " files") << " that agents are writing"
           << std::endl;
    if (waiting != told && agents.count > 0)
      out_ << "waiting for " << agents.count << (agents.count == 1 ? " agent" : " agents")
           << " with bytes of files" << std::endl;
    if (waiting != told || progress != seen) since_ns = now_ns;
    told = waiting;
    seen = progress;
    if (now_ns - since_ns > options_.timeout_ms * 1'000'000) {
      if (agents.count > 0)
        refuse(options_.directory,
               "process " + agents.first +
                   ", an agent, has bytes of files and has made no "
                   "progress within --timeout; continue it if it is stopped, or check its "
                   "disks, then run millrace drain again");
      if (living > 0)
        refuse(options_.directory,
               "living agents have made no progress within --timeout, and their journals stay; check their "
               "disks and their nodes, then run millrace drain again");
      return false;
    }
    pace_.pause(50);
  }
}

void Recovery::take(const std::string& path) {
  Result<Fd> file = io::open_owned(path);
  if (!file) {
    if (file.status().code() != Code::not_found) refuse(path, file.status().describe());
    return;
  }
  if (!lock(*file)) {
    ++living_;
    return;
  }
  Found found{path, *std::move(file), {}};
  journal::JournalReader reader(found.file);
  if (reader.open() == journal::Verdict::clean) {  // so that an open of the target waits for this process
    journal::Start start{reader.header(), reader.state()};
    journal::set_state(found.file, start, journal::State::draining);
  }
  found.summary = journal::scan(found.file);
  if (usable(found)) found_.push_back(std::move(found));
}

// False: the journal is refused, with a message, or has no records.
bool Recovery::usable(Found& found) {
  using journal::Verdict;
  journal::Summary& summary = found.summary;
  const Result<std::uint64_t> size = io::size_of(found.file);
  // Its agent died before it had written the header.
  const bool empty = summary.verdict == Verdict::not_a_journal && size && *size < sizeof summary.header;
  if (empty || (unreadable_header(summary) && journal::never_committed(found.file))) {
    if (!empty)
      out_ << found.path
           << ": the journal has no record, because its node went down before one was on the disk\n";
    if (!options_.dry_run) (void)io::remove_owned(found.path);
    return false;
  }
  if (summary.verdict == Verdict::corrupt && summary.end > 0 &&
      (options_.force || !journal::commit_behind(found.file, summary)))
    summary.verdict = Verdict::torn;
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
  refuse(found.path, why);
  return false;
}

// Uses the agent's own pipeline, so that writes are large and in the order of the file.
Status Recovery::write_all(const Found& found, Fd target) {
  Core core(storage_, options_.directory);
  transport::Register registration{};
  registration.group = 1;
  registration.members = 1;
  registration.settings.strategy = Strategy::sort;
  registration.settings.durability = Durability::disk;
  registration.settings.record_max_bytes = journal::payload_max;
  Result<FileSlot> slot = core.open(0, std::move(target), registration);
  if (!slot) return slot.status();
  const auto step = [&] {
    if (!core.advance(pace_.now_ns())) pace_.wait_for(storage_);
  };
  journal::JournalReader reader(found.file, 4 * MiB);
  if (reader.open() != journal::Verdict::clean) return Code::corrupt;
  journal::Start start{reader.header(), reader.state()};
  journal::Record record;
  std::uint64_t shown_ns = 0;
  while (reader.position() < found.summary.end && reader.next(record)) {
    if (record.type != journal::Type::data) continue;
    while (!core.ready() && core.error(*slot).ok()) step();
    if (!core.error(*slot).ok()) break;
    if (const std::uint64_t now_ns = pace_.now_ns(); now_ns - shown_ns > 250'000'000) {
      shown_ns = now_ns;
      journal::show_progress(found.file, start);  // for programs that wait to open the target
    }
    core.write(0, *slot, record.offset, record.data);
  }
  core.close(0, *slot, 1, {});
  for (;;) {
    for (const Reply& reply : core.take_replies()) {
      if (!reply.status.ok()) return reply.status;
      return reader.position() == found.summary.end ? Status() : Status(Code::corrupt);
    }
    step();
  }
}

void Recovery::finish(Found& found) {
  const std::string what = std::to_string(found.summary.records) + " records, " +
                           std::to_string(found.summary.payload_bytes) + " bytes";
  if (found.passed_over() && !options_.force) {
    return refuse(found.path, found.target() + " was opened for writing without these " + what +
                                  ", and may have newer bytes; --force writes the records nevertheless");
  }
  Target target = find_target(storage_, found.summary.header, true);
  if (const std::string why = refusal(target, found.target());
      !why.empty() && !(target.file && options_.force))
    return refuse(found.path, why + " (" + what + ")");
  if (options_.dry_run) {
    out_ << found.path << ": " << what << " for " << found.target() << '\n';
    return;
  }
  const Status written = write_all(found, *std::move(target.file));
  if (!written.ok())
    return refuse(found.path, found.target() + ": " + written.describe() + "; the journal stays");
  if (Status gone = io::remove_durably(found.path); !gone.ok()) return refuse(found.path, gone.describe());
  out_ << found.target() << ": recovered " << what << '\n';
}

int Recovery::run() {
  transport::bury_dead(options_.directory);
  if (options_.drain && !wait_for_living()) return 1;
  const auto paths = journals_in(options_.directory, error_);
  if (!paths) return 1;
  for (const std::string& path : *paths) take(path);
  // Sorts by the time of creation: of two logs for one target, the later one is newer. File systems count
  // time in ticks of milliseconds. Within one tick, a rank's rescue of its ring is newer than any ledger.
  std::ranges::stable_sort(found_, {}, [](const Found& one) {
    return std::pair(one.summary.header.created_ns, one.summary.header.kind);
  });
  std::vector<FileIdentity> broken;
  for (Found& found : found_) {
    const FileIdentity target = journal::target_of(found.summary.header);
    if (std::ranges::find(broken, target) != broken.end()) {
      refuse(found.path,
             "was not used, because an older journal of " + found.target() + " was not recovered; it stays");
      continue;
    }
    const bool before = std::exchange(failed_, false);
    finish(found);
    if (failed_ && !found.passed_over()) broken.push_back(target);
    failed_ |= before;
  }
  if (living_ > 0)
    out_ << living_ << (living_ == 1 ? " journal is" : " journals are")
         << " still in use by living agents; millrace drain waits for them\n";
  if (!failed_ && found_.empty() && living_ == 0)
    out_ << "nothing to recover in " << options_.directory << '\n';
  return failed_ ? 1 : 0;
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

int recover(const RecoveryOptions& options, io::Storage& storage, std::ostream& out, std::ostream& error,
            Pace& pace) {
  return Recovery(options, storage, out, error, pace).run();
}

}  // namespace millrace::agent
