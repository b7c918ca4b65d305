// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/arguments.hpp"

namespace millrace::front {

// Carries out a read from a file that one node has and that is not staged, and returns its result. On the
// file's node it flushes first; on other nodes it fetches the bytes into the stand-in first. The library
// always reads with its independent functions. With collective ones, a rank would read its own node's file
// for other ranks.
int read_on_first(Open& open, const Row& row, const Arguments& arguments);

}  // namespace millrace::front
