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

// The protocol of an authenticated connection that carries frames between two agents. It has no socket: bytes
// come in and bytes go out. link_io.hpp connects it with a socket.
namespace millrace::transport {

// Finds the key of the group that a hello names, if this agent serves that group and is the node in the
// hello. An empty answer refuses the peer. The function must not change anything, because the peer has not
// yet proved that it holds the key.
using LinkLookup = std::function<std::optional<LinkKey>(const LinkIntroduction&)>;

struct LinkLimits {
  // The largest payload, in both directions; at most max_link_record_bytes.
  std::size_t record_max_bytes = max_link_record_bytes;
  // A batch is closed before it grows beyond this. A larger record has its own batch.
  std::size_t batch_bytes = std::size_t{256} << 10;
};

// A state machine for either end. It trusts no input. Until the peer has proved that it holds the key, the
// link keeps at most one message of fixed size from it. After that, it keeps one receive buffer of 2 *
// max_batch_bytes. next() returns only frames of verified batches. The first error ends the link: status()
// keeps the error, and no more bytes go out or come in.
//
//   refused      handshake: no such group, a wrong key, another program, a replay
//   unsupported  handshake: another protocol_version
//   corrupt      a batch that does not verify, or malformed frames
//
// Owns its buffers and keys. Not thread safe. Its only system calls are for random numbers, and it reads no
// clock.
class Link {
 public:
  static Link connecting(const LinkKey& key, const LinkIntroduction& me, const LinkLimits& limits = {});
  static Link accepting(LinkLookup lookup, const LinkLimits& limits = {});

  // True if the peer has proved that it holds the key. At the connecting end, its own proof is still on the
  // way then.
  bool established() const { return state_ == State::established; }
  // For the accepting side. True if the peer has named a group that is served here, even if it has not proved
  // the key yet.
  bool names_group() const { return state_ == State::proof_awaited || established(); }
  Status status() const { return status_; }
  // A few words for the log about the error.
  const char* reason() const { return reason_; }
  // The introduction of the connecting side. At the accepting side it is only a claim until established().
  const LinkIntroduction& introduction() const { return introduction_; }

  // --- Sending ---

  // Appends a record to the open batch, and sets header.length from the payload. Records wait until the link
  // is established. The link never refuses a record, so the caller must bound the backlog. It puts data only
  // while has_room(), and one answer for each request.
  void put(const FrameHeader& header, std::span<const std::byte> payload);
  void put_reply(std::uint32_t file, std::uint32_t request, Status status);
  void put_ping();
  // Closes the open batch, so that it is sent.
  void flush();

  static constexpr std::size_t max_backlog_bytes = std::size_t{4} << 20;
  bool has_room() const { return backlog_bytes_ < max_backlog_bytes; }
  // Bytes of batches that have not been sent.
  std::size_t backlog_bytes() const { return backlog_bytes_; }

  // The bytes to write now; empty if there are none. Then call sent() with the number of bytes written.
  std::span<const std::byte> outgoing() const;
  void sent(std::size_t bytes);

  // --- Receiving ---

  // The memory to receive into. During the handshake, it has room for the next message only. It is empty
  // while the buffer is full of frames that were not consumed. Then call received() with the number of bytes
  // received.
  std::span<std::byte> space();
  void received(std::size_t bytes);

  // Returns the next frame and keeps it until consume(). False if there is none, or after an error
  // (status()). `payload` stays valid until a call of space() after consume(). A caller that cannot take a
  // frame may leave it and still call space().
  [[nodiscard]] bool next(FrameHeader& frame, const std::byte*& payload);
  void consume();

  // True if a batch has been received in part.
  bool amid_batch() const;
  // The number of batches that were verified so far.
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

  // Handshake, one message at a time: the peer may answer only after all of `handshake_out_` has been sent.
  std::optional<LinkKey> key_;
  LinkLookup lookup_;
  LinkHello hello_{};
  LinkChallenge challenge_{};
  std::array<std::byte, handshake_message_bytes> handshake_in_{};
  std::array<std::byte, handshake_message_bytes> handshake_out_{};
  std::size_t handshake_received_ = 0;
  std::size_t handshake_size_ = 0;  // of the message in handshake_out_
  std::size_t handshake_sent_ = 0;

  // Sending: `open_` grows, `closed_` is sent, `spare_` is memory to use again.
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
