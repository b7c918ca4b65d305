// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/file/file.hpp"

#include <fcntl.h>

#include <cerrno>

#include "client/file/opened_file.hpp"
#include "client/file/other_agents.hpp"
#include "client/file/report.hpp"
#include "client/session/trace.hpp"
#include "report/line_file.hpp"

namespace millrace::client {
namespace {

using transport::Kind;

constexpr std::uint64_t early_bytes =
    4 * MiB;  // of direct writes; the kernel writes back fewer bytes by itself

// The sticky error of a file, or lost_agent if the agent has gone.
Status status_of(Session& session, std::uint32_t file) {
  const Status found = session.sticky(file);
  return found.ok() && session.lost() ? Status(Code::lost_agent) : found;
}

// With durability disk or node, the agent syncs its own writes. This function syncs the writes of the MPI
// library.
Status make_durable(const OpenRequest& request, const TargetFile& target, Process& process) {
  if (!ends_on_disk(request.settings) || !request.writable) return {};
  if (target.holds_open()) return process.datasync(target.held());
  const Fd file = target.open_again(O_RDONLY);
  if (!file.valid() && errno == ENOENT) {
    process.say(request.path +
                " is gone or has another name: bytes that the MPI library wrote may not be on the disk");
    return {};
  }
  if (!file.valid()) return Status::from_errno(errno);
  return process.datasync(file);
}

}  // namespace

OpenedFile::OpenedFile(OpenRequest request, Reason barred, Process& process)
    : process_(process),
      request_(std::move(request)),
      enrolment_(request_, target_, barred, process),
      guest_(process),
      successor_(process, Guest::Of::successor),
      account_(request_.costs, request_.factors),
      pieces_(process, target_, request_.writable),
      reads_(request_, target_, enrolment_, process),
      // The guest may know of writes on other nodes. Once registered, this open has to ask for them.
      elsewhere_(request_.late && request_.writable) {
  const std::string& name = request_.stand_in.empty() ? request_.path : request_.stand_in;
  if (request_.found.number() != 0) {
    target_ = std::move(request_.found);
  } else if (barred != Reason::none && request_.writable) {
    if (process_.settings().enabled) (void)target_.remember(name);  // for close to make it durable
  } else if (barred != Reason::none) {
    if (process_.settings().enabled) (void)target_.number_of(name);
  } else if (!target_.remember(name, request_.stand_in.empty())) {
    enrolment_.barred.store(Reason::cannot_open_again);
  }
  // An agent that has gone held no bytes of this open. Bytes under the same number belong to another file.
  if (barred == Reason::none && process_.agent_has_gone()) enrolment_.barred.store(Reason::agent_gone);
  process_.add(this);
}

Choice OpenedFile::decide(const Transfer& transfer) {
  if (!request_.stand_in.empty() && request_.routing.lanes > 0) return {true, {Reason::on_another_node}};
  if (process_.is_child()) return {false, {Reason::other_process}};
  if (const Reason why = enrolment_.barred.load(std::memory_order_relaxed); why != Reason::none)
    return {false, {why}};
  if (const Reason why = turned_off_.load(std::memory_order_relaxed); why != Reason::none)
    return {false, {why}};
  const Choice choice = choose(process_.settings(), request_.settings, transfer, request_.costs);
  if (!choice.pipeline) account_.note_question();
  if (!choice.pipeline || transfer.bytes == 0 || registered()) return choice;
  // If another rank of the node has brought the file into the pipeline, this one follows.
  const Entrance entrance{request_.members, transfer.crowding, process_.joined() != nullptr};
  if (choice.by_costs && !enrolment_.known_to_agent() &&
      (!account_.pays_to_enter(choice.expected, entrance) ||
       (!account_.pays_alone(choice.expected, entrance) && !process_.agent_is_up())))
    return {false, account_.too_little(choice.ground.piece_bytes, entrance), true, choice.expected};
  if (enrolment_.enroll(true) != nullptr) return choice;
  return {false, {enrolment_.barred.load(std::memory_order_relaxed)}};
}

bool OpenedFile::enter_pipeline(const Transfer& transfer) {
  Transfer known = transfer;
  known.made_stable = goes_to_disk();
  known.routed = request_.routing.lanes > 0;
  // The ranks of a node go one way. Once one of them has brought the file into the pipeline, the times of the
  // others' calls no longer count. The agents have a file of several nodes from its open.
  const Factors factors = account_.factors();
  known.entered = known.routed || registered() || (factors.library < 1024 && enrolment_.known_to_agent());
  if (!known.entered) known.factors = factors;
  Session* const session = enrolment_.session();
  if (known.routed && (session != nullptr ? elsewhere_.load(std::memory_order_relaxed) : guest_.ordered()))
    known.trips = trips_between_nodes;
  else if (session != nullptr && session->view().pending(enrolment_.slot(), transfer.hull))
    known.trips = 1;
  if (transfer.met || !registered()) known.crowding = crowding(request_.members, process_.processors());
  const Choice choice = decide(known);
  counts().wrote(choice, transfer);
  if (choice.pipeline)
    pieces_.let_sieve();
  else if (!transfer.nonblocking && !known.entered)
    account_.library_begins(choice.expected.calls_ps);
  return choice.pipeline;
}

Status OpenedFile::write(std::span<const Piece> pieces) {
  if (pieces.empty()) return {};
  Session* session = enrolment_.session();
  if (session == nullptr || closed_.load(std::memory_order_relaxed) || process_.is_child())
    return Code::unsupported;
  const TraceSpan span("write", tracing ? pieces.size() : 0);
  if (!on_the_way_.load(std::memory_order_relaxed)) on_the_way_.store(true, std::memory_order_relaxed);
  process_.read_aheads().drop(target_.number());
  return session->write(enrolment_.slot(), pieces, request_.settings.record_max_bytes, enrolment_.tally);
}

// The disk can begin at once with bytes that have to be there at close.
void OpenedFile::note_direct_write(Extent extent) {
  if (process_.is_child() || !goes_to_disk() ||
      counts().direct_bytes.load(std::memory_order_relaxed) < early_bytes)
    return;
  Session* session = enrolment_.session();
  if (session == nullptr && enrolment_.barred.load(std::memory_order_relaxed) == Reason::none)
    session = enrolment_.enroll(true);
  if (session != nullptr) session->note(enrolment_.slot(), extent);
}

Status OpenedFile::sync() {
  pieces_.let_sieve();
  reads_.forget_size();
  process_.read_aheads().drop(target_.number());
  sync_with_other_agents(process_, request_.path.c_str(), target_.number(), request_.writable);
  if (request_.only_reads()) return {};
  process_.history().syncs.store(true, std::memory_order_relaxed);
  Session* session = enrolment_.session_of_group();
  if (session == nullptr && request_.routing.lanes > 0) process_.look_again(target_.path());
  if (!request_.named.ok()) return request_.named;
  if (session == nullptr) return enrolment_.without_agent();
  on_the_way_.store(false, std::memory_order_relaxed);
  const TraceSpan span("sync");
  return enrolment_.ask(Kind::sync, everything);
}

Status OpenedFile::set_direct(const Ground& ground) {
  turned_off_.store(ground.reason);
  if (ground.reason == Reason::none) return {};
  counts().why_direct.store(ground);
  return keeps_ledger(request_.settings) && enrolment_.barred.load() == Reason::none
             ? forget_ledger()
             : flush(Before::read, everything);
}

void OpenedFile::report(Status status) {
  const std::string& path = process_.settings().stats_path;
  if (path.empty() || request_.guest) return;
  report::append_line(path, to_json({request_, counts(), enrolment_.barred.load(), enrolment_.tally.counters,
                                     reads_.counters(), status, registered()}));
}

Status OpenedFile::close() {
  if (closed_.exchange(true)) return {};
  process_.remove(this);
  if (process_.is_child()) return {};
  reads_.end(true);
  Status status = settle(Kind::close, withdrawn_.load() ? Extent{} : everything);
  if (!request_.writable) status = {};  // what failed was read from the file itself
  if (status.ok() && counts().any_by_library()) status = make_durable(request_, target_, process_);
  process_.history().wrote(request_.path, account_.measured());
  pieces_.close();
  if (const Status closed = target_.close(); status.ok()) status = closed;
  if (status.ok()) status = request_.named;
  return status;
}

// Sends the last request of this open. The rank reports before it. So the agent's report, which joins the
// reports of all ranks, is the last line about a file.
Status OpenedFile::settle(Kind kind, Extent extent) {
  enrolment_.tally.counters.calls = counts().calls.load();
  enrolment_.tally.counters.direct_calls = counts().direct_calls.load();
  enrolment_.tally.counters.direct_bytes = counts().direct_bytes.load();
  // A rank that has not registered the file late must not do so now: its node's agent may have ended the
  // file.
  Session* session =
      kind == Kind::close && !request_.late ? enrolment_.session_of_group() : enrolment_.session();
  // An agent that has gone took no bytes of a file with it that is only read.
  report(!request_.writable   ? Status()
         : session != nullptr ? status_of(*session, enrolment_.slot())
                              : enrolment_.without_agent());
  if (session == nullptr) return enrolment_.without_agent();
  const TraceSpan span("close");
  // With a ledger, the agent answers a close before the file has the records. The MPI library's bytes may
  // depend on them.
  if (kind == Kind::close && past_ledger_.load(std::memory_order_relaxed)) (void)forget_ledger();
  const bool safe =
      !session->view().dirty(enrolment_.slot()) && request_.settings.durability == Durability::server;
  Status status = enrolment_.request(kind, extent);
  // New memory takes time that the next file does not need.
  const auto [before, now] = enrolment_.agents_work();
  if (now.bytes != before.bytes && now.memory == before.memory)
    account_.agent_worked(now.bytes - before.bytes, of_node(now.ns - before.ns));
  if (kind == Kind::close && request_.settings.strategy == Strategy::journal && !session->lost())
    session->with_protected([this](ProtectedFiles& files, std::uint32_t) { files.end(enrolment_.slot()); });
  // An agent that died without bytes of this file has lost nothing.
  if (status.code() == Code::lost_agent && safe) status = enrolment_.sticky();
  return status;
}

// The program left the file open. At exit, other ranks may not close the file, so this only flushes. What
// runs later in this process may still use the file.
void OpenedFile::leave(bool at_exit) {
  if (at_exit ? closed_.load() : closed_.exchange(true)) return;
  if (!at_exit) reads_.end(true);
  const Status status = settle(at_exit ? Kind::flush : Kind::close, everything);
  if (!status.ok()) process_.say(request_.path + ": " + status.describe());
}

std::unique_ptr<File> open(OpenRequest request, Process& process) {
  const Settings& settings = process.settings();
  Reason barred = Reason::none;
  if (request.guest || !settings.enabled || !path_selected(settings, request.path)) {
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
  if (routed && barred == Reason::none && !late) file->enroll();
  return file;
}

}  // namespace millrace::client
