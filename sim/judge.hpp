// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "oracle.hpp"
#include "run.hpp"
#include "world.hpp"

namespace millrace::sim {

// Compares bytes with the promises of the oracle, and the errors of ranks with the faults of the run. Adds
// the problems to the outcome. Owned by Cluster. Not thread safe.
class Judge {
 public:
  Judge(const Scenario& scenario, World& world, Outcome& outcome)
      : scenario_(scenario), world_(world), outcome_(outcome) {}

  Oracle& oracle() { return oracle_; }
  void problem(const std::string& text);
  void problem_of(std::uint32_t rank, const std::string& text);

  // A rank is told of an error. `first`: its first one in this opening.
  void hear(std::uint32_t rank, Status status, bool first);
  void check_patience(std::uint32_t rank, Status status);
  // All writes of the rank so far are promised; `stable`: on the disk. `there`: they are in the file by now,
  // not only in a ledger.
  void acknowledge(std::uint32_t rank, bool stable, bool there);
  void acknowledge_close(std::uint32_t rank);
  // Called before a node is killed.
  void acknowledge_old(std::uint32_t node);
  // All ranks have met.
  void meet() { met_ = oracle_.moment(); }
  std::uint32_t met() const { return met_; }  // the oracle's moment when they last met
  // True if promised bytes may be gone, so that reads prove nothing.
  bool may_be_gone() const { return scenario_.loses_caches() || world_.disk.has_refused(); }
  // `begun`: the oracle's moment at the beginning of the read. Bytes from another node may be as old.
  void check_read(std::uint32_t rank, std::span<const std::byte> file, Extent extent, std::uint32_t begun);
  // Bytes that a rank has read through the agents. `fresh`: the oracle's moment since when it may have read
  // ahead; `ordered`: when the ranks had last met before. False: they are wrong.
  bool check_ahead(std::uint32_t rank, std::uint64_t offset, std::span<const std::byte> bytes,
                   std::uint32_t fresh, std::uint32_t ordered);
  // `when`: follows the words for the file and for the disk.
  void check_file(const char* when);
  void check(std::span<const std::byte> file, bool stable, const std::string& what);
  bool has_new_errors() const { return outcome_.errors != old_errors_; }  // in this opening
  // True if writes of this opening or of an earlier one may have failed.
  bool disk_has_failed() const { return disk_failed_ || scenario_.disk_fails(); }
  // The file is opened again. The scenario still has the faults of the opening before.
  void begin_again();

 private:
  const Scenario& scenario_;
  World& world_;
  Outcome& outcome_;
  Oracle oracle_;
  std::uint32_t met_ = 0;
  std::uint32_t old_errors_ = 0;  // of earlier openings
  bool disk_failed_ = false;      // in an earlier opening
  std::vector<std::byte> seen_;   // as far as the last read has it; scratch
};

}  // namespace millrace::sim
