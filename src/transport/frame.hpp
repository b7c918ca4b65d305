// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/file_identity.hpp"
#include "base/result.hpp"
#include "base/settings.hpp"
#include "transport/processors.hpp"
#include "transport/route.hpp"

// The messages between client and agent on one node. Records and requests go in order through the rank's ring
// in shared memory (ring.hpp). Descriptors and registrations go through a UNIX socket. Agents send the same
// frames to each other through a link (link.hpp).
namespace millrace::transport {

inline constexpr std::uint32_t protocol_version = 18;

enum class Kind : std::uint16_t {
  pad = 0,    // skip to the end of the ring
  write = 1,  // payload: the bytes of the record
  flush = 2,  // request: every rank's bytes in [offset, offset + span) reach the file system
  sync = 3,   // request: flush everything, then fdatasync
  // Request: flush everything (and sync as durability says); payload: ClientCounters. From ranks, an empty
  // extent: the open failed on another node. No rank of the group has written, and no agent will come.
  close = 4,
  note = 5,  // the rank has written [offset, offset + span) directly: writeback may begin
  // Only between agents, on a link:
  reply = 6,  // answer to the request of this number; payload: WireStatus
  ping = 7,   // a sign of life without payload or answer; the receiving link drops it
  // From ranks too:
  arrive = 8,   // request: all earlier records on this way reach the file servers, before any later record
  records = 9,  // many small records in one payload (bundle.hpp); the first gap counts from offset
  // Only between agents, from upstream, while it drains in file order for a sync or close:
  mark = 10,  // the remaining records before the sync or close are at or above offset; only a hint
  // Request, from ranks too: the bytes of a list of extents (want_list.hpp). The bytes include all earlier
  // records on this way. From ranks: offset is the place in the window for the bytes.
  want = 11,
  // Only between agents, before the reply to a want and with its number:
  wanted = 12,  // payload: the next bytes of the list's data; offset: their position in it
};
inline constexpr Kind last_kind = Kind::wanted;

// Frames with bytes for the file.
constexpr bool carries_records(Kind kind) { return kind == Kind::write || kind == Kind::records; }
// Frames to which the agent sends an answer.
constexpr bool is_request(Kind kind) {
  return kind == Kind::flush || kind == Kind::arrive || kind == Kind::sync || kind == Kind::close ||
         kind == Kind::want;
}

// Frames that may go through a link. `pad` exists in rings only.
constexpr bool travels_on_links(Kind kind) { return kind != Kind::pad && kind <= last_kind; }

// If no rank or agent has the file open any more, an agent still waits until this time after the open for
// agents that have not connected.
inline constexpr std::uint64_t await_ns = 60'000'000'000;
// ... and at least so long after the last close, because an agent may connect only at the close of its ranks.
inline constexpr std::uint64_t await_closes_ns = 10'000'000'000;

// The header of every frame. The payload follows, padded to 8 bytes.
//
//   | FrameHeader 40 B | payload `length` B | 0..7 B |
//
struct FrameHeader {
  std::uint32_t length;  // payload bytes, at most record_max_bytes
  Kind kind;
  std::uint16_t reserved;
  std::uint32_t file;     // the slot that the agent returned at registration
  std::uint32_t request;  // the number that the reply repeats; 0 for write and note
  std::uint64_t offset;   // in the file, bytes
  // flush, note: bytes from offset; UINT64_MAX: to the end. write, records: the stamp (stamp.hpp).
  std::uint64_t span;
  std::uint64_t checksum;  // record_checksum() of payload and offset
};
static_assert(sizeof(FrameHeader) == 40 && std::is_trivially_copyable_v<FrameHeader>);

// True for a frame with nothing but an offset, which may be UINT64_MAX.
constexpr bool may_mark(const FrameHeader& frame) {
  return frame.length == 0 && frame.request == 0 && frame.span == 0 &&
         (frame.offset <= UINT64_MAX / 2 || frame.offset == UINT64_MAX);
}

// The client's counters of a file, sent at close so that one report covers all ranks.
struct ClientCounters {
  std::uint64_t calls;         // MPI calls that went through the pipeline
  std::uint64_t direct_calls;  // MPI calls that went to the MPI library
  std::uint64_t pieces;        // contiguous pieces of the calls through the pipeline
  std::uint64_t bytes;         // through the pipeline
  std::uint64_t direct_bytes;
  std::uint64_t copy_ns;  // time in append, sampled
  std::uint64_t wait_ns;  // time blocked on a full ring or a reply
};
static_assert(sizeof(ClientCounters) == 56);

// Payload of a reply: a Status on the wire.
struct WireStatus {
  std::uint32_t code;
  std::int32_t error;

  static WireStatus of(Status status) { return {static_cast<std::uint32_t>(status.code()), status.error()}; }
  // An unknown code becomes an I/O error, because it must not look like success.
  Status status() const {
    return {code <= static_cast<std::uint32_t>(last_code) ? Code{code} : Code::io, error};
  }
};
static_assert(sizeof(WireStatus) == 8 && std::is_trivially_copyable_v<WireStatus>);

// --- UNIX socket (SOCK_SEQPACKET) ---

struct Hello {  // client -> agent, with the ring's memfd
  std::uint32_t version;
  std::uint32_t pid;
  std::uint64_t job_hash;
  std::uint64_t ring_bytes;
  Processors own;  // that the rank may use
  Processors job;  // that the rank's job may use on this node; empty: the rank only asks
};

struct Welcome {  // agent -> client, with the agent page's memfd and the wake eventfd
  std::uint32_t version;
  Status status;
};

// client -> agent, with a descriptor of the target, open for reading and writing if possible.
struct Register {
  std::uint64_t group;       // the same number on all ranks of one collective open
  std::uint32_t members;     // ranks of that open on this node
  std::uint32_t reads_only;  // 1: no records will come, and the descriptor need not be open for writing
  FileSettings settings;
  Routing routing;
  FileIdentity identity;  // for the ledger of the file; 0: it gets none
  char path[4096];        // for reports only; never opened
};

// client -> agent: asks for the port at which agents of other nodes reach this agent.
struct Meet {
  std::uint32_t version;
};

struct Met {  // agent -> client
  Status status;
  std::uint16_t port;  // valid for every address of this node
  std::uint16_t reserved;
};

// client -> agent, with the memfd of the rank's window. The agent puts the bytes there that the rank wants.
struct Window {
  std::uint64_t bytes;
  std::uint64_t reserved;
};

struct Windowed {  // agent -> client
  Status status;
};

// The largest window.
inline constexpr std::uint64_t max_window_bytes = std::uint64_t{16} << 20;

struct Registered {  // agent -> client
  Status status;
  std::uint32_t file;  // slot
};

}  // namespace millrace::transport
