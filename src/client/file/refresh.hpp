// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace millrace::client {

// Call it after another node has written the file. It makes file systems that cache a file's size (FUSE, NFS)
// ask for the size again.
void refresh(const std::string& path);

}  // namespace millrace::client
