// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The part of Links that speaks to agents upstream.
#include <utility>

#include "agent/links/links_impl.hpp"
#include "transport/channel.hpp"

namespace millrace::agent {

using transport::FrameHeader;
using transport::Kind;

namespace {

// What waits in a link of bytes that were fetched: enough to keep it busy.
constexpr std::size_t data_backlog_bytes = std::size_t{1} << 20;

}  // namespace

bool Links::answer(ChannelId channel, std::uint32_t request, Status status) {
  Upstream* const to = upstream_of(channel);
  if (to == nullptr) return false;
  to->io.link().put_reply(0, request, status);
  to->io.link().flush();
  touch(*to);
  return true;
}

bool Links::has_room(ChannelId channel) const {
  Upstream* const to = upstream_of(channel);
  return to != nullptr && to->io.link().backlog_bytes() < data_backlog_bytes;
}

void Links::data(ChannelId channel, std::uint32_t request, std::uint64_t offset,
                 std::span<const std::byte> bytes) {
  FrameHeader frame{};
  frame.kind = Kind::data;
  frame.request = request;
  frame.offset = offset;
  frame.checksum = transport::record_checksum(bytes.data(), static_cast<std::uint32_t>(bytes.size()), offset);
  upstream_of(channel)->io.link().put(frame, bytes);
  touch(*upstream_of(channel));
}

void Links::end_of_data(ChannelId channel, std::uint32_t request, std::uint64_t file_bytes) {
  FrameHeader frame{};
  frame.kind = Kind::data;
  frame.request = request;
  frame.span = file_bytes;
  upstream_of(channel)->io.link().put(frame, {});
  touch(*upstream_of(channel));
}

void Links::show_progress(bool own) {
  for (auto& [tag, from] : upstreams_) {
    if (!from->joined || from->closed) continue;
    const auto group = groups_.find(from->io.link().introduction().group);
    const std::uint64_t heard = group != groups_.end() ? group->second.heard[from->lane] : 0;
    if (std::exchange(from->shown, heard) == heard && !own) continue;
    from->io.link().put_reply(0, Downstream::no_request, {});
    from->io.link().flush();
    touch(*from);
  }
}

}  // namespace millrace::agent
