// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "agent/core/core.hpp"
#include "agent/core/open_file.hpp"

namespace millrace::agent {

// The files that an agent has open, by slot. A slot is used again after its file has gone. Not thread safe.
class Files {
 public:
  // nullptr if the slot is free.
  OpenFile* at(FileSlot slot) const { return slot < slots_.size() ? slots_[slot].get() : nullptr; }
  // The slot must not be free.
  OpenFile& operator[](FileSlot slot) const { return *slots_[slot]; }
  FileSlot end() const { return static_cast<FileSlot>(slots_.size()); }
  bool any() const {
    return std::ranges::any_of(slots_, [](const auto& file) { return file != nullptr; });
  }
  bool full() const;
  FileSlot add(std::unique_ptr<OpenFile> file);
  void remove(FileSlot slot) { slots_[slot].reset(); }
  // The open file that this open joins; end() if there is none. Marks open files of the same target that all
  // ranks have left as replaced.
  FileSlot find(const FileIdentity& identity, const transport::Register& registration);

  template <class Do>
  void each(Do&& act) const {
    for (const auto& file : slots_) {
      if (file) act(*file);
    }
  }
  template <class Do>
  void each_lane(Do&& act) const {
    each([&](OpenFile& file) {
      for (const auto& lane : file.lanes) act(file, *lane);
    });
  }

 private:
  std::vector<std::unique_ptr<OpenFile>> slots_;
  std::uint64_t opened_ = 0;
};

}  // namespace millrace::agent
