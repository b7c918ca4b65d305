// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// A slow disk, without a kernel module: shows a folder again, through FUSE, and makes each read and write
// take as long as on a disk of a given rate and seek time. A seek is a request that does not start where the
// last one ended, in whatever file. The disk serves one request after the other. Usage: slow-disk RATE
// READ_RATE SEEK_US FOLDER MOUNTPOINT (bytes per second, microseconds); with a READ_RATE of 0 reads take no
// time and do not move the head. It goes to the background when the mount is there.
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <string>
#include <vector>

namespace {

constexpr int64_t second_ns = 1'000'000'000;
// A timer sometimes wakes the daemon late. The daemon makes up for this much; otherwise all small requests
// would be slower.
constexpr int64_t credit_ns = 2'000'000;

int root = -1;  // the folder, opened before the mount may hide it
int64_t write_rate_bytes = 1;
int64_t read_rate_bytes = 0;  // 0: reads take no time

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * second_ns + now.tv_nsec;
}

// Thread-safe. Time that the disk needs, and where its head is.
class Disk {
 public:
  void configure(int64_t seek_ns) { seek_ns_ = seek_ns; }

  // Returns when the disk has served [offset, offset + size) of `file` at `rate_bytes`, after the requests
  // that came before. The real disk's time since `arrived_ns` is part of that.
  void serve(uint64_t file, int64_t offset, int64_t size, int64_t arrived_ns, int64_t rate_bytes) {
    const double rate = static_cast<double>(rate_bytes);
    int64_t end = 0;
    {
      const std::lock_guard lock(mutex_);
      const bool seeks = file != last_file_ || offset != last_end_;
      last_file_ = file;
      last_end_ = offset + size;
      busy_until_ns_ = std::max(busy_until_ns_, arrived_ns - credit_ns);
      busy_until_ns_ +=
          (seeks ? seek_ns_ : 0) + static_cast<int64_t>(static_cast<double>(size) * second_ns / rate);
      end = busy_until_ns_;
    }
    const timespec until{end / second_ns, end % second_ns};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
  }

 private:
  std::mutex mutex_;
  int64_t seek_ns_ = 0;
  int64_t busy_until_ns_ = 0;
  int64_t last_end_ = -1;
  uint64_t last_file_ = 0;
};

Disk disk;

// FUSE's paths start with "/"; ours are relative to the folder.
const char* relative(const char* path) { return path[1] == '\0' ? "." : path + 1; }
int result(int value) { return value < 0 ? -errno : 0; }
int descriptor(const fuse_file_info* info) { return static_cast<int>(info->fh); }

uint64_t identity(int fd) {
  struct stat facts {};
  return fstat(fd, &facts) == 0 ? facts.st_ino : 0;
}

// New things belong to who asked, not to this process.
int give_away(const char* path) {
  const fuse_context* context = fuse_get_context();
  return result(fchownat(root, relative(path), context->uid, context->gid, AT_SYMLINK_NOFOLLOW));
}

int get_attributes(const char* path, struct stat* facts, fuse_file_info* info) {
  if (info != nullptr) return result(fstat(descriptor(info), facts));
  return result(fstatat(root, relative(path), facts, AT_SYMLINK_NOFOLLOW));
}

int read_link(const char* path, char* buffer, size_t size) {
  const ssize_t length = readlinkat(root, relative(path), buffer, size - 1);
  if (length < 0) return -errno;
  buffer[length] = '\0';
  return 0;
}

