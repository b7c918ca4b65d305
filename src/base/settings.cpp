// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "base/settings.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <utility>

#include "base/settings_parse.hpp"

namespace millrace {
namespace {

constexpr std::uint64_t TiB = 1024 * GiB;

// Sets one value, or returns what would have been allowed (empty: it is set).
using Setter = std::string (*)(Settings&, std::string_view);

struct Row {
  std::string_view name;
  Setter set;
};

template <class T>
struct Word {
  std::string_view text;
  T value;
};

template <class T, std::size_t N>
std::string set_word(T& target, std::string_view text, const std::array<Word<T>, N>& words) {
  std::string allowed;
  for (const Word<T>& word : words) {
    if (parse::same_word(parse::trim(text), word.text)) {
      target = word.value;
      return {};
    }
    allowed += allowed.empty() ? "one of " : ", ";
    allowed += word.text;
  }
  return allowed;
}

// What a size may be: within [smallest, largest]; also 0 where that switches something off.
struct SizeRule {
  std::uint64_t smallest;
  std::uint64_t largest;
  bool power_of_two = false;
  const char* zero_means = nullptr;
};

std::string set_size(std::uint64_t& target, std::string_view text, SizeRule rule) {
  const Result<std::uint64_t> bytes = parse_bytes(text);
  const bool zero = bytes && *bytes == 0 && rule.zero_means != nullptr;
  const bool inside = bytes && *bytes >= rule.smallest && *bytes <= rule.largest;
  if (zero || (inside && (!rule.power_of_two || std::has_single_bit(*bytes)))) {
    target = *bytes;
    return {};
  }
  std::string allowed = rule.power_of_two ? "a power of two from " : "a size from ";
  allowed += parse::bytes_text(rule.smallest) + " to " + parse::bytes_text(rule.largest);
  if (rule.zero_means != nullptr) allowed += std::string(", or 0 for ") + rule.zero_means;
  return allowed + ", such as 64KiB or 256MiB";
}

std::string set_flag(bool& target, std::string_view text) {
  const Result<bool> value = parse::yes_no(text);
  if (!value) return "1 or 0 (yes or no, true or false, on or off)";
  target = *value;
  return {};
}

std::string set_strategy(Settings& s, std::string_view text) {
  static constexpr std::array words{
      Word<Strategy>{"auto", Strategy::automatic}, Word<Strategy>{"immediate", Strategy::immediate},
      Word<Strategy>{"sort", Strategy::sort}, Word<Strategy>{"journal", Strategy::journal}};
  return set_word(s.file.strategy, text, words);
}

std::string set_durability(Settings& s, std::string_view text) {
  static constexpr std::array words{Word<Durability>{"server", Durability::server},
                                    Word<Durability>{"disk", Durability::disk},
                                    Word<Durability>{"node", Durability::node}};
  return set_word(s.file.durability, text, words);
}

std::string set_sink(Settings& s, std::string_view text) {
  static constexpr std::array words{Word<SinkMode>{"auto", SinkMode::automatic},
                                    Word<SinkMode>{"buffered", SinkMode::buffered},
                                    Word<SinkMode>{"direct", SinkMode::direct}};
  return set_word(s.file.sink, text, words);
}

std::string set_topology(Settings& s, std::string_view text) {
  static constexpr std::array words{
      Word<Topology>{"auto", Topology::automatic}, Word<Topology>{"ring", Topology::ring},
      Word<Topology>{"tree", Topology::tree}, Word<Topology>{"direct", Topology::direct}};
  return set_word(s.topology, text, words);
}

std::string set_stage(Settings& s, std::string_view text) {
  static constexpr std::array words{Word<Stage>{"auto", Stage::automatic}, Word<Stage>{"none", Stage::none},
                                    Word<Stage>{"whole", Stage::whole}};
  return set_word(s.stage, text, words);
}

std::string set_target(Settings& s, std::string_view text) {
  static constexpr std::array words{Word<Target>{"shared", Target::shared},
                                    Word<Target>{"first", Target::first}};
  return set_word(s.target, text, words);
}

std::string set_device_buffers(Settings& s, std::string_view text) {
  static constexpr std::array words{Word<DeviceBuffers>{"auto", DeviceBuffers::automatic},
                                    Word<DeviceBuffers>{"nec2020", DeviceBuffers::nec2020},
                                    Word<DeviceBuffers>{"nec2021", DeviceBuffers::nec2021}};
  return set_word(s.device_buffers, text, words);
}

std::string set_posix_writeback(Settings& s, std::string_view text) {
  static constexpr std::array words{Word<Early>{"auto", Early::automatic},
                                    Word<Early>{"always", Early::always}, Word<Early>{"never", Early::never}};
  return set_word(s.posix_writeback, text, words);
}

std::string set_file_servers(Settings& s, std::string_view text) {
  text = parse::trim(text);
  std::uint32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool number = error == std::errc() && end == text.data() + text.size() && count >= 1 && count <= 64;
  if (!number && !parse::same_word(text, "auto")) return "auto, or a number from 1 to 64";
  s.file_servers = number ? count : 0;
  return {};
}

std::string set_stripe(Settings& s, std::string_view text) {
  if (parse::same_word(parse::trim(text), "auto")) {
    s.stripe_bytes = 0;
    return {};
  }
  const std::string allowed = set_size(s.stripe_bytes, text, {MiB, GiB, true});
  return allowed.empty() ? allowed : "auto, or " + allowed;
}

std::string set_merge(Settings& s, std::string_view text) {
  bool merge = false;
  std::string allowed = set_flag(merge, text);
  if (allowed.empty()) s.file.merge = merge ? 1 : 0;
  return allowed;
}

std::string set_direct_above(Settings& s, std::string_view text) {
  if (parse::same_word(parse::trim(text), "auto")) {
    s.direct_above_bytes = 0;
    return {};
  }
  return set_size(s.direct_above_bytes, text, {1, TiB, false, "the expected costs (also: auto)"});
}

template <std::uint64_t Settings::*member>
std::string set_time(Settings& s, std::string_view text) {
  const Result<std::uint64_t> ms = parse::duration_ms(text);
  if (!ms || *ms < 100 || *ms > 86'400'000) return "a time from 100ms to 24h, such as 90s, 1500ms or 2min";
  s.*member = *ms;
  return {};
}

std::string set_direct_calls(Settings& s, std::string_view text) {
  static constexpr std::array kinds{"independent", "collective", "nonblocking", "split", "read"};
  std::vector<std::string> calls = parse::list(text, ',');
  for (std::string& call : calls) {
    const auto known = std::find_if(kinds.begin(), kinds.end(),
                                    [&](const char* kind) { return parse::same_word(call, kind); });
    if (known == kinds.end())
      return "a list, separated by commas, of independent, collective, nonblocking, split, read";
    call = *known;
  }
  s.direct_calls = std::move(calls);
  return {};
}

// Job keys become part of a socket's name: keep them short and printable.
std::string set_job(Settings& s, std::string_view text) {
  text = parse::trim(text);
  const bool printable = std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (text.size() > 64 || !printable) return "at most 64 printable characters without spaces";
  s.job = text;
  return {};
}

template <std::string Settings::*member>
std::string set_path(Settings& s, std::string_view text) {
  if (text.size() >= 4096 || text.find('\0') != std::string_view::npos)
    return "a path of less than 4096 bytes";
  s.*member = text;
  return {};
}

constexpr std::array rows{
    Row{"strategy", set_strategy},
    Row{"merge", set_merge},
    Row{"sort_buffer",
        [](Settings& s, std::string_view t) {
          return set_size(s.file.sort_buffer_bytes, t, {MiB, TiB});
        }},
    Row{"record_max",
        [](Settings& s, std::string_view t) {
          return set_size(s.file.record_max_bytes, t, {4 * KiB, MiB, true});
        }},
    Row{"durability", set_durability},
    Row{"fdatasync_interval",
        [](Settings& s, std::string_view t) {
          return set_size(s.file.fdatasync_interval_bytes, t, {4 * KiB, TiB, false, "only at close"});
        }},
    Row{"sink", set_sink},
    Row{"channel",
        [](Settings& s, std::string_view t) {
          return set_size(s.channel_bytes, t, {64 * KiB, 16 * MiB, true});
        }},
    Row{"direct_above", set_direct_above},
    Row{"timeout", set_time<&Settings::timeout_ms>},
    Row{"write_within", set_time<&Settings::write_within_ms>},
    Row{"across_nodes", [](Settings& s, std::string_view t) { return set_flag(s.across_nodes, t); }},
    Row{"topology", set_topology},
    Row{"file_servers", set_file_servers},
    Row{"stripe", set_stripe},
    Row{"stage", set_stage},
    Row{"target", set_target},
    Row{"device_buffers", set_device_buffers},
    Row{"staging_bytes",
        [](Settings& s, std::string_view t) {
          return set_size(s.staging_bytes, t, {MiB, 64 * GiB});
        }},
    Row{"interfaces",
        [](Settings& s, std::string_view t) {
          s.interfaces = parse::list(t, ',');
          return std::string();
        }},
    Row{"direct_paths",
        [](Settings& s, std::string_view t) {
          s.direct_paths = parse::list(t, ':');
          return std::string();
        }},
    Row{"only_paths",
        [](Settings& s, std::string_view t) {
          s.only_paths = parse::list(t, ':');
          return std::string();
        }},
    Row{"direct_calls", set_direct_calls},
    Row{"posix", [](Settings& s, std::string_view t) { return set_flag(s.posix, t); }},
    Row{"posix_writeback", set_posix_writeback},
    Row{"posix_async",
        [](Settings& s, std::string_view t) {
          s.posix_async = parse::list(t, ':');
          return std::string();
        }},
    Row{"posix_async_memory",
        [](Settings& s, std::string_view t) {
          return set_size(s.posix_async_memory_bytes, t, {MiB, TiB});
        }},
    Row{"stats", set_path<&Settings::stats_path>},
    Row{"trace", set_path<&Settings::trace_directory>},
    Row{"job", set_job},
    Row{"agent", set_path<&Settings::agent_program>},
    Row{"journal_directory", set_path<&Settings::journal_directory>},
    Row{"stage_directory", set_path<&Settings::stage_directory>},
    Row{"cost_directory", set_path<&Settings::cost_directory>},
};

// "*" crosses "/"; a pattern without "/" is held against the last component too.
bool matches(const std::vector<std::string>& patterns, std::string_view path) {
  const std::string whole(path);
  const std::string last(path.substr(path.rfind('/') + 1));
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    if (::fnmatch(pattern.c_str(), whole.c_str(), 0) == 0) return true;
    return pattern.find('/') == std::string::npos && ::fnmatch(pattern.c_str(), last.c_str(), 0) == 0;
  });
}

