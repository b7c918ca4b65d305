// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/call/arguments.hpp"

namespace millrace::front {

// Carries out a read from a file of one node that is not staged, and returns its result. On the file's node,
// the rank flushes first. On other nodes, it first fetches the bytes into the stand-in. The library reads
// with its independent functions only. In a collective function, a rank would read its own node's file for
// ranks of other nodes.
int read_on_first(Open& open, const Row& row, const Arguments& arguments);

}  // namespace millrace::front
