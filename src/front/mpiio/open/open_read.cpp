// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/open/open_read.hpp"

#include <optional>
#include <string>

#include "client/file/mounts.hpp"
#include "client/file/storage_host.hpp"
#include "client/open/own_process.hpp"
#include "client/start/job.hpp"
#include "client/start/log.hpp"
#include "front/mpiio/handles/table.hpp"
#include "front/mpiio/open/node_copy.hpp"
#include "front/mpiio/open/opening.hpp"
#include "front/mpiio/open/through.hpp"
#include "front/mpiio/ranks/exchange.hpp"
#include "front/mpiio/types/datatype.hpp"

namespace millrace::front {
namespace {

// For stage=auto: if some node reads only part of a file, other ways of reading are cheaper.
constexpr std::uint32_t nearly_whole = 900;  // thousandths

client::ReadShares shares;

// The agreement of all ranks of an open: the maximum over all ranks, word by word.
struct ReadAgreement {
  Participants participants;
  std::uint64_t wanted;         // a Stage of rank 0, plus 1
  std::uint64_t unfit;          // why rank 0 finds that the file needs no agents: a Reason, or 0
  std::uint64_t bytes;          // the file's size, the largest that a rank has seen
  std::uint64_t unknown;        // some rank has not read a file of the series
  std::uint64_t library_reads;  // rank 0 cannot read the file without the library
  std::uint64_t written;        // some rank has written the file by another handle
  std::uint64_t writable;       // some rank has the file open for writing
};

struct NoRemark {};
using ReadIntroductions = client::Introductions<ReadAgreement, NoRemark, client::Decision>;

// This rank's part of the open.
struct OwnOpen {
  MPI_Comm comm;
  MPI_File handle;
  std::string path;
  Settings settings;
  client::TargetFile found;
  std::uint32_t share = client::ReadShares::unknown;
  bool first = false;  // rank 0
};

// One rank of a node looks at the file system for all. On a network file system each look is a question to
// its server.
struct Look {
  bool remote = false;
  std::uint64_t bytes = 0;
  std::uint64_t storage_host = 0;  // as in Decision

