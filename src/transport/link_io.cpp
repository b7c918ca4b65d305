// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/link_io.hpp"

#include <algorithm>
#include <utility>

namespace millrace::transport {

namespace {

// The most bytes that one pump() moves in each direction, so that other links get their turn.
constexpr std::size_t turn_bytes = std::size_t{1} << 20;
// The most bytes of one receive, so that they are verified while they are in the processor's cache.
constexpr std::size_t call_bytes = std::size_t{256} << 10;

std::uint64_t after(std::uint64_t time_ns, std::uint64_t span_ns) {
  return span_ns > UINT64_MAX - time_ns ? UINT64_MAX : time_ns + span_ns;
}

}  // namespace

LinkIo::LinkIo(std::unique_ptr<io::Stream> stream, Link link, const LinkTimes& times, std::uint64_t now_ns)
    : stream_(std::move(stream)),
      link_(std::move(link)),
      times_(times),
      start_ns_(now_ns),
      heard_ns_(now_ns),
      spoke_ns_(now_ns),
      batch_ns_(now_ns) {
  const std::uint64_t silence_ms = times_.silence_ns / 1'000'000;
  const Status tuned =
      stream_->tune(static_cast<std::uint32_t>(std::min<std::uint64_t>(silence_ms, 1u << 30)));
  if (!tuned.ok()) fail(tuned, "the socket cannot be set up");
}

void LinkIo::fail(Status status, const char* reason) {
  if (!this->status().ok()) return;
  status_ = status;
  reason_ = reason;
}

Status LinkIo::pump(std::uint64_t now_ns, bool readable, bool writable) {
  if (!status().ok()) return status();
  if (state_ == State::connecting && (readable || writable)) finish();
  if (state_ == State::connected && status().ok()) {
    if (deaf_) {
      heard_ns_ = now_ns;
      // This end does not read now. Only the stream's error reports a reset, which a later read would not
      // report again.
      if (const Status broken = stream_->error(); !broken.ok()) fail(broken, "the connection broke");
    }
    // Before the peer counts as silent, this reads once more, even without an event.
    if (readable || deaf_ || now_ns >= after(heard_ns_, times_.silence_ns)) receive(now_ns);
    send(now_ns, writable);
  }
  look_at_time(now_ns);
  return status();
}

void LinkIo::finish() {
  const Result<bool> connected = stream_->finish_connect();
  if (!connected.ok()) return fail(connected.status(), "the peer cannot be reached");
  if (*connected) state_ = State::connected;
}

void LinkIo::receive(std::uint64_t now_ns) {
  for (std::size_t moved = 0; moved < turn_bytes;) {
    std::span<std::byte> space = link_.space();
    deaf_ = space.empty();
    if (deaf_) return;
    space = space.first(std::min(space.size(), call_bytes));
    const Result<io::StreamTransfer> got = stream_->receive(space);
    if (!got.ok()) return fail(got.status(), "the connection broke");
    if (got->ended) {
      if (link_.established()) return fail(Code::lost_peer, "the peer closed the connection");
      return fail(Code::refused, "the peer hung up before it proved who it is");
    }
    if (got->blocked) return;
    heard_ns_ = now_ns;
    heard_ = true;
    moved += got->bytes;
    link_.received(got->bytes);
    // A short read has emptied the socket, so another read would bring no bytes.
    if (got->bytes < space.size() && link_.established()) return;
  }
}

void LinkIo::send(std::uint64_t now_ns, bool writable) {
  if (blocked_ && !writable) return;
  blocked_ = false;
  if (link_.established() && link_.backlog_bytes() == 0 && now_ns >= after(spoke_ns_, times_.ping_ns))
    link_.put_ping();
  for (std::size_t moved = 0; moved < turn_bytes;) {
    if (link_.outgoing().empty() && link_.established()) link_.flush();
    const std::span<const std::byte> out = link_.outgoing();
    if (out.empty()) return;
    const Result<io::StreamTransfer> sent = stream_->send(out);
    if (!sent.ok()) return fail(sent.status(), "the connection broke");
    blocked_ = sent->blocked;
    if (blocked_) return;
    spoke_ns_ = now_ns;
    moved += sent->bytes;
    link_.sent(sent->bytes);
  }
}

void LinkIo::look_at_time(std::uint64_t now_ns) {
  if (!status().ok()) return;
  if (deaf_ || !link_.amid_batch() || std::exchange(batches_, link_.batches()) != link_.batches())
    batch_ns_ = now_ns;
  if (!link_.established()) {
    if (now_ns >= after(start_ns_, times_.handshake_ns))
      fail(Code::lost_peer, "the peer did not connect and prove who it is in time");
  } else if (!deaf_ && now_ns >= after(heard_ns_, times_.silence_ns)) {
    fail(Code::lost_peer, "the peer is silent");
  } else if (now_ns >= after(batch_ns_, times_.silence_ns)) {
    fail(Code::lost_peer, "the peer began a batch and did not end it in time");
  }
}

bool LinkIo::wants_read() { return status().ok() && state_ == State::connected && !link_.space().empty(); }

bool LinkIo::wants_write() const {
  if (!status().ok()) return false;
  if (state_ == State::connecting) return true;
  return !link_.outgoing().empty() || (link_.established() && link_.backlog_bytes() != 0);
}

bool LinkIo::restless() const {
  if (!status().ok() || state_ == State::connecting) return false;
  return deaf_ || (!blocked_ && wants_write());
}

std::uint64_t LinkIo::deadline_ns() const {
  if (!status().ok()) return UINT64_MAX;
  if (!link_.established()) return after(start_ns_, times_.handshake_ns);
  const std::uint64_t ping = link_.backlog_bytes() == 0 ? after(spoke_ns_, times_.ping_ns) : UINT64_MAX;
  return std::min(ping, after(heard_ns_, times_.silence_ns));
}

}  // namespace millrace::transport
