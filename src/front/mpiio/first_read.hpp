// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/transfer.hpp"

namespace millrace::front {

// A read from a file that one node has and that is not staged: what the call returns. On the node of the
// file after a flush; elsewhere what it needs is fetched into the stand-in first. The library reads by its
// independent functions, whatever the call: together, one rank would read for others from its own node's
// file.
int read_on_first(Open& open, const Row& row, const Arguments& arguments);

}  // namespace millrace::front
