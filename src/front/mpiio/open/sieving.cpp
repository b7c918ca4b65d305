// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/open/sieving.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/file_system.hpp"
#include "client/open/own_process.hpp"

namespace millrace::front {
namespace {

constexpr std::uint64_t romio_default_bytes = 512 * KiB;
constexpr std::uint64_t most_bytes = 16 * MiB;  // a hint may ask for more than a rank's memory

std::string value_of(MPI_Info info, const char* key) {
  std::array<char, MPI_MAX_INFO_VAL + 1> value{};
  int there = 0;
  if (PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value.data(), &there) != MPI_SUCCESS || there == 0)
    return {};
  return value.data();
}

}  // namespace

Sieving sieving_of(MPI_File handle, const std::string& path) {
  MPI_Info info = MPI_INFO_NULL;
  if (call<Slot::MPI_File_get_info>(Entry::pmpi, handle, &info) != MPI_SUCCESS) return {};
  const std::string sieves = value_of(info, "romio_ds_write");  // OMPIO has no such hint
  const std::uint64_t bytes = std::strtoull(value_of(info, "ind_wr_buffer_size").c_str(), nullptr, 10);
  PMPI_Info_free(&info);
  if (sieves.empty()) return {false, 0};
  // The program may enable it later. An agent that writes with io_uring (sink=direct) holds no locks.
  if (sieves == "disable" || client::process_settings().file.sink == SinkMode::direct ||
      !is_local_type(type_of_file_system(path.c_str())))
    return {};
  return {true, bytes != 0 ? std::min(bytes, most_bytes) : romio_default_bytes};
}

}  // namespace millrace::front
