// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/open/opening.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "client/open/own_process.hpp"
#include "client/start/log.hpp"
#include "front/mpiio/handles/table.hpp"
#include "front/mpiio/open/posix_side.hpp"

namespace millrace::front {
namespace {

// File system prefixes that ROMIO removes from a name. The rest is the name for the kernel.
constexpr std::array<std::string_view, 9> posix_prefixes{"ufs", "nfs",     "lustre", "gpfs", "panfs",
                                                         "xfs", "quobyte", "beegfs", "pfs"};
// Prefixes of files that the kernel does not know.
constexpr std::array<std::string_view, 6> foreign_prefixes{"testfs", "daos", "ime",
                                                           "pvfs2",  "pvfs", "gridftp"};

// Open MPI's own OMPIO knows no prefixes, and its ROMIO does. If a file has the whole name, OMPIO made it.
bool takes_literally([[maybe_unused]] std::string_view name) {
#ifdef OPEN_MPI
  struct stat found;
  return ::stat(std::string(name).c_str(), &found) == 0;
#else
  return false;
#endif
}

}  // namespace

std::optional<std::string> kernel_path(std::string_view name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return std::string(name);
  const std::string_view prefix = name.substr(0, colon);
  const auto is = [&](std::string_view known) { return known == prefix; };
  if (std::ranges::any_of(foreign_prefixes, is)) return std::nullopt;
  if (!takes_literally(name) && std::ranges::any_of(posix_prefixes, is))
    return std::string(name.substr(colon + 1));
  return std::string(name);
}

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
    if (!set_hint(settings, key + prefix.size(), value, message).ok())
      client::log(std::string(filename) + ": hint " + key + " is ignored: " + message);
  }
  return settings;
}

client::Wishes wishes_of(const char* filename, MPI_Info info, bool opened, bool admitted) {
  client::Wishes wishes;
  wishes.settings = settings_of(info, filename);
  wishes.path = kernel_path(filename).value_or("");
  const bool wanted = admitted && opened && !wishes.path.empty() && wishes.settings.enabled &&
                      path_selected(wishes.settings, wishes.path);
  wishes.words.blocked = admitted ? 0 : 1;
  wishes.words.refused = wanted ? 0 : 1;
  if (!wanted) return wishes;
  (void)wishes.found.remember(wishes.path);
  const HandlesOfFile others = handles_of(wishes.path, wishes.found.number());
  wishes.words.bypassed = others.bypassed ? 1 : 0;
  wishes.words.written = others.written ? 1 : 0;
  wishes.words.writable = others.writable ? 1 : 0;
  wishes.alone = others.plain && !others.routed;
  return wishes;
}

void set_nodes(Open& open, MpiTeam& team, client::Plan& plan, bool meets_at_close) {
  open.nodes.ranks = team.ranks();
  open.nodes.looks_again = plan.first_of_node;
  open.nodes.meets_at_close = meets_at_close;
  open.reads.alone = open.reads.until_written = plan.through != client::Through::none;
  open.reads.untried = std::move(plan.untried);
  open.reads.size_at_open = plan.bytes;
}

// Below MPI_THREAD_MULTIPLE the program ensures that MPI calls do not overlap. But any thread may call libc's
// I/O functions, whose hooks ask for pending bytes.
void ask_for_threads() {
  [[maybe_unused]] static const bool asked = [] {
    int provided = MPI_THREAD_MULTIPLE;
    if (!posix_hooks_are_here() && PMPI_Query_thread(&provided) == MPI_SUCCESS &&
        provided < MPI_THREAD_MULTIPLE)
      client::calls_are_serialized();
    return true;
  }();
}

bool reaches_agent(const std::string& path) {
  if (client::reserve_descriptors()) return true;
  client::log(
      path +
      ": no file descriptors are left for the connection with the agent: all ranks write the file with "
      "the MPI library alone; raise the limit (ulimit -n)");
  return false;
}

int refuse_open(int value) {
#ifndef OPEN_MPI  // Open MPI does not accept this handle here
  PMPI_File_call_errhandler(MPI_FILE_NULL, value);
#endif
  return value;
}

}  // namespace millrace::front
