// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/inputs.hpp"

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/file.hpp"
#include "client/stage_inputs.hpp"
#include "front/mpiio/calls.hpp"
#include "front/mpiio/chain.hpp"
#include "front/mpiio/opening.hpp"
#include "front/mpiio/posix_side.hpp"

namespace millrace::front {
namespace {

constexpr std::size_t most_inputs = 64;  // plain::Copies::most

// The ranks of MPI_COMM_WORLD. Errors of their calls come back to Millrace, and never reach the program.
class World {
 public:
  World() {
    kept_ = PMPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler_) == MPI_SUCCESS;
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    made_ = PMPI_Comm_rank(MPI_COMM_WORLD, &rank_) == MPI_SUCCESS &&
            PMPI_Comm_split(MPI_COMM_WORLD, 0, rank_, &comm_) == MPI_SUCCESS;
    if (made_) PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  ~World() {
    if (made_) PMPI_Comm_free(&comm_);
    if (!kept_) return;
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, handler_);
    PMPI_Errhandler_free(&handler_);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  bool made() const { return made_; }
  MPI_Comm comm() const { return comm_; }
  int rank() const { return rank_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
  int rank_ = 0;
  bool kept_ = false, made_ = false;
};

// One file of rank 0's list. Its name follows in a text. Sent as bytes, because all ranks run the same build.
struct Listed {
  client::InputStamp stamp;
  std::uint64_t group;
  std::uint64_t length;
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

// Rank 0's bytes go to all ranks, which sleep while rank 0 looks for files.
bool broadcast(MPI_Comm comm, void* data, std::size_t bytes) {
  MPI_Request request;
  const int started = PMPI_Ibcast(data, static_cast<int>(bytes), MPI_BYTE, 0, comm, &request);
  return wait_asleep(started, request);
}

// The files of rank 0, on all ranks.
bool share(const World& world, std::vector<client::Input>& inputs, std::vector<std::uint64_t>& groups) {
  std::vector<Listed> list;
  std::string names;
  for (const client::Input& input : inputs) {
    list.push_back({input.stamp, own_company(0, true).group, input.path.size()});
    names += input.path;
  }
  std::uint64_t sizes[] = {list.size(), names.size()};
  if (!broadcast(world.comm(), sizes, sizeof sizes)) return false;
  list.resize(sizes[0]);
  names.resize(sizes[1]);
  if (list.empty()) return true;
  if (!broadcast(world.comm(), list.data(), list.size() * sizeof(Listed)) ||
      !broadcast(world.comm(), names.data(), names.size()))
    return false;
  inputs.clear();
  std::size_t at = 0;
  for (const Listed& one : list) {
    inputs.push_back({names.substr(at, one.length), one.stamp});
    groups.push_back(one.group);
    at += one.length;
  }
  return true;
}

// This process's copies. Never destroyed, because the program may open files until its very end.
std::vector<client::HeldCopy>& held() {
  static auto& all = *new std::vector<client::HeldCopy>;
  return all;
}

// Offers the copy to the hooks of libc, if the file is still as rank 0 saw it before the copy was made.
bool offer(const client::Input& input, const StagedCopy& copy) {
  struct stat about {};
  const client::FileStamp original{input.stamp.inode, input.stamp.size, input.stamp.changed_ns};
  if (copy.original != original || client::look_at_input(input.path, about) != input.stamp) return false;
  client::HeldCopy own(copy.fd);
  if (!own.valid() || !offer_copy(about, own.get())) return false;
  held().push_back(std::move(own));
  return true;
}

// For the report: rank 0 has read the file, for all nodes.
void report(const client::Input& input, std::uint64_t group, const Settings& settings) {
  const auto file =
      client::open({.path = input.path, .group = group, .settings = settings.file, .writable = false});
  (void)file->set_direct("copied to every node at MPI_Init");
  file->note_read(input.stamp.size);
  (void)file->close();
}

// Copies the files one after the other. The result says for each file whether this rank has a copy.
std::vector<int> copy_all(const World& world, const std::vector<client::Input>& inputs,
                          const std::vector<std::uint64_t>& groups, const Settings& settings) {
  std::vector<int> copied;
  held().reserve(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::optional<StagedCopy> copy =
        stage_whole(world.comm(), {inputs[i].path, settings, groups[i], 0, 0});
    // Files that cannot be copied have their message. It is not repeated at the end.
    copied.push_back(!copy || offer(inputs[i], *copy) ? 1 : 0);
    if (copy && world.rank() == 0) report(inputs[i], groups[i], settings);
  }
  return copied;
}

void tell_of_missing(const World& world, const std::vector<client::Input>& inputs, std::vector<int> copied) {
  std::vector<int> all(copied.size());
  MPI_Request request;
  const int started = PMPI_Iallreduce(copied.data(), all.data(), static_cast<int>(all.size()), MPI_INT, MPI_MIN,
                                      world.comm(), &request);
  if (!wait_asleep(started, request) || world.rank() != 0) return;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == 0)
      client::log(inputs[i].path + ": some ranks read the file where it is, because it changed while it was copied, "
                                   "or because their nodes see another file");
  }
}

void copy_inputs() {
  const Settings& settings = client::process_settings();
  if (!settings.enabled || settings.posix_stage.empty()) return;
  ask_for_threads();
  const World world;
  if (!world.made()) return;
  const Company mine = own_company(world.rank(), settings.across_nodes && posix_hooks_are_here());
  Company all{};
  if (!all_at_most(world.comm(), mine, all) || all.on_one_node()) return;
  if (all.refused != 0) {
    if (world.rank() == 0)
      client::log("posix_stage has no effect: it needs libmillrace_posix.so in every rank (`millrace run` preloads "
                  "it), and MILLRACE_ACROSS_NODES must not be 0");
    return;
  }
  std::vector<client::Input> inputs;
  if (world.rank() == 0) inputs = find(settings);
  std::vector<std::uint64_t> groups;
  if (!share(world, inputs, groups) || inputs.empty()) return;
  tell_of_missing(world, inputs, copy_all(world, inputs, groups, settings));
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
  return after_init(scope, call<Slot::MPI_Init>(entry, argc, argv));
}

int own_init_thread(Entry entry, int* argc, char*** argv, int required, int* provided) noexcept {
  const Scope scope;
  return after_init(scope, call<Slot::MPI_Init_thread>(entry, argc, argv, required, provided));
}

void drop_inputs() noexcept {
  if (held().empty()) return;
  end_copies();
  held().clear();
}

}  // namespace millrace::front
