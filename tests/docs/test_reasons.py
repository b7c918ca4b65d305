# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""docs/reference/statistics.md has every reason of src/client/costs/reasons.cpp, with its setting."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def rows_of(heading, next_heading):
    """(reason, setting) of each row of the table between two headings of the page."""
    page = (ROOT / "docs/reference/statistics.md").read_text()
    page = page[page.index(f"\n## {heading}\n") : page.index(f"\n## {next_heading}\n")]
    rows = re.findall(r"^\| (.+) \| .+ \| (.+) \|$", page, re.M)[2:]
    return {(text, "" if setting == "-" else setting.replace("`", "")) for text, setting in rows}


def reasons_of_the_code():
    """(text, setting) of each reason."""
    room = ROOT / "src/client/costs"
    code = re.sub(r'"\s*\n\s*"', "", (room / "reasons.cpp").read_text())
    rows = re.findall(r'\{Reason::(\w+),\s*"([^"]*)",\s*("[^"]*"|by_piece)(?:,\s*Unit::\w+)?\}', code)
    enumerators = re.search(r"enum class Reason.*?\{(.*?)\}", (room / "reasons.hpp").read_text(), re.S)[1]
    named = set(re.findall(r"^\s*(\w+),$", enumerators, re.M))
    assert {name for name, *_ in rows} == named, "the pattern above misses a row"
    settings = {"by_piece": "--direct-above"}
    return {(text, settings.get(s, s.strip('"'))) for name, text, s in rows if name != "none"}


def test_every_reason_is_in_the_table_with_its_setting():
    assert rows_of("Reasons", "The lines") == reasons_of_the_code()


def test_every_reason_of_plain_files_is_in_its_table():
    code = re.search(r"Words words_for\(.*?\n}", (ROOT / "src/plain/engine.cpp").read_text(), re.S)[0]
    known = set(re.findall(r'\{"([^"]+)",\s*"([^"]*)"\}', code))
    assert len(known) == 5 and rows_of('`kind: "plain"`', '`kind: "progress"`') == known
