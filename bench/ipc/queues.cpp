// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "ipc/connection.hpp"

namespace bench::ipc {

namespace {

constexpr long queue_messages = 10;  // Linux's limit for ordinary users
constexpr std::size_t message_bytes = 8192;

// One queue for each direction; longer messages are cut.
class PosixQueue final : public Connection {
 public:
  explicit PosixQueue(Peer& peer) {
    const std::string base = "/millrace-ipc-" + peer.exchange(std::to_string(::getpid()));
    const std::string own_name = "/millrace-ipc-" + std::to_string(::getpid());
    mq_attr attributes{};
    attributes.mq_maxmsg = queue_messages;
    attributes.mq_msgsize = static_cast<long>(message_bytes);
    in_ = ::mq_open(own_name.c_str(), O_RDONLY | O_CREAT | O_EXCL, 0600, &attributes);
    const bool there = peer.exchange(in_ < 0 ? "no" : "yes") == "yes";
    if (in_ >= 0 && there) out_ = ::mq_open(base.c_str(), O_WRONLY);
    peer.exchange("");
    if (in_ >= 0) ::mq_unlink(own_name.c_str());
    if (in_ < 0 || !there)
      throw Unavailable("no POSIX message queues of " + std::to_string(queue_messages) + " times " +
                        std::to_string(message_bytes) + " bytes here");
    if (out_ < 0) fail("mq_open");
  }
  ~PosixQueue() override {
    if (in_ >= 0) ::mq_close(in_);
    if (out_ >= 0) ::mq_close(out_);
  }
  PosixQueue(const PosixQueue&) = delete;
  PosixQueue& operator=(const PosixQueue&) = delete;

  void send(const void* data, std::size_t size) override {
    for (const char* at = static_cast<const char*>(data); size > 0;) {
      const std::size_t part = std::min(size, message_bytes);
      if (::mq_send(out_, at, part, 0) != 0) {
        if (errno == EINTR) continue;
        fail("mq_send");
      }
      at += part;
      size -= part;
    }
  }
  void receive(void* data, std::size_t size) override {
    char message[message_bytes];  // a queue takes no shorter buffer
    for (char* at = static_cast<char*>(data); size > 0;) {
      const bool direct = size >= message_bytes;
      const ssize_t done = ::mq_receive(in_, direct ? at : message, message_bytes, nullptr);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0 || static_cast<std::size_t>(done) > size) fail("mq_receive");
      if (!direct) std::memcpy(at, message, static_cast<std::size_t>(done));
      at += done;
      size -= static_cast<std::size_t>(done);
    }
  }

 private:
  mqd_t in_ = -1, out_ = -1;
};

// One queue; a message's type is its receiver.
class SystemVQueue final : public Connection {
 public:
  explicit SystemVQueue(Peer& peer) : own_(peer.index() + 1), other_(2 - peer.index()) {
    if (peer.index() == 0) queue_ = ::msgget(IPC_PRIVATE, IPC_CREAT | 0600);
    const std::string told = peer.exchange(std::to_string(queue_));
    if (peer.index() == 1) queue_ = std::stoi(told);
    if (queue_ < 0) throw Unavailable("no System V message queues here");
    owner_ = peer.index() == 0;
  }
  ~SystemVQueue() override {
    if (owner_) ::msgctl(queue_, IPC_RMID, nullptr);
  }
  SystemVQueue(const SystemVQueue&) = delete;
  SystemVQueue& operator=(const SystemVQueue&) = delete;

  void send(const void* data, std::size_t size) override {
    for (const char* at = static_cast<const char*>(data); size > 0;) {
      const std::size_t part = std::min(size, message_bytes);
      message_.type = other_;
      std::memcpy(message_.text, at, part);
      while (::msgsnd(queue_, &message_, part, 0) != 0) {
        if (errno != EINTR) fail("msgsnd");
      }
      at += part;
      size -= part;
    }
  }
  void receive(void* data, std::size_t size) override {
    for (char* at = static_cast<char*>(data); size > 0;) {
      const ssize_t done = ::msgrcv(queue_, &message_, sizeof message_.text, own_, 0);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0 || static_cast<std::size_t>(done) > size) fail("msgrcv");
      std::memcpy(at, message_.text, static_cast<std::size_t>(done));
      at += done;
      size -= static_cast<std::size_t>(done);
    }
  }

 private:
  struct Message {
    long type;
    char text[message_bytes];
  };
  int queue_ = -1;
  long own_, other_;
  bool owner_ = false;
  Message message_{};
};

}  // namespace

std::unique_ptr<Connection> open_posix_queue(Peer& peer) { return std::make_unique<PosixQueue>(peer); }
std::unique_ptr<Connection> open_sysv_queue(Peer& peer) { return std::make_unique<SystemVQueue>(peer); }

}  // namespace bench::ipc
