// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/recovery.hpp"

#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>
#include <ostream>
#include <vector>

#include "agent/core.hpp"
#include "agent/ledger.hpp"
#include "agent/recovery_list.hpp"
#include "agent/recovery_target.hpp"
#include "base/local.hpp"
#include "base/settings_parse.hpp"
#include "io/posix/descriptor.hpp"
#include "io/posix/owned.hpp"
#include "journal/reader.hpp"
#include "transport/memory.hpp"

namespace millrace::agent {

namespace {

constexpr const char* usage =
    "usage: millrace-recover [--dir DIR] [--dry-run] [--force] [--drain [--timeout TIME]]\n"
    "       millrace-recover [--dir DIR] --list\n"
    "       millrace-recover [--dir DIR] --discard JOURNAL...\n"
    "Writes what journals in DIR hold to their files: those whose agents have died.\n"
    "  --dry-run   only says what there is\n"
    "  --force     also into a file of that path that is another one (restored from elsewhere), and up to "
    "the\n"
    "              first damage of a journal, and where a file was written again without what a journal "
    "holds\n"
    "  --drain     first waits for journals that living agents are still writing to their files\n"
    "  --timeout   gives up waiting after so long without progress (default 60s)\n"
    "  --list      tells of every journal in DIR what it holds, and whether its file is there\n"
    "  --discard   takes these journals in DIR away, and what they hold with them\n"
    "Exit status: 0 everything is in its file, 1 something is not, 2 wrong use.\n";

struct Options {
  std::string directory;
  bool dry_run = false;
  bool force = false;
  bool drain = false;
  bool list = false;
  bool discard = false;
  bool help = false;
  std::vector<std::string> journals;  // to discard
  std::uint64_t timeout_ms = 60'000;
};

// A journal that nobody else has: read, checked, and locked by us.
struct Found {
  std::string path;
  Fd file;
  journal::Summary summary;
  std::string target;
  bool passed_over = false;  // its target was opened and written without it
};

class Recovery {
 public:
  Recovery(const Options& options, io::Storage& storage, std::ostream& out, std::ostream& error, Pace& pace)
      : options_(options), storage_(storage), out_(out), error_(error), pace_(pace) {}
  int run();

 private:
  std::optional<std::vector<std::string>> list();
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

