// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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
  Server(io::Timeline& timeline, const PipelinePlan& plan, PipelineResult& result)
      : timeline_(timeline),
        plan_(plan),
        result_(result),
        pages_(Writes::file_bytes(plan.pattern, plan.nodes * plan.ranks_per_node) / plan.server.page + 2) {}

  bool has_room() const override { return held_ < plan_.server.buffers; }
  void announce(const std::vector<Piece>& pieces) override { held_ += pieces.size(); }
  void deliver(std::vector<Piece> pieces) override {
    queue_.insert(queue_.end(), pieces.begin(), pieces.end());
    write();
  }
  void end() override {
    ended_ = true;
    write();
  }

 private:
  // Writes the batch of bytes that one wake-up of the writer takes.
  void write() {
    if (writing_) return;
    if (queue_.empty()) {
      if (ended_) sync();
      return;
    }
    std::uint64_t cost = 0, bytes = 0, pieces = 0;
    while (!queue_.empty() && bytes < plan_.client.grain) {
      const Piece piece = queue_.front();
      queue_.pop_front();
      ++pieces;
      bytes += piece.bytes;
      cost += plan_.server.record_ns + piece.bytes * plan_.server.byte_ps / 1000;
      if (piece.offset != last_end_) ++result_.gaps;
      last_end_ = piece.end();
      cache(piece);
    }
    batch_bytes_ += bytes;
    result_.records += pieces;
    writing_ = true;
    timeline_.after(cost, [this, pieces] { written(pieces); });
  }
  void written(std::uint64_t pieces) {
    held_ -= pieces;
    writing_ = false;
    if (batch_bytes_ >= plan_.server.sync_every) {
      if (disk_free_ns_ > timeline_.now_ns()) {
        // The last batch is not complete yet, so the writer stops here.
        held_ += pieces;
        writing_ = true;
        timeline_.at(disk_free_ns_, [this, pieces] { written(pieces); });
        return;
      }
      sync();
    }
    if (on_room) on_room();
    write();
  }
  void sync() {
    if (dirty_ == 0) return;
    const std::uint64_t work =
        runs_ * plan_.server.seek_ns +
        io::duration_ns(dirty_ * plan_.server.page, plan_.server.disk_bytes_per_second);
    disk_free_ns_ = std::max(disk_free_ns_, timeline_.now_ns()) + work;
    result_.disk_busy_ns += work;
    result_.seeks += runs_;
    ++batch_;
    batch_bytes_ = dirty_ = runs_ = 0;
    // Virtual time then continues to the end of the write.
    timeline_.at(disk_free_ns_, [] {});
  }
  // A file system without delayed allocation gives blocks to pages in the order of arrival. So pages that
  // came out of order lie out of order on the disk.
  void cache(const Piece& piece) {
    for (std::uint64_t page = piece.offset / plan_.server.page; page * plan_.server.page < piece.end();
         ++page) {
      std::uint32_t& dirty_in = pages_[page];
      if (dirty_in == batch_) continue;
      if (dirty_in == 0) {
        if (page != last_page_ + 1) ++runs_;
        last_page_ = page;
      }
      dirty_in = batch_;
      ++dirty_;
    }
  }

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
