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
#include <cerrno>
#include <climits>
#include <ctime>
#include <memory>
#include <span>

namespace millrace::io {

namespace {

constexpr int tries_max = 1000;
// What a file system answers that has no fsync for folders, and what open(2) answers to a user who may not
// read the folder.
constexpr std::array no_sync_of_folders{EINVAL, EROFS, ENOSYS, EOPNOTSUPP, ENOTTY};
constexpr std::array no_right{EACCES, EPERM};

// Code::access unless only this user can enter the folder. Another user could put journals there, which would
// be written to this user's files.
Status check_folder(const std::string& folder) {
  struct stat about {};
  if (::lstat(folder.c_str(), &about) != 0) return Status::from_errno(errno);
  const bool own =
      S_ISDIR(about.st_mode) && about.st_uid == ::geteuid() && (about.st_mode & (S_IRWXG | S_IRWXO)) == 0;
  return own ? Status() : Status(Code::access);
}

bool has_name(const Fd& file) {
  struct stat about {};
  return ::fstat(file.get(), &about) == 0 && about.st_nlink > 0;
}

// The file's time, from the clock of the file system.
std::uint64_t made_ns(const Fd& file) {
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return 0;
  return static_cast<std::uint64_t>(about.st_mtim.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(about.st_mtim.tv_nsec);
}

}  // namespace

std::string owned_folder(const std::string& directory) {
  utsname node{};
  (void)::uname(&node);
  return std::string(directory)
      .append("/millrace-" + std::to_string(::geteuid()) + "-")
      .append(node.nodename);
}

Result<Owned> create_owned(const std::string& directory, const std::string& suffix) {
  const std::string folder = owned_folder(directory);
  const std::string stem = std::string(folder).append("/").append(std::to_string(::getpid())).append("-");
  for (int number = 1; number <= tries_max; ++number) {
    if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) return Status::from_errno(errno);
    if (Status own = check_folder(folder); !own.ok()) {
      if (own.error() == ENOENT) continue;  // another process has removed the folder
      return own;
    }
    std::string path = std::string(stem).append(std::to_string(number)).append(suffix);
    Fd file(::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
    if (!file.valid() && errno != EEXIST && errno != ENOENT) return Status::from_errno(errno);
    if (!file.valid()) continue;
    // Between open and lock, another process may have removed the file as that of a dead process.
    if (take_lock(file)) {
      const std::uint64_t now_ns = made_ns(file);
      return Owned{std::move(file), std::move(path), now_ns};
    }
    (void)remove_owned(path);
  }
  return Code::io;
}

Result<std::vector<std::string>> list_owned(const std::string& directory, const std::string& suffix) {
  std::vector<std::string> found;
  const std::string folder = owned_folder(directory);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(folder.c_str()), &::closedir);
  if (!listing)
    return errno == ENOENT ? Result(found) : Result<std::vector<std::string>>(Status::from_errno(errno));
  if (Status own = check_folder(folder); !own.ok()) return own;
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string name = entry->d_name;
    if (name.ends_with(suffix)) found.push_back(std::string(folder).append("/").append(name));
  }
  std::ranges::sort(found);
  return found;
}

bool FolderWatch::changed() {
  // File systems count time in ticks of at most 10 ms. Nobody sees a second change in one tick.
  constexpr std::uint64_t tick_ns = 100'000'000;
  struct stat about {};
  const bool there = ::stat(folder_.c_str(), &about) == 0;
  const std::uint64_t inode = there ? about.st_ino : 0;
  const std::uint64_t changed_ns = there ? static_cast<std::uint64_t>(about.st_mtim.tv_sec) * 1'000'000'000 +
                                               static_cast<std::uint64_t>(about.st_mtim.tv_nsec)
                                         : 0;
  const bool same = settled_ && inode == inode_ && changed_ns == changed_ns_;
  inode_ = inode;
  changed_ns_ = changed_ns;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::uint64_t now_ns =
      static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
  settled_ = !there || changed_ns + tick_ns < now_ns;
  return !same;
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

bool read_start(const Fd& file, void* into, std::size_t size) {
  return ::pread(file.get(), into, size, 0) == static_cast<ssize_t>(size);
}

Status sync_name(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const std::size_t above = folder.size() > 1 ? folder.rfind('/', folder.size() - 2) + 1 : 1;
  for (const std::string& place : {folder, folder.substr(0, above)}) {
    const Fd opened(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (opened.valid() && ::fsync(opened.get()) == 0) continue;
    const int error = errno;
    std::span<const int> fine = no_right;
    if (opened.valid()) fine = no_sync_of_folders;
    if (std::ranges::find(fine, error) == fine.end()) return Status::from_errno(error);
  }
  return {};
}

bool take_lock(const Fd& file) { return ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && has_name(file); }

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
  const Fd folder(::open(path.substr(0, path.rfind('/')).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Status status = remove_owned(path);
  if (folder.valid()) (void)::fsync(folder.get());  // even if the folder was removed with its last file
  return status;
}

std::string path_of(int file) {
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t size = ::readlink(link.c_str(), path, sizeof path);
  return size > 0 && size < PATH_MAX ? std::string(path, static_cast<std::size_t>(size)) : std::string();
}

}  // namespace millrace::io
