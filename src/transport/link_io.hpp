// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "io/net.hpp"
#include "transport/link.hpp"

// A link on its connection.
namespace millrace::transport {

struct LinkTimes {
  std::uint64_t handshake_ns = 10'000'000'000;  // to connect and to shake hands, all of it
  std::uint64_t silence_ns = 30'000'000'000;    // without a byte of the peer: it is lost
  std::uint64_t ping_ns = 1'000'000'000;        // without a byte sent: send a sign of life
};

// Joins one Link with one stream. Never blocks: the owner waits (epoll, level triggered) for the events of
// wants_read() and wants_write(), until deadline_ns(), and then calls pump(). The caller gives the time of a
// monotonic clock.
//
// Frames in link() go out by themselves. While the stream takes bytes, pump() closes the open batch when
// there is nothing else to send. So batches are small on a quick line and large on a busy one.
//
// The peer is lost if no byte of it comes for silence_ns while this end reads. Both ends ping, so a living
// agent is never silent for longer than ping_ns, unless its thread stands still; so nothing may block that
// thread for silence_ns. If frames stay in the link until its buffer is full, this end does not read, and the
// peer does not count as silent. A batch without an end for silence_ns counts as silence too: after a wrong
// bit in its length, the rest would never come.
//
// Owns the stream and the link. Not thread safe.
class LinkIo {
 public:
  // `stream` comes from connect() or accept(), as the link from connecting() or accepting().
  LinkIo(std::unique_ptr<io::Stream> stream, Link link, const LinkTimes& times, std::uint64_t now_ns);

  // Receives, sends and checks the time. `readable` and `writable` are the stream's events; errors and
  // hang-ups count as both. Returns status(). An error is final, but frames that came before it can still be
  // taken from link().
  Status pump(std::uint64_t now_ns, bool readable, bool writable);

  bool wants_read();
  bool wants_write() const;
  // True if the next pump() has work even without an event.
  bool restless() const;
  // The time of the next pump() without an event; UINT64_MAX: never.
  std::uint64_t deadline_ns() const;

  // Code::lost_peer: closed, reset, unreachable, silent, or no handshake within its bound. Code::refused: the
  // peer hung up instead of proving who it is. Else as Link says.
  Status status() const { return status_.ok() ? link_.status() : status_; }
  // A few words for the log.
  const char* reason() const { return status_.ok() ? link_.reason() : reason_; }

  // True if any byte of the peer has come.
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
  std::uint64_t heard_ns_ = 0;  // when the peer's last byte came, or when this end began to read
  std::uint64_t spoke_ns_ = 0;
  std::uint64_t batch_ns_ = 0;  // when this end last waited for no end of a batch, after
  std::uint64_t batches_ = 0;   // ... so many
  bool heard_ = false;
  bool deaf_ = false;     // the link had no space at the last look
  bool blocked_ = false;  // the stream took no more at the last try
};

}  // namespace millrace::transport
