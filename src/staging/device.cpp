// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/device.hpp"

#include <unistd.h>

namespace millrace::staging {

Device::Device() : process_(getpid()) {}

bool Device::inherited() const { return getpid() != process_; }

}  // namespace millrace::staging
