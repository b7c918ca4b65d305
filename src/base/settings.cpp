// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "base/settings.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <span>
#include <type_traits>
#include <utility>

#include "base/setting_table.hpp"
#include "base/settings_parse.hpp"

namespace millrace {
namespace {

// A setting's text after parsing; the kind decides which member counts.
struct Value {
  std::uint64_t number = 0;
  bool automatic = false;
  std::string text;
  std::vector<std::string> list;
};

std::string listed(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

// Each function below sets `value` and returns an empty text. On failure, it returns the allowed values.

std::string read_choice(const SettingRule& rule, std::string_view text, Value& value) {
  const auto same = [text](std::string_view word) { return parse::same_word(text, word); };
  const auto found = std::ranges::find_if(rule.words, same);
  if (found == rule.words.end()) return "one of " + listed(rule.words);
  value.number = static_cast<std::uint64_t>(found - rule.words.begin());
  return {};
}

std::string read_toggle(std::string_view text, std::uint64_t& value) {
  const Result<bool> yes = parse::yes_no(text);
  if (!yes) return "1 or 0 (yes or no, true or false, on or off)";
  value = *yes ? 1 : 0;
  return {};
}

std::string read_bytes(const SettingRule& rule, std::string_view text, Value& value) {
  const Result<std::uint64_t> bytes = parse_bytes(text);
  const bool zero = bytes && *bytes == 0 && !rule.zero_means.empty();
  const bool inside = bytes && *bytes >= rule.least && *bytes <= rule.most;
  if (zero || (inside && (!rule.power_of_two || std::has_single_bit(*bytes)))) {
    value.number = *bytes;
    return {};
  }
  std::string allowed = rule.power_of_two ? "a power of two from " : "a size from ";
  allowed += parse::bytes_text(rule.least) + " to " + parse::bytes_text(rule.most);
  if (!rule.zero_means.empty()) allowed += ", or 0 for " + std::string(rule.zero_means);
  return allowed + ", such as 64KiB or 256MiB";
}

std::string read_count(const SettingRule& rule, std::string_view text, Value& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value.number);
  const bool number = error == std::errc() && end == text.data() + text.size();
  if (number && value.number >= rule.least && value.number <= rule.most) return {};
  return "a number from " + std::to_string(rule.least) + " to " + std::to_string(rule.most);
}

std::string read_duration(const SettingRule& rule, std::string_view text, Value& value) {
  const Result<std::uint64_t> ms = parse::duration_ms(text);
  if (!ms || *ms < rule.least || *ms > rule.most)
    return "a time from 100ms to 24h, such as 90s, 1500ms or 2min";
  value.number = *ms;
  return {};
}

std::string read_paths(std::string_view text, Value& value) {
  if (parse::trim(text).empty()) return {};
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = text.find(':');
    const std::string_view pattern = parse::trim(text.substr(0, end));
    if (pattern.empty() || pattern == "!") return "glob patterns separated by ':', none of them empty";
    value.list.emplace_back(pattern);
    if (end != std::string_view::npos) text.remove_prefix(end + 1);
  }
  return {};
}

std::string read_path(std::string_view text, Value& value) {
  if (text.size() >= 4096 || text.find('\0') != std::string_view::npos)
    return "a path of less than 4096 bytes";
  value.text = text;
  return {};
}

std::string read_key(std::string_view text, Value& value) {
  const bool printable = std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
  if (text.size() > 64 || !printable) return "at most 64 printable characters without spaces";
  value.text = text;
  return {};
}

std::string read(const SettingRule& rule, std::string_view text, Value& value) {
  const std::string_view word = parse::trim(text);
  switch (rule.kind) {
    case SettingKind::choice:
      return read_choice(rule, word, value);
    case SettingKind::toggle:
      return read_toggle(word, value.number);
    case SettingKind::bytes:
      return read_bytes(rule, word, value);
    case SettingKind::count:
      return read_count(rule, word, value);
    case SettingKind::duration:
      return read_duration(rule, word, value);
    case SettingKind::paths:
      return read_paths(text, value);
    case SettingKind::names:
      value.list = parse::names(text);
      return {};
    case SettingKind::path:
      return read_path(text, value);
    case SettingKind::key:
      return read_key(word, value);
  }
  return "nothing";
}

template <class T>
void put(T& target, Value&& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    target = std::move(value.text);
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    target = std::move(value.list);
  } else if constexpr (std::is_same_v<T, std::optional<std::uint32_t>>) {
    target.reset();
    if (!value.automatic) target = static_cast<std::uint32_t>(value.number);
  } else {
    target = static_cast<T>(value.number);
  }
}

template <auto member>
void assign(Settings& settings, Value&& value) {
  if constexpr (std::is_member_object_pointer_v<decltype(member)> && requires { settings.*member; }) {
    put(settings.*member, std::move(value));
  } else {
    put(settings.file.*member, std::move(value));
  }
}

// The member of Settings for each setting of setting_rules, in the same order.
struct Binding {
  std::string_view name;
  void (*assign)(Settings&, Value&&);
};

