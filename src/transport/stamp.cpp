// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/stamp.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "base/fd.hpp"

namespace millrace::transport {

StampClock choose_stamp_clock() {
#if defined(__x86_64__)
  const Fd file(
      ::open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC));
  char name[32] = {};
  const bool trusted =
      file.valid() && ::read(file.get(), name, sizeof name - 1) > 0 && std::strncmp(name, "tsc", 3) == 0;
  return trusted ? StampClock::counter : StampClock::monotonic;
#elif defined(__aarch64__)
  return StampClock::counter;  // the architecture's counter is the same on all cores
#else
  return StampClock::monotonic;
#endif
}

}  // namespace millrace::transport
