// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/presence.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <ctime>
#include <span>
#include <utility>

#include "io/posix/owned.hpp"
#include "transport/socket.hpp"

namespace millrace::transport {

namespace {

constexpr char magic[8] = {'M', 'R', 'A', 'G', 'E', 'N', 'T', '1'};
constexpr const char* suffix = ".agent";
constexpr const char* suffix_of_second = ".elsewhere";  // in memory, if there is one beside the journals
constexpr std::uint64_t connect_bound_ms = 100;

// The process that listens at that name, as this process's namespace numbers it; -1: none.
int listener_of(const std::string& name) {
  const Result<Fd> socket = connect_to(name, connect_bound_ms);
  ucred peer{};
  socklen_t size = sizeof peer;
  if (!socket || ::getsockopt(socket->get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -1;
  return peer.uid == ::geteuid() ? peer.pid : -1;
}

Mapping map_page(int process, int page) {
  const std::string place = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(page);
  const Fd memory(::open(place.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!memory.valid() || !is_sealed_memory(memory.get(), sizeof(AgentPage))) return {};
  Result<Mapping> mapped = map(memory.get(), sizeof(AgentPage));
  return mapped ? *std::move(mapped) : Mapping();
}

void add_files(std::vector<std::string>& all, const std::string& directory, const char* of_suffix) {
  const Result<std::vector<std::string>> found = io::list_owned(directory, of_suffix);
  if (found) all.insert(all.end(), found->begin(), found->end());
}

}  // namespace

Result<Presence> Presence::announce(const std::string& directory, const std::string& name, int page) {
  PresenceRecord record{};
  if (name.size() >= sizeof record.name) return Code::invalid;
  std::memcpy(record.magic, magic, sizeof magic);
  record.version = protocol_version;
  record.process = ::getpid();
  record.page = page;
  std::memcpy(record.name, name.data(), name.size());
  Presence own;
  Status refused;
  for (const std::string& place : {directory, std::string(memory_directory)}) {
    Result<io::Owned> made = io::create_owned(place, own.files_.empty() ? suffix : suffix_of_second);
    const Status put =
        made ? io::write_at(made->file, 0, std::as_bytes(std::span(&record, 1))) : made.status();
    if (made && !put.ok()) (void)io::remove_owned(made->path);
    if (put.ok()) own.files_.push_back(*std::move(made));
    if (refused.ok()) refused = put;
  }
  return own.files_.empty() ? Result<Presence>(refused) : Result<Presence>(std::move(own));
}

Presence::~Presence() {
  for (const io::Owned& file : files_) (void)io::remove_owned(file.path);
}

Result<Neighbour> Neighbour::look_at(const std::string& path) {
  const Result<Fd> file = io::open_owned(path);
  if (!file) return Code::not_found;
  Neighbour found;
  found.path_ = path;
  if (!io::is_locked(*file)) {
    (void)found.bury();
    return Code::not_found;
  }
  PresenceRecord record{};
  // An agent that has not written its record yet serves no rank.
  if (!io::read_start(*file, &record, sizeof record)) return Code::not_found;
  if (std::memcmp(record.magic, magic, sizeof magic) != 0 || record.version != protocol_version)
    return Code::unsupported;
  record.name[sizeof record.name - 1] = 0;
  found.name_ = record.name;
  found.process_ = record.process;
  found.page_ = map_page(record.process, record.page);
  // If the agent lives still, its number was not another process's meanwhile.
  if (!io::is_locked(*file)) return Code::not_found;
  return found;
}

bool Neighbour::lives() const {
  const Result<Fd> file = io::open_owned(path_);
  return file && io::is_locked(*file);
}

AgentPage* Neighbour::page() const {
  return page_.valid() ? reinterpret_cast<AgentPage*>(page_.data()) : nullptr;
}

bool Neighbour::end(std::uint64_t bound_ms) const {
  const std::uint64_t until_ns = now_ns() + bound_ms * 1'000'000;
  // In another namespace of processes, the number may be that of any process.
  const bool known = listener_of(name_) == process_;
  const Fd process(known ? static_cast<int>(::syscall(SYS_pidfd_open, process_, 0)) : -1);
  if (process.valid() && lives()) (void)::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
  // The kernel closes the files of a process one by one. Another process may have sent the signal.
  while (lives()) {
    if (now_ns() > until_ns) return false;
    const timespec pause{0, 10'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return true;
}

bool Neighbour::bury() const {
  const Result<Fd> file = io::open_owned(path_);
  return file && io::take_lock(*file) && io::remove_owned(path_).ok();
}

std::vector<std::string> presences_in(const std::string& directory) {
  std::vector<std::string> all;
  add_files(all, directory, suffix);
  if (directory != memory_directory) add_files(all, memory_directory, suffix);
  return all;
}

std::vector<std::string> presences_on_node(const std::string& directory) {
  std::vector<std::string> all = presences_in(directory);
  add_files(all, memory_directory, suffix_of_second);
  return all;
}

void bury_dead(const std::string& directory) {
  for (const std::string& path : presences_on_node(directory)) (void)Neighbour::look_at(path);
}

}  // namespace millrace::transport
