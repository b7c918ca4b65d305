# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Programs of two NFS clients, with and without Millrace. The server compares the files."""

from __future__ import annotations

import os
import re
import shlex
import sys
import threading
import time
from collections.abc import Iterator

import guests
import pytest

sys.path.insert(0, str(guests.ROOT / "tests"))
from launch import launch  # noqa: E402

pytestmark = pytest.mark.skipif(bool(guests.missing()), reason=guests.missing())
MPIS = [mpi for mpi in ("mpich", "ompi") if os.environ.get(f"TEST_MPIEXEC_{mpi.upper()}")]
LEFT = "is left to the MPI library: several nodes may write it"
SILENCE_S = 30
SILENT_STEPS = {"a": 100, "a,b": 12}  # so that the program writes when the server stops
MIXED = "mixed 1000 200500 3 world"
# Cases of interleaved.c, and the options of `millrace run` with which some of them once lost bytes.
CASES = {
    "": [MIXED, "records 1000 128 2 world", "grow 300 100 2 world"],
    "--strategy sort --direct-above 4KiB": [
        "records 1000 128 1 self",
        "records 1000 400 2 self",
        "records 1000 128 2 world",
        "mixed 1000 6000 40 world",
    ],
}
ALL = [case for cases in CASES.values() for case in cases]
MOUNTS = ("vers=3", "vers=4.1", "vers=4.2", "vers=3,nolock")
# Where the nodes see no locks of each other, two nodes of stock Open MPI lose bytes themselves: it locks whole files,
# and for these a client writes back whole pages. One node with it is tested.
ORACLES = [(mount, mpi) for mount in MOUNTS for mpi in MPIS if (mount, mpi) != ("vers=3,nolock", "ompi")]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[guests.Guests]:
    one = guests.Guests(tmp_path_factory.mktemp("guests"))
    yield one
    one.end()


class Run:
    """A run of interleaved.c that wrote /nfs/NAME.0 and so on."""

    def __init__(self, up: guests.Guests, mpi: str, cases: list[str], options: str | None, nodes: str) -> None:
        """Stock without `options`, else under `millrace run` with them."""
        self.up, self.count, self.name = up, len(cases), "stock" if options is None else "millrace"
        run = "" if options is None else f"{guests.BUILD}/bin/millrace run --stats {options} -- "
        program = f"{guests.BUILD}/bin/tests/interleaved_{mpi} /nfs/{self.name} {' + '.join(cases)}"
        self.command = f"cd /nfs && rm -f {self.name}.* && {guests.environment(mpi)} {run}"
        words = launch(guests.launcher(mpi, nodes), mpi, 2 * len(nodes.split(",")))
        self.command += f"{' '.join(words)} {program} 2>&1"
        self.out = ""

    def go(self, timeout: float = 300) -> str:
        done = self.up.on("a", f"timeout -k 5 {timeout:.0f} sh -c {shlex.quote(self.command)}", check=False)
        self.out = done.stdout
        good = self.out.count("wrong bytes 0, errors 0") == self.count
        assert done.returncode == 0 and good, f"ended with {done.returncode}: {self.out}{done.stderr}"
        return self.out

    @property
    def seconds(self) -> float:
        return sum(float(found) for found in re.findall(r"writes ([0-9.]+) s", self.out))


def same_on_server(up: guests.Guests, stock: list[int], millrace: list[int]) -> None:
    """The file of each case that the stock library wrote, and that of Millrace."""
    for one, other in zip(stock, millrace, strict=True):
        same = up.on("s", f"cd /export/d && cmp stock.{one} millrace.{other} && stat -c %s stock.{one}", check=False)
        assert same.returncode == 0 and int(same.stdout) > 0, f"{ALL[one]}: {same.stdout}{same.stderr}"


@pytest.mark.parametrize(("mount", "mpi"), ORACLES)
def test_no_byte_is_lost(up: guests.Guests, mount: str, mpi: str) -> None:
    up.mount(mount)
    Run(up, mpi, ALL, None, "a,b").go()
    begin = 0
    for options, cases in CASES.items():
        told = Run(up, mpi, cases, options, "a,b").go()
        assert LEFT in told, told
        same_on_server(up, list(range(begin, begin + len(cases))), list(range(len(cases))))
        begin += len(cases)


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("mount", ["vers=3", "vers=4.2", "vers=3,nolock"])
def test_agents_write_the_files_of_one_node(up: guests.Guests, mount: str, mpi: str) -> None:
    cases = ["records 1000 128 2 self", MIXED]
    up.mount(mount)
    Run(up, mpi, cases, None, "a").go()
    for strategy in ("sort", "journal", "immediate"):
        told = Run(up, mpi, cases, f"--strategy {strategy}", "a").go()
        assert LEFT not in told and "pipeline" in told, told
        same_on_server(up, [0, 1], [0, 1])


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize(
    ("mount", "nodes"), [("vers=3", "a"), ("vers=4.2", "a"), ("vers=3", "a,b"), ("vers=4.2", "a,b")]
)
def test_random_programs_write_and_see_the_same(up: guests.Guests, mount: str, nodes: str, mpi: str) -> None:
    """On one node the agents write, on two nodes the MPI library does."""
    up.mount(mount)
    told = up.differential(mpi, nodes, 1 + 100 * MOUNTS.index(mount), cases=8, chunk=2)
    assert "8 cases, 0 differ" in told, told


def silent(up: guests.Guests, run: Run, boots: bool) -> None:
    """The server does not answer while `run` writes."""
    failed: list[BaseException] = []

    def go() -> None:
        try:
            run.go(timeout=600)
        except BaseException as error:  # noqa: BLE001 passed on below
            failed.append(error)

    up.on("s", "rm -f /export/d/millrace.*")
    job = threading.Thread(target=go)
    job.start()
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and up.on("s", "test -s /export/d/millrace.0", check=False).returncode != 0:
        time.sleep(0.05)
    begin = time.monotonic()
    if boots:
        up.end_one("s")
        up.boot("s")
        up.await_up("s")
    else:
        up.stop("s", True)
        time.sleep(SILENCE_S)  # what is tested
        up.stop("s", False)
    silence_s = time.monotonic() - begin
    job.join()
    assert not failed, failed
    assert run.seconds > silence_s - 1, f"the server was silent for {silence_s:.0f} s after the writes: {run.out}"


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("nodes", ["a", "a,b"])
def test_a_server_that_stops_or_boots_delays_the_program(up: guests.Guests, nodes: str, mpi: str) -> None:
    """In the middle of writes: of the agent of one node, or of the MPI library on two nodes."""
    up.mount("vers=4.2")
    Run(up, mpi, ["writes 1000 400 2 self"], None, nodes).go()
    for boots in (False, True):
        silent(up, Run(up, mpi, [f"writes 1000 400 {SILENT_STEPS[nodes]} self"], "--strategy sort", nodes), boots)
        same_on_server(up, [0], [0])


def test_doctor_says_what_millrace_does_there(up: guests.Guests) -> None:
    up.mount("vers=4.2")
    done = up.on("a", f"{guests.BUILD}/bin/millrace doctor /nfs", check=False)
    assert "not coherent" in done.stdout, done.stdout + done.stderr
