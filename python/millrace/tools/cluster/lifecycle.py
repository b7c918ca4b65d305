# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`up` and `down`: the work outside of the keeper."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

from millrace.run.signals import ended_by_signals
from millrace.tools.cluster import client, keeper, launchers, network, slow_disk, slurm, state, system
from millrace.tools.cluster.state import ClusterError, Spec, State

_KEEPER = "millrace-cluster-keeper"  # `down --all` looks for this in command lines
_START = (
    "import sys; sys.path.insert(0, sys.argv[1])\n"
    "from millrace.tools.cluster import keeper\n"
    "sys.exit(keeper.main(sys.argv[2], int(sys.argv[3])))"
)
_UP_TIMEOUT_S = 300
_END_TIMEOUT_S = 20
_LOCAL_MARK = ".made-local"


def check(spec: Spec) -> None:
    """Reports missing requirements before the cluster is made."""
    state.check_name(spec.name)
    if not 1 <= spec.nodes <= state.NODES_MAX:
        raise ClusterError(f"--nodes: {spec.nodes} is out of range; allowed: 1 to {state.NODES_MAX}")
    if not 1 <= spec.slots <= 1024:
        raise ClusterError(f"--slots: {spec.slots} is out of range; allowed: 1 to 1024")
    for path in spec.shared:
        if not os.path.isdir(path):
            raise ClusterError(f"--shared {path}: there is no such folder")
    check_rights()
    absent = network.tools()
    if absent:
        raise ClusterError(f"{' and '.join(absent)} not found: install iproute2 (Debian, Ubuntu: apt install iproute2)")

    slow_disk.check(spec)
    if spec.slurm and slurm.missing():
        absent = " and ".join(slurm.missing())
        raise ClusterError(f"--slurm: {absent} not found; Debian and Ubuntu: apt install slurm-wlm munge")


def check_rights() -> None:
    missing = system.missing_capabilities()
    if missing or os.geteuid() != 0:
        wanted = " and ".join(missing) if missing else "the user root"
        raise ClusterError(f"virtual clusters make namespaces and networks: run this as root (missing: {wanted})")


def up(spec: Spec) -> State:
    """Starts a cluster. If it fails, nothing of it is left."""
    check(spec)
    with state.locked(), ended_by_signals():
        found = state.read(spec.name)
        if found is not None and found.running:
            raise ClusterError(
                f"cluster '{spec.name}' runs already, with {len(found.nodes)} nodes; "
                f"end it with: millrace cluster down --name {spec.name}"
            )
        _remove(spec.name)
        try:
            _make_folders(spec)
            _start_keeper(spec)
        except BaseException:
            _remove(spec.name)
            raise
    made = state.read(spec.name)
    if made is None:
        raise ClusterError("the cluster ended right after its start", 1)
    return made


def _make_folders(spec: Spec) -> None:
    if not state.LOCAL.exists():
        # The mark comes first: an interrupted `up` leaves a mark of the folder that may exist.
        (state.RUN / _LOCAL_MARK).touch()
        state.LOCAL.mkdir()
    spec.folder.mkdir(mode=0o700)
    spec.storage.mkdir(mode=0o700, parents=True)
    state.write_file(spec.folder / "spec.json", json.dumps(asdict(spec), indent=1))


def _start_keeper(spec: Spec) -> None:
    reader, writer = os.pipe()
    log = spec.folder / "log"
    with open(reader, "rb") as answers:
        try:
            with log.open("ab") as out:
                process = subprocess.Popen(
                    [sys.executable, "-S", "-c", _START, launchers.PACKAGES, str(spec.folder), str(writer), _KEEPER],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    cwd="/",
                    pass_fds=(writer,),
                    start_new_session=True,
                )
        finally:
            os.close(writer)
        try:
            said = answers.readline() if select.select([answers], [], [], _UP_TIMEOUT_S)[0] else b""
        except BaseException:  # also the user's Ctrl-C
            process.kill()
            process.wait()
            raise
    if not said:
        process.kill()
        process.wait()
        said_in_log = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
        raise ClusterError(f"the cluster's keeper did not start: {said_in_log[-1] if said_in_log else 'no answer'}", 1)
    answer = json.loads(said)
    if "error" in answer:
        process.wait(_END_TIMEOUT_S)
        raise ClusterError(answer["error"], answer["status"])


def down(name: str) -> bool:
    """Ends a cluster and removes all of it. False if there was none."""
    check_rights()
    with state.locked():
        return _remove(name)


def down_all() -> list[str]:
    """Ends every cluster, removes the rest of crashed ones, and returns their names."""
    check_rights()
    with state.locked():
        removed = [name for name in _all_names() if _remove(name)]
        for pid, started in _keepers():
            _end(pid, started)
        return removed


def _all_names() -> list[str]:
    stored = [entry.name for entry in state.STORAGE.iterdir()] if state.STORAGE.is_dir() else []
    return sorted({*state.names(), *stored})


def _remove(name: str) -> bool:
    """Ends a cluster in any state: a running keeper, a hanging one, or only its files."""
    existed = (state.RUN / name).exists() or (state.STORAGE / name).exists()
    try:
        found = state.read(name)
    except ClusterError:
        found = None
    if found is not None and found.running:
        with contextlib.suppress(ClusterError):
            client.control(found.spec.folder, {"do": "down"})
    for pid, started in _keepers(state.RUN / name):
        _end(pid, started)
    keeper.remove_files(name)
    if not state.names() and (state.RUN / _LOCAL_MARK).exists():
        with contextlib.suppress(OSError):  # if it is not empty, another cluster uses it
            state.LOCAL.rmdir()
        (state.RUN / _LOCAL_MARK).unlink()
    return existed


def _keepers(folder: Path | None = None) -> list[tuple[int, int]]:
    """Running keepers of one cluster or of all, also without state files."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if _KEEPER.encode() in words and (folder is None or os.fsencode(folder) in words):
                found.append((int(entry.name), system.start_time(int(entry.name))))
    return found


def _end(pid: int, started: int) -> None:
    """Waits for a keeper that is ending, with a bound. Kills it after that, or at once if it is not ending."""
    deadline = time.monotonic() + _END_TIMEOUT_S
    killed = False
    while system.is_running(pid, started) and time.monotonic() < deadline:
        if not killed and time.monotonic() > deadline - _END_TIMEOUT_S / 2:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            killed = True
        time.sleep(0.01)
