// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "agent/recovery/recovery_list.hpp"
#include "base/local.hpp"
#include "io/factory.hpp"
#include "options.hpp"

int main(int count, char** arguments) {
  namespace agent = millrace::agent;
  const std::vector<std::string> rest(arguments + 1, arguments + count);
  std::vector<std::string> messages;
  const millrace::Settings settings = millrace::from_environment(environ, messages);
  Options options;
  options.directory = millrace::local_directory(settings);
  const std::string problem = understand(rest, options);
  if (!problem.empty() || options.help) {
    if (!options.help) std::cerr << "millrace-recover: " << problem << '\n';
    (options.help ? std::cout : std::cerr) << usage;
    return options.help ? 0 : 2;
  }
  if (options.discard)
    return agent::discard_journals(options.directory, options.journals, std::cout, std::cerr);
  millrace::Result<millrace::io::Chosen> chosen = millrace::io::make_storage(settings.file.sink);
  if (!chosen) {
    std::cerr << "millrace-recover: " << chosen.status().describe() << '\n';
    return 1;
  }
  if (options.list) return agent::list_journals(options.directory, *chosen->storage, std::cout, std::cerr);
  agent::Pace pace;
  return agent::recover(options, *chosen->storage, std::cout, std::cerr, pace);
}
