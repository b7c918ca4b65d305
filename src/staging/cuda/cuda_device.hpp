// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "staging/cuda/api.hpp"
#include "staging/device.hpp"

namespace millrace::staging::cuda {

struct Options {
  std::uint64_t timeout_ms = 60'000;  // of a copy; work of the program's own that comes before is not bounded
};

// A context of the CUDA driver. Every call makes it current for itself and puts back what was there; no call
// goes to a stream of the program's, except that settle() records an event on the legacy stream.
class CudaDevice final : public Device {
 public:
  // Device `ordinal` by its primary context, for programs that ask for it: loads and initialises the driver.
  static Result<std::unique_ptr<CudaDevice>> open(Ordinal ordinal, const Options& options, std::string& why);
  // A context that is the program's; `retained`: a primary one that is released in the end.
  CudaDevice(const Table& table, Context context, Ordinal ordinal, bool retained, const Options& options);
  ~CudaDevice() override;

  const char* name() const override { return "cuda"; }
  Caps caps() const override;
  // Managed memory, and host memory that the driver knows, are not: the host's calls reach them.
  bool owns(Address address) const override;
  Result<Address> allocate(std::size_t bytes) override;
  Status release(Address address) override;
  Status pin(std::span<std::byte> host) override;
  Status unpin(std::span<std::byte> host) override;
  Result<std::unique_ptr<Queue>> open_queue() override;
  std::string explain() const override;

  // The context has gone: nothing works here any more.
  bool lost() const { return lost_.load(std::memory_order_relaxed); }
  Context context() const { return context_; }
  Ordinal ordinal() const { return ordinal_; }

 private:
  friend class CudaQueue;
  Status check(Error error) const;

  const Table& table_;
  const Context context_;
  const Ordinal ordinal_;
  const bool retained_;
  const Options options_;
  mutable std::atomic<Error> last_error_{success};
  mutable std::atomic<bool> lost_{false};
};

// What the driver says of an address.
struct PointerClass {
  bool device = false;  // memory that only copies reach
  Context context = nullptr;
  Ordinal ordinal = -1;
};
PointerClass classify(const Table& table, Address address);

}  // namespace millrace::staging::cuda
