// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>
#include <sys/stat.h>

#include <iostream>

#include "staging/channel/server.hpp"

int main() {
  constexpr int from_channel = 3;
  struct stat about {};
  if (fstat(from_channel, &about) != 0 || !S_ISSOCK(about.st_mode)) {
    std::cerr << "millrace-host runs functions for a channel. The channel starts it; users need not\n";
    return 2;
  }
  millrace::staging::channel::serve(from_channel);
  return 0;
}
