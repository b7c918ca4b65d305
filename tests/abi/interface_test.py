# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The public interface of this tree has everything that the last release had (docs/reference/interface.md)."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import interface
from millrace import __version__

ADVICE = """\
Programs and scripts may use it: bring it back. If it has to go, put "- " ahead of its line in tests/abi/interface.txt
and say so in CHANGELOG.md; docs/reference/interface.md tells which release may then come next."""


def problems(present: set[str], last: str, version: str) -> list[str]:
    """What is wrong with an interface. `last`: interface.txt, where "- " marks what the next release drops."""
    head, *lines = last.splitlines()
    released = head.split()[-1]
    dropped = {line[2:] for line in lines if line.startswith("- ")}
    kept = {line for line in lines if not line.startswith("- ")}
    number = {line for line in kept if line.startswith("MILLRACE_API_VERSION")}  # which additions to millrace.h raise
    added = present - kept - dropped
    found = [f"gone or changed since {released}: {line}" for line in sorted(kept - present - number)]
    found += [f'marked with "- ", and still there: {line}' for line in sorted(dropped & present)]
    if number <= present and any(line.startswith("millrace.h: ") for line in added):
        found.append("millrace.h has additions: raise MILLRACE_API_VERSION by one")
    old, new = ([int(part) for part in text.split(".")] for text in (released, version))
    step = next((name for name, a, b in zip(("major", "minor", "patch"), old, new, strict=True) if a != b), "")
    if dropped and step in (("patch",) if old[0] == 0 else ("minor", "patch")):
        found.append(f"{version} is a {step} release, and drops: {', '.join(sorted(dropped))}")
    if added and step == "patch":
        found.append(f"{version} is a patch release, and adds: {', '.join(sorted(added))}")
    return found


class Problems(unittest.TestCase):
    NUMBER, SYNC, MERGE = "MILLRACE_API_VERSION 1", "millrace.h: int millrace_sync(void)", "setting merge: default 1"
    LAST = {NUMBER, SYNC, MERGE}
    TEXT = f"Millrace 0.1.0\n{NUMBER}\n{SYNC}\n{MERGE}"

    def test_additions_are_allowed_but_in_a_patch_release(self):
        more = self.LAST | {"setting new: default 0"}
        self.assertEqual([problems(more, self.TEXT, version) for version in ("0.1.0", "0.2.0", "1.0.0")], [[], [], []])
        self.assertEqual(len(problems(more, self.TEXT, "0.1.1")), 1)

    def test_what_is_gone_or_changed_is_found(self):
        self.assertEqual(len(problems(self.LAST - {self.MERGE}, self.TEXT, "0.1.0")), 1)
        changed = self.LAST - {self.MERGE} | {"setting merge: default 0"}
        self.assertEqual(problems(changed, self.TEXT, "1.0.0"), [f"gone or changed since 0.1.0: {self.MERGE}"])

    def test_what_is_marked_may_go_with_a_larger_release(self):
        text, less = self.TEXT.replace(self.MERGE, f"- {self.MERGE}"), self.LAST - {self.MERGE}
        self.assertEqual([problems(less, text, version) for version in ("0.1.0", "0.2.0")], [[], []])
        self.assertEqual(len(problems(less, text, "0.1.1")), 1)
        self.assertEqual(len(problems(less, text.replace("0.1.0", "1.1.0"), "1.2.0")), 1)
        self.assertEqual(len(problems(self.LAST, text, "0.2.0")), 1)

    def test_a_new_function_of_c_raises_the_number(self):
        more = self.LAST | {"millrace.h: int millrace_new(void)"}
        self.assertEqual(len(problems(more, self.TEXT, "0.1.0")), 1)
        self.assertEqual(problems(more - {self.NUMBER} | {"MILLRACE_API_VERSION 2"}, self.TEXT, "0.2.0"), [])


class Tree(unittest.TestCase):
    def test_the_interface_of_the_last_release_is_there(self):
        found = problems(set(interface.interface()), interface.LAST.read_text(encoding="utf-8"), __version__)
        if found:
            self.fail("\n".join(["", *found, ADVICE]))


if __name__ == "__main__":
    unittest.main()
