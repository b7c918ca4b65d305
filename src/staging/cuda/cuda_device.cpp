// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/cuda/cuda_device.hpp"

#include <cerrno>

#include "staging/cuda/cuda_queue.hpp"
#include "staging/cuda/current.hpp"
#include "staging/cuda/library.hpp"

namespace millrace::staging::cuda {

PointerClass classify(const Table& table, Address address) {
  Context context = nullptr;
  unsigned type = 0;
  unsigned managed = 0;
  int ordinal = -1;
  int attributes[] = {attribute_context, attribute_memory_type, attribute_is_managed, attribute_ordinal};
  void* values[] = {&context, &type, &managed, &ordinal};
  // Before the program's cuInit, and for memory unknown to the driver, the call fails or returns zeros. After
  // another error the call is repeated, because device memory must not count as the host's.
  const auto ask = [&] {
    return table.cuPointerGetAttributes(4, attributes, values, static_cast<Pointer>(address));
  };
  Error error = ask();
  if (error != success && error != not_initialized && error != deinitialized) error = ask();
  if (error != success) return {};
  return {type == memory_type_device && managed == 0, context, ordinal};
}

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(Ordinal ordinal, const Options& options,
                                                     std::string& why) {
  const Table* table = driver(true, why);
  if (table == nullptr) return Code::unsupported;
  int count = 0;
  Context context = nullptr;
  Error error = table->cuInit(0);
  if (error == success) error = table->cuDeviceGetCount(&count);
  if (error == success && (ordinal < 0 || ordinal >= count)) {
    why = "there is no CUDA device " + std::to_string(ordinal) + ", but " + std::to_string(count);
    return Code::not_found;
  }
  if (error == success) error = table->cuDevicePrimaryCtxRetain(&context, ordinal);
  if (error != success) {
    const char* said = nullptr;
    if (table->cuGetErrorName(error, &said) != success || said == nullptr) said = "unknown error";
    why = std::string("CUDA cannot be used: ") + said;
    return Code::unsupported;
  }
  return std::make_unique<CudaDevice>(*table, context, ordinal, true, options);
}

CudaDevice::CudaDevice(const Table& table, Context context, Ordinal ordinal, bool retained,
                       const Options& options)
    : table_(table), context_(context), ordinal_(ordinal), retained_(retained), options_(options) {}

CudaDevice::~CudaDevice() {
  if (retained_ && !inherited()) table_.cuDevicePrimaryCtxRelease_v2(ordinal_);
}

Caps CudaDevice::caps() const {
  return {.alignment = 4096, .in_flight_max = CudaQueue::tickets_max, .asynchronous = true};
}

Status CudaDevice::check(Error error) const {
  if (error == success) return {};
  last_error_.store(error, std::memory_order_relaxed);
  switch (error) {
    case invalid_value:
      return {Code::invalid, EFAULT};
    case out_of_memory:
      return {Code::no_memory, ENOMEM};
    case already_registered:
    case not_registered:
      return Code::invalid;
    case deinitialized:
    case invalid_context:
    case context_is_destroyed:
      lost_.store(true, std::memory_order_relaxed);
      return {Code::io, EIO};
    default:
      return {Code::io, EIO};
  }
}

std::string CudaDevice::explain() const {
  const Error error = last_error_.load(std::memory_order_relaxed);
  const char* name = nullptr;
  if (error == success) return {};
  if (table_.cuGetErrorName(error, &name) != success || name == nullptr) return "an unknown error of CUDA";
  return name;
}

bool CudaDevice::owns(Address address) const {
  if (inherited()) return false;
  const PointerClass found = classify(table_, address);
  // Memory of a pool or of a mapped range belongs to a device, not to a context.
  return found.device && (found.context == nullptr ? found.ordinal == ordinal_ : found.context == context_);
}

Result<Address> CudaDevice::allocate(std::size_t bytes) {
  const Current current(table_, context_);
  if (!current.ok()) return check(current.error());
  Pointer pointer = 0;
  if (const Status status = check(table_.cuMemAlloc_v2(&pointer, bytes)); !status.ok())
    return bytes == 0 ? Status(Code::invalid) : status;
  return Address{pointer};
}

Status CudaDevice::release(Address address) {
  const Current current(table_, context_);
  return check(current.ok() ? table_.cuMemFree_v2(static_cast<Pointer>(address)) : current.error());
}

Status CudaDevice::pin(std::span<std::byte> host) {
  const Current current(table_, context_);
  return check(current.ok() ? table_.cuMemHostRegister_v2(host.data(), host.size(), host_register_portable)
                            : current.error());
}

Status CudaDevice::unpin(std::span<std::byte> host) {
  const Current current(table_, context_);
  const Status status = check(current.ok() ? table_.cuMemHostUnregister(host.data()) : current.error());
  return lost() ? Status() : status;  // a registration ends with its context
}

Result<std::unique_ptr<Queue>> CudaDevice::open_queue() {
  auto queue = std::make_unique<CudaQueue>(*this);
  if (const Status status = queue->open(); !status.ok()) return status;
  return std::unique_ptr<Queue>(std::move(queue));
}

}  // namespace millrace::staging::cuda
