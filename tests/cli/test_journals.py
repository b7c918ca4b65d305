# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The folder of journals has to survive a boot of the node."""

import pytest
from millrace.run import journals


def test_tmp_is_not_kept():
    assert journals.weakness("/tmp", tmpfiles=()) == journals.weakness("/tmp/mine", tmpfiles=()) != ""
    assert journals.weakness(journals.DEFAULT, tmpfiles=()) == ""


@pytest.mark.parametrize(
    ("line", "emptied"),
    [
        ("D {} 1777 root root -", True),
        ("D! {} - - - -", True),
        ("R! {}/*", True),
        ("q {} 1777 root root 30d", False),
        ("# D {}", False),
    ],
)
def test_what_the_system_empties_at_boot_is_known(tmp_path, line, emptied):
    place = tmp_path.resolve()
    if str(place).startswith("/tmp/"):
        place = journals.DEFAULT + "/not-there"
    rules = tmp_path / "tmpfiles.d"
    rules.mkdir()
    (rules / "some.conf").write_text(line.format(place) + "\n")
    why = journals.weakness(f"{place}/mine", tmpfiles=[str(rules)])
    assert bool(why) == emptied, why


def test_a_file_of_the_administrator_hides_that_of_the_distribution(tmp_path):
    place = journals.DEFAULT + "/not-there"
    for name, line in (("etc", f"d {place}"), ("lib", f"D {place}")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same.conf").write_text(line + "\n")
    assert journals.weakness(place, tmpfiles=[str(tmp_path / "etc"), str(tmp_path / "lib")]) == ""
    assert journals.weakness(place, tmpfiles=[str(tmp_path / "lib"), str(tmp_path / "etc")]) != ""
