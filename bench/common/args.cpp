// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "common/args.hpp"

#include <CLI/CLI.hpp>
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

// One parse: CLI11 knows the syntax, the table the rest.
class Parser {
 public:
  explicit Parser(const std::vector<Option>& options) {
    app_.set_help_flag();  // each program has its own
    for (const Option& option : options) add(option);
  }

  void parse(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& problem) {
      throw BadUsage(std::string(problem.what()) + "; --help lists what there is");
    }
  }
  std::string describe() const {
    const CLI::Formatter formatter;
    std::string text;
    for (const CLI::Option* option : app_.get_options()) {
      if (!option->get_description().empty()) text += formatter.make_option(option, false);
    }
    return text;
  }

 private:
  void add(const Option& option) {
    std::string names;
    if (option.letter != 0) names = std::string("-") + option.letter;
    if (!option.name.empty()) names += (names.empty() ? "--" : ",--") + option.name;
    const auto apply = [&option, names](const std::string& value) {
      try {
        option.apply(value);
      } catch (const BadUsage& problem) {
        throw BadUsage("option " + names + ": " + problem.what());
      }
    };
    // In the order of the command line, and each time: a later option overrules what a preset has set.
    CLI::Option* const added = option.value.empty()
                                   ? app_.add_flag_callback(
                                         names, [apply] { apply(""); }, option.help)
                                   : app_.add_option_function<std::string>(names, apply, option.help)
                                         ->option_text(option.value)
                                         ->take_last();
    added->trigger_on_parse();
  }

  CLI::App app_;
};

}  // namespace

void parse_arguments(int argc, char** argv, const std::vector<Option>& options) {
  Parser(options).parse(argc, argv);
}

std::string describe(const std::vector<Option>& options) { return Parser(options).describe(); }

}  // namespace bench
