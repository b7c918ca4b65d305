# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`millrace doctor -- COMMAND`: the MPI library that each program of a command would load."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from millrace import prefix
from millrace.run import checks, elf, launcher
from millrace.run.launcher import which

_TIMEOUT_S = 60
_PYTHON = re.compile(r"(python|pypy)[\d.]*$")
# Text of MPI_Get_library_version -> ABI, as in src/front/hook/resolver.cpp.
_MARKS = {
    "Open MPI": "openmpi",
    "FUJITSU MPI": "openmpi",
    "MPICH": "mpich",
    "MVAPICH": "mpich",
    "Intel(R) MPI": "mpich",
}
# Loads mpi4py as a program would, without MPI_Init, and lists the MPI libraries of the process.
_ASK_MPI4PY = """
import json, os, re, sys
try:
    import mpi4py
except ImportError:
    print(json.dumps({"missing": True})); sys.exit()
mpi4py.rc.initialize = False
answer = {"package": os.path.dirname(mpi4py.__file__)}
try:
    from mpi4py import MPI
    answer["extension"] = MPI.__file__
except Exception as error:
    answer["error"] = str(error)
maps = open("/proc/self/maps").read().splitlines()
answer["libraries"] = sorted({line.split()[-1] for line in maps if re.search(r"/lib(mpi|mpich)[^/]*[.]so", line)})
print(json.dumps(answer))
"""
# The library's own word, in a process that it cannot damage.
_ASK_VERSION = """
import ctypes, sys
text, size = ctypes.create_string_buffer(16384), ctypes.c_int()
ctypes.CDLL(sys.argv[1]).MPI_Get_library_version(text, ctypes.byref(size))
print(text.value.decode(errors="replace"))
"""


