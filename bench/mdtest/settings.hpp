// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace bench::mdtest {

// The settings of one run. Letters and meaning are MDTEST's.
struct Settings {
  std::uint64_t items = 0;           // -n of each rank
  std::uint64_t items_per_dir = 0;   // -I
  std::string directory = "./out";   // -d
  long iterations = 1;               // -i
  long branches = 1;                 // -b
  long depth = 0;                    // -z
  bool leaf_only = false;            // -L
  bool unique = false;               // -u a working directory for each rank
  bool files = false, dirs = false;  // -F -D; neither = both
  bool create = false, stat = false, read = false, remove = false,
       rename = false;                   // -C -T -E -r -U; none = all
  bool random = false;                   // -R order of stat and read
  long random_seed = 0;                  // --random-seed
  std::uint64_t write_bytes = 0;         // -w
  std::uint64_t read_bytes = 0;          // -e
  bool fsync = false;                    // -y
  bool verify_read = false;              // -X
  bool sync_phases = false;              // -Y sync(2) after each phase, within its time
  long shift = 0;                        // -N
  bool shared_file = false;              // -S
  bool rank_0_creates = false;           // -c
  bool barriers = true;                  // -B: none
  bool time_unique = false;              // -t
  long delay_s = 0;                      // -p
  long first = 0, last = 0, stride = 1;  // -f -l -s numbers of ranks; last 0 = all
  std::uint64_t limit_items = 10000;     // --limit-items: 0 = not measured
  bool help = false;

  // Follow from the above.
  std::uint64_t directories = 1;  // in a tree
  std::uint64_t leaves = 1;       // at its lowest level

  bool use_directory(bool leaf) const { return !leaf_only || leaf; }
};

// Reads the command line. Throws BadUsage for what cannot be done, with MDTEST's options named that exist
// there but not here.
Settings parse(int argc, char** argv, int ranks);
std::string help_text();

}  // namespace bench::mdtest
