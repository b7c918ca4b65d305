// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/file_identity.hpp"
#include "extent/extent.hpp"
#include "transport/frame.hpp"

// The layout of the memory that client and agent share. Client and agent are the same build (Hello.version),
// so the layouts may change with protocol_version. The asserts only check that each layout fits its page.
namespace millrace::transport {

inline constexpr std::uint64_t header_bytes = 4096;
inline constexpr std::uint64_t min_ring_bytes = 64 * KiB;
inline constexpr std::uint64_t max_ring_bytes = 16 * MiB;
// A rank's ring. A rank wakes the agent at 256 KiB. It then has room for three times as much until the agent
// has a processor. The rings of many ranks still take little memory.
inline constexpr std::uint64_t rank_ring_bytes = MiB;
inline constexpr std::uint32_t reply_slots = 16;
inline constexpr std::uint32_t max_files = 8192;  // slots in the agent page

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

// The agent's answer to a request. `done` is the number of the last answered request, and a futex word.
struct ReplySlot {
  std::atomic<std::uint32_t> done;
  std::atomic<std::uint32_t> code;
  std::atomic<std::int32_t> error;
  std::uint32_t reserved;
};

// First page of a ring's memfd; the ring follows.
//
//   | RingHeader, 4096 B | ring, ring_bytes |
//
// Offsets head and tail only grow: bytes [head, tail) modulo the size of the ring are waiting.
struct RingHeader {
  // Written by the producer.
  alignas(64) std::atomic<std::uint64_t> tail;
  std::atomic<std::uint32_t> requests;  // number of frames so far that want an answer
  // Written by the consumer.
  alignas(64) std::atomic<std::uint64_t> head;
  // A futex word. A producer that waits for room sets it. The consumer clears it to wake the producer.
  alignas(64) std::atomic<std::uint32_t> producer_waits;
  alignas(64) ReplySlot replies[reply_slots];
};
static_assert(sizeof(RingHeader) <= header_bytes);

// The state of a target file, shared by all its ranks on this node.
struct SharedFileState {
  // A rank that has published records sets it from clean to dirty. The agent sets it from dirty to draining
  // before it drains the rings. The agent sets it from draining to clean when no bytes are pending. If it is
  // not clean, a rank asks the agent before it reads.
  std::atomic<std::uint32_t> dirty;
  std::atomic<std::uint32_t> code;  // sticky Status
  std::atomic<std::int32_t> error;
  std::atomic<std::uint32_t> kept;    // the ledger holds records; set before `dirty` becomes clean
  std::atomic<std::uint64_t> number;  // file_number(); 0: no rank has the file open, and no bytes are pending
  std::atomic<std::uint64_t> lasting;  // FileNumbers::lasting; set before `number`
  // The places of pending bytes, as bits of places(). A rank sets bits in `fresh` after it has published. The
  // agent moves them to `held` before it drains the rings. It clears them in `held` when all these bytes are
  // in the file. Read `fresh` first.
  std::atomic<std::uint64_t> fresh;
  std::atomic<std::uint64_t> held;
  // No pending byte lies behind it. A rank raises it before it publishes; nobody lowers it.
  std::atomic<std::uint64_t> end;
  // Not 0: ranks of other nodes may have written to the file, through other agents.
  std::atomic<std::uint32_t> routed;
  // For so long the file system has answered none of the agent's requests for this file. 0: it has none.
  std::atomic<std::uint32_t> silent_ms;
};
inline constexpr std::uint32_t state_clean = 0;
inline constexpr std::uint32_t state_dirty = 1;
inline constexpr std::uint32_t state_draining = 2;
inline constexpr std::uint32_t state_left = 3;  // bytes were pending when the last rank left the file
inline constexpr std::uint32_t routed_everywhere = 1;
// The file is on one node only. Other nodes have a stand-in.
inline constexpr std::uint32_t routed_stand_in = 2;

inline constexpr std::uint32_t ending_no_memory = 1;
inline constexpr std::uint64_t any_file = 1;
// A line of the agent, for one rank to print on stderr (line.hpp). The agent makes `number` odd, changes the
// text, and makes the number even again. 0: there was none. The rank that sets `told` to the number prints
// the line.
struct Line {
  std::atomic<std::uint32_t> number;
  std::atomic<std::uint32_t> told;
  char text[2040];  // ends with a 0
};
// The file that a file system keeps waiting.
struct Stall {
  std::atomic<std::uint32_t> silent_ms;  // the longest of all files
  Line where;
};

// The agent, for other jobs of the user. Builds of other versions read it too: a change needs another magic.
struct Shown {
  char magic[8];
  std::uint32_t version;  // protocol_version, which is also the version of the page's layout
  std::int32_t process;
  std::uint64_t number;    // of this agent, at random
  std::uint64_t journals;  // the number of their directory
  std::uint64_t spaces;  // the number of the agent's namespaces of processes and of the network; 0: not known
  char name[64];         // of the agent's socket
};
static_assert(sizeof(Shown) == 104);

// The agent's page, mapped by every client and by other jobs of the user (presence.hpp).
struct AgentPage {
  Shown shown;                            // fixed before others see the page
  alignas(64) std::uint32_t stamp_clock;  // StampClock; fixed before the first rank comes
  // 1: the agent sleeps. The rank that sets it to 0 also writes the eventfd.
  alignas(64) std::atomic<std::uint32_t> sleeping;
  // Grows while ranks wait and the agent's loop turns, even if the storage answers nothing.
  alignas(64) std::atomic<std::uint64_t> progress;
  std::atomic<std::uint64_t> moved;  // grows whenever this agent, or one downstream, gets something done
  // The node's clock at the last turn of the agent's loop, nanoseconds since 1970; 0: not told.
  std::atomic<std::uint64_t> alive_ns;
  // The bytes of records that the agent has taken, the memory that it has used for them, and the time of the
  // processors, as of the last close that it has answered.
  std::atomic<std::uint64_t> taken_bytes;
  std::atomic<std::uint64_t> buffer_bytes;
  std::atomic<std::uint64_t> worked_ns;
  alignas(64) std::atomic<std::uint64_t> openings;  // grows whenever a file gets its number
  std::atomic<std::uint32_t> slots;                 // files[slots...] were never used
  std::atomic<std::uint32_t> ending;  // why the agent has ended by itself, with bytes; 0: no reason
  // FileNumbers::number of files whose ledgers the disk of the journals does not take back, though nobody
  // needs them any more. 0: no file. If there are more files, the last one is `any_file`.
  std::atomic<std::uint64_t> stuck[16];
  alignas(64) Line said;  // what no answer to a rank can tell
  alignas(64) Stall stall;
  alignas(64) SharedFileState files[max_files];
};

// True if bytes of some file are with the agent or in its ranks' rings, or may be missing in the file though
// a ledger has them.
inline bool holds_bytes(const AgentPage& page) {
  for (std::uint32_t file = 0; file < page.slots.load() && file < max_files; ++file) {
    const SharedFileState& state = page.files[file];
    if (state.number.load() != 0 && (state.dirty.load() != state_clean || state.kept.load() != 0))
      return true;
  }
  return false;
}

// A number that is the same for all names of a file, and nearly always different for different files. Never
// 0.
constexpr std::uint64_t file_number(std::uint64_t device, std::uint64_t inode) {
  return (((device + 1) * 0x9E3779B97F4A7C15u) ^ inode) | std::uint64_t{1} << 63;
}

// The numbers by which other jobs find a file in an agent's page.
struct FileNumbers {
  std::uint64_t number = 0;  // file_number()
  // Stays when the file system is mounted anew and gets another device number. 0: the file system tells too
  // little.
  std::uint64_t lasting = 0;

