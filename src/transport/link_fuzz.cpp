// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// Gives the fuzzer's bytes to a link as those of a stranger, before and after the handshake. Gives them too
// as those of a peer that holds the key: it seals the bytes, so that the fuzzer reaches the code behind the
// tag. Also uses the bytes as a bundle in a ring, which the rank may change while the agent splits it.
#include <cstdlib>

#include "transport/bundle.hpp"
#include "transport/testing/link_rig.hpp"

namespace {

using namespace millrace::transport;           // NOLINT: one small program
using namespace millrace::transport::testing;  // NOLINT

enum Mode : unsigned { accepting, connecting, established, key_holder, in_ring, modes };

constexpr std::size_t record_max = 512;

void unbundle(const Frame& frame) {
  Unbundler unbundler;
  Unbundler::Unbundled record{};
  const std::byte* at = frame.payload.data();
  while (unbundler.next(frame.header.offset, frame.payload, record) == Unbundler::Found::record) {
    unbundler.taken();
    if (record.data.empty() || record.data.data() <= at || record.offset > UINT64_MAX / 2) std::abort();
    at = record.data.data() + record.data.size();
  }
  if (at > frame.payload.data() + frame.payload.size()) std::abort();
}

// Changes the payload after every `turn` records.
void unbundle_changing(std::span<const std::byte> bytes, std::size_t turn) {
  const std::span<const std::byte> payloads[] = {bytes.first(bytes.size() / 2),
                                                 bytes.subspan(bytes.size() / 2)};
  Unbundler unbundler;
  Unbundler::Unbundled record{};
  for (std::size_t records = 0;; ++records) {
    const std::span<const std::byte> payload = payloads[records / turn % 2];
    if (unbundler.next(turn, payload, record) != Unbundler::Found::record) return;
    if (record.offset > UINT64_MAX / 2 || record.data.data() < payload.data() ||
        record.data.data() + record.data.size() > payload.data() + payload.size())
      std::abort();
    if (records > bytes.size()) std::abort();  // each record takes some of the payload
    unbundler.taken();
  }
}

// Feeds the link in pieces whose size the input chooses, and takes its frames in between. Reads every byte of
// a frame, so that the sanitizers check its place.
std::size_t read_all(Link& link, std::span<const std::byte> bytes, std::size_t piece) {
  std::size_t frames = 0;
  while (!bytes.empty() && link.status().ok()) {
    const std::size_t taken = feed(link, bytes.first(std::min(piece, bytes.size())));
    bytes = bytes.subspan(taken);
    for (const Frame& frame : take(link)) {
      if (frame.payload.size() > record_max || !travels_on_links(frame.header.kind)) std::abort();
      if (frame.header.kind == Kind::records) unbundle(frame);
      ++frames;
    }
    if (taken == 0 && link.status().ok()) std::abort();  // the link has no frames, so it must have space
  }
  return frames;
}

// Makes batches of the fuzzer's bytes. The first byte of each batch is its length.
Bytes seal(KeyHolder& peer, std::span<const std::byte> bytes) {
  Bytes wire;
  while (!bytes.empty()) {
    const std::size_t length =
        std::min<std::size_t>(bytes.size() - 1, 8 * std::to_integer<std::size_t>(bytes[0]));
    const Bytes batch = peer.batch(bytes.subspan(1, length));
    wire.insert(wire.end(), batch.begin(), batch.end());
    bytes = bytes.subspan(1 + length);
  }
  return wire;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto mode = static_cast<Mode>(data[0] % modes);
  const std::size_t piece = data[1] == 0 ? 1 : std::size_t{data[1]} * 8;
  const std::span bytes = std::as_bytes(std::span(data, size)).subspan(2);
  if (mode == in_ring) {
    unbundle_changing(bytes, piece);
    return 0;
  }
  const LinkLimits limits{record_max, 4096};
  Link link = mode == connecting ? Link::connecting(test_key(), test_introduction(), limits)
                                 : Link::accepting(test_lookup(), limits);
  if (mode == accepting || mode == connecting) {
    drain(link);
    if (read_all(link, bytes, piece) != 0 || link.established()) std::abort();
    return 0;
  }
  KeyHolder peer(link);
  if (!link.established()) std::abort();
  const std::size_t frames =
      read_all(link, mode == key_holder ? seal(peer, bytes) : Bytes(bytes.begin(), bytes.end()), piece);
  if (mode == established && frames != 0) std::abort();
  return 0;
}
