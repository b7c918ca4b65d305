# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`millrace doctor -- COMMAND`: the MPI library that a program would load. The libraries are stand-ins."""

import json
import os
import sys

import pytest
from conftest import compile_c, write_script

LIBRARY = """
#include <string.h>
int MPI_Init(int* c, char*** v) {{ (void)c; (void)v; return 0; }}
int MPI_Get_library_version(char* text, int* size) {{ strcpy(text, "{text}"); *size = 1; return 0; }}
"""
APP = "int MPI_Init(int*, char***); int main(void) { return MPI_Init(0, 0); }"
MPICH, OMPI = "MPICH Version: 4.3.2", "Open MPI v5.0.11"


def library(folder, soname="libmpi.so.12", text=MPICH):
    folder.mkdir(parents=True, exist_ok=True)
    return compile_c(folder / soname, LIBRARY.format(text=text), "-shared", "-fPIC", f"-Wl,-soname,{soname}")


def app(folder, mpi, *flags):
    folder.mkdir(parents=True, exist_ok=True)
    return compile_c(folder / "app", APP, f"-L{mpi.parent}", f"-l:{mpi.name}", *flags)


@pytest.fixture
def doctor(millrace):
    def call(*command, **environment):
        done = millrace("doctor", "--json", "--", *command, env={**os.environ, **environment})
        return json.loads(done.stdout)["command"]

    return call


def only(facts):
    (program,) = facts["programs"]
    return program


def test_runpath_with_origin(doctor, world):
    mpi = library(world / "conda/lib")
    path = app(world / "conda/bin", mpi, "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../lib")
    program = only(doctor(path))
    (found,) = program["libraries"]
    assert (found["path"], found["version"], found["family"]) == (str(mpi), MPICH, "mpich")
    assert found["implementation"] == str(world / "prefix/lib/libmillrace-mpich.so")
    assert program["errors"] == []


@pytest.mark.parametrize(("tags", "wins"), [("--enable-new-dtags", "module"), ("--disable-new-dtags", "built")])
def test_library_path_wins_over_runpath_and_loses_to_rpath(doctor, world, tags, wins):
    folders = {name: library(world / name, text=f"MPICH Version: {name}").parent for name in ("built", "module")}
    path = app(world / "bin", folders["built"] / "libmpi.so.12", f"-Wl,{tags},-rpath,{folders['built']}")
    (found,) = only(doctor(path, LD_LIBRARY_PATH=str(folders["module"])))["libraries"]
    assert found["version"] == f"MPICH Version: {wins}"


def test_a_library_of_a_library(doctor, world):
    mpi = library(world / "mpi", "libmpi_gnu_123.so.12", "MPI VERSION    : CRAY MPICH version 8.1.29")
    where = [f"-L{world}", f"-Wl,-rpath,{world}:{mpi.parent}", f"-L{mpi.parent}"]
    source = "int MPI_Init(int*, char***); int middle(void) { return MPI_Init(0, 0); }"
    compile_c(world / "libmiddle.so", source, "-shared", "-fPIC", *where, f"-l:{mpi.name}")
    path = compile_c(world / "app", "int middle(void); int main(void) { return middle(); }", *where, "-lmiddle")
    (found,) = only(doctor(path))["libraries"]
    assert (found["soname"], found["family"]) == ("libmpi_gnu_123.so.12", "mpich")


def test_a_library_that_is_not_found(doctor, world):
    mpi = library(world / "gone", "libmpi_gnu_99.so.12")
    path = app(world / "bin", mpi)
    mpi.unlink()
    (error,) = only(doctor(path))["errors"]
    assert "libmpi_gnu_99.so.12 is not found" in error


def test_the_text_of_the_library_counts_and_not_its_name(doctor, world):
    """Open MPI 1.10 has the number of MPICH; other libraries are not known."""
    mpi = library(world / "mpi", text=OMPI)
    path = app(world / "bin", mpi, f"-Wl,-rpath,{mpi.parent}")
    assert only(doctor(path))["libraries"][0]["family"] == "openmpi"
    library(world / "mpi", text="HPE MPT 2.23")
    (error,) = only(doctor(path))["errors"]
    assert "does not know this MPI library: HPE MPT 2.23" in error


def test_what_stops_acceleration(doctor, world):
    mpi = library(world / "mpi", "libmpi.so.40", OMPI)
    path = app(world / "bin", mpi, f"-Wl,-rpath,{mpi.parent}")
    (error,) = only(doctor("mpiexec.fakempich", "-n", 2, path))["errors"]
    assert "each rank would run alone" in error
    (error,) = doctor("mpirun.fakeompi", "-x", "LD_PRELOAD=libx.so", "-n", 2, path)["errors"]
    assert "keeps LD_PRELOAD from the ranks" in error
    assert "MILLRACE=0 is set" in doctor(path, MILLRACE="0")["errors"][0]
    (world / "prefix/lib/libmillrace-ompi.so").unlink()
    (error,) = only(doctor(path))["errors"]
    assert "built without libmillrace-ompi.so" in error
    static = compile_c(world / "static", "int main(void) { return 0; }", "-static")
    assert "statically linked" in only(doctor(static))["errors"][0]


def test_several_programs_and_scripts(doctor, world):
    mpi = library(world / "mpi", "libmpi.so.40", OMPI)
    path = app(world / "bin", mpi, f"-Wl,-rpath,{mpi.parent}")
    script = write_script(world / "work/script", "#!/bin/sh\nexit 0\n")
    facts = doctor("mpirun.fakeompi", "-n", 2, path, ":", "-n", 1, script)
    assert [len(one["libraries"]) for one in facts["programs"]] == [1, 0]
    assert facts["launcher"]["kind"] == "openmpi"
    assert "name the program that it starts" in facts["programs"][1]["notes"][0]


@pytest.mark.parametrize("start", ["python", "script"])
def test_python_says_what_mpi4py_loads(doctor, world, start):
    mpi = library(world / "conda/lib")
    package = world / "site/mpi4py"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("class rc: initialize = True\n")
    # It would start MPI unless it is told not to.
    source = f"import ctypes, mpi4py\nassert not mpi4py.rc.initialize\nctypes.CDLL({str(mpi)!r})\n"
    (package / "MPI.py").write_text(source)
    command = [sys.executable, "job.py"]
    if start == "script":
        command = [write_script(world / "work/job", f"#!{sys.executable}\n")]
    program = only(doctor(*command, PYTHONPATH=f"{os.environ['PYTHONPATH']}:{world / 'site'}"))
    assert program["mpi4py"]["extension"] == str(package / "MPI.py")
    assert [one["path"] for one in program["libraries"]] == [str(mpi)]


def test_python_without_mpi4py(doctor, world):
    (world / "site/mpi4py").mkdir(parents=True)
    (world / "site/mpi4py/__init__.py").write_text("raise ImportError\n")
    program = only(doctor(sys.executable, "job.py", PYTHONPATH=f"{os.environ['PYTHONPATH']}:{world / 'site'}"))
    assert "no mpi4py" in program["notes"][0] and program["libraries"] == []


def test_people_get_the_library_first(millrace, world):
    mpi = library(world / "mpi")
    path = app(world / "bin", mpi, f"-Wl,-rpath,{mpi.parent}")
    done = millrace("doctor", "--", path)
    first = done.stdout.split("Millrace ")[0].replace("\n", "").replace(" ", "")
    assert str(mpi) in first and "libmillrace-mpich.so" in first
    assert "path" not in json.loads(millrace("doctor", "--json").stdout)["findings"][0]
