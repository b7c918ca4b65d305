// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/stage_inputs.hpp"

#include <fcntl.h>
#include <glob.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>

namespace millrace::client {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t settled_ns = 2 * second_ns;
constexpr long least_number = 512;  // of a descriptor that is out of the program's way

std::int64_t ns_of(const timespec& time) { return std::int64_t{time.tv_sec} * second_ns + time.tv_nsec; }

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return ns_of(now);
}

timespec time_of(const struct statx_timestamp& time) {
  return {time.tv_sec, static_cast<long>(time.tv_nsec)};
}

struct stat as_stat(const struct statx& found) {
  struct stat about {};
  about.st_dev = makedev(found.stx_dev_major, found.stx_dev_minor);
  about.st_ino = found.stx_ino;
  about.st_nlink = found.stx_nlink;
  about.st_mode = found.stx_mode;
  about.st_uid = found.stx_uid;
  about.st_gid = found.stx_gid;
  about.st_size = static_cast<off_t>(found.stx_size);
  about.st_blksize = static_cast<blksize_t>(found.stx_blksize);
  about.st_blocks = static_cast<blkcnt_t>(found.stx_blocks);
  about.st_atim = time_of(found.stx_atime);
  about.st_mtim = time_of(found.stx_mtime);
  about.st_ctim = time_of(found.stx_ctime);
  return about;
}

// The names that a pattern matches, in alphabetical order.
std::vector<std::string> names_of(const std::string& pattern) {
  std::vector<std::string> names;
  glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    names.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return names;
}

// Ranks on other nodes may have another working folder.
std::string absolute(const std::string& name) {
  char folder[PATH_MAX];
  if (name.starts_with('/') || ::getcwd(folder, sizeof folder) == nullptr) return name;
  return std::string(folder) + "/" + name;
}

// Adds the file unless it is there already, under any name. False: it is no regular file with bytes in it.
bool add(std::vector<Input>& inputs, const std::string& name) {
  struct stat about {};
  Input input{absolute(name), {}};
  input.stamp = look_at_input(input.path, about);
  if (input.stamp.size == 0) return false;
  const auto same = [&](const Input& one) { return one.stamp == input.stamp; };
  if (std::ranges::none_of(inputs, same)) inputs.push_back(std::move(input));
  return true;
}

bool settled(const Input& input) { return now_ns() - input.stamp.status_ns >= settled_ns; }

// Waits for files that were changed just now, at most two seconds.
void wait_for_youngest(std::vector<Input>& inputs) {
  std::int64_t longest = 0;
  for (const Input& input : inputs) {
    const std::int64_t age = now_ns() - input.stamp.status_ns;
    if (age < settled_ns) longest = std::max(longest, settled_ns - std::max<std::int64_t>(age, 0));
  }
  if (longest == 0) return;
  const timespec pause{longest / second_ns, longest % second_ns};
  ::nanosleep(&pause, nullptr);
  struct stat about {};
  for (Input& input : inputs) input.stamp = look_at_input(input.path, about);
}

}  // namespace

FileStamp look_at_input(const std::string& path, struct stat& about) {
  // NFS and FUSE answer stat from what they remember. This makes them ask.
  struct statx fresh {};
  if (::statx(AT_FDCWD, path.c_str(), AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &fresh) != 0) return {};
  if (!S_ISREG(fresh.stx_mode) || (fresh.stx_mask & STATX_BASIC_STATS) != STATX_BASIC_STATS) return {};
  about = as_stat(fresh);
  return stamp_of(about);
}

FoundInputs find_inputs(const std::vector<std::string>& patterns, std::size_t most) {
  FoundInputs found;
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (const std::string& name : names_of(pattern)) {
      any = add(found.inputs, name) || any;
      if (found.inputs.size() > most) break;
    }
    if (!any)
      found.problems.push_back("posix_stage: '" + pattern +
                               "' matches no file with bytes; nothing is copied");
    if (found.inputs.size() > most) break;
  }
  if (found.inputs.size() > most) {
    found.inputs.resize(most);
    found.problems.push_back(
        "posix_stage: more than " + std::to_string(most) +
        " files match. The first ones are copied to every node, and the others are read where "
        "they are; name only the largest files");
  }
  wait_for_youngest(found.inputs);
  std::erase_if(found.inputs, [&](const Input& input) {
    if (input.stamp.inode != 0 && settled(input)) return false;
    found.problems.push_back(input.path +
                             " is read where it is, not copied to every node: it changes, or its time of "
                             "change is in the future; check the clocks of this node and of the file server");
    return true;
  });
  return found;
}

HeldCopy::HeldCopy(const Fd& copy) {
  const std::string link =
      "/proc/self/fd/" + std::to_string(copy.get());  // the copy has no other name any more
  const Fd own(::open(link.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!own.valid() || ::fstat(own.get(), &about) != 0) return;
  (void)::fchmod(copy.get(), 0400);  // a program that opens /proc/self/fd/N cannot write to the copy
  const long limit = ::sysconf(_SC_OPEN_MAX);
  const long least = limit > 0 ? std::min(limit / 2, least_number) : least_number;
  fd_ = Fd(::fcntl(own.get(), F_DUPFD_CLOEXEC, static_cast<int>(least)));
  device_ = about.st_dev;
  inode_ = about.st_ino;
}

HeldCopy::~HeldCopy() {
  struct stat about {};
  const bool ours =
      fd_.valid() && ::fstat(fd_.get(), &about) == 0 && about.st_dev == device_ && about.st_ino == inode_;
  if (!ours) (void)fd_.release();
}

}  // namespace millrace::client
