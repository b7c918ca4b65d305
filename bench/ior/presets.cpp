// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ior/options.hpp"

namespace bench {

// The paper-* sets are those of Hori et al. (Catwalk-ROMIO), which ran them with 256 ranks: (t, b, s) as
// published. The others are the same patterns with a file of at least 64 MiB and at most 2 GiB, and finer
// ones.
const std::vector<Preset>& presets() {
  static const std::vector<Preset> table = {
      {"paper-1m", "1m", "1m", 1, false, "", "", "one block of 1 MiB per rank"},
      {"paper-4m", "4m", "4m", 1, false, "", "", "one block of 4 MiB per rank"},
      {"paper-segments-1024", "32k", "64k", 1024, false, "", "", "many small segments"},
      {"paper-segments-16", "32k", "4m", 16, false, "", "", "few large segments"},
      {"paper-fine", "4k", "16k", 1024, false, "", "", "fine grain"},
      {"block-1m", "1m", "1m", 1, false, "64m", "2g", "1 MiB pieces"},
      {"block-4m", "4m", "4m", 1, false, "64m", "2g", "4 MiB pieces"},
      {"segments-32k", "32k", "64k", 1024, false, "64m", "2g", "32 KiB pieces, 64 KiB blocks"},
      {"blocks-32k", "32k", "4m", 16, false, "64m", "2g", "32 KiB pieces, 4 MiB blocks"},
      {"fine-4k", "4k", "16k", 1024, false, "64m", "2g", "4 KiB pieces, 16 KiB blocks"},
      {"fine-1k", "1k", "1k", 16384, false, "64m", "2g", "1 KiB pieces, ranks interleaved"},
      {"fine-256", "256", "256", 65536, false, "64m", "2g", "256-byte pieces, ranks interleaved"},
      {"random-1k", "1k", "1k", 16384, true, "64m", "2g", "1 KiB pieces in random order"},
      {"random-256", "256", "256", 65536, true, "64m", "2g", "256-byte pieces in random order"},
      {"large-64m", "64m", "64m", 1, false, "64m", "2g", "64 MiB pieces"},
  };
  return table;
}

void apply_preset(IorOptions& options, const std::string& name) {
  for (const Preset& preset : presets()) {
    if (name != preset.name) continue;
    options.preset = name;
    options.transfer = parse_size(preset.transfer);
    options.block = parse_size(preset.block);
    options.segments = preset.segments;
    options.random = preset.random;
    options.at_least = *preset.at_least != 0 ? parse_size(preset.at_least) : 0;
    options.at_most = *preset.at_most != 0 ? parse_size(preset.at_most) : 0;
    return;
  }
  throw BadUsage("there is no preset '" + name + "'; --list-presets lists them");
}

std::string describe_presets() {
  std::string text;
  for (const Preset& preset : presets()) {
    std::string line = preset.name;
    line.resize(22, ' ');
    line += std::string("-t ") + preset.transfer + " -b " + preset.block + " -s " +
            std::to_string(preset.segments);
    if (preset.random) line += " -z";
    if (*preset.at_least != 0) line += std::string(" --at-least ") + preset.at_least;
    if (*preset.at_most != 0) line += std::string(" --at-most ") + preset.at_most;
    line.resize(std::max<std::size_t>(line.size() + 2, 80), ' ');
    text += line + preset.about + "\n";
  }
  return text;
}

}  // namespace bench
