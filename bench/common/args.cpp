// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "common/args.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace bench {

std::uint64_t parse_size(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string unit;
  for (const char* p = end; p != text.data() + text.size(); p++) {
    unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*p)));
  }
  const std::string letters = "kmgt";
  int shift = 0;
  if (!unit.empty() && letters.find(unit[0]) != std::string::npos) {
    shift = 10 * static_cast<int>(letters.find(unit[0]) + 1);
    unit.erase(0, 1);
  }
  const bool unit_ok = unit.empty() || unit == "b" || (shift > 0 && (unit == "i" || unit == "ib"));
  if (error != std::errc{} || !unit_ok || (value << shift) >> shift != value || (value << shift) >> 62 != 0) {
    throw BadUsage("'" + std::string(text) + "' is not a size: write 300, 4k, 1m or 2g");
  }
  return value << shift;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::vector<std::uint64_t> parse_sizes(std::string_view text) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& part : split(text)) sizes.push_back(parse_size(part));
  return sizes;
}

long parse_number(std::string_view text, long low, long high) {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high) {
    throw BadUsage("'" + std::string(text) + "' is not a whole number from " + std::to_string(low) + " to " +
                   std::to_string(high));
  }
  return value;
}

namespace {

void apply(const Option& option, const std::string& shown, const std::string& value) {
  try {
    option.apply(value);
  } catch (const BadUsage& problem) {
    throw BadUsage("option " + shown + ": " + problem.what());
  }
}

const Option& find(const std::vector<Option>& options, const std::string& shown, char letter,
                   const std::string& name) {
  for (const Option& option : options) {
    if (letter != 0 ? option.letter == letter : option.name == name && !name.empty()) return option;
  }
  throw BadUsage("unknown option " + shown + "; --help lists what there is");
}

// Arguments one by one; a value may stand in the same argument or in the next one.
class Cursor {
 public:
  Cursor(int argc, char** argv) : arguments_(argv + 1, argv + argc) {}
  bool done() const { return at_ == arguments_.size(); }
  const std::string& next() { return arguments_[at_++]; }
  std::string value(const std::string& shown) {
    if (done()) throw BadUsage("option " + shown + " needs a value");
    return next();
  }

 private:
  std::vector<std::string> arguments_;
  std::size_t at_ = 0;
};

void parse_long(const std::string& argument, Cursor& cursor, const std::vector<Option>& options) {
  const std::size_t equals = argument.find('=');
  const std::string shown = argument.substr(0, equals);
  const Option& option = find(options, shown, 0, shown.substr(2));
  if (!option.value.empty()) {
    apply(option, shown, equals != std::string::npos ? argument.substr(equals + 1) : cursor.value(shown));
  } else if (equals == std::string::npos) {
    apply(option, shown, "");
  } else {
    throw BadUsage("option " + shown + " takes no value");
  }
}

// -c, -cek (several without a value), -t4k, -t 4k.
void parse_short(const std::string& argument, Cursor& cursor, const std::vector<Option>& options) {
  for (std::size_t i = 1; i < argument.size(); i++) {
    const std::string shown = std::string("-") + argument[i];
    const Option& option = find(options, shown, argument[i], "");
    if (option.value.empty()) {
      apply(option, shown, "");
      continue;
    }
    apply(option, shown, i + 1 < argument.size() ? argument.substr(i + 1) : cursor.value(shown));
    return;
  }
}

}  // namespace

void parse_arguments(int argc, char** argv, const std::vector<Option>& options) {
  Cursor cursor(argc, argv);
  while (!cursor.done()) {
    const std::string argument = cursor.next();
    if (argument.starts_with("--") && argument.size() > 2) {
      parse_long(argument, cursor, options);
    } else if (argument.starts_with("-") && argument.size() > 1) {
      parse_short(argument, cursor, options);
    } else {
      throw BadUsage("'" + argument + "' is not an option; --help lists what there is");
    }
  }
}

std::string describe(const std::vector<Option>& options) {
  std::string text;
  for (const Option& option : options) {
    if (option.help.empty()) continue;
    std::string left = "  ";
    if (option.letter != 0) left += std::string("-") + option.letter;
    if (option.letter != 0 && !option.name.empty()) left += ", ";
    if (!option.name.empty()) left += "--" + option.name;
    if (!option.value.empty()) left += " " + option.value;
    left.resize(std::max<std::size_t>(left.size() + 2, 28), ' ');
    text += left + option.help + "\n";
  }
  return text;
}

}  // namespace bench