int open_folder(const char* path, fuse_file_info* info) {
  const int fd = openat(root, relative(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return -errno;
  info->fh = static_cast<uint64_t>(fd);
  return 0;
}

int list(const char*, void* buffer, fuse_fill_dir_t fill, off_t, fuse_file_info* info, fuse_readdir_flags) {
  const int fd = openat(descriptor(info), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return -errno;
  DIR* folder = fdopendir(fd);
  if (folder == nullptr) {
    close(fd);
    return -ENOMEM;
  }
  while (const dirent* entry = readdir(folder)) {
    struct stat facts {};
    facts.st_ino = entry->d_ino;
    facts.st_mode = static_cast<mode_t>(entry->d_type) << 12U;
    if (fill(buffer, entry->d_name, &facts, 0, fuse_fill_dir_flags{}) != 0) break;
  }
  closedir(folder);
  return 0;
}

int make_node(const char* path, mode_t mode, dev_t device) {
  const int failed = result(mknodat(root, relative(path), mode, device));
  return failed != 0 ? failed : give_away(path);
}

int make_folder(const char* path, mode_t mode) {
  const int failed = result(mkdirat(root, relative(path), mode));
  return failed != 0 ? failed : give_away(path);
}

int make_link(const char* to, const char* path) {
  const int failed = result(symlinkat(to, root, relative(path)));
  return failed != 0 ? failed : give_away(path);
}

int remove_file(const char* path) { return result(unlinkat(root, relative(path), 0)); }
int remove_folder(const char* path) { return result(unlinkat(root, relative(path), AT_REMOVEDIR)); }

int move(const char* from, const char* to, unsigned flags) {
  return result(renameat2(root, relative(from), root, relative(to), flags));
}

int hard_link(const char* from, const char* to) {
  return result(linkat(root, relative(from), root, relative(to), 0));
}

int change_mode(const char* path, mode_t mode, fuse_file_info* info) {
  if (info != nullptr) return result(fchmod(descriptor(info), mode));
  return result(fchmodat(root, relative(path), mode, 0));
}

int change_owner(const char* path, uid_t user, gid_t group, fuse_file_info* info) {
  if (info != nullptr) return result(fchown(descriptor(info), user, group));
  return result(fchownat(root, relative(path), user, group, AT_SYMLINK_NOFOLLOW));
}

int change_times(const char* path, const timespec times[2], fuse_file_info* info) {
  if (info != nullptr) return result(futimens(descriptor(info), times));
  return result(utimensat(root, relative(path), times, AT_SYMLINK_NOFOLLOW));
}

int change_size(const char* path, off_t size, fuse_file_info* info) {
  if (info != nullptr) return result(ftruncate(descriptor(info), size));
  const int fd = openat(root, relative(path), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  const int done = result(ftruncate(fd, size));
  close(fd);
  return done;
}

int open_as(const char* path, mode_t mode, fuse_file_info* info) {
  // Alignment is the kernel's promise to the program, not FUSE's to this one; O_APPEND is done by the kernel.
  const int flags = (info->flags & ~(O_DIRECT | O_APPEND)) | O_CLOEXEC;
  const int fd = openat(root, relative(path), flags, mode);
  if (fd < 0) return -errno;
  info->fh = static_cast<uint64_t>(fd);
  return 0;
}

int open_file(const char* path, fuse_file_info* info) { return open_as(path, 0, info); }

int create_file(const char* path, mode_t mode, fuse_file_info* info) {
  const int failed = open_as(path, mode, info);
  return failed != 0 ? failed : give_away(path);
}

int read_file(const char*, char* buffer, size_t size, off_t offset, fuse_file_info* info) {
  const int64_t arrived_ns = now_ns();
  const ssize_t done = pread(descriptor(info), buffer, size, offset);
  if (done < 0) return -errno;
  if (done > 0 && read_rate_bytes > 0) {
    disk.serve(identity(descriptor(info)), offset, done, arrived_ns, read_rate_bytes);
  }
  return static_cast<int>(done);
}

int write_file(const char*, const char* buffer, size_t size, off_t offset, fuse_file_info* info) {
  const int64_t arrived_ns = now_ns();
  const ssize_t done = pwrite(descriptor(info), buffer, size, offset);
  if (done < 0) return -errno;
  disk.serve(identity(descriptor(info)), offset, done, arrived_ns, write_rate_bytes);
  return static_cast<int>(done);
}

int allocate(const char*, int mode, off_t offset, off_t size, fuse_file_info* info) {
  return result(fallocate(descriptor(info), mode, offset, size));
}

off_t find(const char*, off_t offset, int whence, fuse_file_info* info) {
  const off_t found = lseek(descriptor(info), offset, whence);
  return found < 0 ? -errno : found;
}

int sync_file(const char*, int data_only, fuse_file_info* info) {
  return result(data_only != 0 ? fdatasync(descriptor(info)) : fsync(descriptor(info)));
}

int close_file(const char*, fuse_file_info* info) { return result(close(descriptor(info))); }
int file_system(const char*, struct statvfs* facts) { return result(fstatvfs(root, facts)); }

void* begin(fuse_conn_info*, fuse_config* config) {
  config->use_ino = 1;
  // A file that is removed while it is open needs no name: all works by its descriptor.
  config->hard_remove = config->nullpath_ok = 1;
  // Other processes may change the folder meanwhile, so the kernel caches no names.
  config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
  return nullptr;
}

fuse_operations operations() {
  fuse_operations table{};
  table.init = begin;
  table.getattr = get_attributes;
  table.readlink = read_link;
  table.opendir = open_folder;
  table.readdir = list;
  table.releasedir = close_file;
  table.fsyncdir = sync_file;
  table.mknod = make_node;
  table.mkdir = make_folder;
  table.symlink = make_link;
  table.unlink = remove_file;
  table.rmdir = remove_folder;
  table.rename = move;
  table.link = hard_link;
  table.chmod = change_mode;
  table.chown = change_owner;
  table.utimens = change_times;
  table.truncate = change_size;
  table.open = open_file;
  table.create = create_file;
  table.read = read_file;
  table.write = write_file;
  table.fallocate = allocate;
  table.lseek = find;
  table.fsync = sync_file;
  table.release = close_file;
  table.statfs = file_system;
  return table;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 6) {
    write_rate_bytes = std::atoll(argv[1]);
    read_rate_bytes = std::atoll(argv[2]);
  }
  const int64_t seek_us = argc == 6 ? std::atoll(argv[3]) : -1;
  if (write_rate_bytes <= 0 || read_rate_bytes < 0 || seek_us < 0) {
    std::fputs("usage: slow-disk RATE_BYTES_PER_S READ_RATE_BYTES_PER_S SEEK_US FOLDER MOUNTPOINT\n", stderr);
    return 2;
  }
  root = open(argv[4], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) {
    std::perror(argv[4]);
    return 1;
  }
  disk.configure(seek_us * 1000);
  umask(0);
  std::string options = "allow_other,default_permissions,fsname=slow-disk,subtype=millrace";
  std::vector<char*> words{argv[0], const_cast<char*>("-o"), options.data(), argv[5]};
  const fuse_operations table = operations();
  return fuse_main(static_cast<int>(words.size()), words.data(), &table, nullptr);
}
