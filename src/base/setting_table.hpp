// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Written by src/base/generate_settings.py. Do not edit.
// clang-format off
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/setting_rule.hpp"

namespace millrace {

// The words of each setting. The words of an enumeration are in the order of its values.
namespace setting_words {
inline constexpr std::array<std::string_view, 4> strategy{"auto", "immediate", "sort", "journal"};
inline constexpr std::array<std::string_view, 3> durability{"server", "disk", "node"};
inline constexpr std::array<std::string_view, 3> sink{"auto", "buffered", "direct"};
inline constexpr std::array<std::string_view, 4> topology{"auto", "ring", "tree", "direct"};
inline constexpr std::array<std::string_view, 4> stage{"auto", "none", "whole", "pieces"};
inline constexpr std::array<std::string_view, 2> target{"shared", "first"};
}  // namespace setting_words

// Built-in values: bytes, milliseconds, 0 or 1. A size of 0 means auto.
namespace setting_default {
inline constexpr std::uint64_t merge = 1;
inline constexpr std::uint64_t sort_buffer = 268435456;
inline constexpr std::uint64_t channel = 1048576;
inline constexpr std::uint64_t direct_above = 0;
inline constexpr std::uint64_t timeout = 60000;
inline constexpr std::uint64_t storage_timeout = 1800000;
inline constexpr std::uint64_t write_within = 5000;
inline constexpr std::uint64_t posix = 0;
}  // namespace setting_default

inline constexpr std::array setting_rules{
    SettingRule{.name = "strategy", .kind = SettingKind::choice, .words = setting_words::strategy},
    SettingRule{.name = "merge", .kind = SettingKind::toggle},
    SettingRule{.name = "sort_buffer", .kind = SettingKind::bytes, .least = 1048576, .most = 1099511627776},
    SettingRule{.name = "durability", .kind = SettingKind::choice, .words = setting_words::durability},
    SettingRule{.name = "sink", .kind = SettingKind::choice, .words = setting_words::sink},
    SettingRule{.name = "channel", .kind = SettingKind::bytes, .least = 65536, .most = 16777216, .power_of_two = true},
    SettingRule{.name = "direct_above", .kind = SettingKind::bytes, .least = 1, .most = 1099511627776, .automatic = true, .zero_means = "auto"},
    SettingRule{.name = "timeout", .kind = SettingKind::duration, .least = 100, .most = 86400000},
    SettingRule{.name = "storage_timeout", .kind = SettingKind::duration, .least = 1000, .most = 2592000000},
    SettingRule{.name = "write_within", .kind = SettingKind::duration, .least = 100, .most = 86400000},
    SettingRule{.name = "topology", .kind = SettingKind::choice, .words = setting_words::topology},
    SettingRule{.name = "file_servers", .kind = SettingKind::count, .least = 0, .most = 64, .automatic = true},
    SettingRule{.name = "stage", .kind = SettingKind::choice, .words = setting_words::stage},
    SettingRule{.name = "target", .kind = SettingKind::choice, .words = setting_words::target},
    SettingRule{.name = "interfaces", .kind = SettingKind::names},
    SettingRule{.name = "paths", .kind = SettingKind::paths},
    SettingRule{.name = "posix", .kind = SettingKind::toggle},
    SettingRule{.name = "posix_async", .kind = SettingKind::paths},
    SettingRule{.name = "posix_stage", .kind = SettingKind::paths},
    SettingRule{.name = "stats", .kind = SettingKind::path},
    SettingRule{.name = "trace", .kind = SettingKind::path},
    SettingRule{.name = "job", .kind = SettingKind::key},
    SettingRule{.name = "agent", .kind = SettingKind::path},
    SettingRule{.name = "journal_directory", .kind = SettingKind::path},
    SettingRule{.name = "stage_directory", .kind = SettingKind::path},
};

}  // namespace millrace
