// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/costs_program.hpp"

#include <unistd.h>

#include <sstream>

#include "base/settings.hpp"
#include "client/cost_record.hpp"
#include "client/measure_costs.hpp"
#include "client/policy.hpp"

namespace millrace::client {

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  }
  return out + "\"";
}

}  // namespace

int costs_program(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& errors) {
  const bool again = !arguments.empty() && arguments.front() == "--measure";
  if (arguments.size() != (again ? 2 : 1) || arguments.back().starts_with('-')) {
    errors
        << "usage: millrace-costs [--measure] FOLDER\n"
           "Prints the costs of writes on the folder's file system (JSON). If there is no record yet, or "
           "with "
           "--measure, a small job of a few ranks and an agent measures them. It removes its file of 48 MiB "
           "afterwards.\n";
    return 2;
  }
  const std::string& folder = arguments.back();
  std::vector<std::string> messages;
  const Settings settings = from_environment(environ, messages);
  const std::string file_system = file_system_of(folder), directory = cost_directory(settings);
  const std::string record = directory.empty() ? "" : cost_record(directory, file_system);
  Costs costs = typical_costs();
  const bool known = !record.empty() && !file_system.empty() && load_costs(record, costs);
  if (!known || again) {
    const Result<Costs> measured = measure_costs(folder);
    if (!measured) {
      errors
          << "millrace-costs: " << folder << ": " << measured.status().describe()
          << ": choose a folder in which files can be written; run millrace doctor to see what else may be "
             "missing\n";
      return 1;
    }
    costs = *measured;
    const Status stored = record.empty() || file_system.empty() ? Status(Code::unsupported)
                                                                : store_costs(record, file_system, costs);
    if (!stored.ok())
      errors << "millrace-costs: the measured costs were not recorded: "
             << (record.empty() ? "no HOME" : record) << ": " << stored.describe()
             << "; set MILLRACE_COST_DIRECTORY to another folder\n";
  }
  out << "{\"schema\": \"millrace.costs/1\", \"file_system\": " << quoted(file_system)
      << ", \"record\": " << quoted(record) << ", \"measured_now\": " << (!known || again ? "true" : "false");
  std::istringstream lines(to_text(costs));
  for (std::string name, value; lines >> name >> value;) out << ", \"" << name << "\": " << value;
  out << ", \"break_even_bytes\": " << break_even(costs, false)
      << ", \"break_even_synced_bytes\": " << break_even(costs, true) << "}\n";
  return 0;
}

}  // namespace millrace::client
