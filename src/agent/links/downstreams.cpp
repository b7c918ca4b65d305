// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/links/downstreams.hpp"

#include <algorithm>

#include "transport/frame.hpp"
#include "transport/tcp.hpp"

namespace millrace::agent {

Route Downstreams::route_of(const transport::Register& registration) {
  const transport::Routing& routing = registration.routing;
  Route route;
  route.stripe_bytes = routing.stripe_bytes;
  for (std::uint32_t lane = 0; lane < std::min(routing.lanes, transport::max_lanes); ++lane) {
    const transport::Hop& hop = routing.hops[lane];
    LaneRoute& way = route.lanes.emplace_back();
    way.upstreams = hop.upstreams;
    way.keeps = hop.keeps != 0;
    if (hop.next.port == 0) continue;
    const auto to = std::make_shared<Downstream>(Downstream{
        hop.next, transport::LinkKey(routing.key), {registration.group, routing.node, hop.node, lane}});
    way.next = make_carrier(to, registration.settings.record_max_bytes, [this, to] { connect(to); });
  }
  return route;
}

void Downstreams::connect(const std::shared_ptr<Downstream>& to) {
  const Status status = to->connect(loop_.net, loop_.times, loop_.clock.now_ns());
  if (!status.ok())
    return loop_.log("cannot reach the agent at " + transport::to_text(to->address) + ": " +
                     status.describe());
  to->socket.tag = loop_.new_tag();
  to->agenda = agenda_;
  links_.emplace(to->socket.tag, to);
}

void Downstreams::handle(std::uint64_t tag, std::uint32_t events) {
  const auto place = links_.find(tag);
  if (place == links_.end()) return;
  place->second->socket.events |= events;
  agenda_->touch(tag);
}

void Downstreams::pump(std::uint64_t now_ns) {
  for (const std::uint64_t tag : agenda_->take(now_ns)) {
    const auto place = links_.find(tag);
    if (place == links_.end() || pump(*place->second, now_ns)) continue;
    links_.erase(place);
    agenda_->forget(tag);
  }
}

// False: the link has ended.
bool Downstreams::pump(Downstream& to, std::uint64_t now_ns) {
  const Status status = loop_.pump(*to.io, to.socket, now_ns);
  const std::uint64_t before = to.progress;
  to.listen();
  if (to.progress != before) heard_(to.introduction, to.progress - before);
  if (!status.ok() && to.status.ok()) {
    to.status = Status(Code::lost_peer, status.error());
    if (!to.abandoned)
      loop_.log("lost the agent at " + transport::to_text(to.address) + ": " + to.io->reason());
  }
  if (to.abandoned || !to.status.ok()) {
    loop_.unwatch(*to.io, to.socket);
    return false;
  }
  loop_.watch_again(*to.io, to.socket);
  agenda_->set_deadline(to.socket.tag, to.io->deadline_ns());
  // A frame may have ended the link. The next round then handles that.
  if (to.io->restless() || !to.io->status().ok()) to.touch();
  return true;
}

}  // namespace millrace::agent
