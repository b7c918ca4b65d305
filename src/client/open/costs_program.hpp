// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace millrace::client {

// The program millrace-costs: [--measure] FOLDER. Prints the costs of the folder's file system as a JSON
// document; measures and records them where there is no record yet, or with --measure. Returns its exit
// status.
int costs_program(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& errors);

}  // namespace millrace::client
