// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "capi/device.hpp"

#include <charconv>
#include <optional>

#include "capi/library.hpp"
#include "staging/cuda/cuda_device.hpp"
#include "staging/host/host_device.hpp"
#include "staging/process/process_device.hpp"

namespace millrace::capi {

namespace {

using staging::Device;

// The number in "name:number"; empty if it is not a number.
std::optional<int> number_of(std::string_view which, std::string_view name) {
  if (!which.starts_with(name) || which.size() <= name.size() || which[name.size()] != ':') return {};
  const char* const end = which.data() + which.size();
  int number = 0;
  const auto [last, error] = std::from_chars(which.data() + name.size() + 1, end, number);
  if (error != std::errc() || last != end || number < 0) return {};
  return number;
}

Result<std::unique_ptr<Device>> as_device(Result<std::unique_ptr<staging::ProcessDevice>> made) {
  if (!made) return made.status();
  return std::unique_ptr<Device>(*std::move(made));
}

Result<std::unique_ptr<Device>> open_cuda(int ordinal, std::uint64_t timeout_ms, std::string& why) {
  auto made = staging::cuda::CudaDevice::open(ordinal, {timeout_ms}, why);
  if (!made && made.status().code() == Code::not_found) return Status(Code::not_found, ENODEV);
  if (!made) return made.status();
  return std::unique_ptr<Device>(*std::move(made));
}

Result<std::unique_ptr<Device>> make(const std::string& which, std::uint64_t timeout_ms, std::string& why) {
  staging::CopyOptions options;
  options.timeout_ms = timeout_ms;
  if (which == "host") return std::unique_ptr<Device>(std::make_unique<staging::HostDevice>(options));
  if (which == "process") return as_device(staging::ProcessDevice::start(options));
  if (which == "cuda") return open_cuda(0, timeout_ms, why);
  if (const auto ordinal = number_of(which, "cuda")) return open_cuda(*ordinal, timeout_ms, why);
  if (const auto pid = number_of(which, "process"); pid && *pid > 0)
    return as_device(staging::ProcessDevice::attach(*pid, options));
  why = "'" + which + "' is no device: use host, process, process:PID, cuda or cuda:N";
  return Code::invalid;
}

}  // namespace

std::shared_ptr<OpenDevice> OpenDevice::open(Library& library, const std::string& which, Outcome& outcome) {
  std::string why;
  auto made = make(which, library.settings.timeout_ms, why);
  if (made) return std::make_shared<OpenDevice>(library, *std::move(made));
  outcome = Outcome(made.status(), std::move(why));
  return nullptr;
}

OpenDevice::~OpenDevice() {
  library_.pool.forget(*device_);
  for (const std::uint64_t address : allocated_) (void)device_->release(staging::Address{address});
}

Outcome OpenDevice::allocate(std::uint64_t bytes, void*& address) {
  if (bytes == 0) return Outcome::failed(EINVAL, "the size is 0 bytes");
  const Result<staging::Address> made = device_->allocate(bytes);
  if (!made) return {made.status(), device_->explain()};
  const auto number = static_cast<std::uint64_t>(*made);
  const std::lock_guard lock(mutex_);
  allocated_.insert(number);
  address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
  return 0;
}

Outcome OpenDevice::release(void* address) {
  const auto number = static_cast<std::uint64_t>(staging::address_of(address));
  {
    const std::lock_guard lock(mutex_);
    if (allocated_.erase(number) == 0)
      return Outcome::failed(EINVAL, "no memory of this device begins there");
  }
  return {device_->release(staging::Address{number}), device_->explain()};
}

}  // namespace millrace::capi
