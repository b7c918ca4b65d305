// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// Bandwidth between this host's memory and a device's, for every way that there is (JSON).
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

#include "common/args.hpp"
#include "common/json.hpp"
#include "common/pattern.hpp"
#include "common/system.hpp"
#include "transfer/device.hpp"

namespace {

using namespace bench;

struct Settings {
  std::string backend = "cuda", library = "libcuda.so.1";
  long index = 0;
  std::vector<std::uint64_t> sizes = {64 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20};
  std::uint64_t budget = 256 << 20, chunk = 4 << 20;
  long repetitions = 5;
  bool help = false;
};

void choose_sizes(Settings& s, const std::string& text) {
  s.sizes = parse_sizes(text);
  for (const std::uint64_t size : s.sizes) {
    if (size == 0 || size > (4ULL << 30)) throw BadUsage("sizes are from 1 to 4g");
  }
}

std::vector<Option> options(Settings& s) {
  return {
      {'d', "backend", "cuda|process",
       "a GPU, or the memory of another process instead: functional only (cuda)",
       [&](auto& v) {
         if (v != "cuda" && v != "process") throw BadUsage("'" + v + "' is neither cuda nor process");
         s.backend = v;
       }},
      {'n', "device", "N", "which GPU, from 0 (0)", [&](auto& v) { s.index = parse_number(v, 0, 1000); }},
      {0, "driver", "FILE", "the driver's library (libcuda.so.1)", [&](auto& v) { s.library = v; }},
      {'s', "sizes", "SIZE,...", "bytes per copy (64k,1m,4m,16m,64m,256m)",
       [&](auto& v) { choose_sizes(s, v); }},
      {'b', "bytes", "SIZE", "bytes per run, in 2 to 1,000 copies (256m)",
       [&](auto& v) { s.budget = parse_size(v); }},
      {'c', "chunk", "SIZE", "of each of the two buffers for staging (4m)",
       [&](auto& v) {
         s.chunk = parse_size(v);
         if (s.chunk == 0 || s.chunk > (1u << 30)) throw BadUsage("a chunk is from 1 to 1g");
       }},
      {'i', "repetitions", "N", "runs of each (5)",
       [&](auto& v) { s.repetitions = parse_number(v, 1, 1000); }},
      {'h', "help", "", "this text", [&](auto&) { s.help = true; }},
  };
}

// Everything that a copy of one size needs, and the ways to make it.
class Rig {
 public:
  Rig(Device& device, std::size_t size, std::size_t chunk)
      : device_(device),
        size_(size),
        chunk_(std::min(chunk, size)),
        pageable_(size),
        pinned_(device, size),
        staging_(device, Device::queues * chunk_),
        address_(device.allocate(size)) {}
  ~Rig() { device_.release(address_); }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  void pageable(Direction direction) { device_.copy(direction, pageable_.data(), address_, size_); }
  void pinned(Direction direction) { device_.copy(direction, pinned_.data(), address_, size_); }
  void async(Direction direction) { device_.post(direction, pinned_.data(), address_, size_, 0); }
  void wait() { device_.wait(0); }

  // Pageable memory by way of two pinned buffers: one is on its way while the other is filled or emptied.
  void staged(Direction direction) {
    const std::size_t chunks = (size_ + chunk_ - 1) / chunk_;
    for (std::size_t turn = 0; turn < chunks + Device::queues; ++turn) {
      // The transfer that got this buffer `queues` turns ago has ended.
      if (turn >= Device::queues) {
        device_.wait(slot(turn));
        if (direction == Direction::read) move(turn - Device::queues, direction);
      }
      if (turn >= chunks) continue;
      if (direction == Direction::write) move(turn, direction);
      device_.post(direction, buffer(turn), address_ + turn * chunk_, length(turn), slot(turn));
    }
  }

  void copy_on_host() {
    std::memcpy(pageable_.data(), pinned_.data(), size_);
    asm volatile("" : : "r"(pageable_.data()) : "memory");
  }

  unsigned char* pageable_memory() { return pageable_.data(); }
  unsigned char* pinned_memory() { return pinned_.data(); }

  // By the plainest way, from and to the memory that the method does not use.
  void put(std::uint64_t seed, unsigned char* by) {
    fill(by, size_, 0, seed);
    device_.copy(Direction::write, by, address_, size_);
  }
  bool holds(std::uint64_t seed, unsigned char* by) {
    std::fill_n(by, size_, std::uint8_t{0});
    device_.copy(Direction::read, by, address_, size_);
    return mismatch(by, size_, 0, seed) == no_mismatch;
  }

 private:
  static unsigned slot(std::size_t turn) { return static_cast<unsigned>(turn % Device::queues); }
  unsigned char* buffer(std::size_t turn) { return staging_.data() + slot(turn) * chunk_; }
  std::size_t length(std::size_t turn) const { return std::min(chunk_, size_ - turn * chunk_); }
  void move(std::size_t turn, Direction direction) {
    unsigned char* const here = pageable_.data() + turn * chunk_;
    if (direction == Direction::write)
      std::memcpy(buffer(turn), here, length(turn));
    else
      std::memcpy(here, buffer(turn), length(turn));
  }

