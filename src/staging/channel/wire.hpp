// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "base/settings.hpp"

// The messages between a channel and its server, over a stream socket on one host. The channel asks, and the
// server gives one answer to each question. While a function runs, it may ask the channel questions too.
//
//   Head [ body: Head::bytes ]
namespace millrace::staging::channel {

enum class ChannelOp : std::uint32_t {
  install = 1,    // body: path               -> id
  find = 2,       // id: library, body: name  -> id
  uninstall = 3,  // id: library
  invoke = 4,     // id: symbol, body: see below
  answer = 5,     // id; error; body: text if there is an error, or what invoke wrote
  send_data = 6,  // asked by the function: id = address, body: the bytes  -> answer
  recv_data = 7,  // asked by the function: id = address, size             -> answer with the bytes
};

struct Head {
  ChannelOp op;
  std::int32_t error;  // in answers: an errno or 0
  std::uint64_t id;
  std::uint64_t size;
  std::uint64_t bytes;
};
static_assert(sizeof(Head) == 32);

// The body of `invoke` is `size` Values, then the bytes of the memory arguments, one after the other. The
// body of its answer has the bytes of the arguments that the function writes. The id of the answer is the
// function's result.
enum class ArgumentKind : std::uint32_t { integer, real, in, out, inout, call };
struct Value {
  ArgumentKind kind;
  std::uint32_t unused;
  std::uint64_t bits;   // the value of integer and real
  std::uint64_t bytes;  // the size of a memory argument
};
static_assert(sizeof(Value) == 24);

// The most arguments that registers hold: 6 integers or pointers, 8 floating-point numbers.
inline constexpr std::size_t integers_max = 6;
inline constexpr std::size_t reals_max = 8;
inline constexpr std::uint64_t name_max = 4096;
inline constexpr std::uint64_t body_max = 256 * MiB;  // for larger data, use send_data and recv_data
inline constexpr std::uint64_t data_max = 1 * MiB;    // of one message; send_data and recv_data send several

constexpr bool carries_in(ArgumentKind kind) {
  return kind == ArgumentKind::in || kind == ArgumentKind::inout;
}
constexpr bool carries_out(ArgumentKind kind) {
  return kind == ArgumentKind::out || kind == ArgumentKind::inout;
}
constexpr bool is_memory(ArgumentKind kind) { return carries_in(kind) || carries_out(kind); }

// Sends or receives a whole message. ESRCH: the other end has closed. ETIMEDOUT: no byte came for
// `timeout_ms` (-1: no bound).
Status put(int socket, const Head& head, std::span<const std::byte> body);
Status get(int socket, Head& head, std::vector<std::byte>& body, int timeout_ms);

}  // namespace millrace::staging::channel
