// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/result.hpp"
#include "io/storage.hpp"

namespace millrace::io {

// Storage over io_uring. Fails if the kernel refuses the ring or lacks one of the operations.
Result<std::unique_ptr<Storage>> make_uring_storage();

}  // namespace millrace::io
