// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The functions of millrace.h for functions on the host, and the arguments of such calls.
#include "capi/channel.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include "capi/enter.hpp"
#include "capi/memory.hpp"

namespace millrace::capi {

namespace {

using staging::Argument;

// The program is in bin/ beside lib/. The library may be in a folder of lib/ for the architecture.
std::string host_program() {
  Dl_info self;
  std::string folder = ".";
  if (::dladdr(reinterpret_cast<const void*>(&millrace_channel_open), &self) != 0 &&
      self.dli_fname != nullptr) {
    const std::string library = self.dli_fname;
    if (const std::size_t slash = library.rfind('/'); slash != std::string::npos)
      folder = library.substr(0, slash);
  }
  for (const char* place : {"/millrace-host", "/../bin/millrace-host", "/../../bin/millrace-host"}) {
    if (::access((folder + place).c_str(), X_OK) == 0) return folder + place;
  }
  return folder + "/../bin/millrace-host";
}

Argument memory_argument(std::int32_t kind, const staging::MemoryRange& range) {
  if (kind == MILLRACE_IN) return Argument::in(range);
  return kind == MILLRACE_OUT ? Argument::out(range) : Argument::inout(range);
}

}  // namespace

Outcome Invocation::prepare(const Handles& handles, std::uint64_t symbol, const millrace_argument* arguments,
                            std::uint64_t count) {
  if (count > staging::channel::integers_max + staging::channel::reals_max)
    return Outcome::failed(E2BIG, about_call({Code::unsupported, E2BIG}));
  if (arguments == nullptr && count > 0) return Outcome::failed(EINVAL, "arguments is NULL");
  symbol_ = staging::Channel::Symbol{symbol};
  for (const millrace_argument& one : std::span(arguments, count)) {
    if (one.reserved != 0 || one.kind < MILLRACE_INTEGER || one.kind > MILLRACE_CALL)
      return Outcome::failed(EINVAL, "an argument has an unknown kind");
    if (one.kind == MILLRACE_INTEGER) arguments_.push_back(Argument::integer(one.integer));
    if (one.kind == MILLRACE_REAL) arguments_.push_back(Argument::real(one.real));
    if (one.kind == MILLRACE_REAL32) arguments_.push_back(Argument::real(static_cast<float>(one.real)));
    if (one.kind == MILLRACE_CALL) arguments_.push_back(Argument::call());
    if (one.kind < MILLRACE_IN || one.kind > MILLRACE_INOUT) continue;
    HeldMemory memory;
    if (!HeldMemory::find(handles, one.device, one.address, one.bytes, memory))
      return Outcome::failed(EBADF, "the device of an argument is not open");
    if (one.address == nullptr && one.bytes > 0)
      return Outcome::failed(EFAULT, "the memory of an argument is NULL");
    arguments_.push_back(memory_argument(one.kind, memory.range));
    if (memory.device != nullptr) devices_.push_back(std::move(memory.device));
  }
  return 0;
}

Result<std::uint64_t> Invocation::run(OpenChannel& channel, OpenDevice* device) const {
  return channel.channel->invoke(symbol_, arguments_, device != nullptr ? &device->get() : nullptr);
}

const char* about_call(Status status) {
  if (status.error() == E2BIG)
    return "a function takes at most 6 integer or memory arguments, 8 real ones, and 256 MiB of memory each "
           "way";
  if (status.error() == ESRCH) return "the channel's process has ended: open another channel";
  if (status.error() == EINVAL) return "there is no such function: take a symbol from millrace_find";
  return "";
}

}  // namespace millrace::capi

using namespace millrace::capi;
using millrace::Code;
using millrace::Result;
using millrace::Status;
using millrace::staging::Channel;

int millrace_channel_open(int where, millrace_channel** channel) {
  return guarded_int(__func__, [&]() -> Outcome {
    if (channel == nullptr || (where != MILLRACE_THREAD && where != MILLRACE_PROCESS))
      return Outcome::failed(EINVAL, "a channel runs in a thread or in a process: name one of the two");
    Library& library = Library::get();
    const std::string program = where == MILLRACE_PROCESS ? host_program() : std::string();
    auto made = where == MILLRACE_PROCESS ? Channel::in_process(library.pool, program)
                                          : Channel::in_thread(library.pool);
    if (!made) return {made.status(), program};
    *channel = library.handles.add(std::make_shared<OpenChannel>(*std::move(made)));
    return 0;
  });
}

int millrace_channel_close(millrace_channel* channel) {
  return guarded_int(__func__, [&]() -> Outcome {
    return Library::get().handles.take<OpenChannel>(channel) != nullptr ? Outcome() : Outcome::failed(EBADF);
  });
}

int millrace_install(millrace_channel* channel, const char* path, std::uint64_t* library) {
  return with_int<OpenChannel>(__func__, channel, [=](Library&, OpenChannel& open) -> Outcome {
    if (path == nullptr || library == nullptr) return Outcome::failed(EINVAL, "path or library is NULL");
    std::string why;
    const Result<Channel::LibraryId> installed = open.channel->install(path, why);
    if (!installed) return {installed.status(), std::move(why)};
    *library = static_cast<std::uint64_t>(*installed);
    return 0;
  });
}

int millrace_find(millrace_channel* channel, std::uint64_t library, const char* name, std::uint64_t* symbol) {
  return with_int<OpenChannel>(__func__, channel, [=](Library&, OpenChannel& open) -> Outcome {
    if (name == nullptr || symbol == nullptr) return Outcome::failed(EINVAL, "name or symbol is NULL");
    std::string why;
    const Result<Channel::Symbol> found = open.channel->find(Channel::LibraryId{library}, name, why);
    if (!found) return {found.status(), std::move(why)};
    *symbol = static_cast<std::uint64_t>(*found);
    return 0;
  });
}

int millrace_uninstall(millrace_channel* channel, std::uint64_t library) {
  return with_int<OpenChannel>(__func__, channel, [=](Library&, OpenChannel& open) -> Outcome {
    const Status status = open.channel->uninstall(Channel::LibraryId{library});
    return {status, status.error() == EINVAL ? "no such library is installed" : ""};
  });
}

int millrace_invoke(millrace_channel* channel, std::uint64_t symbol, const millrace_argument* arguments,
                    std::uint64_t count, millrace_device* device, std::uint64_t* returned) {
  return with_int<OpenChannel>(__func__, channel, [=](Library& library, OpenChannel& open) -> Outcome {
    Invocation call;
    const std::shared_ptr<OpenDevice> memory = library.handles.find<OpenDevice>(device);
    if (device != nullptr && memory == nullptr) return Outcome::failed(EBADF);
    if (Outcome outcome = call.prepare(library.handles, symbol, arguments, count); outcome.value() < 0)
      return outcome;
    const Result<std::uint64_t> result = call.run(open, memory.get());
    if (!result) return {result.status(), about_call(result.status())};
    if (returned != nullptr) *returned = *result;
    return 0;
  });
}