  const Options& options_;
  io::Storage& storage_;
  std::ostream& out_;
  std::ostream& error_;
  Pace& pace_;
  std::vector<Found> found_;
  std::size_t living_ = 0;
  bool failed_ = false;
};

class SystemPace final : public Pace {
 public:
  std::uint64_t now_ns() const override { return transport::now_ns(); }
  void pause(std::uint32_t for_ms) override {
    const timespec pause{for_ms / 1000, for_ms % 1000 * 1'000'000L};
    ::nanosleep(&pause, nullptr);
  }
  void wait_for(io::Storage& storage) override {
    pollfd ready{storage.event_fd(), POLLIN, 0};
    if (ready.fd >= 0) (void)::poll(&ready, 1, 100);
  }
};

bool unreadable_header(const journal::Summary& summary) {
  return summary.verdict == journal::Verdict::not_a_journal ||
         (summary.verdict == journal::Verdict::corrupt && summary.end == 0);
}

// Ranks say that they have saved something when it is on the disk.
bool is_rescue(const std::string& path) { return path.ends_with(std::string("-rescue") + journal::suffix); }

// Who only looks holds the lock for a moment.
bool Recovery::lock(const Fd& file) {
  for (int tries = 0; tries < 20; ++tries) {
    if (io::take_lock(file)) return true;
    pace_.pause(2);
  }
  return false;
}

std::optional<std::vector<std::string>> Recovery::list() {
  Result<std::vector<std::string>> paths = io::list_owned(options_.directory, journal::suffix);
  if (paths) return *std::move(paths);
  refuse(io::owned_folder(options_.directory), folder_problem(paths.status()));
  return std::nullopt;
}

// True when nobody has a journal any more; false after --timeout without progress.
bool Recovery::wait_for_living() {
  std::uint64_t since_ns = pace_.now_ns();
  std::uint64_t seen = 0;
  std::size_t told = 0;
  for (;;) {
    std::size_t living = 0;
    std::uint64_t progress = 0;
    const auto paths = list();
    if (!paths) return false;
    for (const std::string& path : *paths) {
      const Result<Fd> file = io::open_owned(path);
      if (!file || !io::is_locked(*file)) continue;
      ++living;
      progress += io::touched_ns(*file);
    }
    const std::uint64_t now_ns = pace_.now_ns();
    if (living == 0) return true;
    if (living != told)
      out_ << "waiting for " << living << (living == 1 ? " file" : " files") << " that agents are writing"
           << std::endl;
    if (living != told || progress != seen) since_ns = now_ns;
    told = living;
    seen = progress;
    if (now_ns - since_ns > options_.timeout_ms * 1'000'000) {
      refuse(options_.directory,
             "agents have made no progress; they may wait for their disk or for other nodes");
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
  Result<Fd> second = io::duplicate(*file);
  if (!second) return refuse(path, second.status().describe());
  io::set_sealed(*file, true);  // who opens the target waits for us
  journal::FileSource source(*std::move(second));
  const bool passed_over = io::is_passed_over(*file);
  Found found{path, *std::move(file), journal::scan(source), {}, passed_over};
  if (usable(found)) found_.push_back(std::move(found));
}

// Says why not.
bool Recovery::usable(Found& found) {
  using journal::Verdict;
  journal::Summary& summary = found.summary;
  struct stat about {};
  if (::fstat(found.file.get(), &about) != 0) return false;
  if (summary.verdict == Verdict::not_a_journal &&
      about.st_size < static_cast<off_t>(sizeof summary.header)) {
    // Its agent died before the first record was there.
    if (!options_.dry_run) (void)io::remove_owned(found.path);
    return false;
  }
  if (unreadable_header(summary) && !is_rescue(found.path)) {
    Result<Fd> file = io::duplicate(found.file);
    if (!file) return false;
    journal::FileSource source(*std::move(file));
    if (journal::never_committed(source)) {
      out_ << found.path << ": holds nothing that was safe when its node went down\n";
      if (!options_.dry_run) (void)io::remove_owned(found.path);
      return false;
    }
  }
  if (summary.verdict == Verdict::corrupt && summary.end > 0) {
    Result<Fd> file = io::duplicate(found.file);
    if (!file) return false;
    journal::FileSource source(*std::move(file));
    if (options_.force || !journal::commit_behind(source, summary)) summary.verdict = Verdict::torn;
  }
  if (summary.verdict == Verdict::unsupported) {
    refuse(found.path, std::string(journal::describe(summary.verdict)) +
                           ": the build that wrote it recovers it; --discard takes it away");
    return false;
  }
  if (!journal::to_status(summary.verdict).ok()) {
    refuse(found.path, std::string(journal::describe(summary.verdict)) +
                           (summary.verdict == Verdict::corrupt ? " (byte " + std::to_string(summary.end) +
                                                                      "); --force uses what is before it"
                                                                : ""));
    return false;
  }
  if (summary.header.layout != journal::Layout::log) {
    refuse(found.path, "is not a log of records");
    return false;
  }
  found.target = path_of(summary.header);
  return true;
}

// Through the agent's own pipeline, so that writes are large and in the order of the file.
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
  Result<Fd> file = io::duplicate(found.file);
  if (!file) return file.status();
  journal::FileSource source(*std::move(file));
  journal::JournalReader reader(source, 4 * MiB);
  if (reader.open() != journal::Verdict::clean) return Code::corrupt;
  journal::Record record;
  const std::uint64_t begin_ns = pace_.now_ns();
  std::uint64_t shown_ns = 0;
  while (reader.place().position < found.summary.end && reader.next(record)) {
    if (record.type != journal::Type::data) continue;
    while (!core.ready() && core.error(*slot).ok()) step();
    if (!core.error(*slot).ok()) break;
    if (const std::uint64_t now_ns = pace_.now_ns(); now_ns - shown_ns > 250'000'000) {
      shown_ns = now_ns;
      // For those who wait.
      io::touch(found.file, found.summary.header.created_ns + (now_ns - begin_ns));
    }
    core.write(0, *slot, record.offset, record.data);
  }
  core.close(0, *slot, 1, {});
  for (;;) {
    for (const Reply& reply : core.take_replies()) {
      if (!reply.status.ok()) return reply.status;
      return reader.place().position == found.summary.end ? Status() : Status(Code::corrupt);
    }
    step();
  }
}

void Recovery::finish(Found& found) {
  const std::string what = std::to_string(found.summary.records) + " records, " +
                           std::to_string(found.summary.payload_bytes) + " bytes";
  if (found.passed_over && !options_.force) {
    return refuse(found.path, found.target + " was opened for writing without these " + what +
                                  ", and may hold newer ones; --force writes them all the same");
  }
  Target target = find_target(storage_, found.summary.header, true);
  if (const std::string why = refusal(target, found.target); !why.empty() && !(target.file && options_.force))
    return refuse(found.path, why + " (" + what + ")");
  if (options_.dry_run) {
    out_ << found.path << ": " << what << " for " << found.target << '\n';
    return;
  }
  const Status written = write_all(found, *std::move(target.file));
  if (!written.ok())
    return refuse(found.path, found.target + ": " + written.describe() + "; the journal stays");
  if (Status gone = io::remove_durably(found.path); !gone.ok()) return refuse(found.path, gone.describe());
  out_ << found.target << ": recovered " << what << '\n';
}

int Recovery::run() {
  if (options_.drain && !wait_for_living()) return 1;
  const auto paths = list();
  if (!paths) return 1;
  for (const std::string& path : *paths) take(path);
  // The order in which they were begun: where two are of one target, the later one is newer. File systems
  // count time in ticks of milliseconds: of one tick, what a rank has saved from its ring is newer than any
  // ledger.
  std::ranges::stable_sort(found_, {}, [](const Found& one) {
    return std::pair(one.summary.header.created_ns, is_rescue(one.path));
  });
  std::vector<FileIdentity> broken;
  for (Found& found : found_) {
    const FileIdentity target = journal::target_of(found.summary.header);
    if (std::ranges::find(broken, target) != broken.end()) {
      refuse(found.path, "waits for an older journal of " + found.target);
      continue;
    }
    const bool before = std::exchange(failed_, false);
    finish(found);
    if (failed_ && !found.passed_over) broken.push_back(target);
    failed_ |= before;
  }
  if (living_ > 0)
    out_ << living_ << (living_ == 1 ? " journal is" : " journals are")
         << " still in use by living agents; millrace drain waits for them\n";
  if (!failed_ && found_.empty() && living_ == 0)
    out_ << "nothing to recover in " << options_.directory << '\n';
  return failed_ ? 1 : 0;
}

// Empty, or what is wrong with the arguments.
std::string understand(std::span<const std::string> arguments, Options& options) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const bool more = i + 1 < arguments.size();
    if (word == "--dry-run") {
      options.dry_run = true;
    } else if (word == "--force") {
      options.force = true;
    } else if (word == "--drain") {
      options.drain = true;
    } else if (word == "--list") {
      options.list = true;
    } else if (word == "--discard") {
      options.discard = true;
    } else if (word == "--dir" && more) {
      options.directory = arguments[++i];
    } else if (word == "--timeout" && more && parse::duration_ms(arguments[i + 1])) {
      options.timeout_ms = *parse::duration_ms(arguments[++i]);
    } else if (!word.starts_with("-")) {
      options.journals.push_back(word);
    } else {
      options.help = word == "--help" || word == "-h";
      return "unexpected argument '" + word + "'";
    }
  }
  const bool recovers = options.dry_run || options.force || options.drain;
  if (!options.discard && !options.journals.empty())
    return "unexpected argument '" + options.journals.front() + "'";
  if (options.discard && options.journals.empty()) return "--discard needs the journals to take away";
  if ((options.discard || options.list) && (recovers || (options.discard && options.list)))
    return "--list and --discard go with no other option but --dir";
  return {};
}

}  // namespace

int recover(std::span<const std::string> arguments, const Settings& settings, io::Storage& storage,
            std::ostream& out, std::ostream& error) {
  SystemPace pace;
  return recover(arguments, settings, storage, out, error, pace);
}

int recover(std::span<const std::string> arguments, const Settings& settings, io::Storage& storage,
            std::ostream& out, std::ostream& error, Pace& pace) {
  Options options;
  options.directory = local_directory(settings);
  if (const std::string problem = understand(arguments, options); !problem.empty() || options.help) {
    if (!options.help) error << "millrace-recover: " << problem << '\n';
    (options.help ? out : error) << usage;
    return options.help ? 0 : 2;
  }
  if (options.list) return list_journals(options.directory, storage, out, error);
  if (options.discard) return discard_journals(options.directory, options.journals, out, error);
  return Recovery(options, storage, out, error, pace).run();
}

}  // namespace millrace::agent
