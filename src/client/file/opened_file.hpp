// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "client/costs/policy.hpp"
#include "client/file/file.hpp"
#include "client/file/guest.hpp"
#include "client/file/ledgers.hpp"
#include "client/file/own_pieces.hpp"
#include "client/file/process.hpp"
#include "client/file/target_file.hpp"
#include "client/way/read_ahead.hpp"

namespace millrace::client {

// One open of a file. Transfers may enter the pipeline; the report counts all calls, even if none enters it.
class OpenedFile final : public File, private Leaver {
 public:
  OpenedFile(OpenRequest request, Reason barred, Process& process);
  ~OpenedFile() override { (void)close(); }

  bool enter_pipeline(const Transfer& transfer) override;
  Status write(std::span<const Piece> pieces) override;
  Status flush(Extent extent) override;
  Status flush_end() override;
  Status prepare_resize(std::uint64_t bytes) override;
  Status order() override;
  Status publish() override;
  Status prepare_direct_write(Extent extent) override;
  OwnPieces* own_pieces() override { return &pieces_; }
  Status read_through(const FileView& view, std::uint64_t position, const PieceSource& source,
                      std::uint64_t end) override {
    ReadAhead* const ahead = carrier();
    return ahead != nullptr ? ahead->read(view, position, source, end) : Code::unsupported;
  }
  Result<std::unique_ptr<PendingRead>> start_read_through(const FileView& view, std::uint64_t position,
                                                          const PieceSource& source,
                                                          std::uint64_t end) override {
    ReadAhead* const ahead = carrier();
    if (ahead == nullptr) return Code::unsupported;
    return ahead->start(view, position, source, end);
  }
  Result<std::uint64_t> read_from_server(const FileView& view, std::uint64_t position,
                                         const PieceSource& source, std::uint64_t end) override;
  Result<std::uint64_t> size_on_server() override;
  void end_read_through() override {
    through_.store(false);
    end_reading(false);
  }
  void note_direct_write(Extent extent) override;
  Status sync() override;
  Status close() override;
  void withdraw() override {
    withdrawn_.store(true);
    (void)close();
  }
  bool registered() const override { return session_.load(std::memory_order_acquire) != nullptr; }
  Status set_direct(const Ground& ground) override;
  Status bar(Reason reason) override { return barred_.store(reason), set_direct({reason}); }
  std::uint64_t start_timing() override { return process_.now_ns(); }
  void stop_timing(std::uint64_t start) override {
    const std::uint64_t took = process_.now_ns() - start;
    account_.library_took(took);
    if (learns()) stint_.took(took);
  }
  const FileSettings& settings() const override { return request_.settings; }
  std::string lasting_name() const override { return target_.lasting_path(); }

  bool enroll(bool may_start);

 private:
  void leave(bool at_exit) override;
  // After a crash, recovery would write the ledger's records over the bytes that the MPI library writes now.
  Status forget_ledger() { return past_ledger_.store(true, std::memory_order_relaxed), settle_ledger(); }
  Status settle_ledger();
  Choice decide(const Transfer& transfer);
  bool learns() const { return request_.file_system != 0; }
  Reason enroll_with(Session& session);
  Session* session_of_group();
  // For a rank without a part in the pipeline: the dead agent may have lost bytes of other ranks of the node.
  Status without_agent() const { return bereft_.load() ? Code::lost_agent : Code::ok; }
  bool known_to_agent();
  // True if the agent may wait for a request of this rank, which has not registered the file. For a rank that
  // comes late, it waits only while bytes of the file are pending.
  bool is_awaited();
  Status ask_before_reading(Extent extent);
  // No byte behind it is pending. UINT64_MAX: not known.
  std::uint64_t pending_end();
  Status flush_own(Extent extent);
  Status prepare_own_direct_write(Extent extent);
  // An agent that this rank has not met may have died with the file in its ledger.
  Status settle_dead_ledgers() {
    const bool may = keeps_ledger(request_.settings) && request_.routing.lanes == 0 && !process_.is_child();
    return may && !settle_ledgers(request_.path.c_str(), true, process_) ? Status(Code::timeout) : Status();
  }
  // After sync, collective functions and close, other ranks may overwrite this rank's bytes through the next
  // agent. So the bytes that this rank has saved go to the file first.
  Status hand_over(Status status) {
    if (status.code() == Code::lost_agent && process_.has_successor()) (void)settle_dead_ledgers();
    return status;
  }
  bool goes_to_disk() const {
    return ends_on_disk(request_.settings) || process_.lessons().syncs.load(std::memory_order_relaxed);
  }
  // True if no setting demands the pipeline: the rank may leave the rest of the file to the MPI library.
  bool may_turn_off() const {
    return request_.settings.strategy == Strategy::automatic && !keeps_ledger(request_.settings);
  }
  Status ask(Session& session, transport::Kind kind, Extent extent);
  Status settle(transport::Kind kind, Extent extent);
  void hold_for_sync();
  // True if this handle only reads the file: it has no bytes of its own, and asks for those of others as a
  // guest does.
  bool only_reads() const { return !request_.writable && request_.stand_in.empty(); }
  // True if the agents carry its reads.
  bool carries_reads() const {
    return through_.load(std::memory_order_relaxed) && request_.routing.lanes > 0 &&
           (request_.stand_in.empty() || request_.file_bytes != 0);
  }
  // Another rank may have made the file shorter. A node with the file does not ask for its size.
  void forget_size() {
    if (!request_.stand_in.empty()) file_bytes_.store(0, std::memory_order_relaxed);
  }
  ReadAhead* read_ahead();
  Status ask_server(const FileView& view, std::uint64_t position, const PieceSource& source,
                    std::uint64_t end);
  ReadAhead* carrier() { return process_.is_child() || !carries_reads() ? nullptr : read_ahead(); }
  void end_reading(bool closes);
  Status make_durable();
  void report(Status status);

  Process& process_;
  OpenRequest request_;
  TargetFile target_;
  std::atomic<Reason> barred_;                    // why this open cannot take the pipeline, for good
  std::atomic<Reason> turned_off_{Reason::none};  // why it does not at present
  std::mutex enroll_mutex_;
  std::mutex known_mutex_;
  std::uint64_t openings_seen_ = 0;         // for Session::knows()
  std::atomic<Session*> session_{nullptr};  // set once, after slot_
  std::uint32_t slot_ = 0;
  Tally tally_;      // guarded by the session's lock
  Guest guest_;      // asks the agent for a file in which this open has no part
  Guest successor_;  // asks a second agent, which started after this rank's agent died
  Account account_;
  Stint stint_;
  OwnPieces pieces_;
  std::atomic<bool> held_for_sync_{false};  // hold_for_sync() has been called
  std::atomic<bool> on_the_way_{false};     // this rank has written since the last order()
  std::atomic<bool> elsewhere_{false};      // other nodes may have written before an order()
  std::atomic<bool> past_ledger_{false};    // the MPI library wrote to a file that has a ledger
  std::atomic<bool> bereft_{false};  // the agent had bytes of other ranks and went before this rank joined it
  std::atomic<bool> closed_{false};
  std::atomic<bool> withdrawn_{false};
  std::atomic<bool> through_;                 // the agents carry reads
  std::atomic<std::uint64_t> file_bytes_{0};  // when the agent got the file, or as last heard from the server
  std::mutex ahead_mutex_;
  std::unique_ptr<ReadAhead> read_ahead_;  // from the first read through the agents on
};

}  // namespace millrace::client
