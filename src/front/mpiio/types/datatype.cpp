// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/types/datatype.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>

#include "client/view/view.hpp"
#include "front/mpiio/types/flatten.hpp"

namespace millrace::front {
namespace {

using client::TypeMap;
// The value of the datatype's attribute: the map, or the reason why there is none.
using Holder = Flat;

// Grows whenever a datatype with a map is freed, because a new type may get the same handle.
std::atomic<std::uint64_t> epoch{0};
constexpr std::uint64_t for_ever = UINT64_MAX;

int forget_map(MPI_Datatype, int, void* value, void*) {
  epoch.fetch_add(1, std::memory_order_release);
  delete static_cast<Holder*>(value);
  return MPI_SUCCESS;
}

int keyval() {
  static const int value = [] {
    int made = MPI_KEYVAL_INVALID;
    // A duplicate of a datatype starts without a map, and gets its own at first use.
    PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget_map, &made, nullptr);
    return made;
  }();
  return value;
}

std::uintptr_t bits_of(MPI_Datatype type) {
  // The handle is an int or a pointer.
  std::uintptr_t bits = 0;
  constexpr std::size_t size = sizeof(MPI_Datatype);
  static_assert(size <= sizeof bits);
  std::memcpy(&bits, &type, size);
  return bits;
}

// The maps of predefined types. They are never freed, because hooks may run while the process ends.
struct Predefined {
  std::mutex mutex;
  std::unordered_map<std::uintptr_t, Holder> maps;
};
Predefined& predefined_types() {
  static Predefined* const table = new Predefined;
  return *table;
}

// The types that this thread used last. A look-up here needs no lock and no call of the MPI library.
struct RememberedType {
  std::uintptr_t type = 0;
  std::uint64_t valid_in = 0;  // epoch, or for_ever
  const Holder* holder = nullptr;
};
constexpr std::size_t places = 32;
thread_local std::array<RememberedType, places> remembered;

std::size_t place_of(std::uintptr_t bits) { return (bits ^ (bits >> 5) ^ (bits >> 10)) % places; }

// Returns the kept map of `type`, or makes it. nullptr if the map cannot be kept.
const Holder* look_up(MPI_Datatype type, bool& predefined) {
  if (type == MPI_DATATYPE_NULL) return nullptr;
  Predefined& table = predefined_types();
  {
    const std::lock_guard lock(table.mutex);
    const auto found = table.maps.find(bits_of(type));
    if (found != table.maps.end()) {
      predefined = true;
      return &found->second;
    }
  }
  void* value = nullptr;
  int there = 0;
  if (keyval() == MPI_KEYVAL_INVALID) return nullptr;
  if (PMPI_Type_get_attr(type, keyval(), &value, &there) != MPI_SUCCESS) return nullptr;
  if (there != 0) return static_cast<const Holder*>(value);

  Holder flat = flatten(type);
  predefined = flat.predefined;
  const std::lock_guard lock(table.mutex);
  if (predefined) return &table.maps.try_emplace(bits_of(type), std::move(flat)).first->second;
  // Another thread may have set the attribute meanwhile. Setting it again would delete that thread's map.
  if (PMPI_Type_get_attr(type, keyval(), &value, &there) == MPI_SUCCESS && there != 0)
    return static_cast<const Holder*>(value);
  auto holder = std::make_unique<Holder>(std::move(flat));
  if (PMPI_Type_set_attr(type, keyval(), holder.get()) != MPI_SUCCESS) return nullptr;
  return holder.release();
}

const Holder* find_holder(MPI_Datatype type) noexcept {
  const std::uintptr_t bits = bits_of(type);
  RememberedType& last = remembered[place_of(bits)];
  const std::uint64_t now = epoch.load(std::memory_order_acquire);
  if (last.type == bits && last.holder != nullptr && (last.valid_in == now || last.valid_in == for_ever))
    return last.holder;
  try {
    bool predefined = false;
    const Holder* holder = look_up(type, predefined);
    if (holder != nullptr) last = {bits, predefined ? for_ever : now, holder};
    return holder;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

const TypeMap* find_map(MPI_Datatype type) noexcept {
  const Holder* holder = find_holder(type);
  // ROMIO before MPICH 4.1 places some types elsewhere than the standard says (placing.hpp). Its reads would
  // then miss bytes that Millrace writes.
  const bool usable = holder != nullptr && holder->map && holder->map->agreed();
  return usable ? holder->map.get() : nullptr;
}

std::shared_ptr<const TypeMap> share_map(MPI_Datatype type) noexcept {
  const Holder* holder = find_holder(type);
  const bool usable = holder != nullptr && holder->map && !holder->map->disputed;
  return usable ? holder->map : nullptr;
}

bool map_is_too_large(MPI_Datatype type) noexcept {
  const Holder* holder = find_holder(type);
  return holder == nullptr || holder->too_large;
}

}  // namespace millrace::front
