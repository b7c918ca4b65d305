// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/setting_table.hpp"

namespace millrace {

inline constexpr std::uint64_t KiB = 1024;
inline constexpr std::uint64_t MiB = 1024 * KiB;
inline constexpr std::uint64_t GiB = 1024 * MiB;

// The enumerators stand in the order of their words in the table of settings (setting_table.hpp).
enum class Strategy : std::uint32_t { automatic = 0, immediate = 1, sort = 2, journal = 3 };
enum class Durability : std::uint32_t { server = 0, disk = 1, node = 2 };
enum class SinkMode : std::uint32_t { automatic = 0, buffered = 1, direct = 2 };
// The route of records through the agents of several nodes.
enum class Topology : std::uint32_t { automatic = 0, ring = 1, tree = 2, direct = 3 };

// A file that several nodes read: each node gets a copy at open, or the pieces that it wants.
enum class Stage : std::uint32_t { automatic = 0, none = 1, whole = 2, pieces = 3 };
// The file of a path: a shared file that all nodes see, or a file of the first rank's node.
enum class Target : std::uint32_t { shared = 0, first = 1 };

// The settings of one file. The layout is fixed, because the client sends them to the agent when it registers
// a file.
struct FileSettings {
  Strategy strategy = Strategy::automatic;
  Durability durability = Durability::server;
  SinkMode sink = SinkMode::automatic;
  std::uint32_t merge = setting_default::merge;                    // 0 or 1
  std::uint64_t sort_buffer_bytes = setting_default::sort_buffer;  // for the whole node and file
  // The largest record; longer pieces are cut. Copies of staged files and recoveries have larger ones.
  std::uint64_t record_max_bytes = 32 * KiB;
};
static_assert(sizeof(FileSettings) == 32);

// The largest record_max_bytes that an agent takes.
inline constexpr std::uint64_t record_max_most = MiB;
// An agent refuses a file for which this is false.
constexpr bool sound_record_max(const FileSettings& settings) {
  const std::uint64_t bytes = settings.record_max_bytes;
  return std::has_single_bit(bytes) && bytes >= 4 * KiB && bytes <= record_max_most;
}

// True if the bytes are on the disk after the close, or after the background work that the close leaves.
constexpr bool ends_on_disk(const FileSettings& settings) {
  return settings.durability != Durability::server;
}
// True if the node keeps records until they are in the file, for `millrace recover`.
constexpr bool keeps_ledger(const FileSettings& settings) {
  return settings.durability == Durability::node || settings.strategy == Strategy::journal;
}

// All settings of a process; setting_table.hpp has the ranges. The precedence, weakest first: built-in
// values, TOML file, environment (MILLRACE_*), command line (which sets the environment), MPI_Info hints
// (millrace_*, per file).
struct Settings {
  FileSettings file;
  std::uint64_t direct_above_bytes =
      setting_default::direct_above;  // pieces of this size or more bypass the pipeline, smaller ones take
                                      // it; 0 = client/costs/policy.hpp decides
  std::uint64_t timeout_ms = setting_default::timeout;                  // bound of every wait for a process
  std::uint64_t storage_timeout_ms = setting_default::storage_timeout;  // ... for a file system
  // The longest time from a write until the file has its bytes, without a sync.
  std::uint64_t write_within_ms = setting_default::write_within;
  bool enabled = true;  // MILLRACE=0 turns everything off
  // The next settings are for a file that several nodes have open. The values of its first rank count.
  Topology topology = Topology::automatic;  // measurements choose one
  // At most one per node. 0: the MPI library alone writes such files. None: transport/topology.hpp decides.
  std::optional<std::uint32_t> file_servers;
  Stage stage = Stage::automatic;
  Target target = Target::shared;
  std::vector<std::string>
      interfaces;  // network interfaces for links, best first; empty: the first one that is up
  // Glob patterns. "*" also matches "/". A pattern without "/" also matches the last component. A path that
  // matches a pattern behind "!" stays direct. If there are other patterns, only their paths are accelerated.
  std::vector<std::string> paths;
  // The next settings are for plain files (libmillrace_posix.so).
  bool posix = setting_default::posix != 0;  // `millrace run` preloads the library
  std::vector<std::string> posix_async;      // glob patterns of paths with write-behind (plain/behind.hpp)
  std::vector<std::string>
      posix_stage;                // patterns of glob(3): files that MPI_Init copies to every node (ADR 25)
  std::string stats_path;         // file for JSON lines; a directory: one file per node; empty = off
  std::string trace_directory;    // one trace file per process; empty = off
  std::string job;                // key of the job, which names the job's agents
  std::string agent_program;      // tests name one; empty = the millraced beside the library
  std::string journal_directory;  // node-local, on a disk; empty = /var/tmp
};

// True if the agents of several nodes work together on a file.
constexpr bool joins_nodes(const Settings& settings) { return settings.file_servers != 0U; }

// The setting's word for a value; "unknown" for any other number.
std::string_view name_of(Strategy strategy);
std::string_view name_of(Durability durability);
std::string_view name_of(Topology topology);

// "64", "64KiB", "1MiB", "2g" -> bytes. All units are powers of 1024, in any spelling and case.
Result<std::uint64_t> parse_bytes(std::string_view text);

// The rule of a setting. The name must exist.
constexpr const SettingRule& rule_of(std::string_view name) {
  return *std::ranges::find(setting_rules, name, &SettingRule::name);
}

// Sets one setting by its name as in MILLRACE_<NAME>, lower case ("strategy", "sort_buffer", ...). A failure
// changes no setting, and `message` has the error and the allowed values.
Status set(Settings& settings, std::string_view name, std::string_view value, std::string& message);
// The same for a setting that a file's hint millrace_<name> may change.
Status set_hint(Settings& settings, std::string_view name, std::string_view value, std::string& message);

// Returns the built-in values with the changes by the MILLRACE_* variables of this environment. Unknown and
// invalid variables are ignored, with one line each in `messages`.
Settings from_environment(const char* const* environment, std::vector<std::string>& messages);

// True if `path` may take the pipeline at all (Settings::paths).
bool path_selected(const Settings& settings, std::string_view path);

}  // namespace millrace
