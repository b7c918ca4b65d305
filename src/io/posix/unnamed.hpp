// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"

namespace millrace::io {

// Makes an empty file in `directory`, for reading and writing, without a name. It disappears with its last
// descriptor, even if the process is killed.
Result<Fd> create_unnamed(const char* directory);

}  // namespace millrace::io
