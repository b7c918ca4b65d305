// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/types/refused_view.hpp"

#include "client/start/log.hpp"
#include "front/mpiio/types/datatype.hpp"
#include "front/mpiio/types/flatten.hpp"

namespace millrace::front {

client::Reason reason_for_no_view(MPI_Datatype filetype, const std::string& path) {
  static_assert(most_map_bytes == std::uint64_t{1} << 30, "the texts name the limit");
  switch (why_unmapped(filetype)) {
    case Unmapped::too_large:
      client::log(
          path +
          ": a rank's view is too large: Millrace describes a view with at most 1 GiB of memory (32 bytes "
          "for "
          "each block of an indexed type, 112 where it has holes). The MPI library writes for this rank "
          "while "
          "the view is set. For acceleration, write in several calls, each with a part of the view, or by "
          "more ranks");
      return client::Reason::view_too_large;
    case Unmapped::unknown:
      return client::Reason::view_unknown;
    case Unmapped::disputed:
      return client::Reason::view_disputed;
    case Unmapped::unordered:
      return client::Reason::view_unordered;
    case Unmapped::misplaced:
      return client::Reason::view_misplaced;
    case Unmapped::other:
      break;
  }
  return client::Reason::view_unmapped;
}

}  // namespace millrace::front
