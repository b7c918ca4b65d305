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
  Original(const Stage& stage, std::uint32_t number, World& world);

  const Fd& file() const { return file_; }
  client::FileStamp stamp() const { return stamp_; }
  // The contents of the unharmed file.
  const std::vector<std::byte>& bytes() const { return bytes_; }
  bool harmed() const { return harmed_; }
  // Called before a read up to `end`. The read may start or plan the harm. False: the bytes cannot be read.
  bool readable_to(std::uint64_t end);

 private:
  void harm();

  World& world_;
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

  Staging(const Stage& stage, std::uint32_t opening_, std::uint32_t nodes, World& world,
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

struct Cluster;
class Rank;

// A rank stages the file together with the others, and reads its copy.
void stage_file(Cluster& cluster, Rank& rank);

}  // namespace millrace::sim
