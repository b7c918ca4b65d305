# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""How `make` configures trees, and how `make demo` goes through its steps; with a cmake that builds nothing."""

import os
import shutil
import subprocess

import pytest
from conftest import ROOT, write_script


@pytest.fixture
def tree(tmp_path):
    """A source tree with a Makefile, the demo's script, and a `cmake` that writes down what it is asked for."""
    (tmp_path / "build/bin").mkdir(parents=True)
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copy(ROOT / "scripts/demo", tmp_path / "scripts")
    (tmp_path / "tools").mkdir()
    write_script(tmp_path / "tools/cmake", f'#!/bin/sh\necho "$@" >>{tmp_path}/asked\n')
    write_script(tmp_path / "build/bin/millrace", "#!/bin/sh\necho the demo; exit 3\n")

    def make(*words):
        (tmp_path / "asked").write_text("")
        # A make above these tests must not hand its flags down: its child names the folders that it enters.
        inherited = {
            name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
        }
        environment = {**inherited, "PATH": f"{tmp_path}/tools:{os.environ['PATH']}"}
        done = subprocess.run(
            ["make", "BOOTSTRAP=no", "JOBS=2", *words], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        return done, (tmp_path / "asked").read_text().splitlines()

    make.folder = tmp_path
    return make


def configured(tree, tests):
    (tree.folder / "build/build.ninja").touch()
    (tree.folder / "build/CMakeCache.txt").write_text(f"MILLRACE_TESTS:BOOL={tests}\n")


def test_a_new_tree_is_configured_with_tests(tree):
    _, asked = tree("build")
    assert asked == ["--preset release -DMILLRACE_TESTS=ON", "--build build -j 2"]


def test_a_tree_of_the_demo_is_configured_again_for_all_else(tree):
    configured(tree, "OFF")
    _, asked = tree("shipped")
    assert asked == ["--preset release -DMILLRACE_TESTS=ON", "--build build -j 2 --target shipped"]


def test_a_tree_with_tests_is_not_configured_again(tree):
    configured(tree, "ON")
    assert tree("build")[1] == ["--build build -j 2"]
    assert tree("demo")[1] == ["--build build -j 2 --target for_demo"]


def test_the_demo_is_configured_without_tests_and_tells_its_steps(tree):
    done, asked = tree("demo")
    assert asked == ["--preset release -DMILLRACE_TESTS=OFF", "--build build -j 2 --target for_demo"]
    lines = done.stdout.splitlines()
    steps = [line for line in lines if line.startswith("== step")]
    assert [line.split(" (")[0] for line in steps] == [
        "== step 1 of 3: installation",
        "== step 2 of 3: build",
        "== step 3 of 3: programs",
    ]
    assert lines[-1].startswith("== installation 0 s, build 0 s, programs 0 s, in all ")
    assert done.returncode != 0, "the demo's own failure is that of make"


def test_bootstrap_knows_what_it_is_asked_for():
    done = subprocess.run([ROOT / "scripts/bootstrap", "everything"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "neither all nor demo" in done.stderr
