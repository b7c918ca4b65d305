# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/release, with a script that builds nothing: what it refuses, and that it builds commits alone."""

import os
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, write_script


@pytest.fixture
def tree(tmp_path):
    """A clean repository with version 0.2.0, whose only part is the file `source`."""
    if not shutil.which("git"):
        pytest.skip("no git")
    for folder in ("scripts", "python/millrace", ".venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / ".gitignore").write_text("/build/\n/dist/\n/.venv\n")
    (tmp_path / "source").write_text("committed\n")
    (tmp_path / ".venv/bin/python3").symlink_to(sys.executable)
    (tmp_path / "python/millrace/__init__.py").write_text('__version__ = "0.2.0"  # a comment\n')
    (tmp_path / "scripts/spdx.py").write_text("")
    shutil.copy(ROOT / "scripts/release", tmp_path / "scripts")
    write_script(tmp_path / "scripts/packages", '#!/bin/sh\ncd "$(dirname "$0")/.." && cat source >"dist/$1"\n')

    def git(*words):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", tmp_path, *words]
        subprocess.run(command, check=True, capture_output=True)

    def release(*words, **environment):
        command, more = [tmp_path / "scripts/release", *words], {"PARTS": "sdist", **environment}
        return subprocess.run(command, env={**os.environ, **more}, capture_output=True, text=True, check=False)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "all")
    release.folder, release.git = tmp_path, git
    return release


def test_a_head_without_the_tag_of_its_version_is_refused(tree):
    tree.git("tag", "v0.1.0")
    done = tree()
    assert done.returncode == 2 and "no tag v0.2.0" in done.stderr
    tree.git("tag", "v0.2.0")
    tree.git("commit", "-qm", "later", "--allow-empty")
    assert tree().returncode == 2


@pytest.mark.parametrize("rehearsal", ["no", "yes"])
@pytest.mark.parametrize("name", ["source", "new"])
def test_a_tree_that_is_not_clean_is_refused(tree, name, rehearsal):
    tree.git("tag", "v0.2.0")
    (tree.folder / name).write_text("changed\n")
    done = tree(REHEARSAL=rehearsal)
    assert done.returncode == 2 and name in done.stderr
    assert not (tree.folder / "dist").exists()


def test_a_release_has_all_parts_and_a_rehearsal_another_name(tree):
    tree.git("tag", "v0.2.0")
    assert tree().returncode != 0, "this tree has no wheel to build, and PARTS is for rehearsals"
    assert not (tree.folder / "dist/0.2.0").exists()
    done = tree("twice", REHEARSAL="yes")
    made = tree.folder / "dist/0.2.0-rehearsal"
    assert done.returncode == 0 and "the same bytes" in done.stderr, done.stderr
    assert (made / "sdist").read_text() == "committed\n"
    assert subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=made, capture_output=True).returncode == 0


def test_other_bytes_of_the_second_build_are_found(tree):
    write_script(tree.folder / "scripts/packages", '#!/bin/sh\ndate +%N >"$(dirname "$0")/../dist/$1"\n')
    tree.git("commit", "-qam", "with the time")
    done = tree("twice", REHEARSAL="yes")
    assert done.returncode == 2 and "other bytes" in done.stderr
