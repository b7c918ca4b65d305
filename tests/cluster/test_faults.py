# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Cut, heal, kill, boot: one pair of nodes for all tests, each of which leaves it as it found it."""

import os
import re
import signal

import pytest
from conftest import IN_TMP, eventually


@pytest.fixture
def pair(lasting_pair):
    return lasting_pair


TIME_WAIT = "06"  # of an earlier test
LISTEN = """
import socket
s = socket.create_server(("", 5000)); print("listening", flush=True)
c, _ = s.accept()
while (data := c.recv(100)): print(data.decode(), flush=True)
print("closed", flush=True)
"""
CONNECT = """
import socket, sys
try: socket.create_connection(("node1", 4999), 2); print("connected")
except ConnectionRefusedError: print("reached")
except OSError as error: print("lost", type(error).__name__)
"""
TALK = """
import socket, sys
s = socket.create_connection(("node1", 5000), 10)
s.send(b"hello"); print("sent", flush=True)
for line in sys.stdin: s.send(line.strip().encode()); print("sent", flush=True)
"""


def test_a_cut_node_is_not_reached_until_it_is_healed(pair):
    assert pair.python(0, CONNECT) == "reached\n"
    assert pair("cut", "node1").returncode == 0
    assert pair.states() == ["up", "cut"]
    assert pair.python(0, CONNECT).startswith("lost")
    assert pair("heal", 1).returncode == 0
    assert pair.states() == ["up", "up"]
    assert eventually(lambda: pair.python(0, CONNECT) == "reached\n")


def test_a_cut_node_sees_its_own_link_up(pair):
    pair("cut", 1)
    assert pair.run(1, "cat", "/sys/class/net/eth0/carrier").stdout == "1\n"
    assert pair.run(1, "cat", "/sys/class/net/eth0/operstate").stdout == "up\n"
    pair("heal", 1)


def talking(pair):
    """A listener on node 1 and its client on node 0, connected."""
    listener = pair.start(1, "/usr/bin/python3", "-c", LISTEN)
    assert listener.stdout.readline() == "listening\n"
    talker = pair.start(0, "/usr/bin/python3", "-c", TALK, stdin=-1)
    assert talker.stdout.readline() == "sent\n" and listener.stdout.readline() == "hello\n"
    return listener, talker


def test_what_was_sent_over_a_cut_arrives_after_healing(pair):
    listener, talker = talking(pair)
    pair("cut", 1)
    talker.stdin.write("late\n")
    talker.stdin.flush()
    assert talker.stdout.readline() == "sent\n"
    # It has been sent, and is sent again because nobody acknowledges it.
    assert eventually(lambda: re.search(r"retrans:\d", pair.run(0, "ss", "-tinH").stdout), 30)
    pair("heal", 1)
    assert listener.stdout.readline() == "late\n"
    talker.stdin.close()
    assert listener.wait(20) == 0 and talker.wait(20) == 0


def test_a_killed_node_is_silent_and_its_storage_survives(pair):
    listener, talker = talking(pair)
    assert pair.run(1, "sh", "-c", "echo kept > /local/file; echo lost > /tmp/file").returncode == 0
    assert pair("kill", 1).returncode == 0
    assert listener.wait(20) == -9
    assert pair.states() == ["up", "dead"]
    # No end of stream and no reset came: the peer's connection still stands.
    sockets = pair.run(0, "cat", "/proc/net/tcp").stdout.splitlines()[1:]
    states = [line.split()[3] for line in sockets if line.split()[2].endswith(f":{5000:04X}")]
    assert [state for state in states if state != TIME_WAIT] == ["01"]
    for _ in range(8):  # the answer may come before the question has left
        assert pair.run(1, "true").returncode == 126
    for what in ("kill", "cut", "heal"):
        assert "is dead" in pair(what, 1).stderr
    assert pair("boot", 1).returncode == 0
    assert pair.states() == ["up", "up"]
    assert pair.run(1, "cat", "/local/file").stdout == "kept\n"
    assert pair.run(1, "ls", "/tmp").stdout.split() == IN_TMP
    assert eventually(lambda: pair.python(0, CONNECT) == "reached\n")
    # Now the old connection is unknown to the node.
    talker.stdin.write("late\n")
    talker.stdin.close()
    assert talker.wait(60) in (0, 1)


def test_a_node_that_ends_by_itself_is_seen(pair):
    os.kill(pair.status()["nodes"][0]["pid"], signal.SIGKILL)
    assert eventually(lambda: pair.states() == ["dead", "up"])
    assert pair("boot", 0).returncode == 0
    assert pair.python(0, CONNECT) == "reached\n"


def test_a_running_node_is_not_booted(pair):
    done = pair("boot", 0)
    assert done.returncode == 2 and "end it first" in done.stderr
