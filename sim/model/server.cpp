// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "server.hpp"

#include <algorithm>

namespace millrace::model {

Server::Server(io::Timeline& timeline, const PipelinePlan& plan, PipelineResult& result)
    : timeline_(timeline),
      plan_(plan),
      result_(result),
      pages_(Writes::file_bytes(plan.pattern, plan.nodes * plan.ranks_per_node) / plan.server.page + 2) {}

void Server::deliver(std::vector<Piece> pieces) {
  queue_.insert(queue_.end(), pieces.begin(), pieces.end());
  write();
}

void Server::end() {
  ended_ = true;
  write();
}

// Writes the batch of bytes that one wake-up of the writer takes.
void Server::write() {
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

void Server::written(std::uint64_t pieces) {
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

// A file system without delayed allocation gives blocks to pages in the order of arrival. So pages that came
// out of order lie out of order on the disk.
void Server::cache(const Piece& piece) {
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

void Server::sync() {
  if (dirty_ == 0) return;
  const std::uint64_t work = runs_ * plan_.server.seek_ns +
                             io::duration_ns(dirty_ * plan_.server.page, plan_.server.disk_bytes_per_second);
  disk_free_ns_ = std::max(disk_free_ns_, timeline_.now_ns()) + work;
  result_.disk_busy_ns += work;
  result_.seeks += runs_;
  ++batch_;
  batch_bytes_ = dirty_ = runs_ = 0;
  // Virtual time then continues to the end of the write.
  timeline_.at(disk_free_ns_, [] {});
}

}  // namespace millrace::model
