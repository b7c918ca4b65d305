// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/session/ask_files.hpp"

namespace millrace::client {

using transport::Kind;

namespace {

// Sends one request for each file for which `is` is true.
template <class Is>
Status ask_files(Session& session, Kind kind, Extent extent, Tally& tally, Is&& is) {
  Status first;
  const PageView& view = session.view();
  for (std::uint32_t file = 0, slots = view.slots(); file < slots; ++file) {
    if (view.state(file).number.load() == 0 || !is(file)) continue;
    const bool left = view.state(file).dirty.load() == transport::state_left;
    const Status status = session.request(kind, file, extent, tally);
    // Errors of an open that is over do not belong to a later open.
    if (left && tally.first_error.ok() && status.code() != Code::invalid) tally.first_error = status;
    if (left) continue;
    // Code::invalid: the file was closed meanwhile, and all its bytes are in it.
    if (first.ok() && status.code() != Code::invalid) first = status;
  }
  return first;
}

}  // namespace

Status flush_file(Session& session, std::uint64_t number, Extent extent, bool elsewhere, Tally& tally) {
  const PageView& view = session.view();
  return ask_files(session, Kind::flush, extent, tally, [&](std::uint32_t file) {
    return view.state(file).number.load() == number && ((elsewhere && view.state(file).routed.load() != 0) ||
                                                        (view.dirty(file) && view.pending(file, extent)));
  });
}

Status flush_all_of(Session& session, const transport::FileNumbers& numbers, Tally& tally) {
  const PageView& view = session.view();
  return ask_files(session, Kind::flush, everything, tally,
                   [&](std::uint32_t file) { return numbers.are_of(view.state(file)); });
}

Status settle_ledgers_of(Session& session, const transport::FileNumbers& numbers, Tally& tally,
                         std::uint32_t but) {
  const PageView& view = session.view();
  return ask_files(session, Kind::sync, everything, tally, [&](std::uint32_t file) {
    return file != but && numbers.are_of(view.state(file)) && view.state(file).kept.load() != 0;
  });
}

Status flush_stand_ins(Session& session, Tally& tally) {
  const PageView& view = session.view();
  return ask_files(session, Kind::flush, everything, tally, [&view](std::uint32_t file) {
    return view.state(file).routed.load() == transport::routed_stand_in && view.dirty(file);
  });
}

}  // namespace millrace::client
