// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/file/target_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string_view>

#include "io/posix/identity.hpp"
#include "transport/layout.hpp"

namespace millrace::client {

namespace {

bool leaves_room(const Fd& file) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) != 0 || static_cast<rlim_t>(file.get()) < limit.rlim_cur / 2;
}

// True if one more descriptor leaves room. Asked before a file is opened: its close would drop the process's
// fcntl locks on the file.
bool has_room() {
  const Fd next(::open("/", O_PATH | O_CLOEXEC));
  return next.valid() && leaves_room(next);
}

}  // namespace

bool TargetFile::is(const Result<FileIdentity>& identity) {
  if (!identity) return false;
  identity_ = *identity;
  number_ = transport::file_number(identity_.device, identity_.inode);
  return true;
}

void TargetFile::name(const std::string& path) {
  path_ = path;
  char folder[PATH_MAX];
  if (!path_.starts_with('/') && ::getcwd(folder, sizeof folder) != nullptr)
    path_ = std::string(folder) + "/" + path_;
}

// Device and inode of a file never change, so what the kernel remembers is enough: no server is asked again.
bool TargetFile::number(int file, const char* path, int flags) {
  struct statx about {};
  if (::statx(file, path, flags | AT_STATX_DONT_SYNC, STATX_INO, &about) != 0) return false;
  return is(
      FileIdentity{.device = makedev(about.stx_dev_major, about.stx_dev_minor), .inode = about.stx_ino});
}

bool TargetFile::number_of(const std::string& path) {
  name(path);
  return number(AT_FDCWD, path_.c_str(), 0);
}

bool TargetFile::remember(const std::string& path, bool named) {
  named_ = named;
  name(path);
  Fd file(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!file.valid() || !leaves_room(file) || !number(file.get(), "", AT_EMPTY_PATH))
    return is(io::identify(path_));  // without a descriptor, by its name
  file_ = std::move(file);
  return true;
}

std::string TargetFile::lasting_path() const {
  return file_.valid() ? "/proc/self/fd/" + std::to_string(file_.get()) : path_;
}

bool TargetFile::hold_open(int mode) {
  Fd file = open_to_hold(mode);
  if (!file.valid()) return false;
  file_ = std::move(file);
  open_ = true;
  return true;
}

Fd TargetFile::open_to_hold(int mode) const {
  if (has_room()) return open_again(mode);
  errno = EMFILE;
  return {};
}

std::array<Fd, 2> TargetFile::open_folders_to_hold() const {
  char name[PATH_MAX];
  if (!has_room() || ::realpath(lasting_path().c_str(), name) == nullptr) return {};
  const std::string_view path(name);
  const std::string folder(path.substr(0, path.rfind('/') + 1));
  constexpr int mode = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  return {Fd(::open("/", mode)), Fd(::open(folder.c_str(), mode))};
}

Fd TargetFile::open_again(int mode) const {
  struct stat about {};
  const bool unnamed = file_.valid() && ::fstat(file_.get(), &about) == 0 && about.st_nlink == 0;
  if (named_ && unnamed) {
    errno = ENOENT;
    return {};
  }
  Fd file(::open(lasting_path().c_str(), mode | O_CLOEXEC));
  if (file.valid() && file_.valid()) return file;
  if (!file.valid() && file_.valid())
    file = Fd(::open(path_.c_str(), mode | O_CLOEXEC));  // if there is no /proc
  if (!file.valid()) return {};
  const Result<FileIdentity> wanted = file_.valid() ? io::identify(file_, false) : identity_;
  const Result<FileIdentity> found = io::identify(file, false);
  if (wanted && found && same_file(*wanted, *found) != Sameness::other) return file;
  errno = wanted && found ? ENOENT : (wanted ? found : wanted).status().error();
  return {};
}

}  // namespace millrace::client
