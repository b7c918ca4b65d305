// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace millrace::capi {

enum class HandleKind : std::uint64_t { file = 1, device = 2, request = 3, channel = 4, queue = 5 };

// The table of the program's handles. A handle is a number that no pointer can have. So the library detects
// an invalid handle and never follows it:
//
//   [ tag: 16 bits | serial: 45 bits | kind: 3 bits ]
//
// A call that finds an object shares it. A close takes the object from the table, and the last user destroys
// the object. Each T has a Handle type and a kind. Thread safe.
class Handles {
 public:
  template <class T>
  typename T::Handle* add(std::shared_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t number = tag | ++last_ << kind_bits | static_cast<std::uint64_t>(T::kind);
    open_.emplace(number, std::move(object));
    return reinterpret_cast<typename T::Handle*>(static_cast<std::uintptr_t>(number));
  }

  // Null: the handle is not open, or has another kind.
  template <class T>
  std::shared_ptr<T> find(const typename T::Handle* handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(number_of(handle));
    if (found == open_.end() || !is<T>(found->first)) return nullptr;
    return std::static_pointer_cast<T>(found->second);
  }

  // Takes the object from the table. Null: the handle was not open, or has another kind.
  template <class T>
  std::shared_ptr<T> take(const typename T::Handle* handle) {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(number_of(handle));
    if (found == open_.end() || !is<T>(found->first)) return nullptr;
    auto object = std::static_pointer_cast<T>(std::move(found->second));
    open_.erase(found);
    return object;
  }

  std::size_t count() const {
    const std::lock_guard lock(mutex_);
    return open_.size();
  }

  // Call these around fork().
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  // Call it in the child, before other code runs. It takes over the parent's T objects with their numbers.
  // `again` makes the child's object from the parent's.
  template <class T, class Again>
  void inherit(const Handles& parent, const Again& again) {
    last_ = parent.last_;
    for (const auto& [number, object] : parent.open_) {
      if (is<T>(number)) open_.emplace(number, again(*std::static_pointer_cast<T>(object)));
    }
  }

 private:
  static constexpr std::uint64_t tag = std::uint64_t{0x4d52} << 48;
  static constexpr unsigned kind_bits = 3;
  static std::uint64_t number_of(const void* handle) { return reinterpret_cast<std::uintptr_t>(handle); }
  template <class T>
  static bool is(std::uint64_t number) {
    return (number & ((1U << kind_bits) - 1)) == static_cast<std::uint64_t>(T::kind);
  }

  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<void>> open_;  // guarded by mutex_
  std::uint64_t last_ = 0;                               // guarded by mutex_
};

}  // namespace millrace::capi
