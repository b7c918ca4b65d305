// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/file/ledgers.hpp"

#include <string>
#include <vector>

#include "base/local.hpp"
#include "client/file/guest.hpp"
#include "client/file/process.hpp"
#include "journal/folder.hpp"
#include "transport/layout.hpp"

namespace millrace::client {

namespace {

// The state of one target's ledgers.
struct Found {
  bool draining = false;    // an agent or a recovery writes a ledger's records to the target
  bool recovering = false;  // a recovery works in the folder, and will come to the dead ledgers
  std::size_t dead = 0;     // ledgers without an owner
  std::uint64_t progress = 0;
};

struct Settled {
  std::size_t left;  // ledgers that recovery could not bring to the target
  Status status;     // Code::timeout: somebody may still write to the target
};

constexpr int most_deaths = 3;  // after so many killed recoveries, an open goes on without

// Reads logs as this process does.
journal::ReadStart reader_of(Process& process) {
  return
      [&process](const Fd& log, void* into, std::size_t size) { return process.read_start(log, into, size); };
}

std::vector<journal::Named> logs_of(Process& process, const std::string& directory,
                                    const FileIdentity& target) {
  return journal::logs_of(directory, target, reader_of(process));
}

Found look(Process& process, const std::string& directory, const FileIdentity& target) {
  Found found;
  for (const journal::Named& log : logs_of(process, directory, target)) {
    const journal::StateSector& now = log.start.sector;
    if (!log.living) {
      // A ledger that is done has no byte that the file lacks.
      found.dead += now.passed_over != 0 || now.state == journal::State::done ? 0 : 1;
    } else if (now.state == journal::State::draining) {
      found.draining = true;
      found.progress += now.progress;
    }
  }
  found.recovering = found.dead > 0 && journal::is_recovering(directory);
  if (found.recovering) found.progress += journal::progress_in(directory, reader_of(process));
  found.draining |= found.recovering;
  return found;
}

// Asks this node's agent for its bytes of the file. An error stays with the open that wrote. Errors of bytes
// that ranks have left are reported here, because no later call reports them.
void flush_open(Process& process, const char* path, const transport::FileNumbers& file) {
  Guest guest(process);
  guest.before_opening(file);
  if (!guest.first_error().ok()) process.say(std::string(path) + ": " + guest.first_error().describe());
}

// Returns the number of ledgers that are left.
std::size_t recover(Process& process, const char* path, const std::string& directory,
                    const FileIdentity& target) {
  std::size_t left = 0;
  for (int deaths = 0; deaths < most_deaths; ++deaths) {
    const bool ended = process.recover(directory, path);
    left = look(process, directory, target).dead;
    if (ended || left == 0) break;
  }
  return left;
}

Settled settle(Process& process, const char* path, const std::string& directory, const FileIdentity& target) {
  const Settings& settings = process.settings();
  // An agent that waits for a lost agent of another node shows no progress, and gives up by itself.
  const std::uint64_t bound_ns = settings.timeout_ms * 1'000'000 + transport::await_ns;
  std::size_t unusable = 0;  // ledgers that recovery has left
  std::uint64_t progress = 0;
  std::uint64_t since_ns = process.now_ns();
  for (std::uint32_t wait_ms = 1;; wait_ms = wait_ms < 16 ? 2 * wait_ms : wait_ms) {
    const Found found = look(process, directory, target);
    // This open may have waited for an agent that died and left a ledger.
    if (found.dead > unusable && !found.recovering) {
      unusable = recover(process, path, directory, target);
      continue;
    }
    if (!found.draining) return {found.dead, {}};
    const std::uint64_t now_ns = process.now_ns();
    if (found.progress != progress) since_ns = now_ns;
    progress = found.progress;
    if (now_ns - since_ns > bound_ns) {
      process.say(
          std::string(path) +
          ": an agent or a recovery is still writing bytes of an earlier program to this file, without "
          "progress for " +
          std::to_string(bound_ns / 1'000'000'000) +
          " s: reads may return old bytes; run millrace drain to wait for it");
      return {found.dead, Code::timeout};
    }
    process.pause(wait_ms);
  }
}

// Marks the ledgers of dead agents. Recovery must not write their records over the bytes that the program
// writes now. False: a process may still write such records.
bool pass_over(Process& process, const std::string& directory, const FileIdentity& target) {
  bool all = true;
  for (const journal::Named& log : logs_of(process, directory, target)) {
    const bool draining = log.start.sector.state == journal::State::draining;
    all &= log.living ? !draining : journal::pass_over(log);
  }
  return all;
}

}  // namespace

bool settle_ledgers(const char* path, bool writes, Process& process) {
  if (!process.settings().enabled) return true;
  const std::string directory = local_directory(process.settings());
  const Result<OtherAgents::List> others = process.other_agents();
  if (!others) {
    process.say(std::string(path) +
                ": other jobs may have bytes of this file, and this process cannot look "
                "for their agents in /dev/shm: " +
                others.status().describe() + ". The file is not opened");
    return false;
  }
  Session* session = process.joined();
  const bool none_here = session == nullptr || !session->view().knows_any();
  if (none_here && others->empty() && !journal::has_logs(directory)) return true;
  const Result<FileIdentity> known = process.identify(std::string(path));
  const FileIdentity target = known ? *known : FileIdentity();
  // Flush also the bytes that earlier ranks have left: otherwise this open would get their errors. The flush
  // comes first, because the ledgers do not change any more after the agent has answered or has gone.
  const transport::FileNumbers numbers = known ? transport::numbers_of(target) : transport::FileNumbers();
  flush_open(process, path, numbers);
  if (!known) return true;  // the file may be on another node
  // Another job's agent that ends here may leave a ledger.
  if (!settle_other_agents(process, *others, path, numbers)) return false;
  if (!journal::has_logs(directory)) return true;
  const Settled settled = settle(process, path, directory, target);
  const bool safe = !writes || (settled.left == 0 && settled.status.ok()) ||
                    pass_over(process, directory, target) || settled.status.ok();
  if (!safe || settled.left == 0) return safe;
  process.say(std::string(path) + ": bytes that were written before a crash are in " + directory +
              " and not in the file; run millrace recover to see why" +
              (writes
                   ? ". It needs --force from now on, because this program may write newer bytes to the file"
                   : " and to finish the file"));
  return true;
}

}  // namespace millrace::client
