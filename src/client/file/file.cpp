// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/file/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "client/file/opened_file.hpp"
#include "client/file/other_agents.hpp"
#include "client/file/report.hpp"
#include "client/session/ask_files.hpp"
#include "client/session/trace.hpp"
#include "journal/folder.hpp"
#include "report/line_file.hpp"

namespace millrace::client {
namespace {

using transport::Kind;

constexpr std::uint64_t early_bytes =
    4 * MiB;  // of direct writes; the kernel writes back fewer bytes by itself

}  // namespace

OpenedFile::OpenedFile(OpenRequest request, Reason barred, Process& process)
    : process_(process),
      request_(std::move(request)),
      barred_(barred),
      guest_(process),
      successor_(process, Guest::Of::successor),
      account_(request_.costs),
      pieces_(process, target_, request_.writable),
      through_(request_.through) {
  const std::string& name = request_.stand_in.empty() ? request_.path : request_.stand_in;
  if (request_.found.number() != 0) {
    target_ = std::move(request_.found);
  } else if (barred != Reason::none && request_.writable) {
    if (process_.settings().enabled) (void)target_.remember(name);  // for close to make it durable
  } else if (barred != Reason::none) {
    if (process_.settings().enabled) (void)target_.number_of(name);
  } else if (!target_.remember(name, request_.stand_in.empty())) {
    barred_.store(Reason::cannot_open_again);
  }
  // An agent that has gone held no bytes of this open. Bytes under the same number belong to another file.
  if (barred == Reason::none && process_.agent_has_gone()) barred_.store(Reason::agent_gone);
  process_.add(this);
}

Choice OpenedFile::decide(const Transfer& transfer) {
  if (!request_.stand_in.empty() && request_.routing.lanes > 0) return {true, {Reason::on_another_node}};
  if (process_.is_child()) return {false, {Reason::other_process}};
  if (const Reason why = barred_.load(std::memory_order_relaxed); why != Reason::none) return {false, {why}};
  if (const Reason why = turned_off_.load(std::memory_order_relaxed); why != Reason::none)
    return {false, {why}};
  const Choice choice = choose(process_.settings(), request_.settings, transfer, request_.costs);
  if (!choice.pipeline) account_.note_question();
  if (!choice.pipeline || transfer.bytes == 0 || registered()) return choice;
  // If another rank of the node has brought the file into the pipeline, this one follows.
  const Entrance entrance{request_.members, transfer.crowding, process_.joined() != nullptr};
  if (choice.by_costs && !account_.pays_to_enter(choice.expected, entrance) && !known_to_agent())
    return {false, account_.too_little(choice.ground.piece_bytes, entrance), true, choice.expected};
  if (enroll(true)) return choice;
  return {false, {barred_.load(std::memory_order_relaxed)}};
}

bool OpenedFile::enter_pipeline(const Transfer& transfer) {
  Transfer known = transfer;
  known.made_stable = goes_to_disk();
  known.routed = request_.routing.lanes > 0;
  known.entered = registered();
  known.library = account_.library();
  Session* const session = session_.load(std::memory_order_acquire);
  known.asks = session != nullptr && session->view().pending(slot_, transfer.hull);
  if (transfer.met || !registered()) known.crowding = crowding(request_.members, process_.processors());
  const Choice choice = decide(known);
  counts().wrote(choice, transfer);
  if (learns()) stint_.moved(choice.pipeline, transfer.bytes, choice.expected, transfer.nonblocking);
  if (choice.pipeline)
    pieces_.let_sieve();
  else if (!transfer.nonblocking && !known.entered)
    account_.library_begins(choice.expected.calls_ps);
  return choice.pipeline;
}

// Registers the file with the agent. False: not now (may_start false), or never (barred_ says why).
bool OpenedFile::enroll(bool may_start) {
  const std::lock_guard lock(enroll_mutex_);
  if (registered()) return true;
  if (barred_.load() != Reason::none) return false;
  Reason why = Reason::none;
  Session* session = process_.session(may_start, why);
  std::uint64_t seen = 0;
  if (session != nullptr && !session->lost() && !session->view().knows(target_.number(), seen) &&
      !settle_dead_ledgers().ok())
    return false;
  if (session != nullptr) why = enroll_with(*session);
  if (why != Reason::none) barred_.store(why);
  return registered();
}

// Returns none, or the reason why the agent does not have the file.
Reason OpenedFile::enroll_with(Session& session) {
  struct statx status = {};
  // The descriptor stays open until close(): its close would drop the process's fcntl locks on the file.
  // The agent opens a file that the agents only read, if it has to read it at all.
  const bool held = target_.holds_open() || (carries_reads() && only_reads() && target_.held().valid()) ||
                    target_.hold_open(O_RDWR) || target_.hold_open(request_.writable ? O_WRONLY : O_RDONLY);
  // The kernel remembers the type, so a server is asked for the size alone.
  const int flags = AT_EMPTY_PATH | (request_.file_bytes != 0 ? AT_STATX_DONT_SYNC : 0);
  if (!held || ::statx(target_.held().get(), "", flags, STATX_TYPE | STATX_SIZE, &status) != 0)
    return Reason::cannot_open_again;
  if (!S_ISREG(status.stx_mode)) return Reason::cannot_open_again;
  transport::Register registration{};
  registration.group = request_.group;
  registration.members = request_.members;
  registration.reads_only = request_.writable ? 0 : 1;
  registration.settings = request_.settings;
  registration.routing = request_.routing;
  const bool logs = keeps_ledger(request_.settings) && request_.writable;
  if (const auto own = logs ? process_.mark(target_.held()) : FileIdentity()) registration.identity = *own;
  const std::size_t length = std::min(request_.path.size(), sizeof registration.path - 1);
  std::memcpy(registration.path, request_.path.data(), length);
  Result<std::uint32_t> slot = session.enroll(registration, target_.held().get());
  if (!slot) {
    process_.say(request_.path + ": the agent refused the file: " + slot.status().describe());
    bereft_.store(session.lost() && session.view().holds(target_.number()));
    return Reason::agent_gone;
  }
  slot_ = *slot;
  if (request_.settings.strategy == Strategy::journal) {
    Protected own{slot_,
                  journal::identity_of(journal::Kind::rescue, target_.held(),
                                       process_.identify(target_.held()), request_.group),
                  request_.routing.lanes > 0 ? journal::Writers::nodes : journal::Writers::owner};
    session.with_protected([&own](ProtectedFiles& files, std::uint32_t clock) {
      own.identity.clock = clock;
      files.add(std::move(own));
    });
  }
  file_bytes_.store(status.stx_size);
  // The guest may know of writes on other nodes. From now on this open has to ask for them.
  if (request_.late && request_.writable) elsewhere_.store(true, std::memory_order_relaxed);
  session_.store(&session, std::memory_order_release);
  return Reason::none;
}

Status OpenedFile::write(std::span<const Piece> pieces) {
  if (pieces.empty()) return {};
  Session* session = session_.load(std::memory_order_acquire);
  if (session == nullptr || closed_.load(std::memory_order_relaxed) || process_.is_child())
    return Code::unsupported;
  const TraceSpan span("write", tracing ? pieces.size() : 0);
  if (!on_the_way_.load(std::memory_order_relaxed)) on_the_way_.store(true, std::memory_order_relaxed);
  process_.read_aheads().drop(target_.number());
  return session->write(slot_, pieces, request_.settings.record_max_bytes, tally_);
}

// If a file server on another node writes the file, this node's file system has to look again.
Status OpenedFile::ask(Session& session, Kind kind, Extent extent) {
  const Status status = hand_over(session.request(kind, slot_, extent, tally_));
  if (request_.routing.lanes > 0) process_.look_again(target_.path());
  return status;
}

// True if some rank of this node has the file open through the pipeline. Costs no system call.
bool OpenedFile::known_to_agent() {
  if (barred_.load(std::memory_order_relaxed) != Reason::none) return false;
  Session* session = process_.joined();
  if (session == nullptr) return false;
  const std::lock_guard lock(known_mutex_);
  return session->view().knows(target_.number(), openings_seen_);
}

Status OpenedFile::order() {
  // Bytes that were read ahead lack later writes by ranks of other nodes.
  if (carries_reads() && !only_reads()) process_.read_aheads().drop(target_.number());
  forget_size();
  Session* session = session_.load(std::memory_order_acquire);
  if (session == nullptr || only_reads()) guest_.order();
  if (session == nullptr || only_reads() || process_.is_child()) return {};
  elsewhere_.store(true, std::memory_order_relaxed);
  // Recovery replays ledgers of several nodes in any order, perhaps over later bytes of other ranks.
  if (keeps_ledger(request_.settings)) return settle_ledger();
  if (!on_the_way_.exchange(false, std::memory_order_relaxed)) return session->sticky(slot_);
  const TraceSpan span("order");
  return hand_over(session->request(Kind::arrive, slot_, everything, tally_));
}

Status OpenedFile::publish() {
  forget_size();
  Session* session = session_.load(std::memory_order_acquire);
  if (session == nullptr || process_.is_child()) return {};
  if (!session->view().dirty(slot_)) return session->sticky(slot_);
  const TraceSpan span("publish");
  return hand_over(session->request(Kind::flush, slot_, everything, tally_));
}

// Brings all records of the ledger to the file's disk, and makes the ledger forget them.
Status OpenedFile::settle_ledger() {
  Session* session = session_of_group();
  if (session == nullptr) {
    if (const Status heard = guest_.reach(target_.number()); !heard.ok()) return heard;
    const Status dead = settle_dead_ledgers();
    return dead.ok() ? without_agent() : dead;
  }
  Status status =
      session->view().keeps(slot_) ? ask(*session, Kind::sync, everything) : session->sticky(slot_);
  // Ranks that have closed the file may have left a ledger in another slot.
  if (status.ok()) status = settle_ledgers_of(*session, {.number = target_.number()}, tally_, slot_);
  return status;
}

// The write has to wait only for pending bytes that it overlaps.
Status OpenedFile::prepare_direct_write(Extent extent) {
  hold_for_sync();
  const Status status = prepare_own_direct_write(extent);
  return status.ok() ? successor_.before_writing(target_.number(), extent) : status;
}

Status OpenedFile::prepare_own_direct_write(Extent extent) {
  Session* session = session_.load(std::memory_order_acquire);
  if (session == nullptr && barred_.load(std::memory_order_relaxed) != Reason::none) {
    const Status status = guest_.before_writing(target_.number(), extent);
    const Status dead = settle_dead_ledgers();
    if (!dead.ok()) return dead;
    return status.ok() ? without_agent() : status;
  }
  if (keeps_ledger(request_.settings)) return forget_ledger();
  if (session != nullptr && !process_.is_child() && !elsewhere_.load(std::memory_order_relaxed) &&
      !session->view().pending(slot_, extent))
    return session->sticky(slot_);
  return extent.empty() || process_.is_child() ? Status() : flush_own(extent);
}

// The disk can begin at once with bytes that have to be there at close.
void OpenedFile::note_direct_write(Extent extent) {
  if (process_.is_child() || !goes_to_disk() ||
      counts().direct_bytes.load(std::memory_order_relaxed) < early_bytes)
    return;
  Session* session = session_.load(std::memory_order_acquire);
  if (session == nullptr && barred_.load(std::memory_order_relaxed) == Reason::none && enroll(true))
    session = session_.load();
  if (session != nullptr) session->note(slot_, extent);
}

bool OpenedFile::is_awaited() {
  if (registered() || request_.members <= 1) return false;
  if (!request_.late) return known_to_agent();
  Session* const session = request_.writable ? process_.joined() : nullptr;
  return session != nullptr && session->view().pending_in(target_.number(), everything);
}

// For collective requests: a rank that wrote nothing joins an agent too, because other ranks wait for it.
Session* OpenedFile::session_of_group() {
  if (process_.is_child()) return nullptr;
  if (is_awaited()) (void)enroll(false);
  return session_.load(std::memory_order_acquire);
}

Status OpenedFile::sync() {
  pieces_.let_sieve();
  forget_size();
  process_.read_aheads().drop(target_.number());
  sync_with_other_agents(process_, request_.path.c_str(), target_.number(), request_.writable);
  if (only_reads()) return {};
  if (!goes_to_disk()) stint_.spoil();
  process_.lessons().syncs.store(true, std::memory_order_relaxed);
  Session* session = session_of_group();
  if (session == nullptr && request_.routing.lanes > 0) process_.look_again(target_.path());
  if (!request_.named.ok()) return request_.named;
  if (session == nullptr) return without_agent();
  on_the_way_.store(false, std::memory_order_relaxed);
  const TraceSpan span("sync");
  return ask(*session, Kind::sync, everything);
}

Status OpenedFile::set_direct(const Ground& ground) {
  turned_off_.store(ground.reason);
  if (ground.reason == Reason::none) return {};
  counts().why_direct.store(ground);
  return keeps_ledger(request_.settings) && barred_.load() == Reason::none ? forget_ledger()
                                                                           : flush(everything);
}

void OpenedFile::report(Status status) {
  const std::string& path = process_.settings().stats_path;
  if (path.empty()) return;
  report::append_line(path, to_json({request_, counts(), barred_.load(), tally_.counters,
                                     read_ahead_ ? read_ahead_->counters() : ReadCounters{}, status}));
}

Status OpenedFile::close() {
  if (closed_.exchange(true)) return {};
  process_.remove(this);
  if (process_.is_child()) return {};
  const std::uint64_t start = start_timing();
  end_reading(true);
  Status status = settle(Kind::close, withdrawn_.load() ? Extent{} : everything);
  if (!request_.writable) status = {};  // what failed was read from the file itself
  if (status.ok()) status = make_durable();
  pieces_.close();
  if (const Status closed = target_.close(); status.ok()) status = closed;
  if (status.ok()) status = request_.named;
  stop_timing(start);
  if (status.ok() && learns()) {
    const transport::ClientCounters& all = tally_.counters;
    process_.lessons().observed.add(request_.file_system, stint_.end(all.copy_ns + all.wait_ns));
  }
  return status;
}

// Sends the last request of this open. The rank reports before it. So the agent's report, which joins the
// reports of all ranks, is the last line about a file.
Status OpenedFile::settle(Kind kind, Extent extent) {
  tally_.counters.calls = counts().calls.load();
  tally_.counters.direct_calls = counts().direct_calls.load();
  tally_.counters.direct_bytes = counts().direct_bytes.load();
  // A rank that has not registered the file late must not do so now: its node's agent may have ended the
  // file.
  Session* session = kind == Kind::close && !request_.late ? session_of_group() : session_.load();
  // An agent that has gone took no bytes of a file with it that is only read.
  report(!request_.writable ? Status() : session != nullptr ? session->status(slot_) : without_agent());
  if (session == nullptr) return without_agent();
  const TraceSpan span("close");
  // With a ledger, the agent answers a close before the file has the records. The MPI library's bytes may
  // depend on them.
  if (kind == Kind::close && past_ledger_.load(std::memory_order_relaxed)) (void)forget_ledger();
  const bool safe = !session->view().dirty(slot_) && request_.settings.durability == Durability::server;
  Status status = hand_over(session->request(kind, slot_, extent, tally_));
  if (kind == Kind::close && request_.settings.strategy == Strategy::journal && !session->lost())
    session->with_protected([this](ProtectedFiles& files, std::uint32_t) { files.end(slot_); });
  // An agent that died without bytes of this file has lost nothing.
  if (status.code() == Code::lost_agent && safe) status = session->sticky(slot_);
  return status;
}

// The program left the file open. At exit, other ranks may not close the file, so this only flushes. What
// runs later in this process may still use the file.
void OpenedFile::leave(bool at_exit) {
  if (at_exit ? closed_.load() : closed_.exchange(true)) return;
  if (!at_exit) end_reading(true);
  const Status status = settle(at_exit ? Kind::flush : Kind::close, everything);
  if (!status.ok()) process_.say(request_.path + ": " + status.describe());
}

std::unique_ptr<File> open(OpenRequest request, Process& process) {
  const Settings& settings = process.settings();
  Reason barred = Reason::none;
  if (!settings.enabled || !path_selected(settings, request.path)) {
    barred = Reason::set_direct;
  } else if (!request.writable && !request.through) {
    barred = request.left != Reason::none ? request.left : Reason::only_reads;
  } else if (request.left != Reason::none) {
    barred = request.left;
  }
  const bool routed = request.routing.lanes > 0;
  const bool late = request.late;
  auto file = std::make_unique<OpenedFile>(std::move(request), barred, process);
  // Agents of other nodes wait for this node's agent, whether or not a rank here writes.
  if (routed && barred == Reason::none && !late) (void)file->enroll(true);
  return file;
}

}  // namespace millrace::client
