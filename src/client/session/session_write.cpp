// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// How the pieces of a call become records in the ring.
#include <algorithm>

#include "client/session/session.hpp"
#include "transport/bundle.hpp"

namespace millrace::client {

using transport::FrameHeader;
using transport::Kind;

namespace {

constexpr std::uint64_t sample_every = 64;  // one write of this many is measured

bool fits_a_bundle(const Piece& piece) {
  return piece.size > 0 && piece.size <= transport::bundled_record_max_bytes;
}

}  // namespace

// Most calls have one piece, so this function is inlined into write().
[[gnu::always_inline]] inline Status Session::append_piece(std::uint32_t file, std::uint64_t stamp,
                                                           const Piece& piece, std::uint64_t record_max,
                                                           Tally& tally) {
  const auto* data = static_cast<const std::byte*>(piece.data);
  const std::uint64_t most = std::min(parts_.producer.max_payload(), record_max);
  FrameHeader frame{};
  frame.kind = Kind::write;
  frame.file = file;
  frame.span = stamp;
  for (std::uint64_t done = 0; done < piece.size;) {
    const std::uint64_t rest = piece.size - done;
    frame.offset = piece.offset + done;
    // Long pieces are cut at the ends of the agent's blocks.
    std::uint64_t length = rest <= most ? rest : most;
    if (rest > most && most == record_max) length = most - frame.offset % most;
    frame.length = static_cast<std::uint32_t>(length);
    if (!parts_.producer.append(frame, data + done)) [[unlikely]] {
      if (Status status = append(frame, data + done, &tally); !status.ok()) return status;
    }
    show_if_much();
    done += length;
  }
  return {};
}

Status Session::write(std::uint32_t file, std::span<const Piece> pieces, std::uint64_t record_max,
                      Tally& tally) {
  const std::lock_guard lock(mutex_);
  const Saver saver(*this);
  if (const Status now = sticky(file); !now.ok() || lost()) return now.ok() ? Code::lost_agent : now;
  const bool sampled = tally.writes++ % sample_every == 0;
  const std::uint64_t begin_ns = sampled ? now_ns() : 0;
  const std::uint64_t waited_ns = tally.counters.wait_ns;
  const std::uint64_t stamp =
      clock_ == transport::StampClock::counter ? transport::read_stamp(clock_) : now_ns();
  std::uint64_t places = 0, last = 0;
  for (const Piece& piece : pieces) last = std::max(last, piece.offset + piece.size);
  std::atomic<std::uint64_t>& end = view_.state(file).end;
  for (std::uint64_t known = end.load(); known < last && !end.compare_exchange_weak(known, last);) {
  }
  for (std::size_t next = 0; next < pieces.size();) {
    const std::span<const Piece> rest = pieces.subspan(next);
    std::size_t taken = 1;
    Status status;
    if (rest.size() > 1 && fits_a_bundle(rest[0]) && fits_a_bundle(rest[1])) {
      status = append_bundle(file, stamp, rest, record_max, tally, taken);
    } else {
      status = append_piece(file, stamp, rest[0], record_max, tally);
    }
    if (!status.ok()) return status;
    for (const Piece& piece : rest.first(taken)) {
      tally.counters.bytes += piece.size;
      places |= transport::places({piece.offset, piece.offset + piece.size});
    }
    next += taken;
  }
  tally.counters.pieces += pieces.size();
  parts_.producer.publish();
  // These flags follow the publication of the records: agent/server/file_states.hpp has the protocol.
  std::atomic<std::uint64_t>& fresh = view_.state(file).fresh;
  if ((fresh.load(std::memory_order_seq_cst) & places) != places) fresh.fetch_or(places);
  std::atomic<std::uint32_t>& dirty = view_.state(file).dirty;
  if (dirty.load(std::memory_order_seq_cst) != transport::state_dirty) dirty.store(transport::state_dirty);
  publish(false);
  if (sampled) {
    const std::uint64_t copied = now_ns() - begin_ns - (tally.counters.wait_ns - waited_ns);
    tally.sampled_ns += copied;
    tally.counters.copy_ns = tally.sampled_ns * tally.writes / ++tally.samples;
  }
  return {};
}

// `taken`: the number of pieces in the bundle, at least one.
Status Session::append_bundle(std::uint32_t file, std::uint64_t stamp, std::span<const Piece> pieces,
                              std::uint64_t record_max, Tally& tally, std::size_t& taken) {
  const std::uint64_t room =
      std::min({parts_.producer.max_payload(), record_max, std::uint64_t{transport::bundle_max_bytes},
                pieces.size() * (transport::bundled_record_max_bytes + transport::bundle_entry_bytes)});
  std::byte* payload = nullptr;
  while ((payload = parts_.producer.reserve(room)) == nullptr) {
    if (Status status = wait_for_room(&tally); !status.ok()) return status;
  }
  transport::BundleWriter bundle(payload, room);
  for (taken = 0; taken < pieces.size() && fits_a_bundle(pieces[taken]); ++taken) {
    const Piece& piece = pieces[taken];
    if (!bundle.add(piece.offset, static_cast<const std::byte*>(piece.data), piece.size)) break;
  }
  FrameHeader frame{};
  frame.kind = Kind::records;
  frame.file = file;
  frame.span = stamp;
  frame.offset = bundle.offset();
  frame.length = bundle.bytes();
  parts_.producer.commit(frame, payload);
  show_if_much();
  return {};
}

// Publishes a long batch in steps, so that the agent works while this rank copies the rest.
void Session::show_if_much() {
  if (parts_.producer.unpublished() < parts_.producer.ring_bytes() / 2) return;
  parts_.producer.publish();
  publish(false);
}

}  // namespace millrace::client
