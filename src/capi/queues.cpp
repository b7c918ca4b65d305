// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The functions of millrace.h for queues.
#include "capi/channel.hpp"
#include "capi/enter.hpp"
#include "capi/memory.hpp"
#include "capi/queue.hpp"

using namespace millrace::capi;
using millrace::Code;
using millrace::Result;
using millrace::Status;
namespace staging = millrace::staging;

namespace {

constexpr const char* no_ticket = "there is no such ticket, or a wait has taken it before";

Outcome submitted(CommandQueue& queue, CommandQueue::Command command, std::uint64_t* ticket) {
  const Result<CommandQueue::Ticket> made = queue.submit(std::move(command));
  if (!made)
    return {made.status(),
            made.status().error() == EAGAIN ? "4096 tickets are open: wait for some of them first" : ""};
  *ticket = *made;
  return 0;
}

// `move` copies between the queue's device and the host: copy_from or copy_to.
template <class Move>
int submit_copy(const char* call, millrace_queue* queue, const void* device_address, const void* host,
                std::uint64_t bytes, std::uint64_t* ticket, const Move& move) {
  return with_int<CommandQueue>(call, queue, [&](Library& library, CommandQueue& open) -> Outcome {
    if (ticket == nullptr) return Outcome::failed(EINVAL, "ticket is NULL");
    if (host == nullptr && bytes > 0) return Outcome::failed(EFAULT, "the host's memory is NULL");
    const staging::MemoryRange range{&open.device()->get(), staging::address_of(device_address), bytes};
    return submitted(
        open,
        [&pool = library.pool, range, host, bytes, move]() -> Result<std::uint64_t> {
          const Status status = move(pool, range, host, bytes);
          if (!status.ok()) return status;
          return std::uint64_t{0};
        },
        ticket);
  });
}

// A negative timeout is no bound.
const std::uint64_t* bound(std::int64_t timeout_ms, std::uint64_t& storage) {
  storage = static_cast<std::uint64_t>(timeout_ms);
  return timeout_ms < 0 ? nullptr : &storage;
}

}  // namespace

int millrace_queue_open(millrace_device* device, millrace_queue** queue) {
  return guarded_int(__func__, [&]() -> Outcome {
    if (queue == nullptr) return Outcome::failed(EINVAL, "queue is NULL");
    Library& library = Library::get();
    std::shared_ptr<OpenDevice> open = library.handles.find<OpenDevice>(device);
    if (open == nullptr) return Outcome::failed(EBADF);
    *queue = library.handles.add(std::make_shared<CommandQueue>(std::move(open)));
    return 0;
  });
}

int millrace_queue_close(millrace_queue* queue) {
  return with_int<CommandQueue>(__func__, queue, [=](Library& library, CommandQueue& open) -> Outcome {
    if (!open.close(library.settings.timeout_ms))
      return Outcome::failed(ETIMEDOUT, "a command still runs: close again");
    return library.handles.take<CommandQueue>(queue) != nullptr ? Outcome() : Outcome::failed(EBADF);
  });
}

int millrace_queue_read_mem(millrace_queue* queue, void* host, const void* from, std::uint64_t bytes,
                            std::uint64_t* ticket) {
  return submit_copy(
      __func__, queue, from, host, bytes, ticket,
      [host](staging::Pool& pool, const staging::MemoryRange& range, const void*, std::uint64_t size) {
        return copy_from(pool, range, {static_cast<std::byte*>(host), size});
      });
}

int millrace_queue_write_mem(millrace_queue* queue, void* to, const void* host, std::uint64_t bytes,
                             std::uint64_t* ticket) {
  return submit_copy(
      __func__, queue, to, host, bytes, ticket,
      [](staging::Pool& pool, const staging::MemoryRange& range, const void* source, std::uint64_t size) {
        return copy_to(pool, range, {static_cast<const std::byte*>(source), size});
      });
}

int millrace_queue_call(millrace_queue* queue, millrace_channel* channel, std::uint64_t symbol,
                        const millrace_argument* arguments, std::uint64_t count, std::uint64_t* ticket) {
  return with_int<CommandQueue>(__func__, queue, [=](Library& library, CommandQueue& open) -> Outcome {
    if (ticket == nullptr) return Outcome::failed(EINVAL, "ticket is NULL");
    const std::shared_ptr<OpenChannel> runs = library.handles.find<OpenChannel>(channel);
    if (runs == nullptr) return Outcome::failed(EBADF, "the channel is not open");
    const auto call = std::make_shared<Invocation>();
    if (Outcome outcome = call->prepare(library.handles, symbol, arguments, count); outcome.value() < 0)
      return outcome;
    return submitted(
        open, [runs, call, device = open.device()] { return call->run(*runs, device.get()); }, ticket);
  });
}

int millrace_queue_peek(millrace_queue* queue, std::uint64_t ticket) {
  return with_int<CommandQueue>(__func__, queue, [=](Library&, CommandQueue& open) -> Outcome {
    const Result<bool> done = open.done(ticket);
    return done ? Outcome(*done ? 1 : 0) : Outcome(done.status(), no_ticket);
  });
}

int millrace_queue_wait(millrace_queue* queue, std::uint64_t ticket, std::int64_t timeout_ms,
                        std::uint64_t* returned) {
  return with_int<CommandQueue>(__func__, queue, [=](Library&, CommandQueue& open) -> Outcome {
    std::uint64_t storage = 0;
    if (!open.done(ticket)) return Outcome::failed(EINVAL, no_ticket);
    const auto result = open.wait(ticket, bound(timeout_ms, storage));
    if (!result) return Outcome::failed(ETIMEDOUT);
    if (!*result) return {result->status(), about_call(result->status())};
    if (returned != nullptr) *returned = **result;
    return 0;
  });
}

int millrace_queue_sync(millrace_queue* queue, std::int64_t timeout_ms) {
  return with_int<CommandQueue>(__func__, queue, [=](Library&, CommandQueue& open) -> Outcome {
    std::uint64_t storage = 0;
    return open.sync(bound(timeout_ms, storage)) ? Outcome() : Outcome::failed(ETIMEDOUT);
  });
}
