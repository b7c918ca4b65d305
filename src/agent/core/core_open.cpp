// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The part of Core that takes files in: its memory, and who joins whom.
#include <algorithm>
#include <bit>

#include "agent/pipeline/block_pool.hpp"
#include "agent/core/core_impl.hpp"
#include "transport/layout.hpp"

namespace millrace::agent {

namespace {

constexpr std::uint64_t window_max_bytes = 16 * MiB;  // at least so much is kept free or on its way out

bool sound(const FileSettings& settings) {
  return settings.sort_buffer_bytes >= MiB && std::has_single_bit(settings.record_max_bytes) &&
         settings.record_max_bytes >= 4 * KiB && settings.record_max_bytes <= MiB &&
         settings.strategy <= Strategy::journal && settings.durability <= Durability::node &&
         settings.sink <= SinkMode::direct;
}

}  // namespace

Status Core::Impl::prepare_pool(const FileSettings& settings) {
  const std::uint32_t record_max = static_cast<std::uint32_t>(settings.record_max_bytes);
  if (!shared.pool) {
    shared.pool = std::make_unique<BlockPool>(settings.sort_buffer_bytes, settings.record_max_bytes);
    shared.record_max_bytes = 0;
  }
  const BlockPool& pool = *shared.pool;
  // Two of its records at least, or nothing would overlap.
  if (pool.spans(record_max) * 2 > pool.blocks.count()) return Code::unsupported;
  allow_records(std::max(shared.record_max_bytes, record_max));
  return {};
}

void Core::Impl::allow_records(std::uint32_t most_bytes) {
  const BlockPool& pool = *shared.pool;
  shared.record_max_bytes = most_bytes;
  const std::uint64_t window =
      std::min<std::uint64_t>(pool.blocks.count() / 4, window_max_bytes >> pool.block_shift());
  shared.window_blocks = std::max({static_cast<std::uint32_t>(window), pool.spans(most_bytes), pool.slots()});
}

// What has been refused leaves the others what they had before: were room kept for its larger records, there
// might be none for theirs.
Status Core::Impl::refuse(Status why, std::uint32_t record_max_before) {
  if (anything_open()) {
    allow_records(record_max_before);
    (void)share_out();
  } else {
    shared.pool.reset();
  }
  return why;
}

Result<FileSlot> Core::Impl::add(Fd target, const FileIdentity& identity,
                                 const transport::Register& registration, Route route) {
  if (files.size() == transport::max_files && std::find(files.begin(), files.end(), nullptr) == files.end())
    return Status(Code::no_memory);  // the page that all ranks see has room for no more
  const std::uint32_t record_max_before = shared.record_max_bytes;
  const Status prepared = prepare_pool(registration.settings);
  if (!prepared.ok()) return prepared;
  auto file = OpenFile::open(shared, std::move(target), identity, registration, std::move(route), channels);
  if (!file) return refuse(file.status(), record_max_before);
  auto place = std::find(files.begin(), files.end(), nullptr);
  if (place == files.end()) place = files.emplace(files.end());
  (*file)->number = ++files_opened;
  *place = *std::move(file);
  if (!share_out()) {
    place->reset();
    return refuse(Code::unsupported, record_max_before);
  }
  return static_cast<FileSlot>(place - files.begin());
}

// The open file that this open joins; files.size() if there is none. Others of the same target, which ranks
// have left, make way. An agent that passes all on has no descriptor of the target, which may be gone, and
// another file have its number.
FileSlot Core::Impl::find(const FileIdentity& identity, const transport::Register& registration) {
  FileSlot slot = 0;
  for (; slot < files.size(); ++slot) {
    OpenFile* const file = files[slot].get();
    if (file == nullptr || same_file(file->identity, identity) == Sameness::other ||
        file->reads_only != (registration.reads_only != 0))
      continue;
    file->replaced = file->left_by(registration.group);
    if (!file->replaced) break;
  }
  return slot;
}

Result<FileSlot> Core::open(ChannelId channel, Fd target, const transport::Register& registration,
                            Route route) {
  if (!target.valid() || !sound(registration.settings)) return Code::invalid;
  Result<FileIdentity> identity = impl_->shared.storage.identify(target, false);
  if (!identity) return identity.status();
  identity->mark = 0;  // an agent of another node may mark the file meanwhile
  auto& files = impl_->files;
  FileSlot slot = impl_->find(*identity, registration);
  const bool routed = !route.lanes.empty();
  if (slot < files.size() && routed && !files[slot]->takes_routed(registration.group)) return Code::refused;
  if (slot == files.size()) {
    auto added = impl_->add(std::move(target), *identity, registration, std::move(route));
    if (!added) return added.status();
    slot = *added;
  } else {
    const std::uint32_t record_max_before = impl_->shared.record_max_bytes;
    const Status prepared = impl_->prepare_pool(registration.settings);
    if (!prepared.ok()) return prepared;
    if (impl_->shared.record_max_bytes > record_max_before && !impl_->share_out())
      return impl_->refuse(Code::unsupported, record_max_before);
    if (registration.settings.strategy != files[slot]->asked.strategy)
      files[slot]->asked = registration.settings;
    files[slot]->join(impl_->shared, target, registration.settings);
  }
  if (channel >= impl_->channels.size()) impl_->channels.resize(channel + 1);
  if (routed) files[slot]->routed_groups.insert(registration.group);
  for (const auto& lane : files[slot]->lanes) {
    const std::uint32_t agents = routed ? lane->upstreams : 0;
    const std::uint32_t expected = registration.members == 0 ? 0 : registration.members + agents;
    lane->requests.join(channel, registration.group, expected);
  }
  return slot;
}

Status Core::join(ChannelId channel, FileSlot slot, std::uint32_t lane, std::uint64_t group) {
  OpenFile* file = impl_->file(slot);
  if (file == nullptr) return Code::invalid;
  lane %= static_cast<std::uint32_t>(file->lanes.size());  // fewer, if the file was open here before
  if (channel >= impl_->channels.size()) impl_->channels.resize(channel + 1);
  impl_->channels[channel].upstream = true;
  impl_->channels[channel].lane = lane;
  file->lanes[lane]->requests.join(channel, group, 0, true);
  return {};
}

}  // namespace millrace::agent
