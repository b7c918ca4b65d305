// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/settings.hpp"
#include "client/session/call_lock.hpp"
#include "client/session/contact.hpp"
#include "client/session/page_view.hpp"
#include "client/session/read_window.hpp"
#include "client/session/request_numbers.hpp"
#include "client/session/rescue.hpp"
#include "client/view/piece.hpp"
#include "transport/ring.hpp"
#include "transport/stamp.hpp"

namespace millrace::client {

// Counters of one open file. The session's lock guards them.
struct Tally {
  transport::ClientCounters counters{};
  std::uint64_t writes = 0;                   // calls of Session::write(), one per batch of pieces
  std::uint64_t sampled_ns = 0, samples = 0;  // writes with a measured time
  Status first_error;                         // for a guest: the first error of bytes that earlier opens left
};

// The parts of a session, after client and agent have greeted each other.
struct SessionParts {
  transport::Producer producer;
  transport::Mapping page;
  std::unique_ptr<Contact> contact;
  std::uint64_t timeout_ms = 60'000;  // for an agent that does not run
  bool serialized = false;            // calls never overlap: no locking
  std::string journal_directory = {};
  std::uint32_t slice_ms = 100;  // a wait looks for the agent's death after this time
  std::uint64_t storage_timeout_ms = setting_default::storage_timeout;  // for storage that does not answer
};

// This process's connection with the agent. Thread safe: one lock guards the ring. A thread does not hold the
// lock while it waits for an answer.
class Session {
 public:
  explicit Session(SessionParts parts);

  // Registers a file with the agent. The caller still owns `target`.
  Result<std::uint32_t> enroll(const transport::Register& registration, int target);

  // The port at which the agent accepts links from other nodes' agents.
  Result<std::uint16_t> meet();
  std::uint16_t met() const { return port_.load(); }  // 0: meet() has not succeeded yet

  // Appends pieces as records of at most record_max bytes, small ones in bundles; blocks while the ring is
  // full.
  Status write(std::uint32_t file, std::span<const Piece> pieces, std::uint64_t record_max, Tally& tally);

  // Sends a request and waits for its answer.
  Status request(transport::Kind kind, std::uint32_t file, Extent extent, Tally& tally);
  // Asks for the bytes of a list of extents (transport/want_list.hpp), which the agent puts into the window
  // from `place` on. Does not wait: answer() of the request that is returned does.
  Result<std::uint32_t> want(std::uint32_t file, std::uint64_t place, std::span<const std::byte> list);
  bool answered(std::uint32_t request) const;
  // Waits for the answer, once.
  Status answer(std::uint32_t request);
  // The window; the first call makes it. nullptr: it cannot be made.
  ReadWindow* window();
  // A second window, which one caller has at a time: no other read keeps its parts.
  struct Turn {
    std::unique_lock<std::mutex> lock;
    ReadWindow* window;  // nullptr: as for window()
  };
  Turn take_turn();
  // Tells the agent that the MPI library wrote `extent`, so that writeback can begin. There is no answer; the
  // note is dropped if the ring is full.
  void note(std::uint32_t file, Extent extent);

  // Sleeps until the agent has taken the records that this rank has published, or sleeps itself. Needs no
  // lock.
  void wait_until_taken();

  const PageView& view() const { return view_; }
  bool lost() const { return lost_.load(std::memory_order_relaxed); }

  // True if the agent has gone, even if no call has noticed it yet.
  bool gone() { return lost() || parts_.contact->hung_up(); }

  CallLock& mutex() { return mutex_; }

  // The file's sticky error. It stays readable after the agent's death.
  Status sticky(std::uint32_t file);
  // Calls `use` with the files whose records this rank saves if the agent is lost.
  template <class Use>
  void with_protected(Use&& use) {
    const std::lock_guard lock(mutex_);
    use(protected_, static_cast<std::uint32_t>(clock_));
  }
  // Hangs up. The agent still takes the frames in the ring.
  void leave();
  // In a child of fork(): the descriptors must not keep the parent's connection alive.
  void abandon_in_child();

 private:
  // Bounds a wait. While the agent's loop turns, only the long bound on the storage counts. Time in which
  // this process did not run (a job that the scheduler suspends) does not count.
  struct Patience {
    std::uint32_t file;  // that the wait is for, or any_file
    std::uint64_t progress;
    std::uint64_t moved;
    std::uint64_t looked_ns;
    std::uint64_t stopped_ns = 0;  // since the agent's loop last turned
    std::uint64_t still_ns = 0;    // since the agent last got something done
    std::uint64_t waited_ns = 0;
  };
  static constexpr std::uint32_t any_file = UINT32_MAX;

  // Its destructor saves the ring if the agent is lost. Declare it after the lock, because save() needs the
  // lock.
  struct Saver {
    explicit Saver(Session& one) : session(one) {}
    ~Saver() { session.save(); }
    Saver(const Saver&) = delete;
    Saver& operator=(const Saver&) = delete;
    Session& session;
  };

  template <class Answer, class Message>
  Status exchange(const Message& message, std::initializer_list<int> descriptors, Answer& answer);
  Status append(const transport::FrameHeader& frame, const void* data, Tally* tally);
  Status append_piece(std::uint32_t file, std::uint64_t stamp, const Piece& piece, std::uint64_t record_max,
                      Tally& tally);
  Status append_bundle(std::uint32_t file, std::uint64_t stamp, std::span<const Piece> pieces,
                       std::uint64_t record_max, Tally& tally, std::size_t& taken);
  void show_if_much();
  void publish(bool urgent);
  Status wait_for_room(Tally* tally);
  Result<std::uint32_t> take_slot(std::unique_lock<CallLock>& lock);
  Status wait_for_answer(std::uint32_t id, std::uint32_t file);
  std::uint64_t now_ns() const { return parts_.contact->now_ns(); }
  Patience begin_wait(std::uint32_t file = any_file);
  Status keep_waiting(Patience& patience);
  Status lose();
  void save();

  SessionParts parts_;
  PageView view_;
  transport::StampClock clock_;
  CallLock mutex_;
  std::atomic<bool> lost_{false};
  std::atomic<std::uint16_t> port_{0};  // the agent's answer to meet()
  std::uint64_t noted_bytes_ = 0;       // bytes of notes since notes last woke the agent
  ProtectedFiles protected_;
  RequestNumbers numbers_;
  std::mutex window_mutex_;
  bool window_made_ = false;  // or tried
  transport::Mapping window_memory_;
  std::unique_ptr<ReadWindow> window_;
  std::mutex turn_mutex_;
  std::unique_ptr<ReadWindow> turn_window_;
};

}  // namespace millrace::client
