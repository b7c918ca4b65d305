/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The C API for C++17; millrace.h describes each call. Handles close themselves. Containers can be used as
 * memory. Errors are std::system_error: code() is the errno, and the text has the reason. Needs no library
 * but libmillrace_io. Several threads may use an object at the same time, but not while it is moved.
 */
#ifndef MILLRACE_HPP
#define MILLRACE_HPP

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "millrace.h"

namespace millrace {

// Returns the result of a call, or throws its error.
inline std::uint64_t checked(std::int64_t result) {
  if (result < 0)
    throw std::system_error(static_cast<int>(-result), std::generic_category(), millrace_explain());
  return static_cast<std::uint64_t>(result);
}

// An open handle. The destructor closes it and drops errors. close() throws them.
template <class Type, int (*Close)(Type*)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(Type* open) : open_(open) {}
  Handle(Handle&& other) noexcept : open_(std::exchange(other.open_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(open_, other.open_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (open_ != nullptr) Close(open_);
  }

  Type* get() const { return open_; }
  // After EBUSY or ETIMEDOUT the handle is still open, and close() can be called again.
  void close() {
    const int result = Close(open_);
    if (result != -EBUSY && result != -ETIMEDOUT) open_ = nullptr;
    checked(result);
  }

 private:
  Type* open_ = nullptr;
};

// Memory that a call fills: of this process, of a contiguous container, or of a device.
struct MutableBytes {
  millrace_device* device = nullptr;
  void* address = nullptr;
  std::uint64_t size = 0;

  MutableBytes(void* at, std::uint64_t bytes, millrace_device* whose = nullptr)
      : device(whose), address(at), size(bytes) {}
  template <class Container,
            class Element = std::remove_pointer_t<decltype(std::data(std::declval<Container&>()))>,
            class = std::enable_if_t<std::is_trivially_copyable_v<Element> && !std::is_const_v<Element>>>
  MutableBytes(Container&& all) : address(std::data(all)), size(std::size(all) * sizeof(Element)) {}
};

// Memory that a call only reads.
struct Bytes {
  millrace_device* device = nullptr;
  const void* address = nullptr;
  std::uint64_t size = 0;

  Bytes(const MutableBytes& other) : device(other.device), address(other.address), size(other.size) {}
  Bytes(const void* at, std::uint64_t bytes, millrace_device* whose = nullptr)
      : device(whose), address(at), size(bytes) {}
  template <class Container,
            class Element = std::remove_pointer_t<decltype(std::data(std::declval<Container&>()))>,
            class = std::enable_if_t<std::is_trivially_copyable_v<Element>>>
  Bytes(const Container& all) : address(std::data(all)), size(std::size(all) * sizeof(Element)) {}
};

class Device : public Handle<millrace_device, millrace_device_close> {
 public:
  // "host", "process", "process:PID", "cuda", "cuda:N"
  explicit Device(const std::string& which) : Handle(open(which)) {}

  void read_mem(MutableBytes host, const void* from) const {
    checked(millrace_read_mem(get(), host.address, from, host.size));
  }
  void write_mem(void* to, Bytes host) const {
    checked(millrace_write_mem(get(), to, host.address, host.size));
  }

 private:
  static millrace_device* open(const std::string& which) {
    millrace_device* made = nullptr;
    checked(millrace_device_open(which.c_str(), &made));
    return made;
  }
};

// Memory of a device. The destructor frees it. The device must live longer.
class DeviceMemory {
 public:
  DeviceMemory(const Device& device, std::uint64_t bytes)
      : device_(device.get()), bytes_(bytes), address_(allocate(device_, bytes), Free{device_}) {}

  void* address() const { return address_.get(); }
  std::uint64_t size() const { return bytes_; }
  // The part [offset, offset + bytes). Throws std::system_error if it is not within the memory.
  MutableBytes part(std::uint64_t offset, std::uint64_t bytes) const {
    if (offset > bytes_ || bytes > bytes_ - offset)
      throw std::system_error(EFAULT, std::generic_category(), "a part of device memory that is not there");
    return {static_cast<char*>(address()) + offset, bytes, device_};
  }
  operator Bytes() const { return {address(), bytes_, device_}; }
  operator MutableBytes() const { return {address(), bytes_, device_}; }

 private:
  struct Free {
    millrace_device* device;
    void operator()(void* address) const { millrace_free(device, address); }
  };
  static void* allocate(millrace_device* device, std::uint64_t bytes) {
    void* address = nullptr;
    checked(millrace_alloc(device, bytes, &address));
    return address;
  }

  millrace_device* device_;
  std::uint64_t bytes_;
  std::unique_ptr<void, Free> address_;
};

class File : public Handle<millrace_file, millrace_close> {
 public:
  // `flags` are MILLRACE_READ, MILLRACE_WRITE and so on.
  explicit File(const std::string& path, int flags = MILLRACE_READ, unsigned permissions = 0666)
      : Handle(open(path, flags, permissions)) {}
  static File adopt(int descriptor) {
    millrace_file* made = nullptr;
    checked(millrace_adopt(descriptor, &made));
    return File(made);
  }

  // These return the number of bytes moved. It is smaller at the end of the file, for a pipe, or before an
  // error, which the next call throws.
  std::uint64_t write(Bytes from) const {
    return checked(millrace_write(get(), from.device, from.address, from.size));
  }
  std::uint64_t write_at(Bytes from, std::uint64_t offset) const {
    return checked(millrace_write_at(get(), from.device, from.address, from.size, offset));
  }
  std::uint64_t read(MutableBytes to) const {
    return checked(millrace_read(get(), to.device, to.address, to.size));
  }
  std::uint64_t read_at(MutableBytes to, std::uint64_t offset) const {
    return checked(millrace_read_at(get(), to.device, to.address, to.size, offset));
  }
  std::uint64_t seek(std::int64_t offset, int whence = MILLRACE_SET) const {
    return checked(millrace_seek(get(), offset, whence));
  }
  std::uint64_t size() const { return checked(millrace_size(get())); }
  void truncate(std::uint64_t bytes) const { checked(millrace_truncate(get(), bytes)); }
  void sync() const { checked(millrace_sync(get())); }
  int descriptor() const { return static_cast<int>(checked(millrace_descriptor(get()))); }

 private:
  explicit File(millrace_file* made) : Handle(made) {}
  static millrace_file* open(const std::string& path, int flags, unsigned permissions) {
    millrace_file* made = nullptr;
    checked(millrace_open(path.c_str(), flags, permissions, &made));
    return made;
  }
};

// The destructor waits up to MILLRACE_TIMEOUT for a transfer that moves bytes.
class Request : public Handle<millrace_request, millrace_request_fini> {
 public:
  Request() : Handle(init()) {}

  void write(const File& file, Bytes from, std::uint64_t offset) const {
    checked(millrace_request_write(get(), file.get(), from.device, from.address, from.size, offset));
  }
  void read(const File& file, MutableBytes to, std::uint64_t offset) const {
    checked(millrace_request_read(get(), file.get(), to.device, to.address, to.size, offset));
  }
  bool done() const { return checked(millrace_request_query(get())) != 0; }
  std::uint64_t wait() const { return checked(millrace_request_wait(get(), -1)); }
  // std::nullopt: the transfer goes on.
  std::optional<std::uint64_t> wait_for(std::chrono::milliseconds bound) const {
    const std::int64_t result = millrace_request_wait(get(), bound.count());
    if (result == -ETIMEDOUT) return std::nullopt;
    return checked(result);
  }

 private:
  static millrace_request* init() {
    millrace_request* made = nullptr;
    checked(millrace_request_init(&made));
    return made;
  }
};

// Make arguments of functions. The function gets a copy of the memory: filled before the call (in), copied
// back after it (out), or both (inout).
inline millrace_argument in(Bytes from) {
  return millrace_memory(MILLRACE_IN, from.device, const_cast<void*>(from.address), from.size);
}
inline millrace_argument out(MutableBytes to) {
  return millrace_memory(MILLRACE_OUT, to.device, to.address, to.size);
}
inline millrace_argument inout(MutableBytes both) {
  return millrace_memory(MILLRACE_INOUT, both.device, both.address, both.size);
}
inline millrace_argument call() { return millrace_argument_of(MILLRACE_CALL); }
template <class Number>
millrace_argument number(Number value) {
  static_assert(std::is_arithmetic_v<Number> || std::is_enum_v<Number> || std::is_pointer_v<Number>);
  if constexpr (std::is_same_v<Number, float>) {
    return millrace_real32(value);
  } else if constexpr (std::is_floating_point_v<Number>) {
    return millrace_real(static_cast<double>(value));
  } else if constexpr (std::is_pointer_v<Number>) {
    return millrace_integer(reinterpret_cast<std::uintptr_t>(value));
  } else {
    return millrace_integer(static_cast<std::uint64_t>(value));
  }
}

class Channel : public Handle<millrace_channel, millrace_channel_close> {
 public:
  // MILLRACE_THREAD or MILLRACE_PROCESS
  explicit Channel(int where) : Handle(open(where)) {}

  std::uint64_t install(const std::string& path) const {
    std::uint64_t library = 0;
    checked(millrace_install(get(), path.c_str(), &library));
    return library;
  }
  std::uint64_t find(std::uint64_t library, const std::string& name) const {
    std::uint64_t symbol = 0;
    checked(millrace_find(get(), library, name.c_str(), &symbol));
    return symbol;
  }
  void uninstall(std::uint64_t library) const { checked(millrace_uninstall(get(), library)); }
  std::uint64_t invoke(std::uint64_t symbol, std::initializer_list<millrace_argument> arguments,
                       millrace_device* device = nullptr) const {
    std::uint64_t returned = 0;
    checked(millrace_invoke(get(), symbol, arguments.begin(), arguments.size(), device, &returned));
    return returned;
  }

 private:
  static millrace_channel* open(int where) {
    millrace_channel* made = nullptr;
    checked(millrace_channel_open(where, &made));
    return made;
  }
};

// The destructor drops commands that have not begun. Call sync() first to finish them.
class Queue : public Handle<millrace_queue, millrace_queue_close> {
 public:
  explicit Queue(const Device& device) : Handle(open(device)) {}

  std::uint64_t read_mem(MutableBytes host, const void* from) const {
    std::uint64_t ticket = 0;
    checked(millrace_queue_read_mem(get(), host.address, from, host.size, &ticket));
    return ticket;
  }
  std::uint64_t write_mem(void* to, Bytes host) const {
    std::uint64_t ticket = 0;
    checked(millrace_queue_write_mem(get(), to, host.address, host.size, &ticket));
    return ticket;
  }
  std::uint64_t call(const Channel& channel, std::uint64_t symbol,
                     std::initializer_list<millrace_argument> arguments) const {
    std::uint64_t ticket = 0;
    checked(millrace_queue_call(get(), channel.get(), symbol, arguments.begin(), arguments.size(), &ticket));
    return ticket;
  }
  bool done(std::uint64_t ticket) const { return checked(millrace_queue_peek(get(), ticket)) != 0; }
  // Returns the result of the function, or 0 for a transfer.
  std::uint64_t wait(std::uint64_t ticket) const {
    std::uint64_t returned = 0;
    checked(millrace_queue_wait(get(), ticket, -1, &returned));
    return returned;
  }
  void sync() const { checked(millrace_queue_sync(get(), -1)); }

 private:
  static millrace_queue* open(const Device& device) {
    millrace_queue* made = nullptr;
    checked(millrace_queue_open(device.get(), &made));
    return made;
  }
};

}  // namespace millrace

#endif
