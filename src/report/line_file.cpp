// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "report/line_file.hpp"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>

#include "base/fd.hpp"

namespace millrace::report {

void append_line(const std::string& path, const std::string& line) {
  if (path.empty()) return;
  constexpr int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC;
  Fd file(::open(path.c_str(), flags, 0644));
  utsname node{};
  if (!file.valid() && errno == EISDIR && ::uname(&node) == 0)
    file = Fd(::open((path + "/" + node.nodename + ".jsonl").c_str(), flags, 0644));
  const std::string text = line + "\n";
  if (file.valid() && ::write(file.get(), text.data(), text.size()) < 0) return;
}

std::string time_stamp() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  ::gmtime_r(&now.tv_sec, &parts);
  char text[32], whole[48];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(whole, sizeof whole, "%s.%03ldZ", text, now.tv_nsec / 1'000'000);
  return whole;
}

}  // namespace millrace::report
