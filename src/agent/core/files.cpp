// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/core/files.hpp"

#include "transport/layout.hpp"

namespace millrace::agent {

// The agent's page, which all ranks see, has room for max_files files.
bool Files::full() const {
  return slots_.size() == transport::max_files &&
         std::find(slots_.begin(), slots_.end(), nullptr) == slots_.end();
}

FileSlot Files::add(std::unique_ptr<OpenFile> file) {
  auto place = std::find(slots_.begin(), slots_.end(), nullptr);
  if (place == slots_.end()) place = slots_.emplace(slots_.end());
  file->number = ++opened_;
  *place = std::move(file);
  return static_cast<FileSlot>(place - slots_.begin());
}

// An agent that only passes records on has no descriptor of the target. The target may be gone, and another
// file may have its inode number. So a file that all ranks have left is not joined again.
FileSlot Files::find(const FileIdentity& identity, const transport::Register& registration) {
  FileSlot slot = 0;
  for (; slot < slots_.size(); ++slot) {
    OpenFile* const file = slots_[slot].get();
    if (file == nullptr || !same_open_file(file->identity, identity) ||
        file->reads_only != (registration.reads_only != 0))
      continue;
    if (file->reads_only) {
      if (file->read_by(registration.group)) break;
      continue;
    }
    file->replaced = file->left_by(registration.group);
    if (!file->replaced) break;
  }
  return slot;
}

}  // namespace millrace::agent
