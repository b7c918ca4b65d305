// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Core takes records from ranks and from agents upstream.
#include "agent/core/core_impl.hpp"

namespace millrace::agent {

bool Core::ready() const { return impl_->ready(); }

// A full ledger does not hold back records of agents upstream: they are in no ledger of this node. Otherwise
// nodes whose ledgers fail would wait for each other.
bool Core::ready(FileSlot slot, std::uint32_t lane) const {
  if (impl_->shared.ready()) return true;
  const OpenFile* const file = impl_->files.at(slot);
  return file == nullptr || impl_->memory.ready(file->lane_at(lane));
}

bool Core::holds_back(SenderId sender, FileSlot slot, std::uint32_t lane) const {
  const OpenFile* const file = impl_->files.at(slot);
  return file != nullptr && impl_->memory.scarce() && file->lane_at(lane).requests.ahead(sender);
}

void Core::mark(SenderId sender, FileSlot slot, std::uint64_t offset) {
  (void)impl_->heard(sender);
  OpenFile* const open = impl_->files.at(slot);
  if (open == nullptr) return;
  for (const auto& lane : open->lanes) {
    if (lane->requests.members().has(sender)) lane->requests.mark(sender, offset);
  }
}

void Core::write(SenderId sender, FileSlot slot, std::uint64_t offset, std::span<const std::byte> data,
                 std::uint64_t stamp) {
  const Sender& from = impl_->heard(sender);
  impl_->put(impl_->files[slot], from, offset, data, stamp);
}

Core::Bundled Core::write_bundle(SenderId sender, FileSlot slot, std::uint64_t offset,
                                 std::span<const std::byte> payload, transport::Unbundler& at,
                                 std::uint64_t stamp) {
  const Sender& from = impl_->heard(sender);
  OpenFile& to = impl_->files[slot];
  Bundled bundled;
  // A local copy can stay in registers. The compiler must assume that the copied records overlap `at`.
  transport::Unbundler here = at;
  for (transport::Unbundler::Unbundled record{};; here.taken(), ++bundled.records) {
    const auto found = here.next(offset, payload, record);
    if (found == transport::Unbundler::Found::corrupt) bundled.end = Bundled::BundleEnd::corrupt;
    if (found != transport::Unbundler::Found::record) break;
    if (!impl_->ready() && !(from.upstream && ready(slot, from.lane))) {
      bundled.end = Bundled::BundleEnd::core_is_full;
      break;
    }
    impl_->put(to, from, record.offset, record.data, stamp);
  }
  at = bundled.end == Bundled::BundleEnd::core_is_full ? here : transport::Unbundler();
  return bundled;
}

void Core::note(SenderId sender, FileSlot slot, Extent extent) {
  (void)impl_->heard(sender);
  if (OpenFile* const file = impl_->files.at(slot)) file->lanes.front()->pipeline->note(extent);
}

}  // namespace millrace::agent