std::string lower_name(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

}  // namespace

std::vector<std::string_view> setting_names() {
  std::vector<std::string_view> names;
  names.reserve(rows.size());
  for (const Row& row : rows) names.push_back(row.name);
  return names;
}

Status set(Settings& settings, std::string_view name, std::string_view value, std::string& message) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.name == name; });
  if (row == rows.end()) {
    message = "there is no setting '" + std::string(name) + "'; there are:";
    for (const Row& known : rows) message += " " + std::string(known.name);
    return Code::invalid;
  }
  const std::string allowed = row->set(settings, value);
  if (allowed.empty()) return {};
  message = std::string(name) + " = '" + std::string(value) + "' is not possible: use " + allowed;
  return Code::invalid;
}

Settings from_environment(const char* const* environment, std::vector<std::string>& messages) {
  constexpr std::string_view prefix = "MILLRACE_";
  constexpr std::string_view master = "MILLRACE=";
  Settings settings;
  for (const char* const* entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line = *entry;
    if (line.starts_with(master)) {
      const std::string allowed = set_flag(settings.enabled, line.substr(master.size()));
      if (!allowed.empty()) messages.push_back("MILLRACE is ignored: use " + allowed);
    }
    const std::size_t equals = line.find('=');
    if (!line.starts_with(prefix) || equals == std::string_view::npos) continue;
    const std::string name = lower_name(line.substr(prefix.size(), equals - prefix.size()));
    if (name == "prefix" || name.starts_with("test_")) continue;  // for the command; for tests
    std::string message;
    if (!set(settings, name, line.substr(equals + 1), message).ok()) {
      messages.push_back(std::string(line.substr(0, equals)) + " is ignored: " + message);
    }
  }
  return settings;
}

bool path_selected(const Settings& settings, std::string_view path) {
  if (!settings.only_paths.empty() && !matches(settings.only_paths, path)) return false;
  return !matches(settings.direct_paths, path);
}

}  // namespace millrace
