# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What is found out about programs and launchers before the start."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import compile_c, write_script
from millrace.run import elf, launcher

MAIN = "int main(void) { return 0; }"
CALLS_MPI = "int MPI_Init(int*, char***); int main(void) { return MPI_Init(0, 0); }"


@pytest.fixture
def program(world):
    """Builds a program that links a library with the given soname, directly or through another library."""

    def build(soname, indirect=False):
        folder = world / soname
        folder.mkdir()
        where = [f"-L{folder}", f"-Wl,-rpath,{folder}"]
        mpi = compile_c(
            folder / soname,
            "int MPI_Init(int* c, char*** v) { (void)c; (void)v; return 0; }",
            "-shared",
            "-fPIC",
            f"-Wl,-soname,{soname}",
        )
        if not indirect:
            return compile_c(folder / "app", CALLS_MPI, *where, f"-l:{mpi.name}")
        compile_c(
            folder / "libmiddle.so",
            "int MPI_Init(int*, char***); int middle(void) { return MPI_Init(0, 0); }",
            "-shared",
            "-fPIC",
            *where,
            f"-l:{mpi.name}",
        )
        return compile_c(folder / "app", "int middle(void); int main(void) { return middle(); }", *where, "-lmiddle")

    return build


@pytest.mark.parametrize(
    ("soname", "family"),
    [
        ("libmpi.so.40", "openmpi"),
        ("libmpi.so.80", "openmpi"),
        ("libmpi.so.12", "mpich"),
        ("libmpich.so.12", "mpich"),
        ("libmpi_mpifh.so.40", "openmpi"),
        ("libmpi_usempif08.so.40", "openmpi"),
        ("libmpifort.so.12", "mpich"),
        ("libmpi_abi.so.0", "abi"),
        ("libmpi_abi.so.1", "abi"),
        ("libmpi_gnu_123.so.12", "mpich"),
        ("libmpi_gnu_91.so.12", "mpich"),
        ("libmpi_cray.so.12", "mpich"),
        ("libmpi_nvidia.so.12", "mpich"),
        ("libmpifort_gnu_123.so.12", "mpich"),
        ("libmpi_gtl_cuda.so.0", None),
        ("libmpi_ibm.so.3", "openmpi"),
        ("libmpi_ibm_mpifh.so.3", "openmpi"),
        ("libmpi.so.0", "openmpi"),
        ("libmpi_mpifh.so.12", None),
        ("libmpg123.so.0", None),
        ("libc.so.6", None),
    ],
)
def test_family_by_name(soname, family):
    assert elf.family_of(soname) == family


@pytest.mark.parametrize("indirect", [False, True])
def test_finds_the_mpi_of_a_program(program, indirect):
    assert elf.mpi_family(elf.read(program("libmpi.so.40", indirect))) == ("openmpi", "libmpi.so.40")


def test_agrees_with_ldd():
    found = set(elf.libraries(elf.read(shutil.which("bash"))))
    output = subprocess.run(["ldd", shutil.which("bash")], capture_output=True, text=True, check=True).stdout
    listed = {line.split()[0] for line in output.splitlines() if "=>" in line}
    assert listed and listed <= found


def test_knows_the_libraries_that_ldconfig_knows():
    output = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    listed = re.findall(r"^\s+(\S+) \(.*\) => (\S+)$", output, re.MULTILINE)
    assert listed and [(name, path) for name, paths in elf.loader_cache().items() for path in paths] == sorted(
        listed, key=lambda entry: [name for name, _ in listed].index(entry[0])
    )


@pytest.mark.parametrize(
    "damage", [b"", b"ld.so-1.7.0", b"glibc-ld.so.cache1.1", b"glibc-ld.so.cache1.1" + b"\xff" * 99]
)
def test_a_damaged_cache_of_the_loader_is_none(tmp_path, monkeypatch, damage):
    monkeypatch.setattr(elf, "_CACHE", str(tmp_path / "cache"))
    assert elf._read_loader_cache() == {}
    (tmp_path / "cache").write_bytes(damage)
    assert elf._read_loader_cache() == {}


@pytest.mark.parametrize(
    "content",
    [b"", b"\x7fELF", b"#!/bin/sh\n", b"\x7fELF\x02\x01" + b"\xff" * 200, b"\x7fELF\x01\x02" + b"\xff" * 200],
)
def test_what_is_not_elf_is_an_error_and_nothing_else(tmp_path, content):
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(elf.ElfError):
        elf.read(path)


@pytest.mark.parametrize(
    ("soname", "family"),
    [("libmpi_gnu_123.so.12", "mpich"), ("libmpi_cray.so.12", "mpich"), ("libmpi.so.0", "openmpi")],
)
def test_programs_of_vendors_are_told_when_their_library_is_missing(millrace, program, world, soname, family):
    app = program(soname)
    assert millrace("run", app).stderr == ""
    name = {"mpich": "libmillrace-mpich.so", "openmpi": "libmillrace-ompi.so"}[family]
    (world / "prefix/lib" / name).unlink()
    assert f"built without {name}" in millrace("run", app).stderr


def test_wrong_launcher_is_refused_and_named(millrace, program):
    app = program("libmpi.so.40")
    done = millrace("run", "--", "mpiexec.fakempich", "-n", "2", app)
    assert done.returncode == 2
    assert "links Open MPI (libmpi.so.40)" in done.stderr and "launcher of MPICH" in done.stderr
    assert millrace("run", "--force", "--", "mpiexec.fakempich", "-n", "2", app).returncode == 0