def _output(command: Sequence[str], environment: Mapping[str, str]) -> tuple[str, str]:
    """Standard output of a command, and the reason if it failed."""
    try:
        done = subprocess.run(
            command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return "", str(error)
    last = next(reversed(done.stderr.strip().splitlines()), "")
    return done.stdout, "" if done.returncode == 0 else last or f"status {done.returncode}"


def loaded(path: str, environment: Mapping[str, str]) -> dict[str, str | None]:
    """soname -> file of all libraries that the dynamic loader finds for an ELF file; None: it finds none.

    The system's loader answers, so RPATH, RUNPATH, $ORIGIN, LD_LIBRARY_PATH and ld.so.cache count as they do at the
    program's start. It does not start the program. Empty if the program has another loader than this Python.
    """
    interpreter = elf.read(sys.executable).interpreter
    found: dict[str, str | None] = {}
    if elf.read(path).interpreter not in ("", interpreter):
        return found
    asking = {**environment, "LD_TRACE_LOADED_OBJECTS": "1"}
    for line in _output([interpreter, path], asking)[0].splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        if arrow:
            found[name] = None if rest.startswith("not found") else rest.rsplit(" (", 1)[0]
    return found


def _library(path: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """Facts of one libmpi: its file, its word on its version, its ABI."""
    text, error = _output([sys.executable, "-c", _ASK_VERSION, path], environment)
    version = text.strip().splitlines()[0] if text.strip() else ""
    family = "abi" if "mpi_abi" in os.path.basename(path) else None
    family = family or next((value for mark, value in _MARKS.items() if mark in text), None)
    if error:
        family = elf.family_of(path)
    return {"path": os.path.realpath(path), "version": version, "family": family, "error": error}


def _of_python(python: str, environment: Mapping[str, str], facts: dict[str, Any]) -> None:
    text, error = _output([python, "-c", _ASK_MPI4PY], environment)
    try:
        answer = json.loads(text)
    except ValueError:
        answer = {"error": error or "no answer"}
    facts["mpi4py"] = answer
    if answer.get("missing"):
        facts["notes"].append("this Python has no mpi4py: Millrace helps if another extension (h5py) loads MPI")
    elif answer.get("error"):
        facts["errors"].append(f"mpi4py cannot load MPI: {answer['error']}")
    facts["libraries"] = [_library(path, environment) for path in answer.get("libraries", []) if elf.is_mpi(path)]


def _of_elf(path: str, environment: Mapping[str, str], facts: dict[str, Any]) -> None:
    names = {name: file for name, file in loaded(path, environment).items() if elf.is_mpi(name)}
    for name, file in names.items():
        if file is None:
            facts["errors"].append(
                f"{name} is not found, so the program does not start; load its module, or set LD_LIBRARY_PATH"
            )
        else:
            facts["libraries"].append({"soname": name, **_library(file, environment)})


def _interpreter(path: str) -> list[str]:
    """The words of a script's first line; empty if the file is no script."""
    try:
        with open(path, "rb") as file:
            first = file.readline(4096)
    except OSError:
        return []
    return os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []


def _judge(facts: dict[str, Any], start: launcher.Launcher | None, found: prefix.Prefix | None) -> None:
    """What Millrace does with the libraries that were found."""
    for library in facts["libraries"]:
        family = library["family"]
        if family is None:
            facts["errors"].append(f"Millrace does not know this MPI library: {library['version'] or library['error']}")
            continue
        library["implementation"] = found.implementation(family) if found else None
        if found and not os.path.isfile(library["implementation"]):
            name = os.path.basename(library["implementation"])
            facts["errors"].append(f"this Millrace was built without {name}; build it with that MPI's compiler wrapper")
        if start and start.family and family in ("mpich", "openmpi") and family != start.family:
            facts["errors"].append(
                f"{start.path} is the launcher of {checks.FAMILY_NAMES[start.family]}, and the program loads "
                f"{checks.FAMILY_NAMES[family]}: each rank would run alone"
            )


def _examine(
    words: Sequence[str], start, found: prefix.Prefix | None, environment: Mapping[str, str]
) -> dict[str, Any]:
    path = which(words[0], environment.get("PATH"))
    facts: dict[str, Any] = {"program": words[0], "path": path, "libraries": [], "errors": [], "notes": []}
    if path is None:
        facts["errors"].append(f"{words[0]} was not found, or is not executable")
        return facts
    script = _interpreter(path)
    if script and os.path.basename(script[0]) == "env":
        script = [which(script[-1], environment.get("PATH")) or script[-1]]
    target = script[0] if script else path
    if _PYTHON.match(os.path.basename(target)) or _PYTHON.match(os.path.basename(os.path.realpath(target))):
        _of_python(target, environment, facts)
    elif script:
        facts["notes"].append("a script: name the program that it starts, as in `millrace doctor -- ./program`")
    else:
        try:
            program = elf.read(path)
        except (OSError, elf.ElfError) as error:
            facts["errors"].append(str(error))
            return facts
        if not program.static:
            _of_elf(path, environment, facts)
        if program.static or not (facts["libraries"] or facts["errors"]):
            verdict = checks.program(words[0], start, found or prefix.Prefix(""), environment)
            facts["errors" if program.static else "notes"] += verdict.notes
    _judge(facts, start, found)
    return facts


def examine(command: Sequence[str], found: prefix.Prefix | None, environment: Mapping[str, str]) -> dict[str, Any]:
    """Facts of all programs of a command. `errors` of a program name what keeps Millrace from it."""
    clean = {name: value for name, value in environment.items() if name != "LD_PRELOAD"}
    start = launcher.detect(command, clean)
    errors = []
    if environment.get("MILLRACE") == "0":
        errors.append("MILLRACE=0 is set: programs run without Millrace; unset it")
    replaced = launcher.overriding(command, start, "LD_PRELOAD", clean)
    if replaced:
        errors.append(f"'{replaced}' keeps LD_PRELOAD from the ranks; leave it out")
    lines = launcher.command_lines(command, start)
    if start is not None and not lines:
        errors.append(f"no program was found behind the options of {start.path}")
    return {
        "launcher": {"path": start.path, "kind": start.kind, "version": start.version} if start else None,
        "programs": [_examine(words, start, found, clean) for words in lines],
        "errors": errors,
    }
