// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <istream>
#include <ostream>
#include <stdexcept>

// The messages between `millrace model` and millrace-model: plans are lines of words, answers are JSON.
namespace millrace::model {

struct PlanError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

//   flows
//   station NAME SLOTS BYTES_PER_SECOND PIECE_NS WAITING_NS
//   flow RANKS               the steps that follow are theirs
//   step TIMES               the stages that follow are its
//   stage STATION BYTES EXTRA_NS [STATION BYTES EXTRA_NS]...
//
//   pipeline
//   NAME VALUE               of PipelinePlan and Pattern
//
// Lines that end a plan: `end`. One JSON document for each, on a line of its own. Throws PlanError.
void answer(std::istream& plans, std::ostream& answers);

}  // namespace millrace::model
