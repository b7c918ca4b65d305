// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <string>
#include <vector>

#include "client/open/costs_program.hpp"

int main(int count, char** arguments) {
  const std::vector<std::string> rest(arguments + 1, arguments + count);
  return millrace::client::costs_program(rest, std::cout, std::cerr);
}
