# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The test programs of the matrix: how each is built for an MPI, and the command that runs it."""

import functools
import pathlib
import shutil
import subprocess
import sys

from mpis import DEBIAN, SOURCE, Mpi

SKIP = 77
TESTS = SOURCE / "tests/mpi"
RANDOM_CASES = 20
CCACHE = ["ccache"] if shutil.which("ccache") else []

# Name of the test, program, arguments ("@": the folder of its files), options of run_mpi.py.
OWN = (
    ("rows", "rows", [], "--accelerated yes --ranks 3 --coverage"),
    ("calls", "calls", [], "--accelerated yes --coverage"),
    ("views", "views", [], "--pipeline requests,mesh"),
    ("visibility", "visibility", [], "--accelerated yes --alone --ranks 3"),
    ("before", "before", [], "--accelerated yes --alone"),
    ("narrow", "narrow", [], "--accelerated yes --alone"),
    ("threads", "threads", [], "--accelerated yes"),
    ("handles", "handles", ["@", "others"], "--accelerated yes --env MILLRACE_STRATEGY=sort"),
    ("unable", "unable", ["@", "late"], "--accelerated yes"),
    ("unmapped", "unmapped", [], "--accelerated yes --ranks 3"),
    ("adverse", "adverse", [], "--accelerated yes --ranks 3"),
    ("holes", "holes", [], "--alone --env MILLRACE_DIRECT_ABOVE=1GiB"),
    ("finalize", "finalize", [], "--accelerated yes --env MILLRACE_STRATEGY=journal"),
    ("reads", "reads", ["@", "-", "1", "30", "write"], "--ranks 3"),
)
# Faults of an MPI library without Millrace, and missing parts: begin of the MPI's name, test, reason.
LEFT_OUT = (
    ("openmpi-5", "threads", "now and then Open MPI 5.0.11 by itself does not end there"),
    ("openmpi-5", "pnetcdf", "Debian builds it with the C++ functions that Open MPI 5 lacks"),
    ("mpich-4.0.3", "mpi4py", "its ROMIO ends with 'Out of memory' (flatten.c) at MPI_File_set_view"),
    ("impi", "unmapped", "Intel MPI refuses a view with an empty block and damages its memory"),
)
MPIIO = [SOURCE / f"src/front/mpiio/types/{name}.cpp" for name in ("datatype", "flatten", "contents", "placing")]
TYPEMAP = [SOURCE / f"src/client/view/{name}.cpp" for name in ("typemap", "typemap_builder", "view")]
DIFFERENTIAL = [TESTS / f"differential/{name}.cpp" for name in ("differential", "subject", "subject_pointers")]

# I/O libraries of Debian. They are built with Debian's MPI, and any library of its ABI serves them.
# Family of the MPI, program, folder of the headers, folder and name of the library.
LIBRARIES = (
    ("mpich", "hdf5", "/usr/include/hdf5/mpich", DEBIAN / "hdf5/mpich", "hdf5"),
    ("ompi", "hdf5", "/usr/include/hdf5/openmpi", DEBIAN / "hdf5/openmpi", "hdf5"),
    ("ompi", "pnetcdf", "/usr/include", DEBIAN, "pnetcdf"),
    ("ompi", "netcdf", DEBIAN / "netcdf/mpi/include", DEBIAN, "netcdf_mpi"),
)


def run(*command):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"failed: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def compile_program(sources, flags, name: str, mpi: Mpi, folder: pathlib.Path) -> None:
    """Compiles C or C++ sources, and links the program folder/name."""
    folder.mkdir(parents=True, exist_ok=True)
    cpp = sources[0].suffix == ".cpp"
    command = [*CCACHE, *(["g++", "-std=c++20"] if cpp else ["gcc"]), "-O1", "-w"]
    includes = [flag for flag in mpi.flags if not flag.endswith(".so") and not flag.startswith("-Wl")]
    objects = []
    for source in sources:
        objects.append(folder / f"{name}-{source.stem}.o")
        run(*command, *includes, f"-I{SOURCE / 'src'}", f"-I{TESTS}", *flags[0], "-c", source, "-o", objects[-1])
    run(*command[len(CCACHE) :], *objects, *flags[1], *mpi.flags, "-pthread", "-ldl", "-o", folder / name)


def libraries(mpi: Mpi):
    """The I/O libraries that are installed and serve this MPI."""
    for family, name, headers, where, library in LIBRARIES:
        if family == mpi.family and not mpi.abi and (where / f"lib{library}.so").exists():
            yield name, pathlib.Path(headers), where / f"lib{library}.so"


