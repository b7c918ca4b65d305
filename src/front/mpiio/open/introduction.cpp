// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/open/introduction.hpp"

#include "base/file_system.hpp"
#include "client/start/job.hpp"
#include "front/mpiio/open/opening.hpp"
#include "front/mpiio/ranks/coherence.hpp"

namespace millrace::front {
namespace {

// True if this rank may read the file alone (call/read.hpp): the file system is local. The file is read
// this way only if all ranks may.
bool may_read_alone(const std::string& path) { return is_local_type(type_of_file_system(path.c_str())); }

}  // namespace

bool introduce(client::Team& team, const Introduction& mine, Introductions& heard) {
  heard.remarks.file_system = heard.word.costs.file_system;
  const auto join = [](client::ObservedFiles& all, const client::ObservedFiles& one) {
    if (one.file_system == all.file_system) all.ways.join(one.ways);
  };
  return client::introduce(team, mine, heard, join) && heard.words.participants.refused == 0;
}

Introduction introduction_of(MPI_Comm comm, int rank, const std::string& path, const Settings& settings,
                             bool wanted, const client::TargetFile& found, const Handles& others,
                             const Admission& admission) {
  Introduction mine{};
  mine.words.participants = own_participants(rank, wanted, admission);
  mine.words.bypassed = others.bypassed ? 1 : 0;
  mine.words.written = others.written ? 1 : 0;
  int size = 1;
  // Ranks of several nodes never read alone, so none of them asks the file system for its type.
  const bool across = PMPI_Comm_size(comm, &size) == MPI_SUCCESS && client::spans_nodes(size);
  mine.words.library_reads = wanted && !across && may_read_alone(path) ? 0 : 1;
  if (!wanted) return mine;
  mine.words.incoherent = may_be_incoherent(found) ? 1 : 0;
  mine.remark = client::observed_files();
  const bool starts = joins_nodes(settings) && mine.words.bypassed == 0 && mine.words.incoherent == 0 &&
                      client::is_last_of_node(size);
  mine.self = client::describe_self(found, settings, others.plain && !others.routed, starts);
  return mine;
}

}  // namespace millrace::front
