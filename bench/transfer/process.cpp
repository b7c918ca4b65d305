// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "transfer/device.hpp"

namespace bench {

namespace {

struct Copy {
  Direction direction;
  void* host;
  std::uint64_t device;
  std::size_t size;
};

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

void move(pid_t process, const Copy& copy) {
  for (std::size_t done = 0; done < copy.size;) {
    iovec here{static_cast<char*>(copy.host) + done, copy.size - done};
    iovec there{reinterpret_cast<void*>(copy.device + done), copy.size - done};
    const bool writes = copy.direction == Direction::write;
    const ssize_t moved = writes ? ::process_vm_writev(process, &here, 1, &there, 1, 0)
                                 : ::process_vm_readv(process, &here, 1, &there, 1, 0);
    if (moved <= 0) fail(writes ? "process_vm_writev" : "process_vm_readv");
    done += static_cast<std::size_t>(moved);
  }
}

// A thread that copies what it is given, in turn.
class Queue {
 public:
  explicit Queue(pid_t process) : thread_([this, process] { work(process); }) {}
  ~Queue() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  void post(const Copy& copy) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(copy);
    }
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.empty(); });
    if (!problem_.empty()) throw std::runtime_error(problem_);
  }

 private:
  void work(pid_t process) {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const Copy copy = waiting_.front();  // it counts as waiting until it is done
      lock.unlock();
      std::string problem;
      try {
        move(process, copy);
      } catch (const std::exception& thrown) {
        problem = thrown.what();
      }
      lock.lock();
      waiting_.pop_front();
      if (problem_.empty()) problem_ = problem;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Copy> waiting_;
  std::string problem_;
  bool ends_ = false;
  std::thread thread_;
};

void* map_memory(std::size_t size) {
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  std::memset(memory, 0, size);
  return memory;
}

// A request of the parent to its child: `address` 0 asks for memory of that size, another address returns it.
struct Request {
  std::uint64_t address, size;
};

[[noreturn]] void serve(int socket, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  for (Request request{}; ::read(socket, &request, sizeof request) == sizeof request;) {
    std::uint64_t made = 0;
    if (request.address == 0)
      made = reinterpret_cast<std::uintptr_t>(map_memory(request.size));
    else
      ::munmap(reinterpret_cast<void*>(request.address), request.size);
    if (::write(socket, &made, sizeof made) != sizeof made) break;
  }
  ::_exit(0);
}

class Process final : public Device {
 public:
  Process() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
    const pid_t parent = ::getpid();
    child_ = ::fork();
    if (child_ < 0) fail("fork");
    if (child_ == 0) {
      ::close(ends[0]);
      serve(ends[1], parent);
    }
    ::close(ends[1]);
    socket_ = ends[0];
    for (auto& queue : queues_) queue = std::make_unique<Queue>(child_);
  }
  ~Process() override {
    for (auto& queue : queues_) queue.reset();
    ::close(socket_);  // at which the child ends
    ::waitpid(child_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  std::string name() const override { return "memory of another process"; }
  bool functional_only() const override { return true; }

  std::uint64_t allocate(std::size_t size) override {
    const std::uint64_t address = ask({0, size});
    if (address == 0) throw std::runtime_error("the other process has no memory left");
    there_[address] = size;
    return address;
  }
  void release(std::uint64_t address) override { ask({address, there_.at(address)}); }
  void* allocate_pinned(std::size_t size) override {
    void* const memory = map_memory(size);
    if (memory == nullptr) fail("mmap");
    here_[memory] = size;
    return memory;
  }
  void release_pinned(void* memory) override { ::munmap(memory, here_.at(memory)); }

  void copy(Direction direction, void* host, std::uint64_t device, std::size_t size) override {
    move(child_, {direction, host, device, size});
  }
  void post(Direction direction, void* host, std::uint64_t device, std::size_t size,
            unsigned queue) override {
    queues_[queue]->post({direction, host, device, size});
  }
  void wait(unsigned queue) override { queues_[queue]->wait(); }

 private:
  std::uint64_t ask(const Request& request) const {
    std::uint64_t answer = 0;
    if (::send(socket_, &request, sizeof request, MSG_NOSIGNAL) != sizeof request ||
        ::read(socket_, &answer, sizeof answer) != sizeof answer)
      throw std::runtime_error("the process whose memory it is has gone");
    return answer;
  }

  pid_t child_ = 0;
  int socket_ = -1;
  std::map<std::uint64_t, std::size_t> there_;  // by address
  std::map<void*, std::size_t> here_;
  std::array<std::unique_ptr<Queue>, Device::queues> queues_;
};

}  // namespace

std::unique_ptr<Device> open_process() { return std::make_unique<Process>(); }

}  // namespace bench
