// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "client/open/stage.hpp"
#include "node.hpp"
#include "rank_process.hpp"
#include "stage.hpp"
#include "virtual_team.hpp"

namespace millrace::sim {

// The staged file on the virtual disk, and its changes by a process of another machine. It must outlive the
// events that it plans.
class Original {
 public:
  Original(const Stage& stage, std::uint32_t number, const World& world);

  const Fd& file() const { return file_; }
  client::FileStamp stamp() const { return stamp_; }
  // The contents of the unharmed file.
  const std::vector<std::byte>& bytes() const { return bytes_; }
  bool harmed() const { return harmed_; }
  // Called before a read up to `end`. The read may start or plan the harm. False: the bytes cannot be read.
  bool readable_to(std::uint64_t end);

 private:
  void harm();

  World world_;
  Stage stage_;
  std::vector<std::byte> bytes_;
  Fd file_;
  client::FileStamp stamp_;
  bool planned_ = false;
  bool harmed_ = false;
};

// A file that a process has open.
class Held {
 public:
  Held(RankProcess& process, const Fd& file) : files_(process.library()), file_(files_.open(file)) {}
  ~Held() {
    if (file_) (void)files_.close(*file_);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> data) const {
    return file_ ? files_.read(*file_, offset, data) : file_.status();
  }

 private:
  LibraryFiles& files_;
  Result<io::Handle> file_;
};

// The original, which the sending rank has open. Some reads return fewer bytes than requested.
class VirtualSource final : public client::Source {
 public:
  VirtualSource(Original& original, RankProcess& process, io::Timeline& timeline)
      : original_(original), held_(process, original.file()), timeline_(timeline) {}

  client::FileStamp stamp() override { return original_.stamp(); }
  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> data) override;

 private:
  Original& original_;
  Held held_;
  io::Timeline& timeline_;
};

// The staging of one file.
struct Staging {
  struct Copy {
    Fd file;            // the copy, even after it has lost its name
    bool lost = false;  // the ranks that would have removed the copy's name died
  };

  Staging(const Stage& stage, std::uint32_t opening_, std::uint32_t nodes, const World& world,
          std::vector<Seat*> seats)
      : opening(opening_),
        original(stage, opening_, world),
        copies(nodes),
        assembly(std::move(seats), world.timeline) {}

  const std::uint32_t opening;
  Original original;
  std::vector<Copy> copies;  // by node
  Assembly assembly;         // of all ranks
};

// The files of a rank that takes part in a staging. The MPI library holds the copy open, too.
class VirtualCopies final : public client::CopyFiles {
 public:
  VirtualCopies(Staging& staging, std::uint32_t node, RankProcess& process, World world, std::string folder)
      : staging_(staging), node_(node), process_(process), world_(world), folder_(std::move(folder)) {}

  const Held& held() const { return *held_; }

  client::FileStamp stamp_of(const std::string&) override { return staging_.original.stamp(); }
  Result<std::unique_ptr<client::Source>> open_source(const std::string&) override {
    return std::unique_ptr<client::Source>(
        std::make_unique<VirtualSource>(staging_.original, process_, world_.timeline));
  }
  std::string folder() override { return folder_; }
  bool has_room(const std::string&, std::uint64_t, bool) override { return true; }
  Fd open_copy(const std::string& path) override;
  std::uint64_t size_of(const Fd& copy) override { return world_.disk.contents(copy).size(); }

 private:
  Staging& staging_;
  const std::uint32_t node_;
  RankProcess& process_;
  World world_;
  const std::string folder_;
  std::unique_ptr<Held> held_;
};

}  // namespace millrace::sim
