// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "shared_file.hpp"

#include <unistd.h>

#include <filesystem>

namespace millrace::sim {

void SharedFile::begin_opening() {
  ++openings_;
  stand_ins_.clear();
  for (std::uint32_t n = 1; scenario_.stands_in && n < scenario_.nodes; ++n)
    stand_ins_.push_back(world_.disk.create(stand_in(n)));
}

void SharedFile::show_size() {
  (void)::truncate(path_.c_str(), static_cast<off_t>(world_.disk.contents(0).size()));
}

// If another file takes the removed file's name, the journals of the removed file must not be replayed into
// it.
void SharedFile::befall(const Meanwhile& meanwhile, Oracle& oracle) {
  const std::uint64_t bytes = meanwhile.anew_bytes;
  world_.disk.set_clock_back(meanwhile.clock_back_ns);
  if (meanwhile.name != Meanwhile::Name::kept) rename(meanwhile.name == Meanwhile::Name::in_another_folder);
  if (meanwhile.rewritten) return world_.disk.rewrite(0, oracle.renew(bytes));
  if (bytes == 0 || world_.disk.in_use(0)) return;
  world_.note(0, "the file is made anew: bytes", bytes);
  world_.disk.replace(0, oracle.renew(bytes));
  another_ = true;
}

void SharedFile::rename(bool to_another_folder) {
  namespace fs = std::filesystem;
  const fs::path old = path_;
  const fs::path into = to_another_folder ? fs::path(folder()) / "results" : old.parent_path();
  moved_ |= to_another_folder;
  fs::create_directories(into);
  path_ = into / ("file-" + std::to_string(++names_));
  fs::rename(old, path_);
}

}  // namespace millrace::sim
