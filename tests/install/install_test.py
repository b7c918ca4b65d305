# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""install_test.py prefix|wheel SOURCE BUILD mpich|ompi PROGRAM: an installed Millrace runs PROGRAM accelerated."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SKIP = 77
LAUNCHERS = {"mpich": "mpiexec.hydra", "ompi": "mpirun.openmpi"}


def run(*command: object, folder: Path, bound_s: float = 600) -> subprocess.CompletedProcess[str]:
    """In an environment that knows nothing of a source tree, a build, or a Python environment."""
    foreign = ("MILLRACE", "PYTHON", "VIRTUAL_ENV", "LD_", "CMAKE")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    environment.update(HOME=str(folder), OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    words = [str(word) for word in command]
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=bound_s, check=False
    )


def expect(condition: object, what: str, done: subprocess.CompletedProcess[str]) -> None:
    if not condition:
        sys.exit(f"failed: {what}: {done.args} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")


def uses(millrace: Path, work: Path, mpi: str, program: Path) -> None:
    """The command itself; doctor; a program under it, with the agent."""
    work.mkdir()
    done = run(millrace, "version", folder=work)
    expect(done.returncode == 0 and "millrace 0." in done.stdout, "version", done)
    done = run(millrace, "doctor", "--json", work, folder=work)
    expect(done.returncode == 0, "doctor", done)
    expect(str(millrace.parent.parent) in done.stdout, "doctor names this installation", done)
    (work / "files").mkdir()
    launch = [LAUNCHERS[mpi], "-n", "2"]
    launch[1:1] = ["--oversubscribe"] if mpi == "ompi" else []
    arguments = ["run", "--stats", "--", *launch, program, work / "files"]
    done = run(millrace, *arguments, folder=work)
    expect(done.returncode == 0 and "FAIL" not in done.stdout, "a program", done)
    expect("pipeline" in done.stdout + done.stderr, "its report names the pipeline", done)
    expect("passing through" not in done.stderr, "nothing is passed through", done)
    reports = work / "reports"
    command = [millrace, "run", "--", *launch, program, work / "files"]
    done = run("env", f"MILLRACE_STATS={reports}", "MILLRACE_DIRECT_ABOVE=16KiB", *command, folder=work)
    kinds = set()
    for _ in range(100):  # the agent tells when it leaves
        lines = reports.read_text().splitlines() if reports.exists() else []
        kinds = {json.loads(line)["kind"] for line in lines}
        if {"client", "agent_file"} <= kinds:
            return
        time.sleep(0.1)
    expect(False, f"clients and agent report ({kinds})", done)


PROJECT = """cmake_minimum_required(VERSION 3.22)
project(user C CXX {fortran})
find_package(millrace 0.1 REQUIRED)
add_executable(c {sources}/scenario.c)
target_link_libraries(c millrace::io)
add_executable(cpp {sources}/scenario.cpp)
target_compile_features(cpp PRIVATE cxx_std_17)
target_link_libraries(cpp millrace::io)
if(NOT "{fortran}" STREQUAL "")
  add_executable(fortran {sources}/scenario.f90)
  target_link_libraries(fortran millrace::fortran)
endif()
"""


def links(installed: Path, source: Path, build: Path, work: Path) -> None:
    """Programs that use the C API, by pkg-config and by CMake."""
    files = work / "files"
    files.mkdir(parents=True)
    sources = source / "tests/capi"
    functions = next((build / "src/staging").glob("libchannel_functions.so"), None)
    functions = functions or next(build.glob("**/libchannel_functions.so"))
    fortran = shutil.which("gfortran")
    ask = ["env", f"PKG_CONFIG_PATH={installed / 'lib/pkgconfig'}", "pkg-config"]
    if shutil.which("pkg-config"):
        done = run(*ask, "--cflags", "--libs", "millrace", folder=work)
        expect(done.returncode == 0, "pkg-config", done)
        rpath = f"-Wl,-rpath,{installed / 'lib'}"
        options = [*done.stdout.split(), rpath]
        done = run("cc", sources / "scenario.c", "-o", work / "c", *options, folder=work)
        expect(done.returncode == 0, "cc", done)
        programs = [work / "c"]
        if fortran:
            done = run(*ask, "--variable=fortran_source", "millrace", folder=work)
            module = done.stdout.strip()
            done = run(fortran, module, sources / "scenario.f90", "-o", work / "fortran", *options, folder=work)
            expect(done.returncode == 0, "gfortran", done)
            programs.append(work / "fortran")
        for program in programs:
            done = run(program, "process", files, functions, folder=work)
            expect(done.returncode == 0 and "all is well" in done.stdout, "a program by pkg-config", done)
    (work / "CMakeLists.txt").write_text(PROJECT.format(sources=sources, fortran="Fortran" if fortran else ""))
    done = run("cmake", f"-DCMAKE_PREFIX_PATH={installed}", "-B", "b", work, folder=work)
    expect(done.returncode == 0, "find_package", done)
    done = run("cmake", "--build", "b", folder=work)
    expect(done.returncode == 0, "a build by find_package", done)
    for name in ("c", "cpp", "fortran") if fortran else ("c", "cpp"):
        done = run(work / "b" / name, "host", files, functions, folder=work)
        expect(done.returncode == 0 and "all is well" in done.stdout, "a program by CMake", done)


def demo(millrace: Path, work: Path) -> None:
    """Python's Jinja2 is not carried along: the demo does without its page, and says how to get it."""
    done = run(millrace, "demo", "--quick", "--no-nodes", "--only", "BT-IO full", folder=work, bound_s=250)
    expect(done.returncode == 0 and (work / "demo-results/results.json").exists(), "demo", done)
    results = json.loads((work / "demo-results/results.json").read_text())["parts"][0]["results"]
    expect(results and all(one["identical"] for one in results), "demo runs its programs", done)
    page = (work / "demo-results/index.html").exists()
    expect(page or "-m pip install jinja2" in done.stderr, "demo says what it lacks", done)


