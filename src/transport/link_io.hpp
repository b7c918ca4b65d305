// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "io/net.hpp"
#include "transport/link.hpp"

// A link together with its connection.
namespace millrace::transport {

struct LinkTimes {
  std::uint64_t handshake_ns = 10'000'000'000;  // the most time for connecting and the handshake together
  // After this time without a byte from the peer, the peer is lost.
  std::uint64_t silence_ns = 30'000'000'000;
  std::uint64_t ping_ns = 1'000'000'000;  // after this time without sending a byte, this end sends a ping
};

// Joins one Link with one stream. Never blocks. The owner waits (epoll, level triggered) for the events of
// wants_read() and wants_write(), until deadline_ns(), and then calls pump(). All times are of the owner's
// monotonic clock.
//
// pump() sends the frames in link(). While the stream takes bytes, pump() closes the open batch when it has
// nothing else to send. So batches are small on a quick line and large on a busy one.
//
// The peer is lost if no byte of it comes for silence_ns while this end reads. Both ends ping, so an agent is
// never silent for longer than ping_ns while its thread runs. So nothing may block that thread for
// silence_ns. If frames stay in the link until its buffer is full, this end does not read, and the peer does
// not count as silent. A batch whose end does not come for silence_ns counts as silence too. With a wrong bit
// in its length, its end would never come.
//
// Owns the stream and the link. Not thread safe.
class LinkIo {
 public:
  // `stream` comes from connect() with a link from connecting(), or from accept() with a link from
  // accepting().
  LinkIo(std::unique_ptr<io::Stream> stream, Link link, const LinkTimes& times, std::uint64_t now_ns);

  // Receives, sends and checks the time. `readable` and `writable` are the stream's events; an error or
  // hang-up sets both. Returns status(). An error is final, but the owner can still take earlier frames from
  // link().
  Status pump(std::uint64_t now_ns, bool readable, bool writable);

  bool wants_read();
  bool wants_write() const;
  // True if the next pump() has work without an event.
  bool restless() const;
  // The time at which pump() must run without an event; UINT64_MAX: never.
  std::uint64_t deadline_ns() const;

  // Code::lost_peer: the connection is closed, reset, unreachable or silent, or the handshake takes too long.
  // Code::refused: the peer closed the connection during the handshake. Other codes are those of Link.
  Status status() const { return status_.ok() ? link_.status() : status_; }
  // A few words about the error, for the log.
  const char* reason() const { return status_.ok() ? link_.reason() : reason_; }

  // True if any byte has come from the peer.
  bool heard() const { return heard_; }

  Link& link() { return link_; }
  int socket() const { return stream_->descriptor(); }

 private:
  enum class State { connecting, connected };

  void fail(Status status, const char* reason);
  void finish();
  void receive(std::uint64_t now_ns);
  void send(std::uint64_t now_ns, bool writable);
  void look_at_time(std::uint64_t now_ns);

  std::unique_ptr<io::Stream> stream_;
  Link link_;
  LinkTimes times_;
  State state_ = State::connecting;
  Status status_;
  const char* reason_ = "";
  std::uint64_t start_ns_ = 0;
  std::uint64_t heard_ns_ = 0;  // the time of the peer's last byte, or when this end began to read again
  std::uint64_t spoke_ns_ = 0;
  std::uint64_t batch_ns_ = 0;  // the last time at which this end was not in the middle of a batch
  std::uint64_t batches_ = 0;   // the number of batches at that time
  bool heard_ = false;
  bool deaf_ = false;     // at the last receive, the link had no space
  bool blocked_ = false;  // at the last send, the stream was full
};

}  // namespace millrace::transport
