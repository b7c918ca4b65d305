// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// Declares the used part of NVIDIA's driver interface: neither the build nor the start needs CUDA.
#include <dlfcn.h>

#include <array>
#include <memory>

#include "transfer/device.hpp"

namespace bench {

namespace {

using Code = int;
using Handle = struct Opaque*;  // contexts and streams
using Address = unsigned long long;

struct Driver {
  Code (*init)(unsigned flags);
  Code (*error_string)(Code code, const char** text);
  Code (*device_count)(int* count);
  Code (*device_get)(int* device, int index);
  Code (*device_name)(char* name, int size, int device);
  Code (*context_retain)(Handle* context, int device);
  Code (*context_release)(int device);
  Code (*context_set)(Handle context);
  Code (*memory_allocate)(Address* address, std::size_t size);
  Code (*memory_free)(Address address);
  Code (*host_allocate)(void** memory, std::size_t size, unsigned flags);
  Code (*host_free)(void* memory);
  Code (*to_device)(Address device, const void* host, std::size_t size);
  Code (*to_host)(void* host, Address device, std::size_t size);
  Code (*to_device_async)(Address device, const void* host, std::size_t size, Handle stream);
  Code (*to_host_async)(void* host, Address device, std::size_t size, Handle stream);
  Code (*stream_create)(Handle* stream, unsigned flags);
  Code (*stream_synchronize)(Handle stream);
  Code (*stream_destroy)(Handle stream);

  void check(Code code, const char* call) const {
    if (code == 0) return;
    const char* text = nullptr;
    if (error_string(code, &text) != 0 || text == nullptr) text = "unknown error";
    throw std::runtime_error(std::string(call) + ": " + text + " (" + std::to_string(code) + ")");
  }
};

constexpr unsigned own_stream = 1;     // CU_STREAM_NON_BLOCKING
constexpr unsigned every_context = 1;  // CU_MEMHOSTALLOC_PORTABLE

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) throw NoDevice(std::string("the driver has no ") + name + ": it is too old");
}

// Stays open until the process ends: drivers do not like to go earlier.
const Driver& driver(const std::string& name) {
  static const Driver opened = [&name] {
    void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw NoDevice(std::string("no device: ") + ::dlerror());
    Driver d{};
    find(library, "cuInit", d.init);
    find(library, "cuGetErrorString", d.error_string);
    find(library, "cuDeviceGetCount", d.device_count);
    find(library, "cuDeviceGet", d.device_get);
    find(library, "cuDeviceGetName", d.device_name);
    find(library, "cuDevicePrimaryCtxRetain", d.context_retain);
    find(library, "cuDevicePrimaryCtxRelease_v2", d.context_release);
    find(library, "cuCtxSetCurrent", d.context_set);
    find(library, "cuMemAlloc_v2", d.memory_allocate);
    find(library, "cuMemFree_v2", d.memory_free);
    find(library, "cuMemHostAlloc", d.host_allocate);
    find(library, "cuMemFreeHost", d.host_free);
    find(library, "cuMemcpyHtoD_v2", d.to_device);
    find(library, "cuMemcpyDtoH_v2", d.to_host);
    find(library, "cuMemcpyHtoDAsync_v2", d.to_device_async);
    find(library, "cuMemcpyDtoHAsync_v2", d.to_host_async);
    find(library, "cuStreamCreate", d.stream_create);
    find(library, "cuStreamSynchronize", d.stream_synchronize);
    find(library, "cuStreamDestroy_v2", d.stream_destroy);
    try {
      d.check(d.init(0), "cuInit");
    } catch (const std::runtime_error& problem) {
      throw NoDevice(std::string("no device: ") + problem.what());
    }
    return d;
  }();
  return opened;
}

class Cuda final : public Device {
 public:
  Cuda(const Driver& driver, int index) : driver_(driver) {
    std::array<char, 128> name{};
    driver_.check(driver_.device_get(&device_, index), "cuDeviceGet");
    driver_.check(driver_.device_name(name.data(), name.size(), device_), "cuDeviceGetName");
    name_ = name.data();
    Handle context = nullptr;
    driver_.check(driver_.context_retain(&context, device_), "cuDevicePrimaryCtxRetain");
    driver_.check(driver_.context_set(context), "cuCtxSetCurrent");
    for (Handle& stream : streams_)
      driver_.check(driver_.stream_create(&stream, own_stream), "cuStreamCreate");
  }
  ~Cuda() override {
    for (Handle stream : streams_) driver_.stream_destroy(stream);
    driver_.context_set(nullptr);
    driver_.context_release(device_);
  }
  Cuda(const Cuda&) = delete;
  Cuda& operator=(const Cuda&) = delete;

  std::string name() const override { return name_; }
  bool functional_only() const override { return false; }

  std::uint64_t allocate(std::size_t size) override {
    Address address = 0;
    driver_.check(driver_.memory_allocate(&address, size), "cuMemAlloc");
    return address;
  }
  void release(std::uint64_t address) override { driver_.memory_free(address); }
  void* allocate_pinned(std::size_t size) override {
    void* memory = nullptr;
    driver_.check(driver_.host_allocate(&memory, size, every_context), "cuMemHostAlloc");
    return memory;
  }
  void release_pinned(void* memory) override { driver_.host_free(memory); }

  void copy(Direction direction, void* host, std::uint64_t device, std::size_t size) override {
    if (direction == Direction::write) {
      driver_.check(driver_.to_device(device, host, size), "cuMemcpyHtoD");
      // From pageable memory it returns when it has read the host's; the streams here do not wait for it.
      driver_.check(driver_.stream_synchronize(nullptr), "cuStreamSynchronize");
    } else {
      driver_.check(driver_.to_host(host, device, size), "cuMemcpyDtoH");
    }
  }
  void post(Direction direction, void* host, std::uint64_t device, std::size_t size,
            unsigned queue) override {
    if (direction == Direction::write)
      driver_.check(driver_.to_device_async(device, host, size, streams_[queue]), "cuMemcpyHtoDAsync");
    else
      driver_.check(driver_.to_host_async(host, device, size, streams_[queue]), "cuMemcpyDtoHAsync");
  }
  void wait(unsigned queue) override {
    driver_.check(driver_.stream_synchronize(streams_[queue]), "cuStreamSynchronize");
  }

 private:
  const Driver& driver_;
  int device_ = 0;
  std::string name_;
  std::array<Handle, queues> streams_{};
};

}  // namespace

int cuda_devices(const std::string& library) {
  const Driver& d = driver(library);
  int count = 0;
  d.check(d.device_count(&count), "cuDeviceGetCount");
  return count;
}

std::unique_ptr<Device> open_cuda(const std::string& library, int index) {
  const int count = cuda_devices(library);
  if (index >= count)
    throw NoDevice("no device " + std::to_string(index) + ": the driver has " + std::to_string(count));
  return std::make_unique<Cuda>(driver(library), index);
}

}  // namespace bench
