// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/costs_program.hpp"

#include <unistd.h>

#include <array>
#include <sstream>

#include "base/settings.hpp"
#include "client/costs/cost_record.hpp"
#include "client/costs/policy.hpp"
#include "client/file/mounts.hpp"
#include "client/open/measure_costs.hpp"
#include "report/json.hpp"

namespace millrace::client {

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
  const std::string file_system = file_system_of(folder), directory = cost_directory();
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
    if (file_system.empty())
      errors << "millrace-costs: the measured costs were not recorded: the kernel does not name the file "
                "system of "
             << folder << "\n";
    else if (!stored.ok())
      errors << "millrace-costs: the measured costs were not recorded: "
             << (record.empty() ? "HOME is not a folder" : record + ": " + stored.describe())
             << "; set XDG_CACHE_HOME to another folder\n";
  }
  report::JsonObject json;
  json.put("schema", "millrace.costs/1").put("file_system", file_system).put("record", record);
  json.put("measured_now", !known || again);
  constexpr std::array<const char*, 3> words{"none", "nodes", "machine"};
  json.put("coherence", words[static_cast<std::size_t>(coherence_of(folder))]);
  std::istringstream lines(to_text(costs));
  std::uint64_t value = 0;
  for (std::string name; lines >> name >> value;) json.put(name, value);
  json.put("break_even_bytes", break_even(costs, false));
  json.put("break_even_synced_bytes", break_even(costs, true));
  out << json.text() << "\n";
  return 0;
}

}  // namespace millrace::client
