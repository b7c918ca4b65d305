// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "front/mpiio/agreement.hpp"
#include "front/mpiio/calls.hpp"
#include "front/mpiio/datatype.hpp"
#include "front/mpiio/linear.hpp"
#include "front/mpiio/nodes.hpp"

namespace millrace::front {
namespace {

// File system prefixes that ROMIO takes off a name, and whose files the kernel knows under the rest of it.
constexpr std::array<std::string_view, 9> posix_prefixes{"ufs", "nfs",     "lustre", "gpfs", "panfs",
                                                         "xfs", "quobyte", "beegfs", "pfs"};
// ... and those behind which there is no file of the kernel's.
constexpr std::array<std::string_view, 6> foreign_prefixes{"testfs", "daos", "ime",
                                                           "pvfs2",  "pvfs", "gridftp"};

// The name as the kernel takes it; nothing if the file is not one of the kernel's.
std::optional<std::string> kernel_path(std::string_view name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return std::string(name);
  const std::string_view prefix = name.substr(0, colon);
  const auto is = [&](std::string_view known) { return known == prefix; };
  if (std::ranges::any_of(foreign_prefixes, is)) return std::nullopt;
  struct stat found;
  const bool literal = ::stat(std::string(name).c_str(), &found) == 0;
  if (!literal && std::ranges::any_of(posix_prefixes, is)) return std::string(name.substr(colon + 1));
  return std::string(name);
}

// What all ranks of an open agree on, by one reduction with MPI_MAX.
struct Agreement {
  std::uint64_t group;              // a random number of rank 0
  std::uint64_t refused;            // some rank does not want acceleration, or could not open
  std::uint64_t collective_direct;  // some rank wants collective calls left to the library
  std::uint64_t node;               // equal on all ranks if node == ~other
  std::uint64_t other;
  std::uint64_t pure;  // some rank does not know the file's series as mixed
  client::Costs costs;
};
static_assert(sizeof(client::Costs) == 2 * sizeof(std::uint64_t), "reduced as words");

bool agree(MPI_Comm comm, Agreement mine, Agreement& all, std::uint32_t& members) {
  static const std::uint64_t node = node_number();
  int rank = 0, size = 1;
  if (PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS || PMPI_Comm_size(comm, &size) != MPI_SUCCESS) return false;
  mine.node = node;
  mine.other = ~node;
  if (rank == 0 && getrandom(&mine.group, sizeof mine.group, 0) != sizeof mine.group) mine.refused = 1;
  // Never 0, and not above INT64_MAX: MPICH takes the maximum of MPI_UINT64_T as if they had signs.
  if (rank == 0) mine.group = (mine.group >> 1) | 1u;
  all = mine;
  constexpr int words = sizeof all / sizeof(std::uint64_t);
  if (size > 1 && PMPI_Allreduce(&mine, &all, words, MPI_UINT64_T, MPI_MAX, comm) != MPI_SUCCESS)
    return false;
  members = all.node == ~all.other ? static_cast<std::uint32_t>(size) : 0;  // 0: on several nodes
  return all.refused == 0;
}

// The settings of this file: those of the process, overlaid with its millrace_* hints.
Settings settings_of(MPI_Info info, const char* filename) {
  Settings settings = client::process_settings();
  int keys = 0;
  if (info == MPI_INFO_NULL || PMPI_Info_get_nkeys(info, &keys) != MPI_SUCCESS) return settings;
  constexpr std::string_view prefix = "millrace_";
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1];
    char value[MPI_MAX_INFO_VAL + 1];
    int found = 0;
    if (PMPI_Info_get_nthkey(info, i, key) != MPI_SUCCESS) continue;
    if (!std::string_view(key).starts_with(prefix)) continue;
    if (PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found) != MPI_SUCCESS || found == 0) continue;
    std::string message;
    if (!set(settings, key + prefix.size(), value, message).ok())
      client::log(std::string(filename) + ": hint " + key + " is ignored: " + message);
  }
  return settings;
}

bool direct(const Settings& settings, std::string_view kind) {
  return std::ranges::find(settings.direct_calls, kind) != settings.direct_calls.end();
}

// Classes of error that all ranks see alike, before they have talked to each other.
bool argument_error(int error) {
  int value = MPI_ERR_UNKNOWN;
  PMPI_Error_class(error, &value);
  return value == MPI_ERR_COMM || value == MPI_ERR_ARG || value == MPI_ERR_AMODE || value == MPI_ERR_INFO ||
         value == MPI_ERR_NOT_SAME || value == MPI_ERR_FILE;
}

