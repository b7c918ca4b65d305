// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "agent/recovery.hpp"
#include "io/factory.hpp"

int main(int count, char** arguments) {
  const std::vector<std::string> rest(arguments + 1, arguments + count);
  std::vector<std::string> messages;
  const millrace::Settings settings = millrace::from_environment(environ, messages);
  millrace::Result<millrace::io::Chosen> chosen = millrace::io::make_storage(settings.file.sink);
  if (!chosen) {
    std::cerr << "millrace-recover: " << chosen.status().describe() << '\n';
    return 1;
  }
  return millrace::agent::recover(rest, settings, *chosen->storage, std::cout, std::cerr);
}
