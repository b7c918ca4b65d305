// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/args.hpp"

namespace bench {

// The options of one run. Names and meaning are IOR's; the last block is this program's own.
struct IorOptions {
  std::string api = "MPIIO";         // -a POSIX|MPIIO
  std::uint64_t block = 1 << 20;     // -b contiguous bytes of a rank in a segment
  std::uint64_t transfer = 1 << 18;  // -t bytes per call
  std::uint64_t segments = 1;        // -s
  bool collective = false;           // -c
  bool file_per_process = false;     // -F
  bool random = false;               // -z
  bool fsync = false;                // -e before close
  bool fsync_per_write = false;      // -Y
  bool write = false, read = false;  // -w -r; neither = both
  bool check_write = false;          // -W
  bool check_read = false;           // -R
  long repetitions = 1;              // -i
  std::string file = "testFile";     // -o
  bool reorder = false;              // -C read what another rank wrote
  bool reorder_random = false;       // -Z
  long reorder_seed = 0;             // -X
  long reorder_offset = 1;           // -Q
  bool keep = false;                 // -k
  bool keep_on_error = false;        // -K
  bool multi_file = false;           // -m a new file name for each repetition
  bool unique_directory = false;     // -u with -F: a directory per rank
  bool use_existing = false;         // -E do not remove the file first
  bool barriers = false;             // -g between open, transfers and close
  long delay_s = 0;                  // -d between repetitions
  bool quit_on_error = false;        // -q
  bool file_view = false;            // -V MPIIO through a file view
  bool no_fill = false;              // -n
  std::uint64_t seed = 0;            // -G

  std::string preset;          // --preset
  std::uint64_t at_least = 0;  // --at-least: segments raised until the file is so large
  std::uint64_t at_most = 0;   // --at-most: segments cut so that it is not larger
  bool warm = true;            // --no-warm
  std::vector<std::pair<std::string, std::string>> hints;  // --hint NAME=VALUE
  bool help = false, list_presets = false;
};

// Reads the command line. Throws BadUsage for what cannot be done, with IOR's options named that exist there
// but not here. `ranks` is needed for --at-least and --at-most.
IorOptions parse_ior(int argc, char** argv, int ranks);

std::string ior_help();

// Access patterns by name: those of Catwalk-ROMIO's evaluation and those that Millrace's bars use.
struct Preset {
  const char* name;
  const char* transfer;
  const char* block;
  std::uint64_t segments;
  bool random;
  const char* at_least;  // the default of --at-least, "" = none
  const char* at_most;
  const char* about;
};
const std::vector<Preset>& presets();
void apply_preset(IorOptions& options, const std::string& name);
std::string describe_presets();

}  // namespace bench
