// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/types/refused_view.hpp"

#include "client/start/log.hpp"
#include "front/mpiio/types/datatype.hpp"
#include "front/mpiio/types/flatten.hpp"

namespace millrace::front {

void tell_if_too_large(MPI_Datatype filetype, const std::string& path) {
  static_assert(most_map_bytes == std::uint64_t{1} << 30, "the text names the limit");
  if (!map_is_too_large(filetype)) return;
  client::log(
      path +
      ": a rank's view is too large: Millrace describes a view with at most 1 GiB of memory (32 bytes "
      "for each block of an indexed type, 112 where it has holes). The MPI library writes for this "
      "rank while the view is set. For acceleration, write in several calls, each with a part of the "
      "view, or by more ranks");
}

}  // namespace millrace::front