  client::Reason unfit() const {
    if (!remote) return client::Reason::file_local;
    return bytes >= worth_carrying_bytes ? client::Reason::none : client::Reason::file_small;
  }
};

Look look_at(const OwnOpen& own) {
  const bool remote = client::is_remote(own.found);
  const std::uint64_t bytes = client::stamp_of(own.found.lasting_path()).size;
  return {remote, bytes, remote ? client::storage_host(own.found) : 0};
}

bool handle_of_copy(int fd, MPI_File& copy) {
  // A failure here must not reach the program, because its error handler may end the job.
  MPI_Errhandler handler;
  const bool kept = PMPI_File_get_errhandler(MPI_FILE_NULL, &handler) == MPI_SUCCESS;
  PMPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  const std::string name = "/proc/self/fd/" + std::to_string(fd);  // the copy has no other name any more
  const bool opened =
      PMPI_File_open(MPI_COMM_SELF, name.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &copy) == MPI_SUCCESS;
  if (!opened) copy = MPI_FILE_NULL;
  if (kept) {
    PMPI_File_set_errhandler(MPI_FILE_NULL, handler);
    PMPI_Errhandler_free(&handler);
  }
  return opened;
}

// Stages the file and opens every rank's handle of its node's copy. True if all ranks have one.
bool stage(MPI_Comm comm, const StagePlan& plan, Reader& reader) {
  std::optional<StagedCopy> copy = stage_whole(comm, plan);
  if (!copy) return false;
  if (all_of(comm, open_for_this_rank(*copy, reader))) return true;
  close_copy(reader);
  return false;
}

void read_on_this_node(OwnOpen& own, std::uint64_t group) {
  auto open = std::make_unique<Open>();
  open->handle = own.handle;
  open->path = own.path;
  open->nodes.group = group;
  open->view.map = client::FileView(0, 1, share_map(MPI_BYTE));
  open->writable = false;
  open->reads.alone = true;
  open->pointer.start(0, true);
  open->file = client::open({.path = own.path,
                             .group = group,
                             .settings = own.settings.file,
                             .writable = false,
                             .found = std::move(own.found)});
  add(std::move(open));
}

// For the report: the library alone reads the file.
void report_left(const OwnOpen& own, const ReadAgreement& all, client::Reason why) {
  if (client::process_settings().stats_path.empty()) return;
  const std::unique_ptr<client::File> file = client::open(
      {.path = own.path, .group = all.participants.group, .settings = own.settings.file, .writable = false});
  const bool small = why == client::Reason::file_small;
  (void)file->set_direct({why, 0, small ? all.bytes : 0, small ? worth_carrying_bytes : 0});
  (void)file->close();
}

// False: the library alone reads the file, on all ranks.
bool read_on_nodes(client::Team& team, OwnOpen& own, ReadIntroductions& heard) {
  const ReadAgreement& all = heard.words;
  const Stage stage_as = static_cast<Stage>(all.wanted - 1);
  const bool automatic = stage_as == Stage::automatic;
  if (stage_as == Stage::none || (automatic && all.unfit != 0)) {
    report_left(
        own, all,
        stage_as == Stage::none ? client::Reason::stage_none : static_cast<client::Reason>(all.unfit));
    return false;
  }
  // A copy would lack what such a rank writes.
  const bool may_stage = all.writable == 0 && (stage_as == Stage::whole || (automatic && all.unknown == 0));
  auto open = std::make_unique<Open>();
  open->handle = own.handle;
  open->path = own.path;
  open->nodes.group = all.participants.group;
  open->reads.reader = std::make_unique<Reader>();
  open->reads.reader->original.size = all.bytes;
  const StagePlan plan{own.path, own.settings, all.participants.group, automatic ? nearly_whole : 0,
                       own.share};
  const bool staged = may_stage && stage(own.comm, plan, *open->reads.reader);
  const bool refused = stage_as == Stage::whole && all.writable != 0;
  if (refused && own.first)
    client::log(own.path + " is read where it is, not copied to every node: a rank has it open for writing");
  client::Reason why = refused || all.written != 0 ? client::Reason::written_before : client::Reason::none;
  if (!staged && stage_as != Stage::whole && all.written == 0) {
    const client::Apart apart =
        open_through(team, {own.comm, own.path, all.participants.group, !automatic, std::move(own.found)},
                     heard.company, heard.word, *open);
    if (apart == client::Apart::no) return add(std::move(open)), true;
    why = client::why(apart);
  }
  open->file = client::open({.path = own.path,
                             .group = all.participants.group,
                             .settings = own.settings.file,
                             .writable = false,
                             .left = why});
  if (staged)
    (void)open->file->set_direct(
        {client::Reason::copy_on_node, 0, automatic ? own.share : 0, plan.least_share});
  add(std::move(open));
  return true;
}

}  // namespace

void close_copy(Reader& reader) {
  if (reader.copy != MPI_FILE_NULL) PMPI_File_close(&reader.copy);
  reader.copy = MPI_FILE_NULL;
}

bool open_for_this_rank(StagedCopy& copy, Reader& reader) {
  reader.source = std::move(copy.source);
  reader.original = copy.original;
  return handle_of_copy(copy.fd.get(), reader.copy);
}

bool begin_reading(MPI_Comm comm, const char* filename, MPI_Info info, MPI_File handle,
                   Admission& admission) {
  int rank = 0, size = 1;
  if (PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS || PMPI_Comm_size(comm, &size) != MPI_SUCCESS) return false;
  ask_for_threads();
  const Settings settings = settings_of(info, filename);
  const std::optional<std::string> path = kernel_path(filename);
  const bool wanted =
      admission.here && handle != MPI_FILE_NULL && path && settings.enabled && path_selected(settings, *path);
  const Handles others = wanted ? handles_of(*path) : Handles{};
  ReadAgreement mine{};
  mine.participants = own_participants(rank, wanted, admission);
  mine.written = others.written ? 1 : 0;
  mine.writable = others.writable ? 1 : 0;
  OwnOpen own{comm, handle, path.value_or(""), settings, {}};
  own.first = rank == 0;
  if (wanted) (void)own.found.remember(own.path);
  const Stage asked = joins_nodes(settings) ? settings.stage : Stage::none;
  own.share = wanted ? shares.of(own.path) : client::ReadShares::unknown;
  mine.unknown = own.share == client::ReadShares::unknown ? 1 : 0;
  const bool leads = wanted && asked != Stage::none && client::leads_node(size);
  Look look;
  if (leads || (wanted && rank == 0)) look = look_at(own);
  mine.bytes = look.bytes;
  ReadIntroductions heard;
  if (rank == 0 && wanted) {
    mine.wanted = static_cast<std::uint64_t>(asked) + 1;
    mine.unfit = static_cast<std::uint64_t>(look.unfit());
    mine.library_reads = look.remote ? 1 : 0;
    heard.word = client::decide(own.found, settings, look.storage_host);
  }
  // Other nodes need this node's agent only if it is the file server.
  const bool serves =
      leads && look.unfit() == client::Reason::none && look.storage_host == client::own_host_number();
  const client::Peer self =
      wanted ? client::describe_self(own.found, settings, false, serves) : client::Peer{};
  MpiTeam team(comm);
  const client::Introduction<ReadAgreement, NoRemark> message{mine, self, {}};
  const bool told = client::introduce(team, message, heard, [](NoRemark&, const NoRemark&) {});
  const Participants& participants = heard.words.participants;
  admission.hear(participants);
  if (!told || participants.refused != 0) return false;
  if (!heard.company.on_one_node()) return read_on_nodes(team, own, heard);
  if (heard.words.library_reads != 0) return false;
  read_on_this_node(own, participants.group);
  return true;
}

void look_again(Open& open) {
  Reader& reader = *open.reads.reader;
  if (reader.copy == MPI_FILE_NULL || open.first.location != Open::Location::everywhere) return;
  if (all_ranks(open, !reader.left && client::stamp_of(open.path) == reader.original)) return;
  MPI_Offset position = 0;
  if (!reader.left && PMPI_File_get_position(reader.copy, &position) == MPI_SUCCESS)
    call<Slot::MPI_File_seek>(Entry::pmpi, open.handle, position, MPI_SEEK_SET);
  close_copy(reader);
  (void)open.file->set_direct({client::Reason::copy_outdated});
}

void end_reading(Open& open) {
  if (open.reads.until_written && !open.writable)
    shares.add(open.path, open.reads.bytes.load(), open.reads.size_at_open);
  if (open.reads.reader == nullptr) return;
  shares.add(open.path, open.reads.reader->bytes.load(), open.reads.reader->original.size);
  close_copy(*open.reads.reader);
}

}  // namespace millrace::front
