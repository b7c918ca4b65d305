// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// What Core does because time has passed.
#include <algorithm>

#include "agent/core/core_impl.hpp"

namespace millrace::agent {

std::uint64_t Core::next_deadline_ns() const {
  std::uint64_t next = UINT64_MAX;
  impl_->each_lane([&](const OpenFile&, const Lane& lane) {
    next = std::min({next, lane.requests.next_deadline_ns(), lane.watch.next_deadline_ns(),
                     lane.expiry.next_deadline_ns()});
  });
  return next;
}

void Core::set_write_within(std::uint64_t bound_ns) { impl_->shared.write_within_ns = bound_ns; }

void Core::write_out() {
  impl_->each_lane([](OpenFile& file, Lane& lane) { file.write_out(lane); });
}

std::uint64_t Core::look_every_ns() const {
  std::uint64_t every = UINT64_MAX;
  for (const auto& file : impl_->files) {
    if (file) every = std::min(every, impl_->bound_of(*file).ring_ns);
  }
  return every;
}

HoldBound Core::Impl::bound_of(const OpenFile& file) const {
  return hold_bound(shared.write_within_ns, file.nodes, file.topology);
}

void Core::Impl::expire() {
  each_lane([this](OpenFile& file, Lane& lane) {
    if (lane.expiry.due(lane.pipeline->buffers(), shared.now_ns, bound_of(file).buffer_ns))
      file.write_out(lane);
  });
}

}  // namespace millrace::agent
