# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Links have the rate that was asked for."""

import re

import pytest
from conftest import TRIES

SINK = """
import socket, time
s = socket.create_server(("", 5001)); print("listening", flush=True)
c, _ = s.accept(); buffer = bytearray(1 << 20); total = 0; begin = None
while (n := c.recv_into(buffer)):
    if begin is None and total > {skip}: begin, base = time.monotonic(), total
    total += n
print("rate", (total - base) * 8 / (time.monotonic() - begin))
"""
SOURCE = """
import socket, time
s = socket.create_connection(("{host}", 5001), 10); block = bytes(1 << 20)
end = time.monotonic() + {seconds}
while time.monotonic() < end: s.sendall(block)
"""


def rate(cluster, source, sink, skip, seconds):
    """Bits per second of one TCP stream, after its start."""
    listener = cluster.start(sink, "/usr/bin/python3", "-c", SINK.format(skip=skip))
    assert listener.stdout.readline() == "listening\n"
    cluster.python(source, SOURCE.format(host=f"node{sink}", seconds=seconds))
    said, errors = listener.communicate(timeout=400)
    return float(re.search(r"rate (\S+)", said)[1]), errors


@pytest.mark.parametrize(("bandwidth", "bits", "skip"), [("1gbit", 1e9, 2 << 20), ("100mbit", 1e8, 1 << 20)])
def test_a_stream_reaches_the_nominal_rate(cluster, bandwidth, bits, skip):
    cluster.up("--nodes", 2, "--bandwidth", bandwidth)
    for source, sink in ((0, 1), (1, 0)):
        for _ in range(TRIES):
            reached = rate(cluster, source, sink, skip, 1.5)[0] / bits
            print(f"{bandwidth} node{source} -> node{sink}: {reached:.3f} of nominal")
            assert reached <= 1.05
            if reached >= 0.85:
                break
        else:
            pytest.fail("never near the nominal rate")


def test_unshaped_links_are_faster(cluster):
    cluster.up("--nodes", 2)
    assert any(rate(cluster, 0, 1, 2 << 20, 1)[0] > 1.5e9 for _ in range(TRIES))


def test_latency_needs_netem(cluster):
    done = cluster("up", "--nodes", 2, "--latency", "2ms")
    if done.returncode != 0:
        assert done.returncode == 2 and "no netem" in done.stderr
        pytest.skip("this kernel has no netem: only the message was tested")
    program = (
        "import socket, time\nbegin = time.monotonic()\n"
        "try: socket.create_connection(('node1', 9), 5)\nexcept OSError: pass\nprint(time.monotonic() - begin)"
    )
    cluster.python(0, program)
    taken = [float(cluster.python(0, program)) for _ in range(TRIES)]
    assert 0.004 <= min(taken) < 0.05
