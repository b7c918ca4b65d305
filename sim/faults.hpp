// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "dice.hpp"
#include "scenario.hpp"

// Makes the faults of a run at random.
namespace millrace::sim {

Fault make_fault(Dice& dice, const Scenario& scenario);
Fault make_jump(Dice& dice, const Scenario& scenario);
bool crashes(const std::vector<Fault>& faults);
bool loses_a_node(const std::vector<Fault>& faults);
std::string describe(const Fault& fault);

}  // namespace millrace::sim
