// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/session/session.hpp"

#include <algorithm>
#include <optional>

#include "client/session/session_window.hpp"
#include "client/session/trace.hpp"
#include "transport/line.hpp"

namespace millrace::client {

using transport::FrameHeader;
using transport::Kind;

namespace {
constexpr std::uint64_t notes_wake_bytes = 2 * MiB;

// One rank of the node prints the line about a file system that does not answer.
void tell_stall(Contact& contact, transport::Stall& stall, std::uint64_t silent_ms, std::uint64_t bound_ms) {
  const std::optional<std::string> where = transport::take_line(stall.where);
  if (!where) return;
  contact.say(*where + " has not answered for " + std::to_string(silent_ms / 1000) +
              " s. Calls wait for it, and fail after " + std::to_string(bound_ms / 1000) +
              " s (--storage-timeout). No byte is lost so far: check the file system");
}

// A rank of another job leaves the line to the agent's own ranks.
void tell_line(Contact& contact, transport::AgentPage& page) {
  if (!contact.speaks()) return;
  if (const std::optional<std::string> line = transport::take_line(page.said)) contact.say(*line);
}

}  // namespace

Session::Session(SessionParts parts)
    : parts_(std::move(parts)),
      view_(*reinterpret_cast<transport::AgentPage*>(parts_.page.data())),
      clock_(static_cast<transport::StampClock>(view_.page().stamp_clock)),
      mutex_(!parts_.serialized) {}

// Sends one question to the agent over the socket, and receives its answer.
template <class Answer, class Message>
Status Session::exchange(const Message& message, std::initializer_list<int> descriptors, Answer& answer) {
  const std::lock_guard lock(mutex_);
  const Saver saver(*this);
  if (lost()) return Code::lost_agent;
  if (!parts_.contact->send(std::as_bytes(std::span(&message, 1)), descriptors).ok()) return lose();
  Patience patience = begin_wait();
  while (!parts_.contact->wait_answer(parts_.slice_ms)) {
    if (Status status = keep_waiting(patience); !status.ok()) return status;
  }
  const Result<std::size_t> received = parts_.contact->receive(std::as_writable_bytes(std::span(&answer, 1)));
  if (!received || *received != sizeof answer) return lose();
  return answer.status;
}

Result<std::uint32_t> Session::enroll(const transport::Register& registration, int target) {
  transport::Registered answer{};
  if (Status status = exchange(registration, {target}, answer); !status.ok()) return status;
  if (answer.file >= transport::max_files) return Code::invalid;
  return answer.file;
}

Result<std::uint16_t> Session::meet() {
  if (const std::uint16_t known = port_.load()) return known;
  transport::Met answer{};
  if (Status status = exchange(transport::Meet{transport::protocol_version}, {}, answer); !status.ok())
    return status;
  port_.store(answer.port);
  return answer.port;
}

Status Session::append(const FrameHeader& frame, const void* data, Tally* tally) {
  while (!parts_.producer.append(frame, data)) {
    if (Status status = wait_for_room(tally); !status.ok()) return status;
  }
  return {};
}

// Call it after the producer's publish(). It wakes the agent if the agent sleeps and there is enough work.
// Only the rank that clears the flag makes the system call, so one sleep costs one call of one rank.
void Session::publish(bool urgent) {
  std::atomic<std::uint32_t>& sleeping = view_.page().sleeping;
  if (sleeping.load(std::memory_order_seq_cst) == 0) return;
  if (!urgent && parts_.producer.fill() < transport::wake_threshold(parts_.producer.ring_bytes())) return;
  if (sleeping.exchange(0, std::memory_order_seq_cst) == 0) return;
  parts_.contact->wake();
}

Status Session::wait_for_room(Tally* tally) {
  const TraceSpan span("wait for room");
  const std::uint64_t begin_ns = now_ns();
  parts_.producer.publish();
  publish(true);
  Patience patience = begin_wait();
  Status status;
  const auto sleep = [this](const std::atomic<std::uint32_t>& word) {
    parts_.contact->wait_while(word, 1, parts_.slice_ms);
  };
  while (status.ok() && !parts_.producer.wait_room(sleep)) status = keep_waiting(patience);
  if (tally != nullptr) tally->counters.wait_ns += now_ns() - begin_ns;
  return status;
}

void Session::wait_until_taken() {
  const transport::RingHeader& ring = parts_.producer.header();
  const std::uint64_t until = ring.tail.load();
  const std::uint64_t bound_ns = now_ns() + parts_.timeout_ms * 1'000'000;
  while (ring.head.load() < until && view_.page().sleeping.load() == 0 && !gone() && now_ns() < bound_ns)
    parts_.contact->pause(1);
}

Session::Patience Session::begin_wait(std::uint32_t file) {
  return {file, view_.page().progress.load(std::memory_order_relaxed),
          view_.page().moved.load(std::memory_order_relaxed), now_ns()};
}

Status Session::keep_waiting(Patience& patience) {
  if (parts_.contact->hung_up()) return lose();
  const transport::AgentPage& page = view_.page();
  const std::uint64_t now = now_ns();
  // If a look comes later than its slice, this process did not run. The extra time is not a wait.
  const std::uint64_t more =
      std::min(now - patience.looked_ns, 2 * parts_.slice_ms * std::uint64_t{1'000'000});
  patience.looked_ns = now;
  patience.waited_ns += more;
  patience.stopped_ns += more;
  patience.still_ns += more;
  const std::uint64_t progress = page.progress.load(std::memory_order_relaxed);
  if (std::exchange(patience.progress, progress) != progress) patience.stopped_ns = 0;
  const std::uint64_t moved = page.moved.load(std::memory_order_relaxed);
  if (std::exchange(patience.moved, moved) != moved) patience.still_ns = 0;
  if (patience.stopped_ns >= parts_.timeout_ms * 1'000'000) return Code::timeout;
  // The storage of this file may be silent while the agent writes other files.
  const auto& silence =
      patience.file == any_file ? page.stall.silent_ms : view_.state(patience.file).silent_ms;
  const std::uint64_t silent_ms =
      std::max<std::uint64_t>(silence.load(std::memory_order_relaxed), patience.still_ns / 1'000'000);
  if (silent_ms >= parts_.storage_timeout_ms) return Code::timeout;
  // The text in the page is about a file system of this node.
  if (page.stall.silent_ms.load(std::memory_order_relaxed) >= parts_.timeout_ms &&
      patience.waited_ns >= parts_.timeout_ms * 1'000'000)
    tell_stall(*parts_.contact, view_.page().stall, silent_ms, parts_.storage_timeout_ms);
  return {};
}

Status Session::lose() {
  if (!lost_.exchange(true)) {
    parts_.contact->clear_away();
    const bool starved = view_.page().ending.load() == transport::ending_no_memory;
    parts_.contact->say(Status(Code::lost_agent).describe() +
                        (starved
                             ? " (the system gave the agent no memory: lower MILLRACE_SORT_BUFFER, or raise "
                               "the job's limit)"
                             : ""));
  }
  return Code::lost_agent;
}

// Call it with the lock held. The ring still has all records of returned calls that the agent's ledger may
// lack.
void Session::save() {
  if (!lost()) return;
  for (const Protected& file : protected_.take()) {
    const std::string& path = file.identity.path;
    const Status saved = rescue(parts_.producer, file, parts_.journal_directory,
                                view_.page().alive_ns.load(std::memory_order_relaxed));
    parts_.contact->say(
        saved.ok() ? path + ": the agent has gone; the bytes written to the file are in journals in " +
                         parts_.journal_directory + ": run millrace recover on this node"
                   : path +
                         ": the agent has gone, and bytes that it had not kept yet are lost: write the file "
                         "again (" +
                         saved.describe() + ")");
  }
}

Status Session::sticky(std::uint32_t file) {
  const std::uint32_t code = view_.state(file).code.load(std::memory_order_acquire);
  if (code == 0) return {};
  return {static_cast<Code>(code), view_.state(file).error.load(std::memory_order_relaxed)};
}

Status Session::request(Kind kind, std::uint32_t file, Extent extent, Tally& tally) {
  std::unique_lock lock(mutex_);
  const Saver saver(*this);
  if (lost()) return Code::lost_agent;
  const std::uint64_t begin_ns = now_ns();
  Result<std::uint32_t> id = take_slot(lock);
  if (!id) return id.status();
  FrameHeader frame{};
  frame.kind = kind;
  frame.file = file;
  frame.request = *id;
  frame.offset = extent.begin;
  frame.span = extent.end == UINT64_MAX ? UINT64_MAX : extent.size();
  if (kind == Kind::close) frame.length = sizeof tally.counters;
  if (Status status = append(frame, &tally.counters, &tally); !status.ok()) {
    numbers_.give_back(*id);
    return status;
  }
  parts_.producer.header().requests.fetch_add(1, std::memory_order_seq_cst);
  parts_.producer.publish();
  publish(true);
  lock.unlock();

  const Status status = wait_for_answer(*id, file);
  lock.lock();
  tally.counters.wait_ns += now_ns() - begin_ns;
  tell_line(*parts_.contact, view_.page());
  // A slot whose answer did not come stays taken: the answer may still come.
  if (answered(*id)) numbers_.give_back(*id);
  return status;
}

Result<std::uint32_t> Session::want(std::uint32_t file, std::uint64_t place,
                                    std::span<const std::byte> list) {
  std::unique_lock lock(mutex_);
  const Saver saver(*this);
  if (lost()) return Status(Code::lost_agent);
  const Result<std::uint32_t> id = take_slot(lock);
  if (!id) return id.status();
  FrameHeader frame{};
  frame.kind = Kind::want;
  frame.file = file;
  frame.request = *id;
  frame.offset = place;
  frame.length = static_cast<std::uint32_t>(list.size());
  if (const Status status = append(frame, list.data(), nullptr); !status.ok()) {
    numbers_.give_back(*id);
    return status;
  }
  parts_.producer.header().requests.fetch_add(1, std::memory_order_seq_cst);
  parts_.producer.publish();
  publish(true);
  return *id;
}

bool Session::answered(std::uint32_t request) const {
  const auto& done = parts_.producer.header().replies[request % transport::reply_slots].done;
  return done.load(std::memory_order_acquire) == request;
}

Status Session::answer(std::uint32_t request) {
  const Status status = wait_for_answer(request, any_file);
  const std::lock_guard lock(mutex_);
  if (answered(request)) numbers_.give_back(request);
  return status;
}

// The agent maps the memory too.
ReadWindow* Session::window() {
  const std::lock_guard lock(window_mutex_);
  if (std::exchange(window_made_, true)) return window_.get();
  constexpr std::uint64_t bytes = ReadWindow::parts * ReadWindow::part_bytes;
  const Result<Fd> memory = transport::make_memory("millrace-window", 2 * bytes);
  if (!memory) return nullptr;
  Result<transport::Mapping> mapped = transport::map(memory->get(), 2 * bytes);
  transport::Windowed answer{};
  if (mapped && exchange(transport::Window{2 * bytes, 0}, {memory->get()}, answer).ok()) {
    window_memory_ = *std::move(mapped);
    window_ = std::make_unique<SessionWindow>(*this, window_memory_, 0);
    turn_window_ = std::make_unique<SessionWindow>(*this, window_memory_, bytes);
  }
  return window_.get();
}

Session::Turn Session::take_turn() {
  (void)window();
  return {std::unique_lock(turn_mutex_), turn_window_.get()};
}

Result<std::uint32_t> Session::take_slot(std::unique_lock<CallLock>& lock) {
  Patience patience = begin_wait();
  for (;;) {
    if (const auto number = numbers_.take(parts_.producer.header().replies)) return *number;
    lock.unlock();
    parts_.contact->pause(1);
    lock.lock();
    if (Status status = keep_waiting(patience); !status.ok()) return status;
  }
}

Status Session::wait_for_answer(std::uint32_t id, std::uint32_t file) {
  const TraceSpan span("wait for answer");
  transport::ReplySlot& slot = parts_.producer.header().replies[id % transport::reply_slots];
  Patience patience = begin_wait(file);
  for (;;) {
    const std::uint32_t seen = slot.done.load(std::memory_order_acquire);
    if (seen == id) break;
    parts_.contact->wait_while(slot.done, seen, parts_.slice_ms);
    if (slot.done.load(std::memory_order_acquire) == id) break;
    if (Status status = keep_waiting(patience); !status.ok()) {
      // The last answer may have come with the hang-up.
      if (slot.done.load(std::memory_order_acquire) == id) break;
      return status;
    }
  }
  return {static_cast<Code>(slot.code.load(std::memory_order_relaxed)),
          slot.error.load(std::memory_order_relaxed)};
}

void Session::note(std::uint32_t file, Extent extent) {
  const std::lock_guard lock(mutex_);
  if (lost() || extent.empty()) return;
  FrameHeader frame{};
  frame.kind = Kind::note;
  frame.file = file;
  frame.offset = extent.begin;
  frame.span = extent.size();
  if (!parts_.producer.append(frame, nullptr)) return;
  parts_.producer.publish();
  // A note is small in the ring, so the bytes that it stands for decide when to wake the agent.
  noted_bytes_ += extent.size();
  const bool much = noted_bytes_ >= notes_wake_bytes;
  if (much) noted_bytes_ = 0;
  publish(much);
}

void Session::leave() {
  const std::lock_guard lock(mutex_);
  if (!lost()) tell_line(*parts_.contact, view_.page());
  lost_.store(true);
  parts_.contact->hang_up();
}

void Session::abandon_in_child() {
  (void)protected_.take();
  lost_.store(true);
  parts_.contact->hang_up();
}

}  // namespace millrace::client
