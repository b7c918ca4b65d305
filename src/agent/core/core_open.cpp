// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Opens a file for its first rank; further ranks join it.
#include "agent/core/core_impl.hpp"

namespace millrace::agent {

namespace {

bool sound(const FileSettings& settings) {
  return settings.sort_buffer_bytes >= rule_of("sort_buffer").least && sound_record_max(settings) &&
         settings.strategy <= Strategy::journal && settings.durability <= Durability::node &&
         settings.sink <= SinkMode::direct;
}

}  // namespace

Result<FileSlot> Core::Impl::add(Fd& target, const FileIdentity& identity,
                                 const transport::Register& registration, Route route) {
  if (files.full()) return Code::no_memory;
  const std::uint32_t record_max_before = shared.record_max_bytes;
  if (const Status prepared = memory.prepare(registration.settings); !prepared.ok()) return prepared;
  auto file = OpenFile::open(shared, target, identity, registration, std::move(route), senders);
  if (!file) return memory.refuse(file.status(), record_max_before);
  const FileSlot slot = files.add(*std::move(file));
  if (memory.share_out()) return slot;
  files.remove(slot);
  return memory.refuse(Code::unsupported, record_max_before);
}

Result<FileSlot> Core::open(SenderId sender, Fd target, const transport::Register& registration,
                            Route route) {
  const Result<FileSlot> slot = impl_->open(sender, target, registration, std::move(route));
  if (!target.valid()) return slot;
  // The close of a refused descriptor, too, may tell an error of bytes that the agent has written to the
  // file.
  if (OpenFile* const file = slot ? impl_->files.at(*slot) : impl_->open_here(target)) {
    file->close(std::move(target));
  } else {
    io::let_go(impl_->shared.storage, std::move(target));
  }
  return slot;
}

// A file with the agent that may be that of the descriptor; nullptr: there is none.
OpenFile* Core::Impl::open_here(const Fd& target) {
  const Result<FileIdentity> identity = shared.storage.recognise(target);
  OpenFile* found = nullptr;
  files.each([&](OpenFile& file) {
    const bool same = identity && same_open_file(file.identity, *identity);
    if (same && !file.reads_only && !file.replaced) found = &file;
  });
  return found;
}

Result<FileSlot> Core::Impl::open(SenderId from, Fd& target, const transport::Register& registration,
                                  Route route) {
  if (!target.valid() || !sound(registration.settings)) return Code::invalid;
  Result<FileIdentity> identity = shared.storage.recognise(target);
  if (!identity) return identity.status();
  identity->mark = 0;  // an agent of another node may mark the file meanwhile
  FileSlot slot = files.find(*identity, registration);
  OpenFile* file = files.at(slot);
  const bool routed = !route.lanes.empty();
  if (file != nullptr && routed && !file->takes_routed(registration.group)) return Code::refused;
  if (file == nullptr) {
    auto added = add(target, *identity, registration, std::move(route));
    if (!added) return added.status();
    slot = *added;
    file = files.at(slot);
  } else {
    const std::uint32_t record_max_before = shared.record_max_bytes;
    if (const Status prepared = memory.prepare(registration.settings); !prepared.ok()) return prepared;
    if (shared.record_max_bytes > record_max_before && !memory.share_out())
      return memory.refuse(Code::unsupported, record_max_before);
    if (registration.settings.strategy != file->asked.strategy) file->asked = registration.settings;
    file->join(shared, target, registration);
  }
  (void)sender(from);
  if (routed) file->routed_groups.insert(registration.group);
  if (!file->lanes.front()->requests.members().knows(registration.group)) file->ranks += registration.members;
  for (const auto& lane : file->lanes) {
    const std::uint32_t agents = routed ? lane->upstreams : 0;
    const std::uint32_t expected = registration.members == 0 ? 0 : registration.members + agents;
    lane->requests.join(from, registration.group, expected);
  }
  return slot;
}

Status Core::join(SenderId sender, FileSlot slot, std::uint32_t lane, std::uint64_t group) {
  OpenFile* const file = impl_->files.at(slot);
  if (file == nullptr) return Code::invalid;
  // The file has fewer lanes than the agent upstream knows if it was open here before.
  lane %= static_cast<std::uint32_t>(file->lanes.size());
  impl_->sender(sender).upstream = true;
  impl_->sender(sender).lane = lane;
  file->lanes[lane]->requests.join(sender, group, 0, true);
  return {};
}

}  // namespace millrace::agent
