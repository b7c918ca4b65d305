// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace::sim {

struct Scenario;

// In some runs, one rank calls a sync, or the last close, only after all other ranks have their answers. So
// agents must not wait for it without a bound.
void add_latecomer(Scenario& scenario);

}  // namespace millrace::sim
