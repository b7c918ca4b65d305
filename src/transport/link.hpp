// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "transport/link_wire.hpp"

// An authenticated connection between two agents that carries frames, without the connection: bytes in, bytes
// out. link_io.hpp joins it with a socket.
namespace millrace::transport {

// Finds the key of the group that a hello names, if this agent serves that group and is the node in the
// hello; an empty answer refuses. It is called before the peer has proved anything, so it must not change
// anything.
using LinkLookup = std::function<std::optional<LinkKey>(const LinkIntroduction&)>;

struct LinkLimits {
  // Of a payload, in both directions; at most max_link_record_bytes.
  std::size_t record_max_bytes = max_link_record_bytes;
  // A batch is closed before it grows beyond this; a record larger than that has one of its own.
  std::size_t batch_bytes = std::size_t{256} << 10;
};

// A state machine for either end. It trusts no input. Until the peer has proved that it holds the key, the
// link keeps at most one message of fixed size for it; after that, one receive buffer of 2 * max_batch_bytes.
// Only frames of verified batches are handed out. The first error ends the link: status() keeps it, and no
// more bytes go out or come in.
//
//   refused      handshake: no such group, a wrong key, another program, a replay
//   unsupported  handshake: another protocol_version
//   corrupt      a batch that does not verify, or malformed frames
//
// Owns its buffers and keys. Not thread safe; makes no system call but for random numbers; knows no time.
class Link {
 public:
  static Link connecting(const LinkKey& key, const LinkIntroduction& me, const LinkLimits& limits = {});
  static Link accepting(LinkLookup lookup, const LinkLimits& limits = {});

  // Both ends have proved the key. At the connecting end it is true when the other's proof is checked; its
  // own proof is then on the way.
  bool established() const { return state_ == State::established; }
  // The accepting side: the peer has named a group that is served here. It has not proved anything yet.
  bool names_group() const { return state_ == State::proof_awaited || established(); }
  Status status() const { return status_; }
  // A few words for the log about the error.
  const char* reason() const { return reason_; }
  // The result of the handshake. On the accepting side it is only a claim before established().
  const LinkIntroduction& introduction() const { return introduction_; }

  // --- Sending ---

  // Appends a record to the open batch; header.length is taken from the payload. Allowed from the start:
  // records wait until the link is established. The link never refuses, so the caller bounds the backlog:
  // data only while has_room(), and one answer per request.
  void put(const FrameHeader& header, std::span<const std::byte> payload);
  void put_reply(std::uint32_t file, std::uint32_t request, Status status);
  void put_ping();
  // Closes the open batch, so that it goes out.
  void flush();

  static constexpr std::size_t max_backlog_bytes = std::size_t{4} << 20;
  bool has_room() const { return backlog_bytes_ < max_backlog_bytes; }
  // Put but not sent, in bytes of batches.
  std::size_t backlog_bytes() const { return backlog_bytes_; }

  // Bytes to write now, empty if there are none; `sent` of them have been written.
  std::span<const std::byte> outgoing() const;
  void sent(std::size_t bytes);

  // --- Receiving ---

  // Memory to receive into: at most as much as the peer may send at this point, and empty while the buffer is
  // full of frames that were not consumed. `bytes` at its begin have been received.
  std::span<std::byte> space();
  void received(std::size_t bytes);

  // The next frame, without taking it away; false if there is none (or none any more: see status()).
  // `payload` stays valid until a call of space() after consume(). A caller that cannot take a frame leaves
  // it, and may still call space().
  [[nodiscard]] bool next(FrameHeader& frame, const std::byte*& payload);
  void consume();

  // True if a batch has begun to come and its end is missing.
  bool amid_batch() const;
  // How many have been opened.
  std::uint64_t batches() const { return batches_; }

 private:
  enum class State { hello_awaited, challenge_awaited, proof_awaited, established, failed };

  struct Batch {
    std::unique_ptr<std::byte[]> memory;  // header and body
    std::size_t bytes = 0;
  };

  explicit Link(const LinkLimits& limits);
  void fail(Code code, const char* reason);
  void say(const void* message, std::size_t bytes);
  std::size_t awaited_bytes() const;
  void take_hello();
  void take_challenge();
  void take_proof();
  void establish(const BatchSeal& sending, const BatchSeal& receiving);
  void seal(Batch& batch);
  bool open_batch();
  std::byte* grow(std::size_t bytes);

  LinkLimits limits_;
  State state_ = State::failed;
  Status status_;
  const char* reason_ = "";
  LinkIntroduction introduction_;

  // Handshake, one message at a time: `handshake_out_` is sent before the peer may answer.
  std::optional<LinkKey> key_;
  LinkLookup lookup_;
  LinkHello hello_{};
  LinkChallenge challenge_{};
  std::array<std::byte, handshake_message_bytes> handshake_in_{};
  std::array<std::byte, handshake_message_bytes> handshake_out_{};
  std::size_t handshake_received_ = 0;
  std::size_t handshake_size_ = 0;  // of what is in handshake_out_
  std::size_t handshake_sent_ = 0;

  // Sending: `open_` grows, `closed_` goes out, `spare_` is memory to use again.
  BatchSeal sending_;
  Batch open_;
  std::deque<Batch> closed_;
  std::vector<std::unique_ptr<std::byte[]>> spare_;
  std::size_t front_sent_ = 0;  // of closed_.front()
  std::size_t backlog_bytes_ = 0;

  // Receiving:
  //
  //   | consumed | frames, verified | not yet verified | free |
  //   0        begin_           verified_             end_    receive_bytes
  //
  BatchSeal receiving_;
  std::unique_ptr<std::byte[]> in_;
  std::size_t begin_ = 0;
  std::size_t verified_ = 0;
  std::size_t end_ = 0;
  std::uint64_t batches_ = 0;
};

}  // namespace millrace::transport
