// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace::staging::channel {

// Runs the functions that the socket's other end asks for, until that end closes. Runs in a thread of the
// program or in millrace-host.
void serve(int socket);

}  // namespace millrace::staging::channel
