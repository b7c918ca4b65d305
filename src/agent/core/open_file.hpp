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

#include "agent/core/closings.hpp"
#include "agent/core/expiry.hpp"
#include "agent/core/ledger.hpp"
#include "agent/core/silence.hpp"
#include "agent/core/watch.hpp"
#include "agent/pipeline/carrier.hpp"
#include "agent/pipeline/file_pipeline.hpp"
#include "agent/requests/reads.hpp"
#include "agent/requests/requests.hpp"

namespace millrace::agent {

// The part of a file for one file server: the whole file, or its stripes of one lane.
struct Lane {
  std::unique_ptr<FilePipeline> pipeline;
  std::unique_ptr<Reads> reads;  // if the file has a route
  Requests requests;
  Watch watch;
  Expiry expiry;
  std::uint32_t upstreams;  // agents that send records

  Lane(std::unique_ptr<FilePipeline> way, std::unique_ptr<Reads> read, const std::vector<Sender>& senders,
       std::uint32_t agents, bool reads_only)
      : pipeline(std::move(way)),
        reads(std::move(read)),
        requests(*pipeline, reads.get(), senders, agents, reads_only),
        upstreams(agents) {}

  // True if the target's file system has requests.
  bool busy() const {
    return (!pipeline->carries() && !pipeline->outlet().idle()) || (reads && reads->in_flight());
  }
  // Grows with each completion of such requests.
  std::uint64_t completions() const {
    return pipeline->outlet().counters().completions + (reads ? reads->counters().bytes_in : 0);
  }
  // Nothing of it is with the storage.
  bool quiet() const { return pipeline->quiet() && !(reads && reads->in_flight()); }
};

// One target file, for all opens of it.
struct OpenFile {
  // Takes the route as it is for as long as the file is open, and the descriptor if this node needs one.
  static Result<std::unique_ptr<OpenFile>> open(Shared& shared, Fd& target, const FileIdentity& identity,
                                                const transport::Register& registration, Route route,
                                                const std::vector<Sender>& senders);

  std::uint64_t number = 0;  // Core::file_number()
  FileIdentity identity;     // without a mark
  bool reads_only = false;   // its descriptor may be open for reading only
  std::uint32_t ranks = 0;   // of all its opens on this node; a rank that only reads may not register
  bool past = false;         // a guest has asked for a sync, so that it may write past the agent
  bool replaced = false;     // left_by(), and opened anew in another slot: its lanes have no share of memory
  std::string path;
  FileSettings asked;
  std::uint64_t stripe_bytes = 0;
  std::uint32_t node = 0;  // index of this node among `nodes`
  std::uint32_t nodes = 1;
  Topology topology = Topology::automatic;
  std::vector<std::unique_ptr<Lane>> lanes;  // at least one
  std::unique_ptr<Ledger> ledger;            // if an open of it wanted one
  std::unique_ptr<Closings> closings;        // of descriptors that ranks have passed
  std::set<std::uint64_t> routed_groups;     // those of its opens that have a route
  struct {
    Silence target, journals;
  } silence;  // of the file systems

  // If the file was open here before, it may have fewer lanes than an agent upstream knows.
  Lane& lane_at(std::uint32_t index) const { return *lanes[index % lanes.size()]; }
  void write(std::uint64_t offset, std::span<const std::byte> data) {
    if (lanes.size() == 1) return lanes.front()->pipeline->write(offset, data);
    write_striped(offset, data);
  }
  // The part of a list for each lane, with its positions in the list's data.
  std::vector<std::vector<ReadPiece>> deal(std::span<const Extent> extents) const;
  // Makes the lane's records depart, unless a working ledger has them.
  void write_out(Lane& lane);
  // A completion of the storage that no lane has asked for; ignored if it is for another file.
  void complete(const io::Completion& completion);
  // Nothing of it is with the storage.
  bool quiet() const;
  // Closes a descriptor of the file that a rank has passed.
  void close(Fd passed) { lanes.front()->pipeline->keep(closings->close(std::move(passed))); }
  // Measures the silence of the file systems. Called in every round.
  void listen(std::uint64_t now_ns);
  // Logs a record of a rank of this node in the ledger.
  void keep(std::uint64_t offset, std::span<const std::byte> data, std::uint64_t stamp) {
    if (ledger) ledger->append(offset, data, stamp);
  }
  // Called for every open of the file. A later one may have a stronger durability, or need a ledger.
  void join(Shared& shared, const Fd& target, const transport::Register& registration);

  // Syncs and closes are not answered while a descriptor is closed, or the ledger removed: either may be an
  // error of the file.
  bool holds_answers() const;
  // True if a close is answered as soon as the ledger has all earlier records on its disk.
  bool answers_from_ledger() const;
  // Gives this answer then.
  void owe(const Reply& reply);
  // Gives the answer to a sync as soon as the ledger has forgotten all records that the sync has brought to
  // the target.
  void owe(const Reply& reply, const Ledger::Cut& cut);
  // The sender has gone, so it gets no answer.
  void forget(SenderId sender) {
    std::erase_if(owed_, [sender](const Owed& one) { return one.reply.sender == sender; });
  }
  // Appends the answers that are due. True if anything moved.
  bool advance_ledger(std::uint64_t now_ns, std::vector<Reply>& replies);
  // Notes in the ledger who may write to the target. Called in every round.
  void note_writers() {
    if (ledger && !ledger->empty()) ledger->note_writers(writers());
  }
  // When the ledger has to show that its owner lives; UINT64_MAX: never.
  std::uint64_t next_sign_ns() const;
  // When the file ends: a message if the target lacks promised bytes; else empty.
  std::string ledger_message() const;

  // True if all bytes are written and no rank has the file open: only closes may still pass between the
  // agents. Ranks of another group that open the file now get a new slot, with a route and errors of their
  // own.
  bool left_by(std::uint64_t group) const;
  // For a file that is only read: true if the group has it open. No two groups share such a file, so that all
  // agents agree when its life ends.
  bool read_by(std::uint64_t group) const;
  // True if a group with a route may join. False: this node's ranks have the file open without a route, or
  // have outlived the group with the route. Agents of other nodes would not know the records of this node,
  // and their ranks would neither wait for these records nor find them.
  bool takes_routed(std::uint64_t group) const;
  // True if no member has the file open, and no work is left.
  bool over() const;
  // The file's first error. A file that is only read has none: who misses a byte of a list reads the file.
  Status error() const;
  bool dirty() const;

 private:
  // An answer that waits until the ledger has all records before the cut on its disk, or has forgotten them.
  struct Owed {
    Reply reply;
    Ledger::Cut cut;
    bool forgets;
  };
  void write_striped(std::uint64_t offset, std::span<const std::byte> data);
  bool secured() const;
  bool rescued() const;
  bool due(const Owed& owed) const;
  bool passes_on() const;
  journal::Writers writers() const;
  void show_progress(std::uint64_t now_ns);

  std::vector<Owed> owed_;
  struct {
    bool disk = false;    // an open has durability disk: all closes wait for the target's disk
    bool rescue = false;  // all lanes settle, because the ledger fails
  } wants_;
  struct {
    std::uint64_t at_ns = 0;
    std::uint64_t bytes = 0;
  } shown_;  // the progress
};

}  // namespace millrace::agent
