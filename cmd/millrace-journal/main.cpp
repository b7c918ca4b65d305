// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <string>
#include <vector>

#include "journal/inspect.hpp"

int main(int count, char** arguments) {
  const std::vector<std::string> rest(arguments + 1, arguments + count);
  return millrace::journal::inspect(rest, std::cout, std::cerr);
}
