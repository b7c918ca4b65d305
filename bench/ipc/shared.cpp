// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>

#include "common/system.hpp"
#include "ipc/connection.hpp"

namespace bench::ipc {

namespace {

constexpr std::size_t slot_bytes = 16 * 1024;
constexpr std::uint32_t slots = 16;
// Longer than a wake-up: a process that sleeps earlier makes the other one sleep too, and both stay slow.
constexpr double spin_s = 200e-6;

// A number that one process counts up and the other one waits for; in memory that both have.
class Counter {
 public:
  void set(std::uint32_t value) {
    value_.store(value);
    if (sleeps_.load() != 0) ::syscall(SYS_futex, &value_, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  // Until it is another one than `old`.
  void wait_for_change(std::uint32_t old) {
    double end = 0;
    for (std::uint32_t i = 0; i % 256 != 0 || end == 0 || now_s() < end; ++i) {
      if (value_.load(std::memory_order_acquire) != old) return;
      if (i == 256) end = now_s() + spin_s;
    }
    sleeps_.store(1);
    while (value_.load() == old) ::syscall(SYS_futex, &value_, FUTEX_WAIT, old, nullptr, nullptr, 0);
    sleeps_.store(0);
  }

 private:
  std::atomic<std::uint32_t> value_{0}, sleeps_{0};
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
};

// One direction: slots that are filled and emptied in turn, so that both copies run at the same time.
struct Lane {
  alignas(64) Counter filled;
  alignas(64) Counter emptied;
  alignas(64) unsigned char data[slots][slot_bytes];
};
struct Memory {
  Lane lanes[2];  // by receiver
};

class Ring final : public Connection {
 public:
  // The memory is new, all zero; `gone` gives it back.
  Ring(Memory* memory, const Peer& peer, std::function<void()> gone)
      : in_(memory->lanes[peer.index()]), out_(memory->lanes[1 - peer.index()]), gone_(std::move(gone)) {}
  ~Ring() override { gone_(); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  void send(const void* data, std::size_t size) override {
    for (const char* at = static_cast<const char*>(data); size > 0;) {
      const std::size_t part = std::min(size, slot_bytes);
      out_.emptied.wait_for_change(filled_ - slots);  // which it is only while all slots are filled
      std::memcpy(out_.data[filled_ % slots], at, part);
      out_.filled.set(++filled_);
      at += part;
      size -= part;
    }
  }
  void receive(void* data, std::size_t size) override {
    for (char* at = static_cast<char*>(data); size > 0;) {
      const std::size_t part = std::min(size, slot_bytes);
      in_.filled.wait_for_change(emptied_);
      std::memcpy(at, in_.data[emptied_ % slots], part);
      in_.emptied.set(++emptied_);
      at += part;
      size -= part;
    }
  }

 private:
  Lane& in_;
  Lane& out_;
  std::function<void()> gone_;
  std::uint32_t filled_ = 0, emptied_ = 0;  // slots of each direction so far
};

// Process 0 makes what `open` opens by that name; it is unlinked as soon as both have it.
std::unique_ptr<Connection> map_file(Peer& peer, const std::string& name,
                                     int (*open)(const char*, int, mode_t), int (*unlink)(const char*)) {
  int fd = -1;
  if (peer.index() == 0) {
    fd = open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd >= 0 && ::ftruncate(fd, sizeof(Memory)) != 0) fail("ftruncate");
  }
  const bool made = peer.exchange(fd < 0 ? "" : "made") == "made" || fd >= 0;
  if (!made) throw Unavailable("cannot make " + name);
  if (peer.index() == 1) fd = open(name.c_str(), O_RDWR, 0);
  if (fd < 0) fail(name);
  void* memory = ::mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  ::close(fd);
  peer.exchange("");
  if (peer.index() == 0) unlink(name.c_str());
  if (memory == MAP_FAILED) fail("mmap");
  return std::make_unique<Ring>(static_cast<Memory*>(memory), peer,
                                [memory] { ::munmap(memory, sizeof(Memory)); });
}

std::string name_for(Peer& peer) {
  const std::string own = std::to_string(::getpid());
  const std::string other = peer.exchange(own);
  return "millrace-ipc-" + (peer.index() == 0 ? own : other);
}

}  // namespace

std::unique_ptr<Connection> open_posix_memory(Peer& peer) {
  return map_file(peer, "/" + name_for(peer), ::shm_open, ::shm_unlink);
}

std::unique_ptr<Connection> open_mapped_file(Peer& peer) {
  return map_file(
      peer, peer.folder() + "/" + name_for(peer),
      [](const char* name, int flags, mode_t mode) { return ::open(name, flags | O_CLOEXEC, mode); },
      ::unlink);
}

std::unique_ptr<Connection> open_sysv_memory(Peer& peer) {
  int segment = -1;
  if (peer.index() == 0) segment = ::shmget(IPC_PRIVATE, sizeof(Memory), IPC_CREAT | 0600);
  const std::string told = peer.exchange(std::to_string(segment));
  if (peer.index() == 1) segment = std::stoi(told);
  if (segment < 0) throw Unavailable("no System V shared memory here");
  void* memory = ::shmat(segment, nullptr, 0);
  peer.exchange("");
  if (peer.index() == 0) ::shmctl(segment, IPC_RMID, nullptr);
  if (memory == reinterpret_cast<void*>(-1)) fail("shmat");
  return std::make_unique<Ring>(static_cast<Memory*>(memory), peer, [memory] { ::shmdt(memory); });
}

}  // namespace bench::ipc
