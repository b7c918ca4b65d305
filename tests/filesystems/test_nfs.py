# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Programs of two NFS clients, with and without Millrace. The server compares the files."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import guests
import pytest

pytestmark = pytest.mark.skipif(bool(guests.missing()), reason=guests.missing())
PROGRAMS = guests.BUILD / "bin/tests"
MPIS = [mpi for mpi in ("mpich", "ompi") if os.environ.get(f"TEST_MPIEXEC_{mpi.upper()}")]
PRELOADS = ":".join(f"{guests.BUILD}/lib/libmillrace-bench-{name}.so" for name in ("finalize", "yield"))
LAUNCH = {
    # Without the preloads, stock MPICH of Debian does not end over TCP.
    "mpich": f"env LD_PRELOAD={PRELOADS} UCX_TLS=tcp,self,sm UCX_NET_DEVICES=vec0 UCX_TCP_KEEPIDLE=inf"
    " mpiexec.mpich -launcher ssh -hosts HOSTS -ppn 2 -n RANKS",
    "ompi": "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun.openmpi --host PLACES -n RANKS"
    " --oversubscribe --mca mpi_yield_when_idle 1 --mca btl tcp,self,vader --mca btl_base_warn_component_unused 0"
    " --mca btl_tcp_if_include 10.77.0.0/24",
}
LEFT = "is left to the MPI library: several nodes may write it"
# Kind of program, and the options of `millrace run`.
CASES = {
    "mixed 1000 200500 3 world": "",
    "records 1000 128 1 self": "--strategy sort",
    "records 1000 128 2 world": "--strategy sort",
    "grow 300 100 2 world": "",
}
MOUNTS = ("vers=3", "vers=4.1", "vers=4.2")


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[guests.Guests]:
    guests.make_image()
    one = guests.Guests(tmp_path_factory.mktemp("guests"))
    yield one
    one.end()


def run(up: guests.Guests, mpi: str, case: str, options: str | None, nodes: str = "a,b", timeout: float = 240) -> str:
    """What a run says that wrote /nfs/stock, or /nfs/millrace with these options."""
    name = "stock" if options is None else "millrace"
    places = ",".join(f"{node}:2" for node in nodes.split(","))
    launch = LAUNCH[mpi].replace("HOSTS", nodes).replace("PLACES", places)
    launch = launch.replace("RANKS", str(2 * len(nodes.split(","))))
    before = "" if options is None else f"{guests.BUILD}/bin/millrace run --stats {options} -- "
    command = f"cd /nfs && rm -f {name} && {before}{launch} {PROGRAMS}/interleaved_{mpi} /nfs/{name} {case} 2>&1"
    done = up.on("a", command, check=False, timeout=timeout)
    assert done.returncode == 0 and "wrong bytes 0, errors 0" in done.stdout, done.stdout
    return done.stdout


def same_on_server(up: guests.Guests) -> None:
    same = up.on("s", "cmp /export/d/stock /export/d/millrace && stat -c %s /export/d/stock", check=False)
    assert same.returncode == 0 and int(same.stdout) > 0, same.stdout


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("mount", MOUNTS)
def test_no_byte_is_lost(up: guests.Guests, mount: str, mpi: str) -> None:
    up.mount(mount)
    for case, options in CASES.items():
        run(up, mpi, case, None)
        told = run(up, mpi, case, options)
        assert LEFT in told, told
        same_on_server(up)


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("mount", ["vers=3", "vers=4.2"])
@pytest.mark.parametrize("strategy", ["sort", "journal", "immediate"])
def test_agents_write_the_files_of_one_node(up: guests.Guests, mount: str, mpi: str, strategy: str) -> None:
    up.mount(mount)
    run(up, mpi, "records 1000 128 2 self", None, nodes="a")
    told = run(up, mpi, "records 1000 128 2 self", f"--strategy {strategy}", nodes="a")
    assert LEFT not in told and "pipeline" in told, told
    same_on_server(up)


def test_a_mount_without_locks_is_written_as_without_millrace(up: guests.Guests) -> None:
    up.mount("vers=3,nolock")
    run(up, "mpich", "mixed 1000 200500 3 world", None)
    assert LEFT in run(up, "mpich", "mixed 1000 200500 3 world", "")
    same_on_server(up)


@pytest.mark.parametrize("boots", [False, True], ids=["stops", "boots"])
def test_a_server_that_stops_or_boots_delays_the_program(up: guests.Guests, boots: bool) -> None:
    """The agent of one node writes meanwhile; a server that is silent loses nothing."""
    up.mount("vers=4.2")
    run(up, "mpich", "records 1000 400 3 self", None, nodes="a")
    told: list[str] = []
    job = threading.Thread(
        target=lambda: told.append(
            run(up, "mpich", "records 1000 400 3 self", "--strategy sort", nodes="a", timeout=600)
        )
    )
    job.start()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and up.on("s", "test -s /export/d/millrace", check=False).returncode != 0:
        time.sleep(0.05)
    if boots:
        up.end_one("s")
        up.boot("s")
        up.await_up("s")
    else:
        up.stop("s", True)
        time.sleep(30)  # the silence of the server is what is tested
        up.stop("s", False)
    job.join()
    assert told, "the run failed"
    same_on_server(up)


def test_doctor_says_what_millrace_does_there(up: guests.Guests) -> None:
    up.mount("vers=4.2")
    done = up.on("a", f"{guests.BUILD}/bin/millrace doctor /nfs", check=False)
    assert "not coherent" in done.stdout, done.stdout + done.stderr
