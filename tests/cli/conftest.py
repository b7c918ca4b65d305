# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""A prefix, launchers and programs that cost nothing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

LAUNCHERS = {
    "mpirun.fakeompi": "mpirun (Open MPI) 4.1.4",
    "mpiexec.fakempich": "HYDRA build details:\n    Version:    4.0.2",
    "srun": "slurm 22.05.8",
    "mpirun.strange": "who knows",
}


def write_script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def compile_c(target: Path, source: str, *flags: str) -> Path:
    if not shutil.which("gcc"):
        pytest.skip("no gcc")
    subprocess.run(["gcc", "-x", "c", "-", "-o", str(target), *flags], input=source, text=True, check=True)
    return target


@pytest.fixture
def world(tmp_path, monkeypatch):
    """An empty home, a PATH with fake launchers and a fake installed prefix; the working folder is empty."""
    for name in [n for n in os.environ if n.startswith("MILLRACE") or n in ("LD_PRELOAD", "PNETCDF_HINTS")]:
        monkeypatch.delenv(name)
    prefix, tools, home, work = (tmp_path / name for name in ("prefix", "tools", "home", "work"))
    for folder in (prefix / "lib", prefix / "bin", tools, home, work):
        folder.mkdir(parents=True)
    library = compile_c(prefix / "lib" / "libmillrace.so", "", "-shared", "-fPIC")
    for name in ("libmillrace-mpich.so", "libmillrace-ompi.so", "libmillrace_posix.so"):
        shutil.copy(library, prefix / "lib" / name)
    for name, version in LAUNCHERS.items():
        # Like a launcher: options away (-n N, -x NAME), then the program.
        write_script(
            tools / name,
            f"""#!/bin/sh
if [ "$1" = --version ]; then printf '%s\\n' '{version}'; exit 0; fi
printf '%s ' "$@" > "$HOME/launched"
while :; do case "$1" in -n|-x|-np) shift 2;; -*) shift;; *) break;; esac; done
exec "$@"
""",
        )
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("MILLRACE_PREFIX", str(prefix))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    monkeypatch.chdir(work)
    return tmp_path


@pytest.fixture
def millrace(world):
    """Runs the command; returns the finished process."""

    def call(*words, timeout=400, **more):
        return subprocess.run(
            [sys.executable, "-m", "millrace", *map(str, words)],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            **more,
        )

    return call
