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
  std::uint64_t ping_ns = 1'000'000'000;        // without a byte of ours: say that we live
};

// Joins one Link with one stream. Never blocks: the owner waits (epoll, level triggered) for what
// wants_read() and wants_write() say and until deadline_ns(), and then calls pump(). Time is a monotonic
// clock's, told by the caller.
//
// What is put into link() goes out by itself: as long as the stream takes bytes, pump() closes the open batch
// when there is nothing else to send, so that batches are small on a quick line and large on a busy one.
//
// The peer is lost if it says nothing for silence_ns although we would hear it. Both ends ping, so an agent
// that lives is never silent for longer than ping_ns, unless its own thread stands still: nothing may block
// it for silence_ns. While frames are left in the link until its buffer is full, we are deaf, and nobody is
// judged. A batch that has no end for silence_ns is silence too: a wrong bit in its length would have us wait
// for bytes that the peer never meant to send.
//
// Owns the stream and the link. Not thread safe.
class LinkIo {
 public:
  // `stream` is of connect() or accept(), as the link is of connecting() or accepting().
  LinkIo(std::unique_ptr<io::Stream> stream, Link link, const LinkTimes& times, std::uint64_t now_ns);

  // Receives, sends and looks at the time. `readable` and `writable` are what the owner was told about the
  // stream, errors and hang-ups counted as both. Returns status(): what is wrong is wrong for good, but
  // frames that came before it can still be taken from link().
  Status pump(std::uint64_t now_ns, bool readable, bool writable);

  bool wants_read();
  bool wants_write() const;
  // The next pump() has something to do even if nothing happens and no time passes.
  bool restless() const;
  // When to call pump() even if nothing happens; UINT64_MAX: never.
  std::uint64_t deadline_ns() const;

  // Code::lost_peer: closed, reset, unreachable, silent, or no handshake within its bound. Code::refused: the
  // peer hung up instead of proving who it is. Else as Link says.
  Status status() const { return status_.ok() ? link_.status() : status_; }
  // A few words for the log.
  const char* reason() const { return status_.ok() ? link_.reason() : reason_; }

  // Whether the peer ever said anything.
  bool heard() const { return heard_; }

  Link& link() { return link_; }
  int socket() const { return stream_->descriptor(); }

 private:
  enum class Stage { connecting, connected };

  void fail(Status status, const char* reason);
  void finish();
  void receive(std::uint64_t now_ns);
  void send(std::uint64_t now_ns, bool writable);
  void look_at_time(std::uint64_t now_ns);

  std::unique_ptr<io::Stream> stream_;
  Link link_;
  LinkTimes times_;
  Stage stage_ = Stage::connecting;
  Status status_;
  const char* reason_ = "";
  std::uint64_t start_ns_ = 0;
  std::uint64_t heard_ns_ = 0;  // when the peer's last byte came, or when we began to listen
  std::uint64_t spoke_ns_ = 0;
  std::uint64_t batch_ns_ = 0;  // when we were last not waiting for the end of a batch, after
  std::uint64_t batches_ = 0;   // ... so many
  bool heard_ = false;
  bool deaf_ = false;     // the link had no space when we last looked
  bool blocked_ = false;  // the stream took no more when we last tried
};

}  // namespace millrace::transport
