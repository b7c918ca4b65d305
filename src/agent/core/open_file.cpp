// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/core/open_file.hpp"

#include <algorithm>
#include <bit>

#include "io/posix/descriptor.hpp"

namespace millrace::agent {

namespace {

Result<std::unique_ptr<FilePipeline>> open_lane(Shared& shared, const Fd& target, LaneRoute& way,
                                                const FileSettings& settings) {
  if (way.next && !way.keeps) return FilePipeline::open(shared, std::move(way.next), settings);
  Result<Fd> own = io::duplicate(target);
  if (!own) return own.status();
  return FilePipeline::open(shared, *std::move(own), settings, std::move(way));
}

// nullptr where the file is everywhere.
Result<std::unique_ptr<Fetches>> open_fetches(Shared& shared, const Fd& target, const Route& route) {
  if (!route.stands_in) return std::unique_ptr<Fetches>();
  if (route.lanes.size() != 1) return Code::invalid;
  Result<Fd> own = io::duplicate(target);
  if (!own) return own.status();
  return Fetches::open(shared, *std::move(own));
}

}  // namespace

Result<std::unique_ptr<OpenFile>> OpenFile::open(Shared& shared, Fd target, const FileIdentity& identity,
                                                 const transport::Register& registration, Route route,
                                                 const std::vector<Channel>& channels) {
  auto file = std::make_unique<OpenFile>();
  file->identity = identity;
  file->reads_only = registration.reads_only != 0;
  const auto end = std::find(std::begin(registration.path), std::end(registration.path), '\0');
  file->path.assign(std::begin(registration.path), end);
  file->asked = registration.settings;
  file->stripe_bytes = route.stripe_bytes;
  if (!route.lanes.empty() && registration.routing.nodes > 1) {
    file->node = registration.routing.node;
    file->nodes = registration.routing.nodes;
    file->topology = registration.routing.topology;
  }
  if (route.lanes.empty()) route.lanes.emplace_back();
  // A chunk has one file server.
  if (route.lanes.size() > 1 &&
      (!std::has_single_bit(route.stripe_bytes) || route.stripe_bytes < shared.pool->chunk_bytes()))
    return Code::invalid;
  for (LaneRoute& way : route.lanes) {
    auto fetches = open_fetches(shared, target, route);
    if (!fetches) return fetches.status();
    way.device = identity.device;
    auto pipeline = open_lane(shared, target, way, file->asked);
    if (!pipeline) return pipeline.status();
    file->lanes.push_back(
        std::make_unique<Lane>(*std::move(pipeline), *std::move(fetches), channels, way.upstreams));
  }
  file->join(shared, target, file->asked);
  return file;
}

void OpenFile::write_striped(std::uint64_t offset, std::span<const std::byte> data) {
  do {
    const std::uint64_t stripe = offset / stripe_bytes;
    const std::size_t size = std::min<std::uint64_t>(data.size(), (stripe + 1) * stripe_bytes - offset);
    lanes[stripe % lanes.size()]->pipeline->write(offset, data.first(size));
    offset += size;
    data = data.subspan(size);
  } while (!data.empty());
}

void OpenFile::write_out(Lane& lane) {
  if (!ledger || ledger->failing() || ledger->given_up()) lane.pipeline->depart(everything);
}

bool OpenFile::over() const {
  if (!owed_.empty() || (ledger && !ledger->quiet())) return false;
  return std::ranges::all_of(
      lanes, [](const auto& lane) { return lane->requests.over() && lane->pipeline->quiet(); });
}

bool OpenFile::left_by(std::uint64_t group) const {
  if (dirty() || (ledger && ledger->counts())) return false;
  return std::ranges::none_of(lanes, [group](const auto& lane) {
    return lane->requests.used_by_ranks() || lane->requests.knows(group);
  });
}

bool OpenFile::takes_routed(std::uint64_t group) const {
  if (routed_groups.empty()) return false;
  const Requests& requests = lanes.front()->requests;
  return !requests.used_by_ranks() || routed_groups.contains(group) ||
         std::ranges::any_of(routed_groups,
                             [&](std::uint64_t one) { return requests.used_by_ranks_of(one); });
}

Status OpenFile::error() const {
  for (const auto& lane : lanes) {
    if (!lane->pipeline->error().ok()) return lane->pipeline->error();
  }
  return {};
}

bool OpenFile::dirty() const {
  return std::ranges::any_of(lanes, [](const auto& lane) { return lane->pipeline->dirty(); });
}

}  // namespace millrace::agent
