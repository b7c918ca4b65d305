// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

// What a process learns from the files of a series, whose names differ in digits only, for those that come.
namespace millrace::client {

// Never 0.
std::uint64_t series_number(std::string_view path);

// Remembers, for the life of the process, which series of files are read after every few writes: the next one
// of it need not be tried again. Thread safe.
class MixedSeries {
 public:
  void add(std::string_view path);
  bool has(std::string_view path) const;

 private:
  std::array<std::atomic<std::uint64_t>, 64> numbers_{};  // 0 = free; the oldest goes when all are taken
  std::atomic<std::size_t> next_{0};
};

// What the bytes of a series have cost each way, in ns per MiB with sync and close; 0 = not known yet. At
// open the ranks take the maximum of each, so that all of them go the same way.
struct Costs {
  std::uint64_t pipeline = 0;
  std::uint64_t direct = 0;
};

// Measures the costs, for the life of the process. Thread safe.
class Trials {
 public:
  // Known from the second file on that went this way: the first of all finds cold memory and no agent.
  Costs costs(std::string_view path) const;
  // A file of the series went this way: `bytes` > 0 in `ns`.
  void add(std::string_view path, bool pipeline, std::uint64_t bytes, std::uint64_t ns);

 private:
  struct Way {
    std::array<std::uint64_t, 2> last{};  // of the last two files
    std::uint64_t cost() const { return last[1] == 0 ? 0 : last[0] < last[1] ? last[0] : last[1]; }
  };
  struct Entry {
    std::uint64_t number = 0;  // 0 = free
    Way pipeline, direct;
  };
  mutable std::mutex mutex_;
  std::array<Entry, 64> entries_{};  // the oldest goes when all are taken
  std::size_t next_ = 0;
};

// The time that the calls of one open take, beside the bytes that they move each way.
class Stint {
 public:
  // A transfer of which it is not sure which way is best. Non-blocking ones can't be timed.
  void moved(bool pipeline, std::uint64_t bytes, bool nonblocking);
  // True from the first of these on.
  bool timed() const { return timed_.load(std::memory_order_relaxed); }
  void took(std::uint64_t ns) { ns_.fetch_add(ns, std::memory_order_relaxed); }
  // Hands it to the trials if nearly all of `total_bytes` were such transfers and went one way, and enough of
  // them.
  void end(Trials& trials, std::string_view path, std::uint64_t total_bytes) const;

 private:
  std::atomic<bool> timed_{false}, spoilt_{false};
  std::atomic<std::uint64_t> ns_{0}, pipeline_bytes_{0}, direct_bytes_{0};
};

}  // namespace millrace::client