  bool are_of(const SharedFileState& state) const {
    return state.number.load() == number || (lasting != 0 && state.lasting.load() == lasting);
  }
};
constexpr FileNumbers numbers_of(const FileIdentity& file) {
  FileNumbers numbers{.number = file_number(file.device, file.inode)};
  const std::uint64_t made = file.handle != 0 ? file.handle : file.birth_ns;
  if (made != 0) numbers.lasting = file_number(made, file.inode);
  if (file.mark > unmarked) numbers.lasting = file_number(file.mark, 0);
  return numbers;
}

// A bit for every MiB of the file, modulo 64. Two extents without a common bit have no common byte.
constexpr std::uint64_t places(Extent extent) {
  if (extent.empty()) return 0;
  const std::uint64_t first = extent.begin >> 20;
  const std::uint64_t count = ((extent.end - 1) >> 20) - first + 1;
  if (count >= 64) return UINT64_MAX;
  return std::rotl((std::uint64_t{1} << count) - 1, static_cast<int>(first % 64));
}

// The bytes of the ring for a record with `length` bytes of payload.
constexpr std::uint64_t record_bytes(std::uint64_t length) {
  return sizeof(FrameHeader) + ((length + 7) & ~std::uint64_t{7});
}

// The largest payload of one record in a ring of this size.
constexpr std::uint64_t max_payload(std::uint64_t ring_bytes) { return ring_bytes / 4 - sizeof(FrameHeader); }

// If at least this many bytes wait, a rank wakes a sleeping agent.
constexpr std::uint64_t wake_threshold(std::uint64_t ring_bytes) {
  return ring_bytes / 4 < 256 * KiB ? ring_bytes / 4 : 256 * KiB;
}

}  // namespace millrace::transport
