// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "staging/device.hpp"

namespace millrace::staging::cuda {

// For preloads: the device in whose memory the program's pointer is, or null if the host's own calls can use
// it. Only where the program itself has loaded and initialised the driver; never in a child of fork().
// Devices found stay for the life of the process. Thread safe.
Device* device_of(const void* pointer);

}  // namespace millrace::staging::cuda
