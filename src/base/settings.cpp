// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "base/settings.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/environment.hpp"
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

// Each function below sets `value`. False: the text is not a value of the setting.

bool read_choice(const SettingRule& rule, std::string_view text, Value& value) {
  const auto same = [text](std::string_view word) { return parse::same_word(text, word); };
  const auto found = std::ranges::find_if(rule.words, same);
  value.number = static_cast<std::uint64_t>(found - rule.words.begin());
  return found != rule.words.end();
}

bool read_number(const SettingRule& rule, const Result<std::uint64_t>& number, Value& value) {
  if (!number || *number < rule.least || *number > rule.most) return false;
  value.number = *number;
  return true;
}

bool read_paths(std::string_view text, Value& value) {
  if (parse::trim(text).empty()) return true;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = text.find(':');
    const std::string_view pattern = parse::trim(text.substr(0, end));
    if (pattern.empty() || pattern == "!") return false;
    value.list.emplace_back(pattern);
    if (end != std::string_view::npos) text.remove_prefix(end + 1);
  }
  return true;
}

bool read_value(const SettingRule& rule, std::string_view text, Value& value) {
  const std::string_view word = parse::trim(text);
  value.automatic = rule.automatic && parse::same_word(word, "auto");
  if (value.automatic) return true;
  switch (rule.kind) {
    case SettingKind::choice:
      return read_choice(rule, word, value);
    case SettingKind::toggle: {
      const Result<bool> yes = parse::yes_no(word);
      value.number = yes && *yes ? 1 : 0;
      return yes.ok();
    }
    case SettingKind::bytes:
      return read_number(rule, parse_bytes(word), value);
    case SettingKind::count:
      return read_number(rule, parse::whole(word), value);
    case SettingKind::duration:
      return read_number(rule, parse::duration_ms(word), value);
    case SettingKind::paths:
      return read_paths(text, value);
    case SettingKind::names:
      value.list = parse::names(text);
      return true;
    case SettingKind::path:
      value.text = text;
      return text.size() < 4096 && text.find('\0') == std::string_view::npos;
    case SettingKind::key:
      value.text = word;
      return word.size() <= 64 && std::ranges::all_of(word, [](char c) { return c > ' ' && c <= '~'; });
  }
  return false;
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

void put(Settings& settings, std::size_t index, Value&& value) {
  const auto into = [&]<class Owner, class T>(T Owner::*member) {
    if (index-- != 0) return;
    if constexpr (std::is_same_v<Owner, Settings>) {
      put(settings.*member, std::move(value));
    } else {
      put(settings.file.*member, std::move(value));
    }
  };
  std::apply([&](auto... member) { (into(member), ...); }, setting_members<Settings, FileSettings>);
}

// Sets the setting of that name if it is of a kind that `known` accepts.
template <class Known>
Status set_known(Settings& settings, std::string_view name, std::string_view text, std::string& message,
                 Known known) {
  const auto rule = std::ranges::find(setting_rules, name, &SettingRule::name);
  if (rule == setting_rules.end() || !known(*rule)) {
    message = "there is no setting '" + std::string(name) + "'; there are:";
    for (const SettingRule& other : setting_rules) {
      if (known(other) && other.use != SettingUse::internal) message += " " + std::string(other.name);
    }
    return Code::invalid;
  }
  Value value;
  if (read_value(*rule, text, value)) {
    put(settings, static_cast<std::size_t>(rule - setting_rules.begin()), std::move(value));
    return {};
  }
  message =
      std::string(name) + " = '" + std::string(text) + "' is not possible: use " + std::string(rule->allowed);
  return Code::invalid;
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

Status set(Settings& settings, std::string_view name, std::string_view text, std::string& message) {
  return set_known(settings, name, text, message, [](const SettingRule&) { return true; });
}

Status set_hint(Settings& settings, std::string_view name, std::string_view text, std::string& message) {
  return set_known(settings, name, text, message,
                   [](const SettingRule& rule) { return rule.use == SettingUse::hint; });
}

Settings from_environment(const char* const* environment, std::vector<std::string>& messages) {
  constexpr std::string_view prefix = "MILLRACE_";
  constexpr std::string_view master = "MILLRACE=";
  Settings settings;
  for (const char* const* entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line = *entry;
    if (line.starts_with(master)) {
      const Result<bool> on = parse::yes_no(line.substr(master.size()));
      if (!on) messages.emplace_back("MILLRACE is ignored: use 0 or 1");
      settings.enabled = !on || *on;
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
    const bool matching = pattern_matches(pattern.c_str() + (excludes ? 1 : 0), whole.c_str());
    if (excludes && matching) return false;
    limited = limited || !excludes;
    named = named || matching;
  }
  return named || !limited;
}

}  // namespace millrace
