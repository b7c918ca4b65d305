// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "capi/device.hpp"
#include "capi/handles.hpp"
#include "capi/outcome.hpp"
#include "millrace/millrace.h"
#include "staging/channel/channel.hpp"

namespace millrace::capi {

// A channel that the program has opened. Thread safe.
struct OpenChannel {
  using Handle = millrace_channel;
  static constexpr HandleKind kind = HandleKind::channel;

  explicit OpenChannel(std::unique_ptr<staging::Channel> made) : channel(std::move(made)) {}
  const std::unique_ptr<staging::Channel> channel;
};

// A call of a function on the host, in the form that the room staging takes. It keeps the devices of its
// arguments alive. Not thread safe.
class Invocation {
 public:
  // Takes the arguments. Returns 0, or the errno of the first wrong argument.
  Outcome prepare(const Handles& handles, std::uint64_t symbol, const millrace_argument* arguments,
                  std::uint64_t count);
  Result<std::uint64_t> run(OpenChannel& channel, OpenDevice* device) const;

 private:
  staging::Channel::Symbol symbol_{};
  std::vector<staging::Argument> arguments_;
  std::vector<std::shared_ptr<OpenDevice>> devices_;
};

// The reason of a failed call, if the errno alone does not explain it; otherwise empty.
const char* about_call(Status status);

}  // namespace millrace::capi
