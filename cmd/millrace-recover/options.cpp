// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include "base/settings_parse.hpp"

const char* const usage =
    "usage: millrace-recover [--dir DIR] [--dry-run] [--force] [--drain [--timeout TIME]]\n"
    "       millrace-recover [--dir DIR] --list\n"
    "       millrace-recover [--dir DIR] --discard JOURNAL...\n"
    "Writes what journals in DIR hold to their files: those whose agents have died.\n"
    "  --dry-run   only says what there is\n"
    "  --force     also into a file of that path that is another one (restored from elsewhere), and up to "
    "the\n"
    "              first damage of a journal, and where a file was written again without what a journal "
    "holds\n"
    "  --drain     first waits for journals that living agents are still writing to their files\n"
    "  --timeout   gives up waiting after so long without progress (default 60s)\n"
    "  --list      tells of every journal in DIR what it holds, and whether its file is there\n"
    "  --discard   takes these journals in DIR away, and what they hold with them\n"
    "Exit status: 0 everything is in its file, 1 something is not, 2 wrong use.\n";

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
    } else if (word == "--timeout" && more && duration_ms(arguments[i + 1])) {
      options.timeout_ms = *duration_ms(arguments[++i]);
    } else if (!word.starts_with("-")) {
      options.journals.push_back(word);
    } else {
      options.help = word == "--help" || word == "-h";
      return options.help ? std::string() : "unexpected argument '" + word + "'";
    }
  }
  const bool recovers = options.dry_run || options.force || options.drain;
  if (!options.discard && !options.journals.empty())
    return "unexpected argument '" + options.journals.front() + "'";
  if (options.discard && options.journals.empty()) return "--discard needs the journals to take away";
  if ((options.discard || options.list) && (recovers || (options.discard && options.list)))
    return "--list and --discard go with no other option but --dir";
  return {};
}
