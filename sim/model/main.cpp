// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// millrace-model: plans from stdin, answers to stdout (plan_text.hpp). `millrace model` makes the plans.
#include <cstdio>
#include <iostream>

#include "plan_text.hpp"

int main() {
  try {
    millrace::model::answer(std::cin, std::cout);
  } catch (const millrace::model::PlanError& error) {
    std::fprintf(stderr, "millrace-model: %s\n", error.what());
    return 2;
  }
  return 0;
}
