// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/open/inputs.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/open/attendance.hpp"
#include "client/open/company.hpp"
#include "client/open/node_copy.hpp"
#include "client/open/own_process.hpp"
#include "client/open/plan.hpp"
#include "client/open/stage_inputs.hpp"
#include "front/mpiio/handles/table.hpp"
#include "front/mpiio/open/opening.hpp"
#include "front/mpiio/open/posix_side.hpp"
#include "front/mpiio/ranks/exchange.hpp"
#include "front/mpiio/ranks/roll_call.hpp"

namespace millrace::front {
namespace {

constexpr std::size_t most_inputs = 64;  // plain::Copies::most

// While it lives, errors of calls on MPI_COMM_WORLD come back to Millrace, and never reach the program.
class Errors {
 public:
  Errors() {
    kept_ = PMPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler_) == MPI_SUCCESS;
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  }
  ~Errors() {
    if (!kept_) return;
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, handler_);
    PMPI_Errhandler_free(&handler_);
  }
  Errors(const Errors&) = delete;
  Errors& operator=(const Errors&) = delete;

 private:
  MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
  bool kept_ = false;
};

// A file, as rank 0 tells all ranks, which run the same build. The names follow each other.
struct Listed {
  client::FileStamp stamp;
  std::uint64_t group;
  std::uint64_t length;  // of the name
};

// All other ranks wait for rank 0, so it goes on without the files if it has no memory for them.
std::vector<client::Input> find(const Settings& settings) noexcept {
  try {
    client::FoundInputs found = client::find_inputs(settings.posix_stage, most_inputs);
    for (const std::string& problem : found.problems) client::log(problem);
    return std::move(found.inputs);
  } catch (...) {
    return {};
  }
}

// The files of rank 0, on all ranks. `groups`: a number for each of them.
bool share(MpiTeam& team, std::vector<client::Input>& inputs, std::vector<std::uint64_t>& groups) {
  std::vector<Listed> list;
  std::vector<char> names;
  for (const client::Input& input : inputs) {
    Listed one{input.stamp, 0, input.path.size()};
    if (!client::own_place().draw(std::as_writable_bytes(std::span(&one.group, 1)))) continue;
    list.push_back(one);
    names.insert(names.end(), input.path.begin(), input.path.end());
  }
  if (!client::fold(team, list) || !client::fold(team, names)) return false;
  inputs.clear();
  const char* name = names.data();
  for (const Listed& one : list) {
    inputs.push_back({std::string(name, one.length), one.stamp});
    groups.push_back(one.group);
    name += one.length;
  }
  return true;
}

// This process's copies. Never destroyed, because the program may open files until its very end.
std::vector<client::HeldCopy>& held() {
  static auto& all = *new std::vector<client::HeldCopy>;
  return all;
}

// Offers the copy to the hooks of libc, if the file is still as rank 0 saw it before the copy was made.
bool offer(const client::Input& input, const client::StagedCopy& copy) {
  struct stat about {};
  if (copy.original != input.stamp || client::look_at_input(input.path, about) != input.stamp) return false;
  client::HeldCopy own(copy.fd);
  if (!own.valid() || !offer_copy(about, own.get())) return false;
  held().push_back(std::move(own));
  return true;
}

// For the report: rank 0 has read the file, for all nodes.
void report(const client::Input& input, std::uint64_t group, const Settings& settings) {
  const auto file =
      client::open({.path = input.path, .group = group, .settings = settings.file, .writable = false});
  (void)file->set_direct({client::Reason::copy_on_node});
  file->counts().read(input.stamp.size);
  (void)file->close();
}

// A word for each file: 1 if a rank has no copy of it. Files that cannot be copied have their message, and no
// word.
using Missing = std::array<std::uint64_t, most_inputs>;

// Copies the files one after the other.
Missing copy_all(MpiTeam& team, client::Company& company, const std::vector<client::Input>& inputs,
                 const std::vector<std::uint64_t>& groups, const Settings& settings) {
  Missing missing{};
  held().reserve(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::optional<client::StagedCopy> copy =
        client::stage_whole(team, client::own_place(), company, {inputs[i].path, groups[i]});
    if (copy && !offer(inputs[i], *copy)) missing[i] = 1;
    if (copy && team.rank() == 0) report(inputs[i], groups[i], settings);
  }
  return missing;
}

void tell_of_missing(MpiTeam& team, const std::vector<client::Input>& inputs, Missing missing) {
  if (!client::most(team, missing)) return;
  for (std::size_t i = 0; team.rank() == 0 && i < inputs.size(); ++i) {
    if (missing[i] != 0)
      client::log(inputs[i].path +
                  ": some ranks read the file where it is, because it changed while it was copied, "
                  "or because their nodes see another file");
  }
}

void copy_inputs() {
  const Settings& settings = client::process_settings();
  if (!settings.enabled || settings.posix_stage.empty()) return;
  ask_for_threads();
  const Errors come_back;
  if (!all_take_part(MPI_COMM_WORLD, Coming::together)) return;
  MpiTeam team(MPI_COMM_WORLD);
  std::array<std::uint64_t, 1> refused{joins_nodes(settings) && posix_hooks_are_here() ? 0u : 1u};
  client::Peer self;
  self.node.number = client::own_place().node();
  client::Company company;
  if (!client::introduce(team, self, refused, company) || company.on_one_node()) return;
  if (refused[0] != 0) {
    if (team.rank() == 0)
      client::log(
          "posix_stage has no effect: it needs libmillrace_posix.so in every rank (`millrace run` preloads "
          "it), and MILLRACE_FILE_SERVERS must not be 0");
    return;
  }
  std::vector<client::Input> inputs;
  if (team.rank() == 0) inputs = find(settings);
  std::vector<std::uint64_t> groups;
  if (!share(team, inputs, groups) || inputs.empty()) return;
  tell_of_missing(team, inputs, copy_all(team, company, inputs, groups, settings));
}

void before_init(const Scope& scope) noexcept {
  try {
    if (scope.outermost()) client::attend();
    if (scope.outermost()) client::prepare_start();
  } catch (...) {  // out of memory: a start waits for the disk then
  }
}

int after_init(const Scope& scope, int result) noexcept {
  if (result != MPI_SUCCESS || !scope.outermost()) return result;
  try {
    copy_inputs();
  } catch (...) {
    client::log("out of memory at MPI_Init: files of posix_stage are read where they are");
  }
  return result;
}

}  // namespace

int own_init(Entry entry, int* argc, char*** argv) noexcept {
  const Scope scope;
  before_init(scope);
  return after_init(scope, call<Slot::MPI_Init>(entry, argc, argv));
}

int own_init_thread(Entry entry, int* argc, char*** argv, int required, int* provided) noexcept {
  const Scope scope;
  before_init(scope);
  return after_init(scope, call<Slot::MPI_Init_thread>(entry, argc, argv, required, provided));
}

void drop_inputs() noexcept {
  if (held().empty()) return;
  end_copies();
  held().clear();
}

}  // namespace millrace::front
