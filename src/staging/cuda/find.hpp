// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "staging/device.hpp"

namespace millrace::staging::cuda {

// For preloads: returns the device that owns the memory of the program's pointer. Null if the host's own
// calls can use the pointer. Finds a device only if the program itself has loaded and initialised the driver,
// and never in a child of fork(). Devices live as long as the process. Thread safe.
Device* device_of(const void* pointer);

}  // namespace millrace::staging::cuda
