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
  std::uint64_t timeout_ms = 60'000;  // of a copy; the program's own earlier work has no bound
};

// A context of the CUDA driver. Every call makes the context current, and restores the program's own context
// afterwards. No call uses a stream of the program, except that mark() records an event on the legacy stream.
// Thread safe.
class CudaDevice final : public Device {
 public:
  // Opens device `ordinal` with its primary context, for programs that ask for it by number. Loads and
  // initialises the driver.
  static Result<std::unique_ptr<CudaDevice>> open(Ordinal ordinal, const Options& options, std::string& why);
  // For a context of the program. `retained`: a primary context, which the destructor releases.
  CudaDevice(const Table& table, Context context, Ordinal ordinal, bool retained, const Options& options);
  ~CudaDevice() override;

  const char* name() const override { return "cuda"; }
  Caps caps() const override;
  // False for managed memory and for registered host memory, because the host can access them.
  bool owns(Address address) const override;
  Result<Address> allocate(std::size_t bytes) override;
  Status release(Address address) override;
  Status pin(std::span<std::byte> host) override;
  Status unpin(std::span<std::byte> host) override;
  Result<std::unique_ptr<Queue>> open_queue() override;
  std::string explain() const override;

  // True if the program has destroyed the context. Then all calls fail.
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

// The driver's answer about an address.
struct PointerClass {
  bool device = false;  // only copies reach the memory
  Context context = nullptr;
  Ordinal ordinal = -1;
};
PointerClass classify(const Table& table, Address address);

}  // namespace millrace::staging::cuda
