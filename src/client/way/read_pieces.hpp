// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.hpp"
#include "client/view/view.hpp"

namespace millrace::client {

// Reads the pieces of `source` from `file` into their memory, which has to be writable. Pieces that lie near
// each other share a system call, which reads the bytes between them too. Code::io: an error, or the file
// ends before the last piece; some of the memory may have changed.
Status read_pieces(int file, PieceSource& source);

}  // namespace millrace::client
