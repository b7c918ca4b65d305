// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include "base/settings_parse.hpp"

const char* const usage =
    "usage: millrace-recover [--dir DIR] [--target FILE] [--dry-run] [--force] [--drain [--timeout TIME]]\n"
    "       millrace-recover [--dir DIR] --list\n"
    "       millrace-recover [--dir DIR] --discard JOURNAL...\n"
    "Writes the records of journals in DIR to their files, if the agents of these journals have died.\n"
    "  --target    only writes the journals of FILE, also if the file had another name then\n"
    "  --dry-run   only lists the journals and writes nothing\n"
    "  --force     also writes to another file of that path (restored from elsewhere), uses the records "
    "before the\n"
    "              first damage of a journal, and may write over newer bytes of a file\n"
    "  --drain     first waits for living agents that still write journals to their files\n"
    "  --timeout   ends the wait after this time without progress (default 60s)\n"
    "  --list      lists every journal in DIR, its contents, and whether its file is there\n"
    "  --discard   removes these journals in DIR; their records are lost\n"
    "Exit status: 0 all records are in their files, 1 some are not, 2 wrong use.\n";

std::string understand(std::span<const std::string> arguments, Options& options) {
  using millrace::parse::duration_ms;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const bool more = i + 1 < arguments.size();
    if (word == "--dry-run") {
      options.dry_run = true;
    } else if (word == "--force") {
      options.force = true;
    } else if (word == "--drain") {
      options.drain = true;
    } else if (word == "--list") {
      options.list = true;
    } else if (word == "--discard") {
      options.discard = true;
    } else if (word == "--dir" && more) {
      options.directory = arguments[++i];
    } else if (word == "--target" && more) {
      options.target = arguments[++i];
    } else if (word == "--timeout" && more && duration_ms(arguments[i + 1])) {
      options.timeout_ms = *duration_ms(arguments[++i]);
    } else if (!word.starts_with("-")) {
      options.journals.push_back(word);
    } else {
      options.help = word == "--help" || word == "-h";
      return options.help ? std::string() : "unexpected argument '" + word + "'";
    }
  }
  const bool recovers = options.dry_run || options.force || options.drain || !options.target.empty();
  if (!options.discard && !options.journals.empty())
    return "unexpected argument '" + options.journals.front() + "'";
  if (options.discard && options.journals.empty()) return "--discard needs the paths of the journals";
  if ((options.discard || options.list) && (recovers || (options.discard && options.list)))
    return "--list and --discard allow no other option but --dir";
  return {};
}
