// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

// An invalid command line; what() has the reason, in one line for the user.
class BadUsage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// "4k", "1m", "2g", "300" -> bytes, in powers of 1024 as IOR has it; an i, b or iB after the letter is
// allowed.
std::uint64_t parse_size(std::string_view text);

// The parts of "a,b,c".
std::vector<std::string> split(std::string_view text);

// "8k,1m": each as parse_size has it.
std::vector<std::uint64_t> parse_sizes(std::string_view text);

// A whole number in [low, high].
long parse_number(std::string_view text, long low, long high);

// One option of a program. Without a short form, `letter` is 0; without a long one, `name` is empty.
struct Option {
  char letter = 0;
  std::string name;
  std::string value;  // the value's name in the help; empty = takes none
  std::string help;   // empty = not shown
  std::function<void(const std::string&)>
      apply;  // throws BadUsage (a prefix with the option's name is added)
};

// Applies the options in order. Throws BadUsage for what is unknown, malformed or left over.
void parse_arguments(int argc, char** argv, const std::vector<Option>& options);

// The options as text for --help.
std::string describe(const std::vector<Option>& options);

}  // namespace bench
