// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/fd.hpp"
#include "leftovers.hpp"
#include "oracle.hpp"
#include "world.hpp"

namespace millrace::sim {

// The file that the ranks of a run write: its names, which are real, in the folder of the run. Its bytes are
// on the virtual disk, as the first file. Owned by Cluster. Not thread safe.
class SharedFile {
 public:
  SharedFile(const Scenario& scenario, World& world)
      : scenario_(scenario),
        world_(world),
        path_(folder_.path() + "/file"),
        file_(world.disk.create(path_)) {}

  const std::string& folder() const { return folder_.path(); }
  const std::string& path() const { return path_; }
  const Fd& file() const { return file_; }
  // True if the node does not see the file.
  bool is_elsewhere(std::uint32_t node) const { return scenario_.stands_in && node != 0; }
  void begin_opening() { ++openings_; }
  std::uint32_t openings() const { return openings_; }  // so far
  // Gives the real file the size of the virtual one, because the client asks the kernel for it.
  void show_size() { (void)::truncate(path_.c_str(), static_cast<off_t>(world_.disk.contents(0).size())); }
  // Changes the file and the clock while no program has the file open.
  // If another file takes the removed file's name, the journals of the removed file must not be replayed into
  // it.
  void befall(const Meanwhile& meanwhile, Oracle& oracle) {
    const std::uint64_t bytes = meanwhile.anew_bytes;
    world_.disk.set_clock_back(meanwhile.clock_back_ns);
    if (meanwhile.name != Meanwhile::Name::kept) rename(meanwhile.name == Meanwhile::Name::in_another_folder);
    if (meanwhile.rewritten) return world_.disk.rewrite(0, oracle.renew(bytes));
    if (bytes == 0 || world_.disk.in_use(0)) return;
    world_.note(0, "the file is made anew: bytes", bytes);
    world_.disk.replace(0, oracle.renew(bytes));
    another_ = true;
  }
  bool has_moved() const { return moved_; }     // to another folder
  bool is_another() const { return another_; }  // one that has taken the first file's name

 private:
  void rename(bool to_another_folder) {
    namespace fs = std::filesystem;
    const fs::path old = path_;
    const fs::path into = to_another_folder ? fs::path(folder()) / "results" : old.parent_path();
    moved_ |= to_another_folder;
    fs::create_directories(into);
    path_ = into / ("file-" + std::to_string(++names_));
    fs::rename(old, path_);
  }

  const Scenario& scenario_;
  World& world_;
  Folder folder_;  // with each node's folder of journals
  std::string path_;
  Fd file_;
  std::uint32_t openings_ = 0;
  std::uint32_t names_ = 0;  // that the file has got
  bool moved_ = false;
  bool another_ = false;
};

}  // namespace millrace::sim
