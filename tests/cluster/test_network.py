# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Links have the rate that was asked for."""

import re

import pytest
from conftest import TRIES

# A busy machine takes the processor away from both ends for a while; what the link gives is seen in between.
WINDOW_S = 0.25

SINK = """
import socket, time
def link():
    begin = time.monotonic()
    devices = [line.split(":") for line in open("/proc/net/dev").read().splitlines()[2:]]
    received = sum(int(counts.split()[0]) for name, counts in devices if name.strip() != "lo")
    return begin, received * 8, time.monotonic()
s = socket.create_server(("", 5001)); print("listening", flush=True)
c, _ = s.accept(); buffer = bytearray(1 << 20); total = 0; begin = None; came = []
while (n := c.recv_into(buffer)):
    if begin is None and total > {skip}: begin, base = time.monotonic(), total
    if begin is not None: came.append(link())
    total += n
mean = (total - base) * 8 / (time.monotonic() - begin)
# Not more than it was, wherever this process had to wait: from before the first look to after the last one.
best, first = 0, 0
for last in came:
    while last[0] - came[first + 1][0] >= {window}: first += 1
    if last[0] - came[first][0] >= {window}: best = max(best, (last[1] - came[first][1]) / (last[2] - came[first][0]))
print("rate", mean, "best", best)
"""
SOURCE = """
import socket, time
s = socket.create_connection(("{host}", 5001), 10); block = bytes(1 << 20)
end = time.monotonic() + {seconds}
while time.monotonic() < end: s.sendall(block)
"""


def rates(cluster, source, sink, skip, seconds):
    """Bits per second after a TCP stream's start: of the stream as a whole, and of the link while it gave most, for
    WINDOW_S or longer."""
    listener = cluster.start(sink, "/usr/bin/python3", "-c", SINK.format(skip=skip, window=WINDOW_S))
    assert listener.stdout.readline() == "listening\n"
    cluster.python(source, SOURCE.format(host=f"node{sink}", seconds=seconds))
    said, _ = listener.communicate(timeout=400)
    return tuple(float(word) for word in re.search(r"rate (\S+) best (\S+)", said).groups())


@pytest.mark.parametrize(("bandwidth", "bits", "skip"), [("1gbit", 1e9, 2 << 20), ("100mbit", 1e8, 1 << 20)])
def test_a_stream_reaches_the_nominal_rate(cluster, bandwidth, bits, skip):
    cluster.up("--nodes", 2, "--bandwidth", bandwidth)
    for source, sink in ((0, 1), (1, 0)):
        for _ in range(TRIES):
            mean, best = (one / bits for one in rates(cluster, source, sink, skip, 1.5))
            print(f"{bandwidth} node{source} -> node{sink}: {mean:.3f} of nominal, at times {best:.3f}")
            assert mean <= 1.05 and best <= 1.05
            if best >= 0.85:
                break
        else:
            pytest.fail("never near the nominal rate")


def test_unshaped_links_are_faster(cluster):
    cluster.up("--nodes", 2)
    assert any(rates(cluster, 0, 1, 2 << 20, 1)[0] > 1.5e9 for _ in range(TRIES))


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
