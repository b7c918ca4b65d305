# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Up, status, down, and what is left when something goes wrong."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import RUN, STORAGE, call, eventually, keepers, kill_keeper, others, words


def test_status_names_all_nodes(cluster):
    made = cluster.up("--nodes", 3, "--bandwidth", "1gbit")
    assert [node["name"] for node in made["nodes"]] == ["node0", "node1", "node2"]
    assert len({node["address"] for node in made["nodes"]}) == 3
    told = json.loads(cluster("status", "--json").stdout)
    assert [node["state"] for node in told["nodes"]] == ["up"] * 3 and told == cluster.status()
    assert told["spec"]["bandwidth_bits"] == 10**9
    assert "node2" in cluster("status").stdout


def test_private_places_are_private_and_the_rest_is_shared(cluster, tmp_path):
    cluster.up("--nodes", 2, "--shared", tmp_path)
    for place in ("/tmp", "/dev/shm", "/local"):
        assert cluster.run(0, "touch", f"{place}/only-in-0").returncode == 0
        assert cluster.run(1, "test", "-e", f"{place}/only-in-0").returncode == 1
        assert not os.path.exists(f"{place}/only-in-0")
    assert cluster.run(0, "touch", tmp_path / "for-all").returncode == 0
    assert cluster.run(1, "test", "-e", tmp_path / "for-all").returncode == 0
    assert (tmp_path / "for-all").exists()
    assert (STORAGE / cluster.name / "node0/local/only-in-0").exists()


def test_without_rights_it_says_what_is_missing(cluster):
    done = subprocess.run(
        ["setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin", *words("up", "--nodes", "1")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2 and "missing: CAP_NET_ADMIN)" in done.stderr


def test_without_tools_it_says_what_to_install(cluster, tmp_path):
    done = cluster("up", "--nodes", 1, env={**os.environ, "PATH": str(tmp_path)})
    assert done.returncode == 2 and "ip and tc not found" in done.stderr and "iproute2" in done.stderr


def test_a_failed_up_leaves_nothing(cluster, tmp_path):
    # A tc that fails for the second node's link; the fixture looks at what is left.
    (tmp_path / "tc").write_text(
        '#!/bin/sh\ninput=$(cat)\ncase "$input" in *port1*) echo broken >&2; exit 1;; esac\n'
        'printf "%s\\n" "$input" | /usr/sbin/tc "$@"\n'
    )
    (tmp_path / "tc").chmod(0o755)
    done = cluster(
        "up", "--nodes", 3, "--bandwidth", "1gbit", env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    )
    assert done.returncode != 0 and "broken" in done.stderr
    assert not (RUN / cluster.name).exists() and not (STORAGE / cluster.name).exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("after_s", [0.2, 0.3, 0.4])
def test_an_interrupted_up_leaves_nothing(cluster, number, after_s):
    with subprocess.Popen(words("up", "--name", cluster.name, "--nodes", "64"), stderr=-1, stdout=-1) as child:
        time.sleep(after_s)
        child.send_signal(number)
        child.communicate(timeout=60)
    # Unless it was up already, which only a fast machine sees.
    there = [folder / cluster.name for folder in (RUN, STORAGE) if (folder / cluster.name).exists()]
    assert not there or cluster.states() == ["up"] * 64


def test_down_is_right_where_there_is_nothing(cluster):
    assert cluster("down").returncode == 0
    assert cluster("down").returncode == 0


def test_down_ends_what_runs(pair):
    with pair.start(0, "sh", "-c", "echo ready; exec sleep 1000") as child:
        assert child.stdout.readline() == "ready\n"
        assert pair("down").returncode == 0
        assert child.wait(20) != 0


def test_a_crashed_keeper_takes_the_nodes_along(pair):
    kill_keeper(pair)
    assert eventually(lambda: not keepers(pair.name))
    done = pair("status")
    assert done.returncode == 2 and "has crashed" in done.stderr
    assert pair("up", "--nodes", 1).returncode == 0  # over what the crashed one left
    assert pair.states() == ["up"]


def test_down_all_finds_everything(pair):
    if others(pair.name):
        pytest.skip(f"it would end {', '.join(others(pair.name))} too")
    kill_keeper(pair)
    other = f"{pair.name}-b"
    assert call("up", "--name", other, "--nodes", 1).returncode == 0
    (RUN / other / "state.json").unlink()  # so that only its process tells of it
    (STORAGE / f"{pair.name}-c").mkdir()
    assert call("down", "--all").returncode == 0
    assert not keepers("") and not STORAGE.exists() and not [p for p in RUN.iterdir() if p.is_dir()]
    assert not Path("/local").exists()