def test_wrong_launcher_the_other_way_round(millrace, program):
    done = millrace("run", "--", "mpirun.fakeompi", "-n", "2", program("libmpich.so.12"))
    assert done.returncode == 2 and "links MPICH" in done.stderr


@pytest.mark.parametrize("start", ["mpirun.fakeompi", "srun", "mpirun.strange"])
def test_fitting_and_unknown_launchers_are_accepted(millrace, program, start):
    done = millrace("run", "--", start, "-n", "2", program("libmpi.so.40"))
    assert (done.returncode, done.stderr) == (0, "")


def test_static_programs_run_and_are_told(millrace, world):
    done = millrace("run", compile_c(world / "app", MAIN, "-static"))
    assert done.returncode == 0 and "statically linked" in done.stderr


def test_a_command_of_several_programs_is_refused_if_one_cannot_be_preloaded(millrace, program, world):
    app, static = program("libmpi.so.40"), compile_c(world / "static", MAIN, "-static")
    for command in ([app, ":", "-n", "1", static], [static, ":", "-n", "1", app], [app, ":", "-n", "1", "/no/such"]):
        done = millrace("run", "--", "mpirun.fakeompi", "-n", "1", *command)
        reason = "/no/such was not found" if "/no/such" in command else f"{static} is statically linked"
        assert done.returncode == 2 and reason in done.stderr and "--force" in done.stderr, done.stderr
        forced = millrace("run", "--force", "--", "mpirun.fakeompi", "-n", "1", *command)
        assert forced.returncode != 2 and reason in forced.stderr
    both = millrace("run", "--", "mpirun.fakeompi", "-n", "1", app, ":", "-n", "1", app)
    assert (both.returncode, both.stderr) == (0, "")


def test_a_file_of_several_programs_is_looked_into(millrace, program, world):
    app, static = program("libmpich.so.12"), compile_c(world / "static", MAIN, "-static")
    file = world / "work/programs"
    file.write_text(f"# two programs\n-n 1 {app}\n-n 1 {static} argument\n")
    done = millrace("run", "--", "mpiexec.fakempich", "-configfile", file)
    assert done.returncode == 2 and f"{static} is statically linked" in done.stderr


def test_a_program_for_another_processor_is_told(millrace, program, world):
    app = Path(program("libmpi.so.40"))
    other = world / "other"
    image = bytearray(app.read_bytes())
    image[18:20] = (183 if image[18:20] != bytes((183, 0)) else 62).to_bytes(2, "little")  # AArch64, x86-64
    other.write_bytes(image)
    other.chmod(0o755)
    done = millrace("run", "--", "mpirun.fakeompi", "-n", "1", app, ":", "-n", "1", other)
    assert done.returncode == 2 and f"{other} is for another kind of processor" in done.stderr, done.stderr


def test_static_pie_is_static(world):
    assert elf.read(compile_c(world / "app", MAIN, "-static-pie")).static


def test_programs_without_mpi_run_and_are_told(millrace, world):
    done = millrace("run", compile_c(world / "app", MAIN))
    assert done.returncode == 0 and "links no MPI library" in done.stderr


def test_scripts_and_interpreters_are_not_judged(millrace, world):
    script = write_script(world / "work/app", "#!/bin/sh\nexit 0\n")
    assert millrace("run", script).stderr == ""
    assert millrace("run", "sh", "-c", "exit 0").stderr == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="for root the system keeps LD_PRELOAD")
def test_setuid_programs_are_told(millrace):
    done = millrace("run", "--", "su", "--version")
    assert done.returncode == 0 and "setuid" in done.stderr


def test_a_missing_implementation_is_told(millrace, program, world):
    (world / "prefix/lib/libmillrace-ompi.so").unlink()
    done = millrace("run", program("libmpi.so.40"))
    assert done.returncode == 0 and "built without libmillrace-ompi.so" in done.stderr


def test_the_standard_abi_needs_a_library_of_its_own(millrace, program):
    done = millrace("run", program("libmpi_abi.so.1"))
    assert done.returncode == 0 and "built without libmillrace-abi.so" in done.stderr


@pytest.mark.parametrize(
    ("kind", "command", "programs"),
    [
        ("openmpi", "mpirun --oversubscribe --mca a b -np 4 ./app -n 3", ["./app"]),
        ("openmpi", "mpirun -n 1 ./a x : -n 3 ./b", ["./a", "./b"]),
        ("openmpi", "mpirun --allow-run-as-root --map-by=core -x A=1 -H h1,h2 ./app", ["./app"]),
        ("mpich", "mpiexec -n 4 -genv A b -ppn 2 -l ./app", ["./app"]),
        ("mpich", "mpiexec -f hosts -genvall -n 4 ./app", ["./app"]),
        ("slurm", "srun -n4 -N 2 --mpi=pmix -l ./app", ["./app"]),
        ("slurm", "srun --ntasks 4 --export=ALL ./app", ["./app"]),
    ],
)
def test_finds_the_program_behind_the_launchers_options(kind, command, programs):
    assert launcher.programs(command.split(), launcher.Launcher("x", kind, "")) == programs


@pytest.mark.parametrize(
    ("text", "kind", "version"),
    [
        ("mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org", "openmpi", "4.1.4"),
        ("mpirun (Open MPI) 5.0.3", "openmpi", "5.0.3"),
        ("HYDRA build details:\n    Version:     4.0.2\n", "mpich", "4.0.2"),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 20230307", "mpich", "Intel MPI 2021.9"),
        ("slurm 22.05.8", "slurm", "22.05.8"),
        ("something else", "unknown", ""),
    ],
)
def test_launchers_are_known_by_what_they_say(text, kind, version):
    assert launcher._classify(text) == (kind, version)