def builds(mpi: Mpi):
    """Functions of (mpi, folder) that build one program each."""
    plain = ((), ())
    yield functools.partial(compile_program, [*DIFFERENTIAL, *MPIIO, *TYPEMAP], plain, "differential")
    for name in dict.fromkeys(program for _, program, _, _ in OWN):
        source = SOURCE / "tests/cluster/reads.c" if name == "reads" else TESTS / f"{name}.c"
        yield functools.partial(compile_program, [source], plain, name)
    for name, headers, library in libraries(mpi):
        flags = (("-isystem", headers), (library, f"-Wl,-rpath,{library.parent}", "-Wl,--allow-shlib-undefined"))
        yield functools.partial(compile_program, [TESTS / f"clients/{name}.c"], flags, f"client_{name}")
    if mpi.family == "mpich":
        yield lambda mpi, folder: run(
            "gcc", "-O1", "-shared", "-fPIC", SOURCE / "bench/shim/yield.c", "-ldl", "-o", folder / "yield.so"
        )


def left_out(mpi: Mpi, test: str) -> list:
    """A command that skips the test with the reason; empty if the test runs."""
    reasons = [reason for begin, name, reason in LEFT_OUT if mpi.name.startswith(begin) and name == test]
    return ["sh", "-c", f'echo "$1"; exit {SKIP}', "sh", *reasons] if reasons else []


def driver(mpi: Mpi, folder, millrace, launcher, options: str, words: list) -> list:
    """The words that run a program by run_mpi.py: stock, and by `millrace run -- launcher`."""
    script = [sys.executable, TESTS / "run_mpi.py", "--mpi", mpi.family, "--launcher", launcher]
    return [*script, "--run", millrace, "--shim", folder / "yield.so", *options.split(), "--", *words]


def own(mpi: Mpi, folder, millrace, native):
    """The programs of tests/mpi: name, command, environment."""
    environment = environment_of(mpi)
    for name, program, arguments, options in OWN:
        words = left_out(mpi, name) or driver(
            mpi, folder, millrace, mpi.launchers[0], options, [folder / program, *arguments]
        )
        yield name, words, environment
    for launcher in mpi.launchers[1:]:
        for name, program, arguments, options in OWN[:1]:
            words = driver(mpi, folder, millrace, launcher, options, [folder / program, *arguments])
            yield f"{name} by {launcher.name}", words, environment


def random(mpi: Mpi, folder, millrace, native):
    """Random programs, in processes that preload the wheel's library without the command."""
    script = [sys.executable, TESTS / "differential/differential.py", "--mpi", mpi.family]
    words = ["--launcher", mpi.launchers[0], "--program", folder / "differential", "--shim", folder / "yield.so"]
    preload = ["--preload", native / "lib/libmillrace.so", "--cases", RANDOM_CASES]
    if mpi.name.startswith("impi"):  # Intel MPI alone does not end in some of them
        preload += ["--ranks", 3, "--chunk", 1, "--timeout", 30, "--stock-may-fail"]
    yield "differential", [*script, *words, *preload], environment_of(mpi)


def clients(mpi: Mpi, folder, millrace, native):
    """Programs over I/O libraries, and mpi4py."""
    environment = environment_of(mpi)
    names = folder / "names"
    names.mkdir(exist_ok=True)
    if mpi.family == "mpich":  # Debian's libraries need MPICH under Debian's name of it
        alias = names / "libmpich.so.12"
        alias.unlink(missing_ok=True)
        alias.symlink_to(mpi.library)
    found = f"{names}:{mpi.library.parent}"
    extra = {"LD_LIBRARY_PATH": found, "PNETCDF_HINTS": "nc_driver=mpiio", "HDF5_USE_FILE_LOCKING": "FALSE"}
    for name, _, _ in libraries(mpi):
        words = driver(mpi, folder, millrace, mpi.launchers[0], "--ranks 4", [folder / f"client_{name}"])
        yield name, left_out(mpi, name) or words, environment | extra
    if mpi.python is not None:
        script = [mpi.python, TESTS / "clients/mpi4py_client.py"]
        words = driver(mpi, folder, millrace, mpi.launchers[0], "--ranks 3", script)
        yield "mpi4py", left_out(mpi, "mpi4py") or words, environment


def environment_of(mpi: Mpi) -> dict:
    import os

    root = {f"{who}_ALLOW_RUN_AS_ROOT{more}": "1" for who in ("OMPI", "PRTE") for more in ("", "_CONFIRM")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MILLRACE", "I_MPI_"))}
    return kept | {"XDG_CACHE_HOME": "/dev/null"} | root | mpi.environment
