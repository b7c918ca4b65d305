# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""A prefix whose programs measure nothing, and launchers that launch one rank."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "python"))

PROGRAMS = ("memory", "flops", "limit", "metadata", "transfer")
PROGRAMS += ("link-mpich", "ior-mpich", "btio-mpich", "fpp-mpich", "ipc-mpich")


# Cases of every kind; each costs ReFrame a second.
KINDS = ("ior.4KiB.posix", "ior.4KiB.millrace.", "btio.full", "fpp.c.normal", "fpp.c.async", "ipc", "hpcc", "transfer")
KINDS += ("strategy.journal", "ranks.4KiB.own")
SOME = [word for text in KINDS for word in ("--only", text)]


# One rank, whatever is asked for.
LAUNCHER = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift 2; done
exec "$@"
"""


def pytest_configure(config):
    config.addinivalue_line("markers", "long: whole sessions that are killed, damaged and begun anew (ctest -L long)")


def write_script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


class World:
    """A folder with a fake prefix, its environment, and the command."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.bench = folder / "prefix" / "bin" / "bench"
        self.session = folder / "session"
        self.bench.mkdir(parents=True)
        (folder / "prefix" / "lib").mkdir()
        for name in ("libmillrace.so", "libmillrace_posix.so"):
            (folder / "prefix" / "lib" / name).write_bytes(b"")
        (self.bench / "fake_bench.py").write_text((HERE / "fake_bench.py").read_text())
        for name in PROGRAMS:
            text = f'#!/bin/sh\nexec {sys.executable} {self.bench}/fake_bench.py {name.split("-")[0]} "$@"\n'
            write_script(self.bench / name, text)
        self.tools = folder / "tools"
        self.tools.mkdir()
        write_script(self.tools / "mpiexec.hydra", LAUNCHER)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("MILLRACE", "RFM_")) and k != "LD_PRELOAD"}
        self.environment = {**kept, "MILLRACE_PREFIX": str(folder / "prefix"), "PYTHONPATH": str(ROOT / "python")}
        # Without what the machine happens to have.
        self.environment["PATH"] = f"{self.tools}:{folder / 'system'}"
        (folder / "system").mkdir()
        for name in ("sh", "bash", "lscpu", "env", "hostname", "sed", "cat", "rm", "mkdir", "date", "true", "uname"):
            found = next((p for p in (Path("/bin") / name, Path("/usr/bin") / name) if p.exists()), None)
            if found:
                (folder / "system" / name).symlink_to(found)

    def order(self, **orders: str) -> None:
        (self.bench / "orders").write_text("".join(f"{name} {how}\n" for name, how in orders.items()))

    def started(self) -> list[str]:
        path = self.bench / "started"
        return path.read_text().split() if path.exists() else []

    def forget(self) -> None:
        (self.bench / "started").unlink(missing_ok=True)

    def command(self, *words: object) -> list[str]:
        return [sys.executable, "-m", "millrace", *map(str, words)]

    def run(self, *words: object, timeout: float = 120) -> subprocess.CompletedProcess:
        return subprocess.run(
            self.command(*words), env=self.environment, cwd=self.folder, capture_output=True, text=True,
            timeout=timeout, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def evaluate(self, *words: object, **more: float) -> subprocess.CompletedProcess:
        return self.run("evaluate", "-o", self.session, *words, **more)

    def killed_while(self, program: str, *words: object) -> None:
        """Starts an evaluation and kills it, as a power failure would, once `program` runs."""
        child = subprocess.Popen(
            self.command("evaluate", "-o", self.session, *words), env=self.environment, cwd=self.folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 100
        while program not in self.started() and time.monotonic() < deadline and child.poll() is None:
            time.sleep(0.05)
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert program in self.started()


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A session with cases of every kind, made once; read it, change copies of it."""
    pytest.importorskip("reframe")
    made = World(tmp_path_factory.mktemp("finished"))
    done = made.evaluate("-f", "html", "-f", "md", "-f", "json", *SOME)
    made.done = done
    return made
