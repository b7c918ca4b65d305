# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The demo on virtual nodes: results with and without GlusterFS, and nothing left after an interruption."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BUILD, RUN, STORAGE, eventually, more, traces
from jobs import LAUNCHERS, shared_folder
from millrace.tools.cluster import gluster

BOUND_S = 240


@pytest.fixture(autouse=True)
def mpich():
    if not LAUNCHERS["mpich"] or not (BUILD / "bin/bench/ior-mpich").exists():
        pytest.skip("no MPICH here")


@pytest.fixture
def folder():
    with shared_folder() as found:
        yield found


def start(folder: Path, *options: str, shared: bool) -> subprocess.Popen:
    """`millrace demo`, on node 0's disk unless `shared`."""
    hide = "" if shared else "from millrace.tools.cluster import gluster; gluster.missing = lambda: 'not this time'; "
    # A shell's job in the background ignores Ctrl-C, and so would its children.
    hear = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code = f"{hear}{hide}from millrace.__main__ import main; main()"
    command = [sys.executable, "-c", code, "demo", "--quick", "--output", str(folder / "out"), *options]
    environment = {**os.environ, "MILLRACE_PREFIX": str(BUILD)}
    return subprocess.Popen(command, env=environment, stderr=(folder / "err").open("wb"), stdout=subprocess.DEVNULL)


def left(name: str) -> dict[str, object]:
    """What clusters of this name leave; other programs may mount on this machine meanwhile."""
    found = traces(name)
    ours = (str(RUN), str(STORAGE), "/local")
    return found | {"mounts": {place for place in found["mounts"] if place.startswith(ours)}}


def expect_no_more(before: dict[str, object], name: str) -> None:
    now: dict[str, object] = {}
    assert eventually(lambda: now.update(left(name)) or not more(before, now)), f"left: {more(before, now)}"


@pytest.mark.parametrize("shared", [False, True], ids=["disk-of-node-0", "glusterfs"])
def test_programs_run_on_four_nodes_with_identical_files(folder, shared):
    if shared and gluster.missing():
        pytest.skip(gluster.missing())
    with start(folder, "--only", "4 nodes", shared=shared) as demo:
        name = f"demo-{demo.pid}"
        before = left(name)
        assert demo.wait(BOUND_S) == 0, (folder / "err").read_text()
    (part,) = json.loads((folder / "out/results.json").read_text())["parts"]
    assert ("GlusterFS" in part["title"]) == shared
    assert len(part["results"]) >= 3
    for result in part["results"]:
        assert result["identical"] and not result["error"] and result["ranks"] == 16, result
    assert any(result["route"] == "pipeline" for result in part["results"])
    expect_no_more(before, name)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_of_an_interrupted_demo(folder, number):
    shared = not gluster.missing()
    with start(folder, "--only", "4 nodes", shared=shared) as demo:
        name = f"demo-{demo.pid}"
        before = left(name)
        begun = eventually(lambda: "1 of " in (folder / "err").read_text() or demo.poll() is not None, BOUND_S)
        assert begun and demo.poll() is None, (folder / "err").read_text()
        demo.send_signal(number)
        assert eventually(lambda: demo.poll() is not None, 60), "it does not end"
        assert demo.returncode != 0
    expect_no_more(before, name)
    assert not list((folder / "out").glob("work-*"))
