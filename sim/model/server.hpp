// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "io/virtual/timeline.hpp"
#include "pipeline.hpp"

namespace millrace::model {

// The receiver of a link's pieces.
class Inbox {
 public:
  virtual ~Inbox() = default;
  // Announced bytes and pieces count, although they are still on their way.
  virtual bool has_room() const = 0;
  virtual void announce(const std::vector<Piece>& pieces) = 0;
  virtual void deliver(std::vector<Piece> pieces) = 0;
  virtual void end() = 0;
  std::function<void()> on_room;
};

// The file server: a queue of buffers, a thread that writes them into the page cache, and another one that
// brings each `sync_every` bytes to the disk meanwhile:
//
//   link -> | buffers | -> writer -> | batch: page cache | -> [disk]
class Server final : public Inbox {
 public:
  Server(io::Timeline& timeline, const PipelinePlan& plan, PipelineResult& result);

  bool has_room() const override { return held_ < plan_.server.buffers; }
  void announce(const std::vector<Piece>& pieces) override { held_ += pieces.size(); }
  void deliver(std::vector<Piece> pieces) override;
  void end() override;

 private:
  void write();
  void written(std::uint64_t pieces);
  void sync();
  void cache(const Piece& piece);

  io::Timeline& timeline_;
  const PipelinePlan& plan_;
  PipelineResult& result_;
  std::deque<Piece> queue_;
  std::uint64_t held_ = 0;
  std::uint32_t batch_ = 1;
  std::uint64_t batch_bytes_ = 0;
  std::vector<std::uint32_t> pages_;  // of the file: the batch that wrote it last; 0: none
  std::uint64_t dirty_ = 0;           // pages of this batch
  std::uint64_t runs_ = 0;            // ... that do not follow each other on the disk
  std::uint64_t last_page_ = UINT64_MAX;
  std::uint64_t last_end_ = 0;  // of the file, as it came
  std::uint64_t disk_free_ns_ = 0;
  bool writing_ = false;
  bool ended_ = false;
};

}  // namespace millrace::model
