// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/posix/owned.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <memory>
#include <span>

#include "base/checksum.hpp"
#include "io/clock.hpp"

namespace millrace::io {

namespace {

constexpr int tries_max = 1000;  // other processes may remove the folder again and again
// What a file system answers that has no fsync for folders, and what open(2) answers to a user who may not
// read the folder.
constexpr std::array no_sync_of_folders{EINVAL, EROFS, ENOSYS, EOPNOTSUPP, ENOTTY};
constexpr std::array no_right{EACCES, EPERM};

// The contents of a small file; empty if it cannot be read.
std::string contents_of(const char* path) {
  char text[64];
  const Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  const ssize_t size = file.valid() ? ::read(file.get(), text, sizeof text) : 0;
  return {text, size > 0 ? static_cast<std::size_t>(size) : 0};
}

// A number that stays with the machine. The machine's identity itself is confidential: machine-id(5).
std::string machine_number() {
  std::string machine = contents_of("/etc/machine-id");
  utsname node{};
  if (machine.size() < 32 && ::uname(&node) == 0) machine = node.nodename;
  constexpr std::uint64_t millrace = 0x6d696c6c72616365;
  char text[17];
  (void)std::snprintf(text, sizeof text, "%016llx",
                      static_cast<unsigned long long>(checksum(machine.data(), machine.size(), millrace)));
  return text;
}

std::string own_begin() { return "millrace-" + std::to_string(::geteuid()) + "-"; }

// Code::access unless only this user can enter the folder. Another user could put journals there, which would
// be written to this user's files.
Status check_folder(const std::string& folder) {
  struct stat about {};
  if (::lstat(folder.c_str(), &about) != 0) return Status::from_errno(errno);
  const bool own =
      S_ISDIR(about.st_mode) && about.st_uid == ::geteuid() && (about.st_mode & (S_IRWXG | S_IRWXO)) == 0;
  return own ? Status() : Status(Code::access);
}

// The file's time, from the clock of the file system.
std::uint64_t made_ns(const Fd& file) {
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return 0;
  return static_cast<std::uint64_t>(about.st_mtim.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(about.st_mtim.tv_nsec);
}

Fd open_folder(const std::string& path) {
  return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Syncs a folder; `error`: that of its open.
Status sync_folder(const Fd& folder, int error) {
  if (folder.valid() && ::fsync(folder.get()) == 0) return {};
  std::span<const int> fine = no_right;
  if (folder.valid()) {
    error = errno;
    fine = no_sync_of_folders;
  }
  return std::ranges::find(fine, error) == fine.end() ? Status::from_errno(error) : Status();
}

}  // namespace

std::string owned_folder(const std::string& directory) {
  // Lives as long as the process: exit handlers may open files.
  static const std::string& machine = *new std::string(machine_number());
  return std::string(directory).append("/").append(own_begin()).append(machine);
}

std::vector<std::string> other_folders(const std::string& directory, const std::string& suffix) {
  std::vector<std::string> found;
  const std::string own = owned_folder(directory);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(directory.c_str()), &::closedir);
  while (const dirent* entry = listing ? ::readdir(listing.get()) : nullptr) {
    const std::string path = std::string(directory).append("/").append(entry->d_name);
    if (!std::string(entry->d_name).starts_with(own_begin()) || path == own) continue;
    const auto files = list_folder(path, suffix);
    if (files && !files->empty()) found.push_back(path);
  }
  std::ranges::sort(found);
  return found;
}

bool is_foreign_folder(const std::string& directory) {
  struct stat about {};
  return ::lstat(owned_folder(directory).c_str(), &about) == 0 && about.st_uid != ::geteuid();
}

std::string describe_unusable(const std::string& directory, Status refused) {
  const std::string folder = owned_folder(directory);
  if (refused.code() == Code::unsupported && refused.error() != 0)
    return folder +
           ": the file system has no file locks, which tell that an agent lives: " + refused.describe() +
           "; no journal in it is used, and none is written. Set MILLRACE_JOURNAL_DIRECTORY to a directory "
           "of "
           "a disk of this node";
  if (refused.code() != Code::access) return folder + ": " + refused.describe();
  struct stat about {};
  const bool foreign = is_foreign_folder(directory) && ::lstat(folder.c_str(), &about) == 0;
  return folder +
         (foreign ? ": user " + std::to_string(about.st_uid) + " made this folder under your name"
                  : ": this folder is not the user's own, or other users can write to it") +
         "; no journal in it is used, and none is written. Let its owner remove it, or set "
         "MILLRACE_JOURNAL_DIRECTORY to a directory of your own";
}

Result<Fd> lock_folder(const std::string& directory) {
  const std::string folder = owned_folder(directory);
  for (int tries = 0; tries < tries_max; ++tries) {
    Fd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!opened.valid()) return Status::from_errno(errno);
    const Status locked = try_lock(opened);
    if (locked.ok()) return opened;
    if (locked.code() != Code::not_found) return locked;
  }
  return Code::not_found;
}

Result<bool> is_folder_locked(const std::string& directory) {
  const Fd opened(::open(owned_folder(directory).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (opened.valid()) return is_locked(opened);
  if (errno == ENOENT) return false;
  return Status::from_errno(errno);
}

Status make_own_folder(const std::string& folder) {
  for (int tries = 0; tries < tries_max; ++tries) {
    if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) return Status::from_errno(errno);
    const Status own = check_folder(folder);
    if (own.error() != ENOENT) return own;  // otherwise another process has removed the folder
  }
  return Code::io;
}

Result<Owned> create_owned(const std::string& directory, const std::string& suffix) {
  static std::atomic<std::uint32_t> last_number{0};
  const std::string folder = owned_folder(directory);
  const std::string stem = std::string(folder).append("/").append(std::to_string(::getpid()));
  for (int tries = 0; tries < tries_max; ++tries) {
    char number[12];
    (void)std::snprintf(number, sizeof number, "-%08x", ++last_number);
    if (Status own = make_own_folder(folder); !own.ok()) return own;
    std::string path = std::string(stem).append(number).append(suffix);
    Fd file(::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
    if (!file.valid() && errno != EEXIST && errno != ENOENT) return Status::from_errno(errno);
    if (!file.valid()) continue;
    // Between open and lock, another process may have removed the file as that of a dead process.
    const Status locked = try_lock(file);
    if (locked.ok()) {
      const std::uint64_t now_ns = made_ns(file);
      return Owned{std::move(file), std::move(path), now_ns};
    }
    (void)remove_owned(path);
    if (locked.code() == Code::unsupported) return locked;
  }
  return Code::io;
}

Result<std::vector<std::string>> list_owned(const std::string& directory, const std::string& suffix) {
  return list_folder(owned_folder(directory), suffix);
}

Result<std::vector<std::string>> list_folder(const std::string& folder, const std::string& suffix) {
  std::vector<std::string> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(folder.c_str()), &::closedir);
  if (!listing)
    return errno == ENOENT ? Result(found) : Result<std::vector<std::string>>(Status::from_errno(errno));
  const Status own = check_folder(folder);
  if (own.code() == Code::not_found) return found;  // removed meanwhile, with the last of its files
  if (!own.ok()) return own;
  errno = 0;  // the end of the folder does not change it
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string name = entry->d_name;
    if (name.ends_with(suffix)) found.push_back(std::string(folder).append("/").append(name));
    errno = 0;
  }
  if (errno != 0) return Status::from_errno(errno);
  std::ranges::sort(found);
  return found;
}

Result<Fd> open_owned(const std::string& path) {
  const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Fd file(::open(path.c_str(), O_RDWR | flags));
  if (!file.valid() && (errno == EROFS || errno == EACCES))
    file.reset(::open(path.c_str(), O_RDONLY | flags));
  if (!file.valid()) return Status::from_errno(errno);
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return Status::from_errno(errno);
  if (!S_ISREG(about.st_mode) || about.st_uid != ::geteuid()) return Code::access;
  return file;
}

Status write_at(const Fd& file, std::uint64_t offset, std::span<const std::byte> bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t wrote =
        ::pwrite(file.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return wrote < 0 ? Status::from_errno(errno) : Status(Code::io);
    done += static_cast<std::size_t>(wrote);
  }
  return {};
}

Status write_durably(const Fd& file, std::uint64_t offset, std::span<const std::byte> bytes) {
  if (Status written = write_at(file, offset, bytes); !written.ok()) return written;
  return ::fsync(file.get()) == 0 ? Status() : Status::from_errno(errno);
}

Result<std::size_t> read_start(const Fd& file, std::span<std::byte> into) {
  for (;;) {
    const ssize_t got = ::pread(file.get(), into.data(), into.size(), 0);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return Status::from_errno(errno);
  }
}

bool read_start(const Fd& file, void* into, std::size_t size) {
  const Result<std::size_t> got = read_start(file, {static_cast<std::byte*>(into), size});
  return got && *got == size;
}

Status sync_name(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const std::size_t above = folder.size() > 1 ? folder.rfind('/', folder.size() - 2) + 1 : 1;
  for (const std::string& place : {folder, folder.substr(0, above)}) {
    const Fd opened = open_folder(place);
    if (Status synced = sync_folder(opened, errno); !synced.ok()) return synced;
  }
  return {};
}

Status try_lock(const Fd& file) {
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return has_name(file) ? Status() : Status(Code::not_found);
  return errno == EWOULDBLOCK ? Status(Code::timeout) : Status(Code::unsupported, errno);
}

bool has_name(const Fd& file) {
  struct stat about {};
  return ::fstat(file.get(), &about) == 0 && about.st_nlink > 0;
}

bool is_locked(const Fd& file) {
  if (::flock(file.get(), LOCK_SH | LOCK_NB) != 0) return true;
  ::flock(file.get(), LOCK_UN);
  return false;
}

Status remove_owned(const std::string& path) {
  const Status status = ::unlink(path.c_str()) == 0 ? Status() : Status::from_errno(errno);
  ::rmdir(path.substr(0, path.rfind('/')).c_str());
  return status;
}

Status remove_durably(const std::string& path) {
  const Fd folder = open_folder(path.substr(0, path.rfind('/')));
  const int error = errno;
  if (Status removed = remove_owned(path); !removed.ok()) return removed;
  const Status synced = sync_folder(folder, error);
  const bool gone =
      synced.error() == ENOENT || synced.error() == ESTALE;  // the folder went with its last file
  return gone ? Status() : synced;
}

std::uint64_t boot_number() {
  const std::string boot = contents_of("/proc/sys/kernel/random/boot_id");
  return boot.empty() ? 0 : checksum(boot.data(), boot.size());
}

std::string path_of(int file) {
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t size = ::readlink(link.c_str(), path, sizeof path);
  return size > 0 && size < PATH_MAX ? std::string(path, static_cast<std::size_t>(size)) : std::string();
}

}  // namespace millrace::io
