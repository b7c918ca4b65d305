// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/channel/server.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "millrace/call.h"
#include "staging/channel/wire.hpp"

namespace millrace::staging::channel {

namespace {

// One type for all functions, with the most arguments. A function with fewer arguments finds them in the same
// registers. Integers and pointers take one kind of register and floating-point numbers another, each in
// their order (System V x86-64, AAPCS64).
using Function = std::uint64_t (*)(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                                   std::uint64_t, double, double, double, double, double, double, double,
                                   double);
#if !defined(__x86_64__) && !defined(__aarch64__)
#error "say how this processor passes arguments"
#endif

struct Registers {
  std::array<std::uint64_t, integers_max> integers{};
  std::array<double, reals_max> reals{};

  std::uint64_t call(void* symbol) const {
    const auto& n = integers;
    const auto& r = reals;
    return reinterpret_cast<Function>(symbol)(n[0], n[1], n[2], n[3], n[4], n[5], r[0], r[1], r[2], r[3],
                                              r[4], r[5], r[6], r[7]);
  }
};

class ChannelServer {
 public:
  explicit ChannelServer(int socket) : socket_(socket) {}
  ChannelServer(const ChannelServer&) = delete;
  ChannelServer& operator=(const ChannelServer&) = delete;
  ~ChannelServer() {
    for (void* library : libraries_) {
      if (library != nullptr) dlclose(library);
    }
  }

  // Serves one question. False: the other end has closed.
  bool next();

 private:
  // The object that the function gets. The C part is the first member, so both have the same address.
  struct CallOfFunction {
    millrace_call functions;
    ChannelServer* server;
  };
  static int send_data(millrace_call* call, std::uint64_t to, const void* from, std::size_t bytes);
  static int recv_data(millrace_call* call, void* into, std::uint64_t from, std::size_t bytes);
  int ask_back(const Head& question, std::span<const std::byte> body);

  Status answer(std::uint64_t id, std::span<const std::byte> body = {});
  Status refuse(int error, const std::string& why);
  Status install();
  Status find();
  Status uninstall();
  Status invoke();

