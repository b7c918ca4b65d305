// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "dice.hpp"
#include "scenario.hpp"

// Makes the faults of a run at random.
namespace millrace::sim {

Fault make_fault(Dice& dice, const Scenario& scenario);
Fault make_jump(Dice& dice, const Scenario& scenario);
bool has_one_of(const std::vector<Fault>& faults, std::initializer_list<FaultKind> kinds);
std::string describe(const Fault& fault);

}  // namespace millrace::sim
