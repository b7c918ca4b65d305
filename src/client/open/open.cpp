// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/open.hpp"

#include <climits>
#include <cstdlib>
#include <utility>

#include "base/file_system.hpp"
#include "client/file/guest.hpp"
#include "client/file/ledgers.hpp"
#include "client/file/process.hpp"
#include "client/open/own_process.hpp"
#include "client/start/log.hpp"
#include "io/posix/owned.hpp"

namespace millrace::client {

std::unique_ptr<File> open(OpenRequest request) { return open(std::move(request), own_process()); }
bool settle_ledgers(const char* path, bool writes) { return settle_ledgers(path, writes, own_process()); }

Status secure_name(const std::string& path, const FileSettings& settings) {
  char real[PATH_MAX];  // resolves symbolic links: the file's own name has to last
  if (!ends_on_disk(settings) || ::realpath(path.c_str(), real) == nullptr) return {};
  return io::sync_name(real);
}

History& history() { return own_process().history(); }
Costs costs_of(const TargetFile& target) { return cost_book().of(file_system_of(target.device())); }

bool anything_pending(bool writes) {
  if (own_process().is_child()) return false;
  if (writes && own_process().read_aheads().any()) return true;
  Reason why = Reason::none;
  Session* session = own_process().session(false, why);
  return session != nullptr ? session->view().anything_pending(writes) : why == Reason::agent_silent;
}

void settle_file(std::uint64_t device, std::uint64_t inode, bool writes) {
  Guest guest(own_process());
  const std::uint64_t number = transport::file_number(device, inode);
  const Status status =
      writes ? guest.before_writing(number, everything) : guest.before_reading(number, everything);
  if (!status.ok())
    log("a call other than MPI-IO may miss bytes that MPI-IO has written: " + status.describe());
}

}  // namespace millrace::client
