// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "transport/link_batches.hpp"
#include "transport/link_handshake.hpp"

// The protocol of an authenticated connection that carries frames between two agents. It has no socket: bytes
// come in and bytes go out. link_io.hpp connects it with a socket.
namespace millrace::transport {

// A state machine for either end: first a handshake, then batches in both directions. The first error ends
// the link: status() keeps the error, and no more bytes go out or come in.
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
  bool established() const { return alive() && handshake_.done(); }
  // For the accepting side. True if the peer has named a group that is served here, even if it has not proved
  // the key yet.
  bool names_group() const { return alive() && handshake_.names_group(); }
  Status status() const { return error_.status; }
  // A few words for the log about the error.
  const char* reason() const { return error_.reason; }
  // The introduction of the connecting side. At the accepting side it is only a claim until established().
  const LinkIntroduction& introduction() const { return handshake_.introduction(); }

  // --- Sending ---

  // Appends a record to the open batch, and sets header.length from the payload. Records wait until the link
  // is established. The link never refuses a record, so the caller must bound the backlog. It puts data only
  // while has_room(), and one answer for each request.
  void put(const FrameHeader& header, std::span<const std::byte> payload);
  void put_reply(std::uint32_t file, std::uint32_t request, Status status);
  void put_ping();
  // Closes the open batch, so that it is sent.
  void flush() { outgoing_.flush(); }

  static constexpr std::size_t max_backlog_bytes = std::size_t{4} << 20;
  bool has_room() const { return backlog_bytes() < max_backlog_bytes; }
  // Bytes of batches that have not been sent.
  std::size_t backlog_bytes() const { return outgoing_.backlog_bytes(); }

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
  void consume() { incoming_.consume(); }

  // True if a batch has been received in part.
  bool amid_batch() const { return alive() && incoming_.amid_batch(); }
  // The number of batches that were verified so far.
  std::uint64_t batches() const { return incoming_.batches(); }

 private:
  Link(LinkHandshake handshake, const LinkLimits& limits);
  bool alive() const { return error_.status.ok(); }
  void fail(const LinkError& error);

  LinkLimits limits_;
  LinkError error_;
  LinkHandshake handshake_;
  OutgoingBatches outgoing_;
  IncomingBatches incoming_;
};

}  // namespace millrace::transport
