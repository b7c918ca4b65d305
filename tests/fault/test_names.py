# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""A close that promises that bytes outlive the node also promises the name of the file that they are in: its folder is
synced while the file is there, before anything is written. A preload (names.c) writes down which folders are synced."""

import pytest
from conftest import BUILD
from test_kill import PIECE, PIECES, STOP

BOUND_S = 60.0


def synced(job, path, **settings):
    """Folders that were synced by the time that ranks are in the middle of writing; was the file there?"""
    log = job.folder / "names"
    preload = f"{BUILD / 'bin/tests/libfault_names.so'}:{job.environment(True, {})['LD_PRELOAD']}"
    prefix = ("env", f"LD_PRELOAD={preload}", f"TEST_NAMES={log}", f"TEST_NAME={path}")
    job.victim(path, f"piece={PIECE}", f"pieces={PIECES}", f"stop={STOP}", prefix=prefix, **settings)
    job.at_stop()
    lines = log.read_text().splitlines() if log.exists() else []
    job.go()
    assert job.wait(BOUND_S) == 0 and job.errors() == {}, job.out + job.err
    return [tuple(line.split(" ", 1)) for line in lines]


@pytest.mark.parametrize("durability", ["node", "disk"])
def test_the_name_of_a_new_file_is_on_the_disk_before_its_bytes_are_promised(job, tmp_path, durability):
    folder = tmp_path / "new"
    folder.mkdir()
    found = synced(job, folder / "data", durability=durability)
    # Once, by one rank: the folder, and the folder's own name.
    assert [line for line in found if line[1] in (str(folder), str(tmp_path))] == [
        ("there", str(folder)),
        ("there", str(tmp_path)),
    ], found


def test_of_a_link_it_is_the_name_that_the_link_means(job, tmp_path):
    folder = tmp_path / "new"
    folder.mkdir()
    (tmp_path / "link").symlink_to(folder / "data")
    assert ("there", str(folder)) in synced(job, tmp_path / "link", durability="node")


def test_where_no_close_promises_it_nothing_is_synced(job, tmp_path):
    found = synced(job, tmp_path / "data", durability="server")
    assert all(folder != str(tmp_path) for _, folder in found), found