  const int socket_;
  Head head_{};
  std::vector<std::byte> body_;
  std::vector<void*> libraries_;  // by id; null: the library is uninstalled
  std::vector<void*> symbols_;
};

int ChannelServer::ask_back(const Head& question, std::span<const std::byte> body) {
  Status status = put(socket_, question, body);
  if (status.ok()) status = get(socket_, head_, body_, -1);
  errno = status.ok() ? head_.error : EIO;
  return errno == 0 ? 0 : -1;
}

int ChannelServer::send_data(millrace_call* call, std::uint64_t to, const void* from, std::size_t bytes) {
  ChannelServer& self = *reinterpret_cast<CallOfFunction*>(call)->server;
  const std::span all(static_cast<const std::byte*>(from), bytes);
  for (std::size_t done = 0; done < bytes; done += data_max) {
    const auto part = all.subspan(done, std::min<std::size_t>(data_max, bytes - done));
    if (self.ask_back({ChannelOp::send_data, 0, to + done, part.size(), part.size()}, part) != 0) return -1;
  }
  return 0;
}

int ChannelServer::recv_data(millrace_call* call, void* into, std::uint64_t from, std::size_t bytes) {
  ChannelServer& self = *reinterpret_cast<CallOfFunction*>(call)->server;
  for (std::size_t done = 0; done < bytes; done += data_max) {
    const std::size_t part = std::min<std::size_t>(data_max, bytes - done);
    if (self.ask_back({ChannelOp::recv_data, 0, from + done, part, 0}, {}) != 0) return -1;
    if (self.body_.size() != part) {
      errno = EIO;
      return -1;
    }
    std::memcpy(static_cast<std::byte*>(into) + done, self.body_.data(), part);
  }
  return 0;
}

Status ChannelServer::answer(std::uint64_t id, std::span<const std::byte> body) {
  return put(socket_, {ChannelOp::answer, 0, id, 0, body.size()}, body);
}

Status ChannelServer::refuse(int error, const std::string& why) {
  const auto text = std::as_bytes(std::span(why.data(), std::min<std::size_t>(why.size(), name_max)));
  return put(socket_, {ChannelOp::answer, error, 0, 0, text.size()}, text);
}

std::string text_of(const std::vector<std::byte>& body) {
  return {reinterpret_cast<const char*>(body.data()), body.size()};
}

std::string said() {
  const char* text = dlerror();
  return text != nullptr ? text : "unknown error of the loader";
}

Status ChannelServer::install() {
  void* library = dlopen(text_of(body_).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return refuse(ENOENT, said());
  libraries_.push_back(library);
  return answer(libraries_.size());
}

Status ChannelServer::find() {
  if (head_.id == 0 || head_.id > libraries_.size() || libraries_[head_.id - 1] == nullptr)
    return refuse(EINVAL, "no such library is installed");
  void* symbol = dlsym(libraries_[head_.id - 1], text_of(body_).c_str());
  if (symbol == nullptr) return refuse(ENOENT, said());
  symbols_.push_back(symbol);
  return answer(symbols_.size());
}

Status ChannelServer::uninstall() {
  if (head_.id == 0 || head_.id > libraries_.size() || libraries_[head_.id - 1] == nullptr)
    return refuse(EINVAL, "no such library is installed");
  dlclose(libraries_[head_.id - 1]);
  libraries_[head_.id - 1] = nullptr;
  return answer(0);
}

// The channel has checked the message. This code checks only that it stays within the memory of the message.
Status ChannelServer::invoke() {
  if (head_.id == 0 || head_.id > symbols_.size()) return refuse(EINVAL, "no such function was found");
  if (head_.size > integers_max + reals_max) return refuse(E2BIG, "too many arguments");
  std::vector<Value> values(head_.size);
  const std::size_t values_bytes = values.size() * sizeof(Value);
  if (values_bytes > body_.size()) return refuse(EINVAL, "the arguments are cut short");
  if (!values.empty()) std::memcpy(values.data(), body_.data(), values_bytes);
  // The arguments are copied out of body_, because answers to the function's own questions overwrite it.
  std::vector<std::vector<std::byte>> memory;
  CallOfFunction call{{send_data, recv_data}, this};
  Registers registers;
  std::size_t integers = 0;
  std::size_t reals = 0;
  std::size_t at = values_bytes;
  for (const Value& value : values) {
    if (value.kind == ArgumentKind::real ? reals == reals_max : integers == integers_max)
      return refuse(E2BIG, "too many arguments");
    if (value.kind == ArgumentKind::real) {
      registers.reals[reals++] = std::bit_cast<double>(value.bits);
      continue;
    }
    std::uint64_t number = value.bits;
    if (value.kind == ArgumentKind::call) number = reinterpret_cast<std::uintptr_t>(&call);
    if (is_memory(value.kind)) {
      memory.emplace_back(value.bytes);
      if (carries_in(value.kind) && value.bytes > 0) {
        if (value.bytes > body_.size() - at) return refuse(EINVAL, "the arguments are cut short");
        std::memcpy(memory.back().data(), body_.data() + at, value.bytes);
        at += value.bytes;
      }
      number = reinterpret_cast<std::uintptr_t>(memory.back().data());
    }
    registers.integers[integers++] = number;
  }
  const std::uint64_t returned = registers.call(symbols_[head_.id - 1]);
  std::vector<std::byte> written;
  std::size_t index = 0;
  for (const Value& value : values) {
    if (!is_memory(value.kind)) continue;
    const std::vector<std::byte>& bytes = memory[index++];
    if (carries_out(value.kind)) written.insert(written.end(), bytes.begin(), bytes.end());
  }
  return answer(returned, written);
}

bool ChannelServer::next() {
  if (!get(socket_, head_, body_, -1).ok()) return false;
  switch (head_.op) {
    case ChannelOp::install:
      return install().ok();
    case ChannelOp::find:
      return find().ok();
    case ChannelOp::uninstall:
      return uninstall().ok();
    case ChannelOp::invoke:
      return invoke().ok();
    default:
      return false;
  }
}

}  // namespace

void serve(int socket) {
  ChannelServer server(socket);
  while (server.next()) {
  }
}

}  // namespace millrace::staging::channel
