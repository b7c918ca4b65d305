// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Written by src/base/generate_settings.py. Do not edit.
// clang-format off
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "base/setting_rule.hpp"

namespace millrace {

// The words of each setting. The words of an enumeration are in the order of its values.
namespace setting_words {
inline constexpr std::array<std::string_view, 4> strategy{"auto", "immediate", "sort", "journal"};
inline constexpr std::array<std::string_view, 3> durability{"server", "disk", "node"};
inline constexpr std::array<std::string_view, 3> sink{"auto", "buffered", "direct"};
inline constexpr std::array<std::string_view, 4> stage{"auto", "none", "whole", "pieces"};
inline constexpr std::array<std::string_view, 2> target{"shared", "first"};
inline constexpr std::array<std::string_view, 4> topology{"auto", "ring", "tree", "direct"};
}  // namespace setting_words

// Built-in values: bytes, milliseconds, 0 or 1. A size of 0 means auto.
namespace setting_default {
inline constexpr std::uint64_t merge = 1;
inline constexpr std::uint64_t sort_buffer = 268435456;
inline constexpr std::uint64_t direct_above = 0;
inline constexpr std::uint64_t timeout = 60000;
inline constexpr std::uint64_t storage_timeout = 1800000;
inline constexpr std::uint64_t write_within = 5000;
inline constexpr std::uint64_t posix = 0;
}  // namespace setting_default

// For libmillrace_posix.so, which has no parser.
namespace setting_variable {
inline constexpr const char* posix_async = "MILLRACE_POSIX_ASYNC";
inline constexpr const char* stats = "MILLRACE_STATS";
}  // namespace setting_variable

inline constexpr std::array setting_rules{
    SettingRule{.name = "strategy", .kind = SettingKind::choice, .words = setting_words::strategy, .use = SettingUse::hint, .allowed = "auto, immediate, sort, journal"},
    SettingRule{.name = "merge", .kind = SettingKind::toggle, .use = SettingUse::hint, .allowed = "0 or 1"},
    SettingRule{.name = "sort_buffer", .kind = SettingKind::bytes, .least = 1048576, .most = 1099511627776, .use = SettingUse::hint, .allowed = "1MiB to 1TiB"},
    SettingRule{.name = "durability", .kind = SettingKind::choice, .words = setting_words::durability, .use = SettingUse::hint, .allowed = "server, disk, node"},
    SettingRule{.name = "sink", .kind = SettingKind::choice, .words = setting_words::sink, .use = SettingUse::hint, .allowed = "auto, buffered, direct"},
    SettingRule{.name = "direct_above", .kind = SettingKind::bytes, .least = 1, .most = 1099511627776, .automatic = true, .allowed = "auto, or 1 to 1TiB"},
    SettingRule{.name = "timeout", .kind = SettingKind::duration, .least = 100, .most = 86400000, .allowed = "100ms to 86400s"},
    SettingRule{.name = "storage_timeout", .kind = SettingKind::duration, .least = 1000, .most = 2592000000, .allowed = "1s to 2592000s"},
    SettingRule{.name = "write_within", .kind = SettingKind::duration, .least = 100, .most = 86400000, .allowed = "100ms to 86400s"},
    SettingRule{.name = "file_servers", .kind = SettingKind::count, .least = 0, .most = 64, .automatic = true, .use = SettingUse::hint, .allowed = "auto, or a number from 0 to 64"},
    SettingRule{.name = "stage", .kind = SettingKind::choice, .words = setting_words::stage, .use = SettingUse::hint, .allowed = "auto, none, whole, pieces"},
    SettingRule{.name = "target", .kind = SettingKind::choice, .words = setting_words::target, .use = SettingUse::hint, .allowed = "shared, first"},
    SettingRule{.name = "interfaces", .kind = SettingKind::names, .allowed = "names, separated by commas"},
    SettingRule{.name = "paths", .kind = SettingKind::paths, .allowed = "glob patterns, none of them empty"},
    SettingRule{.name = "posix", .kind = SettingKind::toggle, .allowed = "0 or 1"},
    SettingRule{.name = "posix_async", .kind = SettingKind::paths, .allowed = "glob patterns, none of them empty"},
    SettingRule{.name = "posix_stage", .kind = SettingKind::paths, .allowed = "glob patterns, none of them empty"},
    SettingRule{.name = "stats", .kind = SettingKind::path, .allowed = "a path of less than 4096 bytes"},
    SettingRule{.name = "trace", .kind = SettingKind::path, .allowed = "a path of less than 4096 bytes"},
    SettingRule{.name = "journal_directory", .kind = SettingKind::path, .allowed = "a path of less than 4096 bytes"},
    SettingRule{.name = "job", .kind = SettingKind::key, .use = SettingUse::internal, .allowed = "up to 64 printable characters without spaces"},
    SettingRule{.name = "agent", .kind = SettingKind::path, .use = SettingUse::internal, .allowed = "a path of less than 4096 bytes"},
    SettingRule{.name = "topology", .kind = SettingKind::choice, .words = setting_words::topology, .use = SettingUse::internal, .allowed = "auto, ring, tree, direct"},
};

// The member for each rule. All is Settings, and File is FileSettings.
template <class All, class File>
inline constexpr std::tuple setting_members{
    &File::strategy, &File::merge, &File::sort_buffer_bytes, &File::durability, &File::sink,
    &All::direct_above_bytes, &All::timeout_ms, &All::storage_timeout_ms, &All::write_within_ms,
    &All::file_servers, &All::stage, &All::target, &All::interfaces, &All::paths, &All::posix,
    &All::posix_async, &All::posix_stage, &All::stats_path, &All::trace_directory, &All::journal_directory,
    &All::job, &All::agent_program, &All::topology};

}  // namespace millrace
