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
    {Reason::strategy_chosen, "the strategy or the durability was chosen", "--strategy auto"},
    {Reason::direct_above, "direct_above was chosen", by_piece, Unit::bytes},
    {Reason::pipeline_faster, "expected to take less time", by_piece, Unit::ns},
    {Reason::library_as_fast, "the MPI library is expected to take no longer", by_piece, Unit::ns},
    {Reason::too_little_so_far, "too little so far for the pipeline", by_piece, Unit::ns_saved},
    {Reason::on_another_node, "the file is on another node", "--target shared"},
    {Reason::other_process, "a child of fork(), or after MPI_Finalize", ""},
    {Reason::set_direct, "a setting leaves the file to the MPI library",
     "MILLRACE, --paths or --file-servers"},
    {Reason::only_reads, "opened for reading only", ""},
    {Reason::cannot_open_again, "the file cannot be opened a second time", ""},
    {Reason::atomic_mode, "atomic mode", ""},
    {Reason::view_unmapped, "a view that cannot be mapped", ""},
    {Reason::other_handle, "another handle has written the file, or is left to the MPI library", ""},
    {Reason::agent_gone, "the agent has gone, or refused the file", ""},
    {Reason::agent_silent, "the agent did not answer in time: is the node overloaded?", ""},
    {Reason::agent_cannot_start,
     "no agent could be started; run millrace doctor to see what this machine lacks", ""},
    {Reason::other_file, "its nodes do not see the same file", "--target first"},
    {Reason::open_alone, "a rank has the file open already, without the ranks of other nodes", ""},
    {Reason::unreachable,
     "the agents of its nodes cannot reach each other; check MILLRACE_INTERFACES, and whether a "
     "firewall is between the nodes",
     "--interfaces"},
    {Reason::incoherent,
     "several nodes may write it, and its file system does not keep their caches coherent", "--target first"},
    {Reason::stage_chosen, "the setting stage was chosen", "--stage auto"},
    {Reason::read_by_each_node, "each node reads the file by itself", "--stage pieces", Unit::bytes},
    {Reason::copy_on_node, "read from a copy on this node", "--stage pieces", Unit::thousandths},
    {Reason::small_reads, "small pieces of a file that several nodes read", "--stage none", Unit::bytes},
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
