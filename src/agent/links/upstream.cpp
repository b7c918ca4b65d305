// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/links/upstream.hpp"

#include "agent/links/downstream.hpp"
#include "transport/ring.hpp"
#include "transport/want_list.hpp"

namespace millrace::agent {

using transport::FrameHeader;
using transport::Kind;

Drained Upstream::take_records(Core& core, const FrameHeader& frame, std::span<const std::byte> payload,
                               std::string& why) {
  if (payload.size() > record_max_bytes || frame.offset > UINT64_MAX / 2) return Drained::broken;
  if (!bundle.begun() && core.holds_back(sender, file, lane)) return Drained::held;
  if (!core.ready(file, lane)) return Drained::core_is_full;
  if (!bundle.begun() &&
      transport::record_checksum(payload.data(), frame.length, frame.offset) != frame.checksum) {
    why = "a record does not match its checksum";
    return Drained::broken;
  }
  if (frame.kind == Kind::write) {
    core.write(sender, file, frame.offset, payload);
    ++records;
    return Drained::done;
  }
  const Core::Bundled bundled = core.write_bundle(sender, file, frame.offset, payload, bundle);
  records += bundled.records;
  return drained(bundled.end);
}

// False: the frame is no request, or malformed.
bool Upstream::take_request(const FrameHeader& frame, std::span<const std::byte> payload,
                            std::vector<PendingRequest>& requests) {
  if (!transport::is_request(frame.kind) || frame.request == 0) return false;
  std::vector<Extent> wanted;
  if (frame.kind == Kind::want &&
      (wants.size() == transport::wants_on_a_link || !transport::read_want_list(payload, wanted) ||
       !wants.insert(frame.request).second))
    return false;
  closed = frame.kind == Kind::close;
  requests.push_back({sender, frame, {}, 0, std::move(wanted)});
  requests.back().frame.file = file;
  return true;
}

Drained Upstream::drain(Core& core, std::vector<PendingRequest>& requests, std::string& why) {
  FrameHeader frame{};
  const std::byte* payload = nullptr;
  while (io.link().next(frame, payload)) {
    why = "a frame of a kind that agents do not send";
    if (closed) return Drained::broken;
    if (transport::carries_records(frame.kind)) {
      const Drained taken = take_records(core, frame, {payload, frame.length}, why);
      if (taken != Drained::done) return taken;
      ++frames;
    } else if (frame.kind == Kind::mark) {
      if (!transport::may_mark(frame)) return Drained::broken;
      core.mark(sender, file, frame.offset);
    } else if (!take_request(frame, {payload, frame.length}, requests)) {
      return Drained::broken;
    }
    io.link().consume();
    touch();  // the link has room for more input
  }
  return Drained::done;
}

void Upstream::answer(std::uint32_t request, Status status) {
  wants.erase(request);
  io.link().put_reply(0, request, status);
  io.link().flush();
  touch();
}

void Upstream::put_wanted(std::uint32_t request, std::uint32_t position, std::span<const std::byte> bytes) {
  FrameHeader frame{};
  frame.kind = Kind::wanted;
  frame.request = request;
  frame.offset = position;
  frame.checksum =
      transport::record_checksum(bytes.data(), static_cast<std::uint32_t>(bytes.size()), position);
  io.link().put(frame, bytes);
  touch();
}

}  // namespace millrace::agent
