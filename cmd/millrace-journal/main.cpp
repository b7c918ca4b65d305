// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "journal/inspect.hpp"

namespace {

constexpr const char* usage =
    "usage: millrace-journal [--json] FILE\n"
    "Prints the header, the state and the records of a journal, and whether it is sound.\n"
    "Exit status: 0 sound, 1 corrupt or not a journal, 2 wrong use or a file that cannot be read.\n";

int refuse(const std::string& why) {
  std::cerr << "millrace-journal: " << why << '\n' << usage;
  return 2;
}

}  // namespace

int main(int count, char** arguments) {
  bool json = false;
  std::string file;
  for (const std::string argument : std::span(arguments, static_cast<std::size_t>(count)).subspan(1)) {
    if (argument == "--help" || argument == "-h") {
      std::cout << usage;
      return 0;
    }
    if (argument != "--json" && (argument.starts_with("-") || !file.empty()))
      return refuse("unexpected argument '" + argument + "'");
    if (argument == "--json") {
      json = true;
    } else {
      file = argument;
    }
  }
  if (file.empty()) return refuse("no file given");
  return millrace::journal::inspect(file, json, std::cout, std::cerr);
}
