// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "common/pattern.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define BENCH_WIDE_VECTORS __attribute__((target_clones("avx2", "default"), optimize("O3")))
#else
#define BENCH_WIDE_VECTORS
#endif

namespace bench {
namespace {

constexpr std::uint64_t step = 0x9E3779B97F4A7C15;  // odd: all words of a file differ

std::uint64_t start(std::uint64_t seed) {
  std::uint64_t x = (seed + 1) * 0xBF58476D1CE4E5B9;
  x ^= x >> 31;
  return x * 0x94D049BB133111EB;
}

// Without a run-time check for overlap or a multiplication per word, so that it becomes wide additions.
BENCH_WIDE_VECTORS
void fill_words(unsigned char* data, std::size_t words, std::uint64_t first) {
  std::uint64_t lanes[8];
  for (std::size_t i = 0; i < 8; i++) lanes[i] = first + i * step;
  std::size_t at = 0;
  for (; at + 8 <= words; at += 8) {
    std::memcpy(data + at * 8, lanes, sizeof lanes);
    for (std::uint64_t& lane : lanes) lane += 8 * step;
  }
  std::memcpy(data + at * 8, lanes, (words - at) * 8);
}

BENCH_WIDE_VECTORS
bool same_words(const unsigned char* data, std::size_t words, std::uint64_t first) {
  std::uint64_t difference = 0;
  for (std::size_t i = 0; i < words; i++) {
    std::uint64_t value;
    std::memcpy(&value, data + i * 8, 8);
    difference |= value ^ (first + i * step);
  }
  return difference == 0;
}

unsigned char byte_at(std::uint64_t offset, std::uint64_t base) {
  const std::uint64_t value = base + offset / 8 * step;
  unsigned char bytes[8];
  std::memcpy(bytes, &value, 8);
  return bytes[offset % 8];
}

}  // namespace

std::uint64_t word(std::uint64_t index, std::uint64_t seed) { return start(seed) + index * step; }

void fill(void* data, std::size_t size, std::uint64_t offset, std::uint64_t seed) {
  auto* out = static_cast<unsigned char*>(data);
  const std::uint64_t base = start(seed);
  std::size_t i = 0;
  for (; i < size && (offset + i) % 8 != 0; i++) out[i] = byte_at(offset + i, base);
  const std::size_t words = (size - i) / 8;
  fill_words(out + i, words, base + (offset + i) / 8 * step);
  for (i += words * 8; i < size; i++) out[i] = byte_at(offset + i, base);
}

std::size_t mismatch(const void* data, std::size_t size, std::uint64_t offset, std::uint64_t seed) {
  const auto* in = static_cast<const unsigned char*>(data);
  const std::uint64_t base = start(seed);
  std::size_t i = 0;
  for (; i < size && (offset + i) % 8 != 0; i++) {
    if (in[i] != byte_at(offset + i, base)) return i;
  }
  const std::size_t words = (size - i) / 8;
  if (!same_words(in + i, words, base + (offset + i) / 8 * step)) {
    while (in[i] == byte_at(offset + i, base)) i++;
    return i;
  }
  for (i += words * 8; i < size; i++) {
    if (in[i] != byte_at(offset + i, base)) return i;
  }
  return no_mismatch;
}

void make_file(const std::string& path, std::uint64_t bytes, std::uint64_t seed) {
  std::FILE* out = std::fopen(path.c_str(), "wb");
  if (out == nullptr) throw std::runtime_error("cannot write " + path);
  std::vector<unsigned char> data(1 << 20);
  bool good = true;
  for (std::uint64_t at = 0; at < bytes && good; at += data.size()) {
    const std::size_t size = std::min<std::uint64_t>(data.size(), bytes - at);
    fill(data.data(), size, at, seed);
    good = std::fwrite(data.data(), 1, size, out) == size;
  }
  if (std::fclose(out) != 0 || !good) throw std::runtime_error("cannot write " + path);
}

FileCheck check_file(const char* path, std::uint64_t begin, std::uint64_t end, std::uint64_t seed) {
  FileCheck check;
  // GlusterFS 10 may fail once to open a file that another node has just closed (EBADFD), with any program.
  int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == EBADFD) fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    check.ok = false;
    std::snprintf(check.message, sizeof check.message, "%.150s: cannot be read back: %s", path,
                  std::strerror(errno));
    return check;
  }
  constexpr std::size_t piece = 1 << 20;
  const auto buffer = std::make_unique<unsigned char[]>(piece);
  while (begin < end && check.ok) {
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(piece, end - begin));
    const ssize_t got = ::pread(fd, buffer.get(), want, static_cast<off_t>(begin));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      check.ok = false;
      std::snprintf(check.message, sizeof check.message, "%.150s: ends or fails at byte %llu: %s", path,
                    static_cast<unsigned long long>(begin), got < 0 ? std::strerror(errno) : "too short");
      break;
    }
    const std::size_t at = mismatch(buffer.get(), static_cast<std::size_t>(got), begin, seed);
    if (at != no_mismatch) {
      check.ok = false;
      const unsigned long long place = begin + at;
      std::snprintf(check.message, sizeof check.message, "%.150s: wrong byte at offset %llu: 0x%02x", path,
                    place, buffer[at]);
    }
    begin += static_cast<std::uint64_t>(got);
  }
  ::close(fd);
  return check;
}

}  // namespace bench
