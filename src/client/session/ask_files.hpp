// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "client/session/session.hpp"
#include "extent/extent.hpp"

// Questions to an agent about files that the caller need not have registered (client/file/guest.hpp). Each
// returns the first error, but puts errors of opens that are over into `tally.first_error`.
namespace millrace::client {

// Pending bytes of any rank in `extent` of a file of this number reach the file system. `elsewhere`: also
// bytes with agents of other nodes.
Status flush_file(Session& session, std::uint64_t number, Extent extent, bool elsewhere, Tally& tally);
// The same for the whole file, also if the agent does not know yet that bytes are pending: ranks that have
// been killed may have left records in their rings.
Status flush_all_of(Session& session, const transport::FileNumbers& numbers, Tally& tally);
// The same for every stand-in (OpenRequest::stand_in) on this node.
Status flush_stand_ins(Session& session, Tally& tally);
// Syncs the file in each slot whose ledger has records of it, `but` one. The ledger then forgets them.
Status settle_ledgers_of(Session& session, const transport::FileNumbers& numbers, Tally& tally,
                         std::uint32_t but = UINT32_MAX);

}  // namespace millrace::client
