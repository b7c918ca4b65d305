// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// Measures the gain of staging. First it compares a double-buffered transfer with the slower of its two
// halves, which is the limit. Then it compares a call that makes and pins its own buffer with a call that
// uses kept buffers. staging_bench [MiB per transfer, default 256]
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "base/fd.hpp"
#include "staging/host/host_device.hpp"
#include "staging/memory_range.hpp"
#include "staging/pool.hpp"
#include "staging/process/process_device.hpp"

namespace millrace::staging {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int rounds = 5;

void need(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "staging_bench: %s failed\n", what);
  std::exit(1);
}

double seconds(const std::function<void()>& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The host's end: a file in memory whose pages exist already, or a simulated disk of a given rate.
class Target final : public End {
 public:
  explicit Target(double bytes_per_s) : rate_(bytes_per_s), file_(memfd_create("staging-bench", 0)) {}
  void rewind() { offset_ = 0; }

  ssize_t write(std::span<const std::byte> from) override {
    return move(from.size(),
                [&] { return pwrite(file_.get(), from.data(), from.size(), static_cast<off_t>(offset_)); });
  }
  ssize_t read(std::span<std::byte> into) override {
    return move(into.size(),
                [&] { return pread(file_.get(), into.data(), into.size(), static_cast<off_t>(offset_)); });
  }
  bool ready() override { return true; }
  void unread(std::uint64_t bytes) override { offset_ -= bytes; }

 private:
  template <class Call>
  ssize_t move(std::size_t bytes, const Call& call) {
    if (rate_ <= 0) {
      const ssize_t done = call();
      offset_ += static_cast<std::uint64_t>(std::max<ssize_t>(done, 0));
      return done;
    }
    // The disk does not work between calls. But if the last sleep was too long, this one is shorter by the
    // excess.
    const auto whole = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(static_cast<double>(bytes) / rate_));
    const auto due = Clock::now() + whole - std::min(late_, whole / 2);
    std::this_thread::sleep_until(due);
    late_ = Clock::now() - due;
    return static_cast<ssize_t>(bytes);
  }

  const double rate_;
  Fd file_;
  std::uint64_t offset_ = 0;
  Clock::duration late_{};
};

double median(const std::function<void()>& work) {
  work();  // warm
  std::vector<double> all;
  all.reserve(rounds);
  for (int i = 0; i < rounds; ++i) all.push_back(seconds(work));
  std::ranges::sort(all);
  return all[all.size() / 2];
}

struct Halves {
  double copy;
  double call;
};

// Measures each half alone, with the pieces and the memory of a transfer.
Halves halves(Device& device, const Shape& shape, Address memory, std::uint64_t bytes, Target& target,
              bool write) {
  Result<std::unique_ptr<Queue>> queue = device.open_queue();
  Result<std::unique_ptr<Buffers>> buffers = Buffers::create(shape.bytes());
  need(queue.ok() && buffers.ok() && device.pin((*buffers)->all()).ok(), "making buffers");
  const std::size_t piece = shape.piece_bytes(bytes);
  const auto slot = [&](std::uint64_t done) {
    return (*buffers)->all().subspan(done / piece % shape.slots * shape.slot_bytes,
                                     std::min<std::uint64_t>(piece, bytes - done));
  };
  const auto copy = [&] {
    std::vector<CopyTicket> tickets;
    std::uint64_t waited = 0;
    for (std::uint64_t done = 0; done < bytes; done += piece) {
      const auto direction = write ? CopyDirection::to_host : CopyDirection::to_device;
      const Result<CopyTicket> ticket = (*queue)->post(direction, memory + done, slot(done));
      need(ticket.ok(), "a copy");
      tickets.push_back(*ticket);
      if (tickets.size() - waited >= shape.slots) need((*queue)->wait(tickets[waited++]).ok(), "a copy");
    }
    while (waited < tickets.size()) need((*queue)->wait(tickets[waited++]).ok(), "a copy");
  };
  const auto call = [&] {
    target.rewind();
    for (std::uint64_t done = 0; done < bytes; done += piece) {
      const std::span<std::byte> part = slot(done);
      const ssize_t moved = write ? target.write(part) : target.read(part);
      need(moved == static_cast<ssize_t>(part.size()), "a call");
    }
  };
  const Halves result{median(copy), median(call)};
  (void)device.unpin((*buffers)->all());
  return result;
}

// The memory is filled, because memory that was never written is the kernel's zero page, which is in the
// cache.
Address filled_memory(Device& device, std::uint64_t bytes) {
  const Result<Address> memory = device.allocate(bytes);
  need(memory.ok(), "allocating device memory");
  Pool pool({});
  std::vector<std::byte> some(4 * MiB, std::byte{0x5a});
  for (std::uint64_t done = 0; done < bytes; done += some.size()) {
    const std::span<std::byte> part =
        std::span(some).first(std::min<std::uint64_t>(some.size(), bytes - done));
    need(copy_to(pool, {&device, *memory + done, part.size()}, part).ok(), "filling device memory");
  }
  return *memory;
}

