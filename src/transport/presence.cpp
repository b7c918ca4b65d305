// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/presence.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>

#include "base/checksum.hpp"
#include "io/clock.hpp"
#include "io/posix/owned.hpp"
#include "transport/socket.hpp"

namespace millrace::transport {

namespace {

constexpr char magic[8] = {'M', 'R', 'A', 'G', 'E', 'N', 'T', '2'};
constexpr const char* suffix = ".agent";
constexpr std::uint64_t connect_bound_ms = 100;
constexpr int tries_max = 1000;  // other processes may remove the folder again and again

std::string folder() { return "/dev/shm/millrace-" + std::to_string(::geteuid()); }

std::uint64_t number_of(const std::string& directory) {
  const std::string normal = std::filesystem::path(directory + "/").lexically_normal();
  return checksum(normal.data(), normal.size());
}

// Numbers of processes and names of sockets mean the same in processes with the same number. 0: not known.
std::uint64_t own_spaces() {
  struct stat spaces[2] = {};
  if (::stat("/proc/self/ns/pid", &spaces[0]) != 0 || ::stat("/proc/self/ns/net", &spaces[1]) != 0) return 0;
  const std::uint64_t numbers[] = {spaces[0].st_ino, spaces[1].st_ino};
  return checksum(numbers, sizeof numbers);
}

// The process that listens at that name, as this process's namespace numbers it; -1: none.
int listener_of(const std::string& name) {
  const Result<Fd> socket = connect_to(name, connect_bound_ms);
  ucred peer{};
  socklen_t size = sizeof peer;
  if (!socket || ::getsockopt(socket->get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -1;
  return peer.uid == ::geteuid() ? peer.pid : -1;
}

// A file without a name. The memory is reserved now: if it were missing later, an access would fault.
Result<Fd> make_file(const std::string& in) {
  Fd file(::open(in.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.valid()) return Status::from_errno(errno);
  if (!may_have_files_of(sizeof(AgentPage))) return Status::from_errno(EFBIG);
  const int failed = ::posix_fallocate(file.get(), 0, sizeof(AgentPage));
  return failed != 0 ? Result<Fd>(Status::from_errno(failed)) : Result<Fd>(std::move(file));
}

bool bury_at(const std::string& path, const Fd& file) {
  if (!io::take_lock(file)) return false;
  const Status removed = io::remove_owned(path);
  return removed.ok() || removed.code() == Code::read_only;
}

}  // namespace

Result<Presence> Presence::create(const std::string& name, const std::string& directory) {
  const std::string in = folder();
  Shown shown{};
  if (name.size() >= sizeof shown.name) return Code::invalid;
  std::memcpy(shown.magic, magic, sizeof magic);
  shown.version = protocol_version;
  shown.process = ::getpid();
  shown.journals = number_of(directory);
  shown.spaces = own_spaces();
  std::memcpy(shown.name, name.data(), name.size());
  if (::getrandom(&shown.number, sizeof shown.number, 0) != sizeof shown.number)
    return Status::from_errno(errno);
  char file_name[40];
  (void)std::snprintf(file_name, sizeof file_name, "/%d-%016llx", shown.process,
                      static_cast<unsigned long long>(shown.number));
  const std::string path = std::string(in).append(file_name).append(suffix);
  for (int tries = 0; tries < tries_max; ++tries) {
    if (Status made = io::make_own_folder(in); !made.ok())
      return made.error() != 0 ? made : Status(Code::access, EACCES);
    Result<Fd> file = make_file(in);
    if (!file && file.status().error() == ENOENT) continue;
    if (!file) return file.status();
    Presence own;
    own.lock_ = *std::move(file);
    if (::flock(own.lock_.get(), LOCK_EX | LOCK_NB) != 0) return Status::from_errno(errno);
    const std::string place = "/proc/self/fd/" + std::to_string(own.lock_.get());
    own.shared_.reset(::open(place.c_str(), O_RDWR | O_CLOEXEC));
    if (!own.shared_.valid()) return Status::from_errno(errno);
    Result<Mapping> mapped = map(own.shared_.get(), sizeof(AgentPage));
    if (!mapped) return mapped.status();
    own.mapping_ = *std::move(mapped);
    own.page().shown = shown;
    if (::linkat(AT_FDCWD, place.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      own.path_ = path;
      return own;
    }
    if (errno != ENOENT) return Status::from_errno(errno);  // the folder has gone
  }
  return Code::io;
}

Presence::~Presence() {
  if (!path_.empty()) (void)io::remove_owned(path_);
}

bool is_page(const Fd& file) {
  struct stat about {};
  Shown shown{};
  return file.valid() && ::fstat(file.get(), &about) == 0 && about.st_uid == ::geteuid() &&
         about.st_size == sizeof(AgentPage) && io::read_start(file, &shown, sizeof shown) &&
         std::memcmp(shown.magic, magic, sizeof magic) == 0 && shown.version == protocol_version;
}

Result<Neighbour> Neighbour::look_at(const std::string& path) {
  Neighbour found;
  found.path_ = path;
  const Result<Fd> file = io::open_owned(path);
  if (!file) return file.status();
  if (!io::is_locked(*file)) {
    (void)bury_at(path, *file);
    return Code::not_found;
  }
  if (!is_page(*file)) return Code::unsupported;
  Result<Mapping> mapped = map(file->get(), sizeof(AgentPage), PROT_READ);
  if (!mapped) return mapped.status();
  found.mapping_ = *std::move(mapped);
  return found;
}

bool Neighbour::lives() const {
  const Result<Fd> file = io::open_owned(path_);
  return file ? io::is_locked(*file) : file.status().code() != Code::not_found;
}

bool Neighbour::has_journals_in(const std::string& directory) const {
  return page().shown.journals == number_of(directory);
}

bool Neighbour::end(std::uint64_t bound_ms) const {
  const std::uint64_t until_ns = now_ns() + bound_ms * 1'000'000;
  const std::uint64_t spaces = page().shown.spaces;
  const bool known = spaces != 0 && spaces == own_spaces() && listener_of(name()) == process();
  const Fd victim(known ? static_cast<int>(::syscall(SYS_pidfd_open, process(), 0)) : -1);
  if (victim.valid() && lives()) (void)::syscall(SYS_pidfd_send_signal, victim.get(), SIGKILL, nullptr, 0);
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
  return file && bury_at(path_, *file);
}

Result<std::vector<std::string>> presences() {
  const std::string in = folder();
  struct stat about {};
  if (::lstat(in.c_str(), &about) != 0)
    return errno == ENOENT ? Result(std::vector<std::string>()) : Status::from_errno(errno);
  // A folder that another user has made under this user's name has no agent of this user.
  if (about.st_uid != ::geteuid() || !S_ISDIR(about.st_mode)) return std::vector<std::string>();
  return io::list_folder(in, suffix);
}

void bury_dead() {
  const Result<std::vector<std::string>> paths = presences();
  for (std::size_t i = 0; paths && i < paths->size(); ++i) (void)Neighbour::look_at((*paths)[i]);
}

bool PresenceWatch::changed() {
  // File systems count time in ticks of at most 10 ms. Nobody sees a second change in one tick.
  constexpr std::uint64_t tick_ns = 100'000'000;
  struct stat about {};
  const bool there = ::stat(folder().c_str(), &about) == 0;
  if (!there && errno != ENOENT) return true;
  const std::uint64_t inode = there ? about.st_ino : 0;
  const std::uint64_t changed_ns = there ? static_cast<std::uint64_t>(about.st_mtim.tv_sec) * 1'000'000'000 +
                                               static_cast<std::uint64_t>(about.st_mtim.tv_nsec)
                                         : 0;
  const bool same = settled_ && inode == inode_ && changed_ns == changed_ns_;
  inode_ = inode;
  changed_ns_ = changed_ns;
  settled_ = !there || changed_ns + tick_ns < io::wall_ns();
  return !same;
}

}  // namespace millrace::transport
