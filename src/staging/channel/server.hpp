// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace::staging::channel {

// Runs what comes over the socket, until its other end has gone. In a thread of the program, or in a process.
void serve(int socket);

}  // namespace millrace::staging::channel
