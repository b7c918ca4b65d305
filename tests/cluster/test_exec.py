# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What runs in nodes, and bad use: one pair of nodes for all tests, each of which leaves it as it found it."""

import json
import os
import signal

import pytest
from conftest import IN_TMP, RUN, Cluster, call, eventually, watched, words


class ByCommand(Cluster):
    """Its commands start by `millrace cluster exec`."""

    def inside(self, node, *command):
        return words("exec", "--name", self.name, node, "--", *command)


@pytest.fixture(scope="module")
def pair():
    with watched(ByCommand) as one:
        one.up("--nodes", 2)
        yield one


@pytest.fixture(scope="module")
def absent():
    """A cluster that never comes up."""
    with watched() as one:
        yield one


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
def test_bad_use_is_told(absent, command, says):
    done = absent(command[0], *command[1:])
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
