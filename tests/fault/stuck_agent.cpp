// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// usage: stuck_agent DIRECTORY FILE: stands for an agent of another job that has bytes of the file, does
// nothing, and cannot be ended. It shows itself, but listens at no socket, so no process can be sure which
// one to end. It says "ready", and ends with its standard input.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "transport/presence.hpp"

int main(int argc, char** argv) {
  namespace transport = millrace::transport;
  struct stat about {};
  if (argc != 3 || ::stat(argv[2], &about) != 0) return 2;
  const auto shown = transport::Presence::create("millrace-stuck", argv[1]);
  if (!shown) return 1;
  transport::AgentPage& page = shown->page();
  page.files[0].dirty.store(transport::state_dirty);
  page.files[0].number.store(transport::file_number(about.st_dev, about.st_ino));
  page.slots.store(1);
  std::puts("ready");
  std::fflush(stdout);
  char byte = 0;
  while (::read(0, &byte, 1) > 0) {
  }
  return 0;
}
