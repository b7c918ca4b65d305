# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Up, status, exec, down, and what is left when something goes wrong."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import IN_TMP, RUN, STORAGE, call, eventually, keepers, kill_keeper, others, words


def test_status_names_all_nodes(cluster):
    made = cluster.up("--nodes", 3, "--bandwidth", "1gbit")
    assert [node["name"] for node in made["nodes"]] == ["node0", "node1", "node2"]
    assert len({node["address"] for node in made["nodes"]}) == 3
    assert cluster.states() == ["up"] * 3
    assert cluster.status()["spec"]["bandwidth_bits"] == 10**9
    assert "node2" in cluster("status").stdout


def test_each_node_has_its_own_world(pair):
    seen = [
        pair.python(
            i,
            "import os, socket\n"
            "spaces = [os.readlink('/proc/self/ns/' + name) for name in ('net', 'mnt', 'uts', 'ipc', 'pid')]\n"
            "print(socket.gethostname(), *spaces)\n"
            "print(sorted(os.listdir('/sys/class/net')), *map(os.listdir, ('/tmp', '/dev/shm', '/local')))\n"
            "print(socket.gethostbyname('node1'), len([p for p in os.listdir('/proc') if p.isdigit()]))\n",
        ).splitlines()
        for i in (0, 1)
    ]
    here = [os.readlink(f"/proc/self/ns/{name}") for name in ("net", "mnt", "uts", "ipc", "pid")]
    first, second = seen[0][0].split(), seen[1][0].split()
    assert (first[0], second[0]) == ("node0", "node1")
    assert len({*here, *first[1:], *second[1:]}) == 15
    assert seen[0][1] == f"['eth0', 'lo'] {IN_TMP} [] []"
    address, processes = seen[0][2].split()
    assert address == pair.status()["nodes"][1]["address"] and int(processes) == 2


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


def test_exec_keeps_streams_folder_environment_and_status(pair, monkeypatch):
    monkeypatch.setenv("SOME_THING", "x y")
    done = pair.run("node1", "sh", "-c", 'pwd; cat; echo "$SOME_THING" >&2; exit 37', input="through\n", cwd="/usr")
    assert (done.returncode, done.stdout, done.stderr) == (37, "/usr\nthrough\n", "x y\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_exec_ends_by_the_signal_that_ended_the_command(pair, number):
    assert pair.run(0, "sh", "-c", f"kill -{int(number)} $$").returncode == -number


def test_exec_passes_a_signal_on(pair):
    script = "trap 'echo got it; exit 5' USR1; echo ready; while :; do sleep 0.05; done"
    with pair.start(0, "sh", "-c", script) as child:
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGUSR1)
        assert child.stdout.read() == "got it\n"
        assert child.wait(20) == 5


def test_a_killed_exec_takes_its_command_along(pair):
    with pair.start(0, "sh", "-c", "echo ready; exec sleep 1000") as child:
        assert child.stdout.readline() == "ready\n"
        child.kill()
    assert eventually(lambda: "sleep" not in pair.run(0, "sh", "-c", "cat /proc/[0-9]*/comm").stdout)


def test_orphans_are_reaped(pair):
    pair.run(0, "sh", "-c", "for i in 1 2 3; do (sleep 0.1 &) ; done")
    assert eventually(lambda: "sleep" not in pair.run(0, "sh", "-c", "cat /proc/[0-9]*/comm").stdout)


def test_a_node_can_start_a_command_in_another(pair):
    agent = RUN / pair.name / "ssh"
    done = pair.run(0, agent, "-x", "-o", "Some=thing", "node1", "hostname;", "exit", "3")
    assert (done.returncode, done.stdout) == (3, "node1\n")


def test_many_commands_at_once(pair):
    children = [pair.start(i % 2, "sh", "-c", f"sleep 0.2; echo {i}") for i in range(12)]
    assert [child.communicate(timeout=60)[0].strip() for child in children] == [str(i) for i in range(12)]


def test_a_second_up_of_the_same_name_is_refused(pair):
    done = pair("up", "--nodes", 2)
    assert done.returncode == 2 and "runs already, with 2 nodes" in done.stderr
    assert pair.states() == ["up", "up"]


def test_two_clusters_do_not_meet(pair):
    other = f"{pair.name}-b"
    assert call("up", "--name", other, "--nodes", 1).returncode == 0
    try:
        theirs = json.loads(call("status", "--name", other, "--json").stdout)
        pids = [status["nodes"][0]["pid"] for status in (pair.status(), theirs)]
        assert os.readlink(f"/proc/{pids[0]}/ns/net") != os.readlink(f"/proc/{pids[1]}/ns/net")
    finally:
        assert call("down", "--name", other).returncode == 0
    assert pair.run(0, "test", "-d", "/local").returncode == 0


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["up", "--nodes", "0"], "allowed: 1 to 64"),
        (["up", "--nodes", "65"], "allowed: 1 to 64"),
        (["up", "--nodes", "1", "--bandwidth", "fast"], "'fast' is not a rate"),
        (["up", "--nodes", "1", "--bandwidth", "1bit"], "100kbit to 400gbit"),
        (["up", "--nodes", "1", "--latency", "5"], "'5' is not a time"),
        (["up", "--nodes", "1", "--shared", "/no/such"], "there is no such folder"),
        (["up", "--nodes", "1", "--name", "../x"], "cannot be the name of a cluster"),
        (["status"], "no cluster"),
        (["exec", "0", "--", "true"], "no cluster"),
        (["cut", "0"], "no cluster"),
        (["env"], "no cluster"),
    ],
)
def test_bad_use_is_told(cluster, command, says):
    done = cluster(command[0], *command[1:])
    assert done.returncode == 2 and says in done.stderr


def test_unknown_nodes_and_commands_are_told(pair):
    done = pair.run(2, "true")
    assert done.returncode == 2 and "'2' is not a node" in done.stderr
    assert pair.run(0, "no-such-program").returncode == 127
    assert pair.run(0, "/etc/passwd").returncode == 126
    here = pair.run(0, "true", cwd="/dev/shm")
    assert here.returncode == 0


def test_a_folder_that_the_node_lacks_is_told(pair, tmp_path):
    done = pair.run(0, "true", cwd=tmp_path)
    assert done.returncode == 126 and "--shared" in done.stderr


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
