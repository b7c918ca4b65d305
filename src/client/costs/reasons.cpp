// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/costs/reasons.hpp"

#include <array>
#include <bit>

#include "base/settings.hpp"

namespace millrace::client {
namespace {

constexpr std::string_view by_piece = "--direct-above";  // its value follows from the size of the pieces

constexpr std::array<ReasonText, static_cast<std::size_t>(Reason::end_of_list)> texts{{
    {Reason::none, "", ""},
    {Reason::durability_node, "durability node: the node keeps what is written", "--durability server"},
    {Reason::strategy_chosen, "the strategy was chosen", "--strategy auto"},
    {Reason::nothing_to_write, "nothing to write", ""},
    {Reason::below_direct_above, "pieces below direct_above", by_piece, Unit::bytes},
    {Reason::direct_above, "pieces of direct_above or more", by_piece, Unit::bytes},
    {Reason::pipeline_faster, "expected to take less time", by_piece, Unit::ns},
    {Reason::library_as_fast, "the MPI library is expected to take no longer", by_piece, Unit::ns},
    {Reason::too_little_so_far, "too little so far for the pipeline", by_piece, Unit::ns_saved},
    {Reason::on_another_node, "the file is on another node", "--target shared"},
    {Reason::child_of_fork, "a child of fork() writes past the pipeline", ""},
    {Reason::turned_off, "turned off", "MILLRACE=1"},
    {Reason::only_reads, "opened for reading only", ""},
    {Reason::path_set_direct, "the path is set to stay direct", "--paths"},
    {Reason::no_such_name, "the file cannot be found by its name", ""},
    {Reason::agent_gone, "the agent has gone", ""},
    {Reason::cannot_open_again, "the file cannot be opened a second time", ""},
    {Reason::not_regular, "not a regular file", ""},
    {Reason::agent_refused, "the agent refused the file", ""},
    {Reason::atomic_mode, "atomic mode", ""},
    {Reason::input_copied, "copied to every node at MPI_Init", "--posix-stage", Unit::bytes},
    {Reason::finalized, "MPI has been finalized", ""},
    {Reason::agent_not_found, "the agent's program, millraced, was not found; install Millrace again", ""},
    {Reason::agent_not_runnable,
     "the agent's program cannot be run, or the agent belongs to another user; "
     "give each user's job its own MILLRACE_JOB",
     "MILLRACE_JOB"},
    {Reason::agent_of_other_version,
     "the agent on this node is of another version; give each job its own MILLRACE_JOB", "MILLRACE_JOB"},
    {Reason::agent_silent, "the agent did not answer within 10 s: is the node overloaded?", ""},
    {Reason::agent_is_another,
     "the agent's program is not millraced, or another process has the agent's name", ""},
    {Reason::agent_cannot_start,
     "no agent could be started; run millrace doctor to see what this machine lacks", ""},
    {Reason::nodes_set_apart, "nodes are set not to work together", "--file-servers auto"},
    {Reason::other_file, "its nodes do not see the same file", "--target first"},
    {Reason::no_address, "a node has no agent that other nodes can reach; check MILLRACE_INTERFACES",
     "--interfaces"},
    {Reason::open_alone, "a rank has the file open already, without the ranks of other nodes", ""},
    {Reason::unreachable,
     "the agents of its nodes cannot reach each other; check MILLRACE_INTERFACES, and whether a "
     "firewall is between the nodes",
     "--interfaces"},
    {Reason::refused_elsewhere, "an agent refused the file", ""},
    {Reason::left_before, "another handle of the file is left to the MPI library", ""},
    {Reason::incoherent,
     "several nodes may write it, and its file system does not keep their caches coherent", "--target first"},
    {Reason::foreign_data, "a data representation other than native", ""},
    {Reason::view_too_large, "a view that takes more than 1 GiB to describe", ""},
    {Reason::view_unknown, "a view by a datatype that Millrace does not know", ""},
    {Reason::view_disputed, "a view with empty blocks, which MPI libraries place differently", ""},
    {Reason::view_unordered, "a view whose pieces overlap or descend", ""},
    {Reason::view_misplaced, "a view that the MPI library places elsewhere than the MPI standard", ""},
    {Reason::view_unmapped, "a view that cannot be mapped", ""},
    {Reason::stage_none, "the settings leave reads to the MPI library", "--stage auto"},
    {Reason::file_small, "a small file, which each node reads by itself", "--stage pieces", Unit::bytes},
    {Reason::file_local, "a file system of one node needs no agents for reads", "--stage pieces"},
    {Reason::written_before, "a rank has written the file by another handle", ""},
    {Reason::copy_on_node, "read from a copy on this node", "--stage pieces", Unit::thousandths},
    {Reason::copy_outdated, "the file has changed since it was copied", ""},
    {Reason::small_reads, "small pieces of a file that several nodes read", "--stage none", Unit::bytes},
    {Reason::large_reads, "large pieces, which each node reads by itself", "--stage pieces", Unit::bytes},
    {Reason::pieces_asked_for, "the settings let the agents read", "--stage auto"},
}};

// text_of() takes a reason as an index.
constexpr bool in_order() {
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (static_cast<std::size_t>(texts[i].reason) != i) return false;
  return true;
}
static_assert(in_order());

std::string words_of_size(std::uint64_t bytes) {
  if (bytes % MiB == 0) return std::to_string(bytes / MiB) + "MiB";
  return bytes % KiB == 0 ? std::to_string(bytes / KiB) + "KiB" : std::to_string(bytes);
}

}  // namespace

const ReasonText& text_of(Reason reason) { return texts[static_cast<std::size_t>(reason)]; }

std::string_view name_of(Unit unit) {
  constexpr std::array<std::string_view, 5> names{"", "bytes", "ns", "ns_saved", "thousandths"};
  return names[static_cast<std::size_t>(unit)];
}

std::string setting_for(const Ground& ground, bool pipeline) {
  const std::string_view setting = text_of(ground.reason).setting;
  if (setting != by_piece) return std::string(setting);
  const std::uint64_t size = ground.piece_bytes;
  if (size == 0 || size >= 512 * GiB) return {};
  return std::string(setting) + " " +
         words_of_size(pipeline ? std::bit_floor(size) : 2 * std::bit_floor(size));
}

}  // namespace millrace::client
