// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/expiry.hpp"
#include "agent/core/ledger.hpp"
#include "agent/core/watch.hpp"
#include "agent/pipeline/carrier.hpp"
#include "agent/pipeline/file_pipeline.hpp"
#include "agent/requests/fetches.hpp"
#include "agent/requests/reads.hpp"
#include "agent/requests/requests.hpp"

namespace millrace::agent {

// The part of a file for one file server: the whole file, or its stripes of one lane.
struct Lane {
  std::unique_ptr<FilePipeline> pipeline;
  std::unique_ptr<Fetches> fetches;  // if only the file server has the file
  std::unique_ptr<Reads> reads;      // if the file has a route
  Requests requests;
  Watch watch;
  Expiry expiry;
  std::uint32_t upstreams;

  Lane(std::unique_ptr<FilePipeline> way, std::unique_ptr<Fetches> fetched, std::unique_ptr<Reads> read,
       const std::vector<Sender>& senders, std::uint32_t agents)
      : pipeline(std::move(way)),
        fetches(std::move(fetched)),
        reads(std::move(read)),
        requests(*pipeline, fetches.get(), reads.get(), senders, agents),
        upstreams(agents) {}

  // Nothing of it is with the storage.
  bool quiet() const {
    return pipeline->quiet() && !(fetches && fetches->in_flight()) && !(reads && reads->in_flight());
  }
};

// One target file, for all opens of it.
struct OpenFile {
  // Takes the route as it is for as long as the file is open.
  static Result<std::unique_ptr<OpenFile>> open(Shared& shared, Fd target, const FileIdentity& identity,
                                                const transport::Register& registration, Route route,
                                                const std::vector<Sender>& senders);

  std::uint64_t number = 0;  // Core::file_number()
  FileIdentity identity;     // without a mark
  bool reads_only = false;   // its descriptor may be open for reading only
  bool replaced = false;     // left_by() ranks that have opened it anew: no memory is kept for it
  std::string path;
  FileSettings asked;
  std::uint64_t stripe_bytes = 0;
  std::uint32_t node = 0;  // index of this one of `nodes`
  std::uint32_t nodes = 1;
  Topology topology = Topology::automatic;
  std::vector<std::unique_ptr<Lane>> lanes;  // at least one
  std::unique_ptr<Ledger> ledger;            // if an open of it wanted one
  std::set<std::uint64_t> routed_groups;     // those of its opens that have a route

  // Fewer than the asker knows, if the file was open here before.
  Lane& lane_at(std::uint32_t index) const { return *lanes[index % lanes.size()]; }
  void write(std::uint64_t offset, std::span<const std::byte> data) {
    if (lanes.size() == 1) return lanes.front()->pipeline->write(offset, data);
    write_striped(offset, data);
  }
  // The part of a list for each lane, with its positions in the list's data.
  std::vector<std::vector<ReadPiece>> deal(std::span<const Extent> extents) const;
  // The lane's records leave for the file, because only this process has them. If the file has a ledger, the
  // ledger keeps the records instead.
  void write_out(Lane& lane);
  // A record of a rank of this node is kept until it is in the target.
  void keep(std::uint64_t offset, std::span<const std::byte> data) {
    if (ledger) ledger->append(offset, data);
  }
  // Another open of the file, perhaps with a stronger durability; the first one calls it too.
  void join(Shared& shared, const Fd& target, const FileSettings& settings);

  // True if a close is answered once the ledger has all records so far on the disk; owe() does so.
  bool answers_from_ledger() const;
  void owe(const Reply& reply);
  // The sender has gone: nobody waits for an answer.
  void forget(SenderId sender) {
    std::erase_if(owed_, [sender](const Owed& one) { return one.reply.sender == sender; });
  }
  // Appends the answers that are due. True if anything moved.
  bool advance_ledger(std::uint64_t now_ns, std::vector<Reply>& replies);
  // At the end of everything: a message about the ledger, or empty.
  std::string ledger_message() const;

  // Only the close still has to pass between agents of other nodes and this one, and nothing more is to be
  // written. Ranks that open the file now get a route and errors of their own.
  bool left_by(std::uint64_t group) const;
  // Whether a group that has a route may join. If this node's ranks have the file open by themselves, or have
  // outlived the group that had a route, other nodes' agents would not know the records of this node. Their
  // ranks would neither wait for these records nor find them.
  bool takes_routed(std::uint64_t group) const;
  // Nobody has it open, and nothing is left to do.
  bool over() const;
  Status error() const;
  bool dirty() const;

 private:
  // An answer that waits for the ledger to have so many records on the disk.
  struct Owed {
    Reply reply;
    std::uint64_t mark;
  };
  void write_striped(std::uint64_t offset, std::span<const std::byte> data);
  bool secured() const;
  bool rescued() const;
  bool due(const Owed& owed) const;
  void show_progress(std::uint64_t now_ns);

  std::vector<Owed> owed_;
  bool some_want_disk_ = false;  // an open has durability disk: nobody's close is answered before that
  bool rescuing_ = false;        // all lanes settle, because the ledger fails
  std::uint64_t shown_ns_ = 0;
  std::uint64_t shown_bytes_ = 0;
};

}  // namespace millrace::agent
