// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/stage.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/file_system.hpp"

namespace millrace::client {

namespace {

constexpr std::size_t read_bytes = 256 * KiB;
constexpr std::uint64_t spare_bytes = 16 * MiB;  // room that a copy leaves free
// An agent only passes these bytes on. The small buffer keeps them in the processor's cache.
constexpr std::uint64_t buffer_bytes = 16 * MiB;
constexpr std::uint64_t record_bytes = 128 * KiB;

// A file that this process has open.
class OwnSource final : public Source {
 public:
  // The kernel then reads twice as far ahead.
  explicit OwnSource(Fd file) : file_(std::move(file)) {
    (void)::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  }

  FileStamp stamp() override { return stamp_of(file_.get()); }

  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> data) override {
    ssize_t got = -1;
    do {
      got = ::pread(file_.get(), data.data(), data.size(), static_cast<off_t>(offset));
    } while (got < 0 && errno == EINTR);
    if (got < 0) return Status::from_errno(errno);
    return static_cast<std::size_t>(got);
  }

 private:
  const Fd file_;
};

}  // namespace

FileStamp stamp_of(const struct stat& about) {
  if (!S_ISREG(about.st_mode)) return {};
  const auto ns_of = [](const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return {about.st_ino, static_cast<std::uint64_t>(about.st_size), ns_of(about.st_mtim),
          ns_of(about.st_ctim)};
}

FileStamp stamp_of(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 ? stamp_of(about) : FileStamp{};
}

FileStamp stamp_of(int fd) {
  struct stat about {};
  return ::fstat(fd, &about) == 0 ? stamp_of(about) : FileStamp{};
}

std::string stage_directory() {
  const char* temporary = std::getenv("TMPDIR");
  return temporary != nullptr && *temporary != 0 ? temporary : "/tmp";
}

bool has_room(const std::string& directory, std::uint64_t bytes, bool careful) {
  struct statvfs about {};
  if (::statvfs(directory.c_str(), &about) != 0) return false;
  const std::uint64_t free = std::uint64_t{about.f_bavail} * about.f_frsize;
  if (!careful) return free >= spare_bytes && free - spare_bytes >= bytes;
  if (bytes > free / 4) return false;
  if (!is_memory_type(type_of_file_system(directory.c_str()))) return true;
  struct sysinfo memory {};
  return ::sysinfo(&memory) == 0 && bytes <= std::uint64_t{memory.freeram} * memory.mem_unit / 4;
}

Status create_copy(const std::string& path) {
  const Fd copy(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  return copy.valid() ? Status() : Status::from_errno(errno);
}

void remove_copy(const std::string& path) { ::unlink(path.c_str()); }

Fd open_copy(const std::string& path) {
  Fd copy(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  struct stat about {};
  if (!copy.valid() || ::fstat(copy.get(), &about) != 0 || !S_ISREG(about.st_mode) ||
      about.st_uid != ::geteuid())
    return {};
  return copy;
}

Result<Fd> open_target(const std::string& path, int mode) {
  Fd target(::open(path.c_str(), mode | O_CLOEXEC, 0666));
  if (!target.valid()) return Status::from_errno(errno);
  return target;
}

Status resize(int fd, std::uint64_t bytes) {
  return ::ftruncate(fd, static_cast<off_t>(bytes)) == 0 ? Status() : Status::from_errno(errno);
}

Status reserve(int fd, std::uint64_t bytes) {
  if (bytes == 0) return {};
  return Status::from_errno(::posix_fallocate(fd, 0, static_cast<off_t>(bytes)));
}

FileSettings stage_settings() {
  FileSettings settings;
  settings.sink = SinkMode::buffered;
  settings.sort_buffer_bytes = buffer_bytes;
  settings.record_max_bytes = record_bytes;
  return settings;
}

Result<std::unique_ptr<Source>> open_source(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return Status::from_errno(errno);
  return std::unique_ptr<Source>(std::make_unique<OwnSource>(std::move(file)));
}

Status send_whole(File& copy, Source& source, const FileStamp& stamp) {
  if (source.stamp() != stamp) return Code::corrupt;
  std::vector<std::byte> data(read_bytes);
  for (std::uint64_t at = 0; at < stamp.size;) {
    const std::size_t wanted = std::min<std::uint64_t>(data.size(), stamp.size - at);
    const Result<std::size_t> got = source.read(at, std::span(data).first(wanted));
    if (!got) return got.status();
    if (*got == 0) return Code::corrupt;
    const Piece piece{at, data.data(), *got};
    if (Status status = copy.write({&piece, 1}); !status.ok()) return status;
    at += piece.size;
  }
  if (Status status = copy.flush(Before::read); !status.ok()) return status;
  return source.stamp() == stamp ? Status() : Status(Code::corrupt);
}

}  // namespace millrace::client