constexpr std::array bindings{
    Binding{"strategy", assign<&FileSettings::strategy>},
    Binding{"merge", assign<&FileSettings::merge>},
    Binding{"sort_buffer", assign<&FileSettings::sort_buffer_bytes>},
    Binding{"durability", assign<&FileSettings::durability>},
    Binding{"sink", assign<&FileSettings::sink>},
    Binding{"channel", assign<&Settings::channel_bytes>},
    Binding{"direct_above", assign<&Settings::direct_above_bytes>},
    Binding{"timeout", assign<&Settings::timeout_ms>},
    Binding{"storage_timeout", assign<&Settings::storage_timeout_ms>},
    Binding{"write_within", assign<&Settings::write_within_ms>},
    Binding{"topology", assign<&Settings::topology>},
    Binding{"file_servers", assign<&Settings::file_servers>},
    Binding{"stage", assign<&Settings::stage>},
    Binding{"target", assign<&Settings::target>},
    Binding{"interfaces", assign<&Settings::interfaces>},
    Binding{"paths", assign<&Settings::paths>},
    Binding{"posix", assign<&Settings::posix>},
    Binding{"posix_async", assign<&Settings::posix_async>},
    Binding{"posix_stage", assign<&Settings::posix_stage>},
    Binding{"stats", assign<&Settings::stats_path>},
    Binding{"trace", assign<&Settings::trace_directory>},
    Binding{"job", assign<&Settings::job>},
    Binding{"agent", assign<&Settings::agent_program>},
    Binding{"journal_directory", assign<&Settings::journal_directory>},
    Binding{"stage_directory", assign<&Settings::stage_directory>},
};
static_assert(std::ranges::equal(bindings, setting_rules, {}, &Binding::name, &SettingRule::name));

// "*" also matches "/". A pattern without "/" also matches the last component.
bool matches(const std::string& pattern, const std::string& path) {
  if (::fnmatch(pattern.c_str(), path.c_str(), 0) == 0) return true;
  const std::string last = path.substr(path.rfind('/') + 1);
  return pattern.find('/') == std::string::npos && ::fnmatch(pattern.c_str(), last.c_str(), 0) == 0;
}

std::string lower_name(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

template <class E, std::size_t N>
std::string_view word_of(E value, const std::array<std::string_view, N>& words) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? words[index] : "unknown";
}

}  // namespace

std::string_view name_of(Strategy strategy) { return word_of(strategy, setting_words::strategy); }
std::string_view name_of(Durability durability) { return word_of(durability, setting_words::durability); }
std::string_view name_of(Topology topology) { return word_of(topology, setting_words::topology); }

std::vector<std::string_view> setting_names() {
  std::vector<std::string_view> names;
  names.reserve(setting_rules.size());
  for (const SettingRule& rule : setting_rules) names.push_back(rule.name);
  return names;
}

Status set(Settings& settings, std::string_view name, std::string_view text, std::string& message) {
  const auto rule = std::ranges::find(setting_rules, name, &SettingRule::name);
  if (rule == setting_rules.end()) {
    message = "there is no setting '" + std::string(name) + "'; there are:";
    for (const SettingRule& known : setting_rules) message += " " + std::string(known.name);
    return Code::invalid;
  }
  Value value;
  value.automatic = rule->automatic && parse::same_word(parse::trim(text), "auto");
  const std::string allowed = value.automatic ? std::string() : read(*rule, text, value);
  if (allowed.empty()) {
    bindings[static_cast<std::size_t>(rule - setting_rules.begin())].assign(settings, std::move(value));
    return {};
  }
  message = std::string(name) + " = '" + std::string(text) + "' is not possible: use " +
            (rule->automatic ? "auto, or " : "") + allowed;
  return Code::invalid;
}

Settings from_environment(const char* const* environment, std::vector<std::string>& messages) {
  constexpr std::string_view prefix = "MILLRACE_";
  constexpr std::string_view master = "MILLRACE=";
  Settings settings;
  for (const char* const* entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line = *entry;
    if (line.starts_with(master)) {
      std::uint64_t enabled = settings.enabled ? 1 : 0;
      const std::string allowed = read_toggle(line.substr(master.size()), enabled);
      if (!allowed.empty()) messages.push_back("MILLRACE is ignored: use " + allowed);
      settings.enabled = enabled != 0;
    }
    const std::size_t equals = line.find('=');
    if (!line.starts_with(prefix) || equals == std::string_view::npos) continue;
    const std::string name = lower_name(line.substr(prefix.size(), equals - prefix.size()));
    if (name == "prefix" || name.starts_with("test_")) continue;  // for the command, or for tests
    std::string message;
    if (!set(settings, name, line.substr(equals + 1), message).ok()) {
      messages.push_back(std::string(line.substr(0, equals)) + " is ignored: " + message);
    }
  }
  return settings;
}

bool path_selected(const Settings& settings, std::string_view path) {
  const std::string whole(path);
  bool limited = false, named = false;
  for (const std::string& pattern : settings.paths) {
    const bool excludes = pattern.starts_with('!');
    const bool matching = matches(pattern.substr(excludes ? 1 : 0), whole);
    if (excludes && matching) return false;
    limited = limited || !excludes;
    named = named || matching;
  }
  return named || !limited;
}

}  // namespace millrace
