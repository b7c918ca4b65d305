// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/refused_view.hpp"

#include "client/file.hpp"
#include "front/mpiio/datatype.hpp"
#include "front/mpiio/flatten.hpp"

namespace millrace::front {

const char* reason_for_no_view(MPI_Datatype filetype, const std::string& path) {
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
      return "a view that takes more than 1 GiB to describe";
    case Unmapped::unknown:
      return "a view by a datatype that Millrace does not know";
    case Unmapped::disputed:
      return "a view with empty blocks, which MPI libraries place differently";
    case Unmapped::unordered:
      return "a view whose pieces overlap or descend";
    case Unmapped::misplaced:
      return "a view that the MPI library places elsewhere than the MPI standard";
    case Unmapped::other:
      break;
  }
  return "a view that cannot be mapped";
}

}  // namespace millrace::front
