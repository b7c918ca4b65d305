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

bool introduce(MPI_Comm comm, const Introduction& mine, Introductions& heard) {
  std::vector<Introduction> all;
  if (!tell_all(comm, mine, all, heard)) return false;
  for (const Introduction& one : all) heard.join(one.observed);
  const Participants& participants = heard.agreement.participants;
  heard.members = participants.on_one_node() ? static_cast<std::uint32_t>(all.size()) : 0;
  return participants.refused == 0;
}

Introduction introduction_of(MPI_Comm comm, int rank, const std::string& path, const Settings& settings,
                             bool wanted, const client::TargetFile& found, const Handles& others,
                             const Admission& admission) {
  Introduction mine{};
  mine.agreement.participants = own_participants(rank, wanted, admission);
  mine.agreement.bypassed = others.bypassed ? 1 : 0;
  mine.agreement.written = others.written ? 1 : 0;
  int size = 1;
  // Ranks of several nodes never read alone, so none of them asks the file system for its type.
  const bool across = PMPI_Comm_size(comm, &size) == MPI_SUCCESS && client::spans_nodes(size);
  mine.agreement.library_reads = wanted && !across && may_read_alone(path) ? 0 : 1;
  if (!wanted) return mine;
  mine.agreement.incoherent = may_be_incoherent(found) ? 1 : 0;
  mine.observed = client::observed_files();
  const bool starts = joins_nodes(settings) && mine.agreement.bypassed == 0 &&
                      mine.agreement.incoherent == 0 && client::is_last_of_node(size);
  mine.self = describe_self(found, settings, others.plain && !others.routed, starts);
  return mine;
}

}  // namespace millrace::front