void overlap(const char* what, Device& device, double target_rate, std::uint64_t bytes) {
  const Address memory = filled_memory(device, bytes);
  for (const bool write : {true, false}) {
    Target target(target_rate);
    {
      Pool pool({});
      need(pool.write(device, memory, bytes, target).bytes == bytes, "filling the file");
    }
    const Halves half = halves(device, Shape{}, memory, bytes, target, write);
    const double mib = static_cast<double>(bytes) / static_cast<double>(MiB);
    std::printf("%-28s %-5s copy %5.0f  call %5.0f", what, write ? "write" : "read", mib / half.copy,
                mib / half.call);
    for (const Shape& shape : {Shape{1, 4 * MiB}, Shape{2, 4 * MiB}, Shape{4, 2 * MiB}}) {
      Pool pool({.shape = shape});
      const double taken = median([&] {
        target.rewind();
        const Moved moved =
            write ? pool.write(device, memory, bytes, target) : pool.read(device, target, memory, bytes);
        need(moved.bytes == bytes, "a transfer");
      });
      std::printf("  %zux%zu %5.0f = %.2f", shape.slots, shape.slot_bytes / MiB, mib / taken,
                  std::max(half.copy, half.call) / taken);
    }
    std::printf("\n");
  }
  (void)device.release(memory);
}

// Does the same as the vendors' normal path: each call allocates memory, pins, uses and frees it.
void fresh_call(Device& device, Address from, std::uint64_t bytes, Target& target) {
  constexpr std::uint64_t block = 64 * MiB;
  for (std::uint64_t done = 0; done < bytes; done += block) {
    const std::uint64_t size = std::min(block, bytes - done);
    Result<std::unique_ptr<Staging>> staging = Staging::create(device, {1, size, size});
    need(staging.ok() && (*staging)->write_through(from + done, size, target).bytes == size, "a fresh call");
  }
}

void per_call(Device& device) {
  const std::uint64_t most = 64 * MiB;
  const Address memory = filled_memory(device, most);
  std::printf("\nper call, write, device %s: fresh and pinned each time, against registered once\n",
              device.name());
  Target target(0);
  Pool pool({});
  need(pool.write(device, memory, most, target).bytes == most, "filling the file");
  for (std::uint64_t bytes = 4 * KiB; bytes <= most; bytes *= 4) {
    const int calls = static_cast<int>(std::clamp<std::uint64_t>(32 * MiB / bytes, 1, 200));
    const auto each = [&](const std::function<void()>& call) {
      return median([&] {
               for (int i = 0; i < calls; ++i) {
                 target.rewind();
                 call();
               }
             }) /
             calls * 1e6;
    };
    const double fresh = each([&] { fresh_call(device, memory, bytes, target); });
    const double registered =
        each([&] { need(pool.write(device, memory, bytes, target).bytes == bytes, "a call"); });
    std::printf("%8llu KiB  fresh %10.1f us  registered %10.1f us  ratio %.2f\n",
                static_cast<unsigned long long>(bytes / KiB), fresh, registered, fresh / registered);
  }
  (void)device.release(memory);
}

int bench(std::uint64_t bytes) {
  std::printf(
      "%llu MiB per transfer, median of %d; MiB/s of each half alone, then of slots x MiB = part of the "
      "slower half's\n",
      static_cast<unsigned long long>(bytes / MiB), rounds);
  CopyOptions link;
  link.delays.bytes_per_s = {1e9, 1e9};
  link.delays.latency_ns = {20'000, 20'000};
  for (const double rate : {0.5e9, 1e9, 2e9}) {
    HostDevice device(link);
    char what[64];
    std::snprintf(what, sizeof what, "link 1.0 GB/s, disk %.1f GB/s", rate / 1e9);
    overlap(what, device, rate, bytes);
  }
  Result<std::unique_ptr<ProcessDevice>> behind_link = ProcessDevice::start(link);
  Result<std::unique_ptr<ProcessDevice>> process = ProcessDevice::start();
  need(behind_link.ok() && process.ok(), "starting a helper process");
  overlap("process, link and disk 1.0", **behind_link, 1e9, bytes);
  overlap("process, disk 1.0 GB/s", **process, 1e9, bytes);
  overlap("process, file in memory", **process, 0, bytes);
  HostDevice host;
  per_call(host);
  return 0;
}

}  // namespace
}  // namespace millrace::staging

int main(int argc, char** argv) {
  const unsigned long mib = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 256;
  if (mib == 0 || mib > 65536) {
    std::fprintf(stderr, "usage: %s [MiB per transfer, from 1 to 65536]\n", argv[0]);
    return 2;
  }
  return millrace::staging::bench(mib * millrace::MiB);
}
