// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/open/inputs.hpp"

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/open/attendance.hpp"
#include "client/open/own_process.hpp"
#include "client/open/stage_inputs.hpp"
#include "front/mpiio/handles/table.hpp"
#include "front/mpiio/open/node_copy.hpp"
#include "front/mpiio/open/opening.hpp"
#include "front/mpiio/open/posix_side.hpp"
#include "front/mpiio/ranks/exchange.hpp"
#include "front/mpiio/ranks/participants.hpp"
#include "front/mpiio/ranks/roll_call.hpp"

namespace millrace::front {
namespace {

constexpr std::size_t most_inputs = 64;  // plain::Copies::most

// While it lives, errors of calls on MPI_COMM_WORLD come back to Millrace, and never reach the program.
// Millrace needs no communicator of its own, because the program makes no calls yet.
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

// The list of files that rank 0 sends to all ranks, which run the same build. The names follow each other.
struct Listed {
  client::InputStamp stamp;
  std::uint64_t group;
  std::uint64_t length;  // of the name
};
struct List {
  std::uint64_t count;
  std::uint64_t names_bytes;
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

// The maximum over all ranks, word by word.
bool reduce(const Participants& mine, Participants& all) {
  constexpr int words = sizeof mine / sizeof(std::uint64_t);
  MPI_Request request;
  const int started = PMPI_Iallreduce(&mine, &all, words, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD, &request);
  return wait_asleep(started, request);
}

// Rank 0's bytes go to all ranks, which sleep while rank 0 looks for files.
bool broadcast(std::vector<std::byte>& data) {
  MPI_Request request;
  const int started =
      PMPI_Ibcast(data.data(), static_cast<int>(data.size()), MPI_BYTE, 0, MPI_COMM_WORLD, &request);
  return wait_asleep(started, request);
}

template <class T>
void append(std::vector<std::byte>& data, const T* from, std::size_t bytes) {
  const auto* first = reinterpret_cast<const std::byte*>(from);
  data.insert(data.end(), first, first + bytes);
}

// The files of rank 0, on all ranks. `groups`: a number for each of them. A list that is not long is sent at
// once.
bool share(std::vector<client::Input>& inputs, std::vector<std::uint64_t>& groups) {
  constexpr std::size_t usual_bytes = 4096;
  std::vector<std::byte> head(usual_bytes), rest;
  List list{inputs.size(), 0};
  for (const client::Input& input : inputs) {
    const Listed one{input.stamp, own_participants(0, true).group, input.path.size()};
    append(rest, &one, sizeof one);
    list.names_bytes += input.path.size();
  }
  for (const client::Input& input : inputs) append(rest, input.path.data(), input.path.size());
  std::memcpy(head.data(), &list, sizeof list);
  const bool fits = sizeof list + rest.size() <= head.size();
  if (fits && !rest.empty()) std::memcpy(head.data() + sizeof list, rest.data(), rest.size());
  if (!broadcast(head)) return false;
  std::memcpy(&list, head.data(), sizeof list);
  rest.resize(list.count * sizeof(Listed) + list.names_bytes);
  const bool came = sizeof list + rest.size() <= head.size();
  if (came)
    rest.assign(head.begin() + sizeof list,
                head.begin() + static_cast<std::ptrdiff_t>(sizeof list + rest.size()));
  if (!came && !broadcast(rest)) return false;
  inputs.clear();
  const auto* names = reinterpret_cast<const char*>(rest.data()) + list.count * sizeof(Listed);
  for (std::size_t i = 0; i < list.count; ++i) {
    Listed one;
    std::memcpy(&one, rest.data() + i * sizeof one, sizeof one);
    inputs.push_back({std::string(names, one.length), one.stamp});
    groups.push_back(one.group);
    names += one.length;
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
  (void)file->set_direct({client::Reason::copy_on_node});
  file->counts().read(input.stamp.size);
  (void)file->close();
}

// Copies the files one after the other. The result says for each file whether this rank has a copy.
std::vector<int> copy_all(int rank, const std::vector<client::Input>& inputs,
                          const std::vector<std::uint64_t>& groups, const Settings& settings) {
  std::vector<int> copied;
  held().reserve(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::optional<StagedCopy> copy =
        stage_whole(MPI_COMM_WORLD, {inputs[i].path, settings, groups[i], 0, 0});
    // Files that cannot be copied have their message. It is not repeated at the end.
    copied.push_back(!copy || offer(inputs[i], *copy) ? 1 : 0);
    if (copy && rank == 0) report(inputs[i], groups[i], settings);
  }
  return copied;
}

void tell_of_missing(int rank, const std::vector<client::Input>& inputs, const std::vector<int>& copied) {
  std::vector<int> all(copied.size());
  MPI_Request request;
  const int started = PMPI_Iallreduce(copied.data(), all.data(), static_cast<int>(all.size()), MPI_INT,
                                      MPI_MIN, MPI_COMM_WORLD, &request);
  if (!wait_asleep(started, request) || rank != 0) return;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == 0)
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
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!all_take_part(MPI_COMM_WORLD, Coming::together)) return;
  const Participants mine = own_participants(rank, joins_nodes(settings) && posix_hooks_are_here());
  Participants all{};
  if (!reduce(mine, all) || all.on_one_node()) return;
  if (all.refused != 0) {
    if (rank == 0)
      client::log(
          "posix_stage has no effect: it needs libmillrace_posix.so in every rank (`millrace run` preloads "
          "it), and MILLRACE_FILE_SERVERS must not be 0");
    return;
  }
  std::vector<client::Input> inputs;
  if (rank == 0) inputs = find(settings);
  std::vector<std::uint64_t> groups;
  if (!share(inputs, groups) || inputs.empty()) return;
  tell_of_missing(rank, inputs, copy_all(rank, inputs, groups, settings));
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