// Below MPI_THREAD_MULTIPLE the program sees to it that MPI calls do not overlap.
bool ask_for_threads() {
  int provided = MPI_THREAD_MULTIPLE;
  if (PMPI_Query_thread(&provided) == MPI_SUCCESS && provided < MPI_THREAD_MULTIPLE)
    client::calls_are_serialized();
  return true;
}

void accelerate(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File handle, bool opened) {
  [[maybe_unused]] static const bool asked = ask_for_threads();
  const Settings settings = settings_of(info, filename);
  const std::optional<std::string> path = kernel_path(filename);
  const bool all_direct = direct(settings, "independent") && direct(settings, "collective");
  const bool wanted = opened && path && settings.enabled && !all_direct && path_selected(settings, *path);
  Agreement all{};
  std::uint32_t members = 0;
  Agreement mine{};
  mine.refused = wanted ? 0 : 1;
  mine.collective_direct = direct(settings, "collective") ? 1 : 0;
  // With durability disk, close has to sync what the library wrote.
  const bool leavable =
      settings.file.strategy == Strategy::automatic && settings.file.durability == Durability::server;
  mine.pure = wanted && leavable && client::is_mixed(*path) ? 0 : 1;
  if (wanted) mine.costs = client::costs_of(*path);
  if (!agree(comm, mine, all, members) || !opened) return;
  if (all.pure == 0) {  // the library's alone, and nothing in its way
    client::open({*path, all.group, members, settings.file, true, all.costs, true});
    return;
  }
  Meeting meeting{{}, members, settings.file};
  const bool across = members == 0 && meet_nodes(comm, *path, settings, meeting);
  auto open = std::make_unique<Open>();
  open->handle = handle;
  open->path = *path;
  open->group = all.group;
  open->view = client::FileView(0, 1, share_map(MPI_BYTE));
  open->collective_direct = all.collective_direct != 0;
  open->file = client::open(
      {*path, all.group, meeting.members, meeting.settings, true, all.costs, false, meeting.routing});
  // From here on the agents may call each other: each knows the file.
  if (across) (void)all_of(comm, true);
  if (open->file == nullptr) return;
  open->routed = across;
  if ((amode & MPI_MODE_APPEND) == 0) open->holder = Open::Holder::both;
  add(std::move(open));
}

void flush_others(const char* filename) {
  if (filename == nullptr) return;
  const bool any = files_generation.load(std::memory_order_relaxed) != 1;  // was ever open
  try {
    const std::optional<std::string> path = kernel_path(filename);
    if (path && any) flush_same_file(path->c_str());
    if (path) client::settle_ledgers(path->c_str());
  } catch (...) {
    client::log("out of memory at open: what another handle has written may not be seen yet");
  }
}

// Gives the pipeline's part of the file up. The library's own close follows in any case.
int leave(std::unique_ptr<Open> open) {
  const Status status = open->file->close();
  end_agreements(*open);
  return status.ok() ? MPI_SUCCESS : raise(*open, status);
}

}  // namespace

int own_open(Entry entry, MPI_Comm comm, const char* filename, int amode, MPI_Info info,
             MPI_File* fh) noexcept {
  const Scope scope;
  // A second handle finds what was written before it came: one that only reads has no part in the pipeline,
  // and one that appends asks for the size.
  if (scope.outermost()) flush_others(filename);
  const int result = call<Slot::MPI_File_open>(entry, comm, filename, amode, info, fh);
  const bool writes = (amode & (MPI_MODE_WRONLY | MPI_MODE_RDWR)) != 0 && (amode & MPI_MODE_SEQUENTIAL) == 0;
  if (!scope.outermost() || !writes) return result;
  if (result != MPI_SUCCESS && argument_error(result)) return result;
  try {
    accelerate(comm, filename, amode, info, result == MPI_SUCCESS ? *fh : MPI_FILE_NULL,
               result == MPI_SUCCESS);
  } catch (...) {
    client::log("out of memory at open: the file is not accelerated");
  }
  return result;
}

int own_close(Entry entry, MPI_File* fh) noexcept {
  const Scope scope;
  int first = MPI_SUCCESS;
  // Also inside another call: an error handler may close the file.
  if (fh != nullptr) {
    try {
      std::unique_ptr<Open> open = remove(*fh);
      if (open != nullptr) first = leave(std::move(open));
    } catch (...) {
      first = MPI_ERR_NO_MEM;
    }
  }
  const int result = call<Slot::MPI_File_close>(entry, fh);
  return first != MPI_SUCCESS ? first : result;
}

int own_finalize(Entry entry) noexcept {
  {
    const Scope scope;
    if (scope.outermost()) {
      try {
        end_linear();
        client::finalize();
      } catch (...) {
        client::log("leaving the agent failed");
      }
    }
  }
  return call<Slot::MPI_Finalize>(entry);
}

}  // namespace millrace::front