def documents(share: Path, done: subprocess.CompletedProcess[str]) -> None:
    """Manual pages and completions are where `man` and the shells look for them."""
    for name in (
        "man/man1/millrace-run.1",
        "man/man8/millraced.8",
        "bash-completion/completions/millrace",
        "zsh/site-functions/_millrace",
    ):
        expect((share / name).is_file(), name, done)


def prefix(source: Path, build: Path, mpi: str, program: Path, folder: Path) -> None:
    first, moved, blank = folder / "first", folder / "moved", folder / "moved here"
    done = run("cmake", "--install", build, "--prefix", first, folder=folder)
    expect(done.returncode == 0, "cmake --install", done)
    documents(first / "share", done)
    done = run(sys.executable, source / "scripts/vendor.py", first / "share/millrace/python", folder=folder)
    if done.returncode != 0:
        print(f"skipped: {done.stderr.strip()}")
        sys.exit(SKIP)
    named = run("grep", "-rIl", first, first, folder=folder)
    expect(named.stdout == "", "no file names its prefix", named)
    package = first / "share/millrace/python/millrace"
    bytecode = run("grep", "-rL", "--include=*.pyc", first, package, folder=folder)
    modules = list(package.rglob("*.py"))
    expect(len(bytecode.stdout.split()) == len(modules), "bytecode of all modules, which names no prefix", bytecode)
    first.rename(blank)
    done = run(blank / "bin/millrace", "run", "true", folder=folder)
    expect(done.returncode == 2 and "cannot be preloaded" in done.stderr, "a blank is refused", done)
    done = run(blank / "bin/millrace", "doctor", folder=folder)
    expect(done.returncode == 1, "doctor does not like a blank", done)
    blank.rename(moved)
    uses(moved / "bin/millrace", folder / "work", mpi, program)
    links(moved, source, build, folder / "linked")
    # By a link, as from a user's own bin folder.
    (folder / "bin").mkdir()
    (folder / "bin/millrace").symlink_to(moved / "bin/millrace")
    done = run(folder / "bin/millrace", "version", folder=folder)
    expect(done.returncode == 0, "by a link", done)
    demo(moved / "bin/millrace", folder / "work")


def pythons() -> list[Path]:
    """One of each version from 3.10 that makes environments."""
    found: dict[str, Path] = {}
    candidates = [Path(sys.executable), *sorted((Path.home() / ".pyenv/versions").glob("3.*/bin/python3"))]
    candidates += [Path(path) for path in map(shutil.which, [f"python3.{n}" for n in range(10, 20)]) if path]
    for path in candidates:
        code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run([str(path), "-c", code], capture_output=True, text=True, check=False)
        version = done.stdout.strip()
        if done.returncode == 0 and re.fullmatch(r"3\.\d\d", version):
            found.setdefault(version, path)
    return [found[version] for version in sorted(found)]


def built_of_sources(python: Path, source: Path, folder: Path) -> None:
    """A wheel of the source distribution, where git and .git cannot help."""
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    done = run(*pip, "install", "build", "scikit-build-core", folder=folder)
    if done.returncode != 0 and "No matching distribution found for" in done.stderr:
        print("skipped: no build and scikit-build-core to be had")
        sys.exit(SKIP)
    done = run(python, "-m", "build", "--sdist", "--outdir", folder / "sources", source, folder=folder)
    expect(done.returncode == 0, "build --sdist", done)
    (packed,) = (folder / "sources").glob("millrace_io-*.tar.gz")
    (folder / "without").mkdir()
    (folder / "without/git").write_text(f'#!/bin/sh\necho "$@" >>{folder / "asked"}\nexit 1\n')
    (folder / "without/git").chmod(0o755)
    command = ["env", f"PATH={folder / 'without'}:{os.environ['PATH']}", *pip, "wheel", "--no-deps"]
    done = run(*command, "-w", folder / "wheels", packed, folder=folder, bound_s=1500)
    expect(done.returncode == 0 and not (folder / "asked").exists(), "pip wheel, without git", done)


def wheel(source: Path, build: Path, mpi: str, program: Path, folder: Path) -> None:
    """Built once, installed in each Python: it says that it fits all of them."""
    available = pythons()
    for number, python in enumerate(available):
        environment = folder / f"environment-{number}"
        run(python, "-m", "venv", environment, folder=folder)
        pip = [environment / "bin/python3", "-m", "pip", "--disable-pip-version-check"]
        if number == 0:
            built_of_sources(environment / "bin/python3", source, folder)
        (built,) = (folder / "wheels").glob("millrace_io-*-py3-none-*.whl")
        done = run(*pip, "install", built, folder=folder, bound_s=300)
        expect(done.returncode == 0, "pip install", done)
        documents(environment / "share", done)
        uses(environment / "bin/millrace", folder / f"work-{number}", mpi, program)
        (native,) = environment.glob("lib/python3*/site-packages/millrace/_native")
        links(native, source, build, folder / f"linked-{number}")
        print(f"{python}: well")


def main() -> int:
    kind, source, build, mpi, program = sys.argv[1:]
    if not shutil.which(LAUNCHERS[mpi]):
        print(f"skipped: no {LAUNCHERS[mpi]}")
        return SKIP
    with tempfile.TemporaryDirectory(prefix="millrace-install-") as folder:
        {"prefix": prefix, "wheel": wheel}[kind](Path(source), Path(build), mpi, Path(program), Path(folder).resolve())
    return 0


if __name__ == "__main__":
    sys.exit(main())