  Device& device_;
  std::size_t size_, chunk_;
  std::vector<unsigned char> pageable_;
  Pinned pinned_, staging_;
  std::uint64_t address_;
};

struct Method {
  const char* name;
  void (Rig::*copy)(Direction);
  bool from_pinned, waits;
};
constexpr std::array methods{
    Method{"pageable", &Rig::pageable, false, false},
    Method{"pinned", &Rig::pinned, true, false},
    Method{"staged", &Rig::staged, false, false},
    Method{"async", &Rig::async, true, true},
};
constexpr std::size_t limit = 1;  // pinned

struct Result {
  std::vector<double> mib_s, post_us;
};

double mib_s(std::size_t size, long count, double seconds) {
  return static_cast<double>(size) * static_cast<double>(count) / seconds / (1 << 20);
}

// `count` copies of known content; false if something else arrives.
bool run(Rig& rig, const Method& method, Direction direction, std::size_t size, long count,
         std::uint64_t seed, Result& result) {
  unsigned char* const own = method.from_pinned ? rig.pinned_memory() : rig.pageable_memory();
  unsigned char* const other = method.from_pinned ? rig.pageable_memory() : rig.pinned_memory();
  if (direction == Direction::write)
    fill(own, size, 0, seed);
  else
    rig.put(seed, other);
  if (direction == Direction::read) std::fill_n(own, size, std::uint8_t{0});
  const double start = now_s();
  for (long i = 0; i < count; ++i) (rig.*method.copy)(direction);
  const double posted = now_s();
  if (method.waits) rig.wait();
  result.mib_s.push_back(mib_s(size, count, now_s() - start));
  result.post_us.push_back((posted - start) / static_cast<double>(count) * 1e6);
  return direction == Direction::write ? rig.holds(seed, other) : mismatch(own, size, 0, seed) == no_mismatch;
}

void put(Json& json, const std::vector<double>& values) {
  const Spread s = spread(values);
  json.put("min", s.min).put("median", s.median).put("max", s.max);
}

using Results = std::array<Result, methods.size()>;

void report(Json& json, const char* name, const Results& results) {
  const double best = spread(results[limit].mib_s).median;
  json.object(name);
  for (std::size_t i = 0; i < methods.size(); ++i) {
    json.object(methods[i].name).object("mib_s");
    put(json, results[i].mib_s);
    json.close().put("fraction_of_limit", spread(results[i].mib_s).median / best);
    if (methods[i].waits) json.put("post_us", spread(results[i].post_us).median);
    json.close();
  }
  json.close();
}

bool measure(const Settings& s, Device& device, std::size_t size, Json& json) {
  const long count = std::clamp(static_cast<long>(s.budget / size), 2L, 1000L);
  Rig rig(device, size, s.chunk);
  Results writes, reads;
  std::vector<double> copies;
  bool right = true;
  for (long i = 0; i <= s.repetitions; ++i) {
    if (i == 1) {  // the first time was for warming up
      writes = {};
      reads = {};
    }
    auto seed = static_cast<std::uint64_t>(i) * 2 * methods.size();
    for (std::size_t m = 0; m < methods.size(); ++m) {
      right = run(rig, methods[m], Direction::write, size, count, seed++, writes[m]) && right;
      right = run(rig, methods[m], Direction::read, size, count, seed++, reads[m]) && right;
    }
    const double start = now_s();
    for (long n = 0; n < count; ++n) rig.copy_on_host();
    if (i > 0) copies.push_back(mib_s(size, count, now_s() - start));
  }
  json.object().put("bytes", size).put("copies", count);
  report(json, "write", writes);
  report(json, "read", reads);
  json.object("host_copy_mib_s");
  put(json, copies);
  json.close().close();
  return right;
}

int run_all(const Settings& s) {
  Json json("transfer");
  json.put("backend", s.backend).put("repetitions", s.repetitions).put("chunk_bytes", s.chunk);
  bool right = true;
  try {
    const auto device =
        s.backend == "cuda" ? open_cuda(s.library, static_cast<int>(s.index)) : open_process();
    json.put("device", device->name()).put("functional_only", device->functional_only());
    json.put("limit", methods[limit].name).list("sizes");
    for (const std::uint64_t size : s.sizes) right = measure(s, *device, size, json) && right;
    json.close().put("verified", right);
  } catch (const NoDevice& reason) {
    json.put("problem", reason.what());
  }
  std::fputs(json.finish().c_str(), stdout);
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  const std::vector<Option> table = options(settings);
  try {
    parse_arguments(argc, argv, table);
    if (settings.help) {
      std::printf("transfer: what moves between this host's memory and a device's (JSON)\n%s",
                  describe(table).c_str());
      return 0;
    }
    return run_all(settings);
  } catch (const BadUsage& problem) {
    std::fprintf(stderr, "transfer: %s\n", problem.what());
    return 2;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "transfer: %s\n", problem.what());
    return 1;
  }
}
