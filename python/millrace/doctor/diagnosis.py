# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`millrace doctor`: the abilities of this machine, their use by Millrace, and advice."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from millrace import __version__, prefix
from millrace.doctor import costs, machine, program, scheduling
from millrace.run import journals, settings
from millrace.units import GIB, MIB, format_bytes, human_bytes, parse_bytes

SCHEMA = "millrace.doctor/1"
GOOD, FAIR, BAD = "good", "fair", "bad"  # BAD: Millrace cannot work
_MARK = {GOOD: "[green]ok[/]", FAIR: "[yellow]note[/]", BAD: "[red]bad[/]"}


@dataclass(frozen=True)
class Finding:
    """One line of the diagnosis."""

    what: str
    value: str
    verdict: str = GOOD
    advice: str = ""


def _install(found: prefix.Prefix | None, mpi: Mapping[str, Any]) -> list[Finding]:
    findings = []
    if platform.system() != "Linux" or platform.machine() not in ("x86_64", "aarch64"):
        findings.append(
            Finding(
                "machine",
                f"{platform.system()} {platform.machine()}",
                BAD,
                "Millrace runs on Linux, x86-64 and aarch64",
            )
        )
    if found is None:
        return [
            *findings,
            Finding("Millrace", "libmillrace.so not found", BAD, "build or install it, or set MILLRACE_PREFIX"),
        ]
    findings.append(Finding("Millrace", f"{__version__} in {found.root}"))
    if found.obstacle:
        findings.append(Finding("preload", found.obstacle, BAD, "move it, or set MILLRACE_PREFIX to a link"))
    if not os.access(found.agent, os.X_OK):
        findings.append(Finding("agent", f"{found.agent} is missing", BAD, "build or install millraced"))
    present = [family for family in prefix.IMPLEMENTATIONS if os.path.isfile(found.implementation(family))]
    known = {entry["family"] for entry in mpi["libraries"]} | {entry["kind"] for entry in mpi["launchers"]}
    for family in prefix.IMPLEMENTATIONS:
        if family in present:
            findings.append(Finding(f"for {family}", found.implementation(family)))
        elif family in known:
            findings.append(
                Finding(
                    f"for {family}",
                    "not built, though this machine has that MPI",
                    FAIR,
                    "install its compiler wrapper and build Millrace again",
                )
            )
    findings.append(_posix(found))
    if not present:
        findings.append(Finding("for any MPI", "no implementation library", BAD, "build with an mpicc on PATH"))
    return findings


def _posix(found: prefix.Prefix) -> Finding:
    """Whether a program starts with the library for plain files."""
    library = found.posix_preload
    if not os.path.isfile(library):
        return Finding("for plain files", f"{library} is missing", FAIR, "build or install Millrace again for --posix")
    try:
        done = subprocess.run(
            ["/bin/true"], env={"LD_PRELOAD": library}, capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Finding("for plain files", str(error), FAIR, "--posix will not work")
    if done.returncode != 0 or done.stderr:
        said = done.stderr.strip() or f"status {done.returncode}"
        return Finding("for plain files", f"{library} cannot be preloaded: {said}", FAIR, "--posix will not work")
    return Finding("for plain files", library)


def _mpi(mpi: Mapping[str, Any]) -> list[Finding]:
    findings = [
        Finding("launcher", f"{entry['path']}: {entry['kind']} {entry['version']}") for entry in mpi["launchers"]
    ]
    findings += [
        Finding("MPI library", f"{entry['path']}: {entry['family'] or 'unknown'}") for entry in mpi["libraries"]
    ]
    if not findings:
        findings.append(
            Finding(
                "MPI",
                "neither a launcher nor a library was found",
                FAIR,
                "load the module of your MPI, or install one",
            )
        )
    return findings


def _command(facts: Mapping[str, Any]) -> list[Finding]:
    """The programs of a command: the MPI library that each loads, and Millrace's library for it."""
    start = facts["launcher"]
    findings = [Finding("launcher", f"{start['path']}: {start['kind']} {start['version']}")] if start else []
    findings += [Finding("command", error, BAD) for error in facts["errors"]]
    for one in facts["programs"]:
        name = os.path.basename(one["program"])
        extension = one.get("mpi4py", {}).get("extension")
        if extension:
            findings.append(Finding(f"{name}: mpi4py", extension))
        for library in one["libraries"]:
            said = library["version"] or library["error"]
            findings.append(Finding(f"{name}: MPI library", f"{library['path']}: {said}"))
            if library.get("implementation") and not one["errors"]:
                findings.append(Finding(f"{name}: accelerated by", library["implementation"]))
        findings += [Finding(name, error, BAD) for error in one["errors"]]
        findings += [Finding(name, note, FAIR) for note in one["notes"]]
    return findings


def _kernel(facts: Mapping[str, Any]) -> list[Finding]:
    ring, memory, shared = facts["io_uring"], facts["memory"], facts["shared_memory"]
    findings = [
        Finding("io_uring", "usable")
        if ring["usable"]
        else Finding("io_uring", f"not usable: {ring['reason']}", FAIR, "the agent uses threads with pwritev instead")
    ]
    available = memory["available"] or 0
    bound = min(x for x in (available, memory["cgroup_limit"] or available) if x is not None)
    buffer = parse_bytes(settings.BY_NAME["sort_buffer"].default)
    enough = bound > 4 * buffer
    findings.append(
        Finding(
            "memory",
            f"{human_bytes(bound)} available",
            GOOD if enough else FAIR,
            "" if enough else f"use --sort-buffer {max(1, bound // 8 >> 20)}MiB",
        )
    )
    if facts["autogroups"]:
        findings.append(
            Finding(
                "scheduler",
                "autogroups: every session has one share of the processors, so the agent has as much as one rank",
                FAIR,
                "with more ranks than cores, run the job in a control group (a batch system, systemd-run --scope)",
            )
        )
    lock = memory["memlock"]
    findings.append(Finding("memlock limit", "none" if lock is None else human_bytes(lock)))
    findings.append(
        Finding(
            "huge pages",
            f"{memory['huge_pages_total']} reserved; transparent: "
            f"{memory['transparent_huge_pages'] or 'no'}, shared memory: "
            f"{memory['shared_huge_pages'] or 'no'}",
        )
    )
    findings.append(Finding("cores", str(facts["cores"])))
    if shared["memfd"]:
        findings.append(Finding("shared memory", "memfd works"))
    else:
        findings.append(
            Finding(
                "shared memory",
                f"memfd_create failed: {shared['memfd_reason']}",
                BAD,
                "the kernel or a container's filter must allow memfd_create",
            )
        )
    if "page_reason" in shared:
        findings.append(
            Finding(
                "/dev/shm",
                f"it takes no file of 1 MiB: {shared['page_reason']}",
                BAD,
                "an agent has its page there: give /dev/shm room, and let the user write to it",
            )
        )
    if not shared["abstract_socket"]:
        findings.append(
            Finding(
                "UNIX sockets",
                f"abstract names failed: {shared['socket_reason']}",
                BAD,
                "a container's filter must allow abstract UNIX sockets",
            )
        )
    return findings


def _network(facts: Mapping[str, Any]) -> Finding:
    """The addresses for other nodes. One node needs no network, so no finding here is bad."""
    others = ", ".join(facts["others"])
    choose = f"set --interfaces or MILLRACE_INTERFACES (up here: {others})" if others else ""
    if facts["address"] is None:
        asked = ",".join(facts["asked_for"])
        what = f"none of {asked} has an address" if asked else "no interface is up"
        return Finding(
            "network", f"{what}: the MPI library alone will write files that several nodes open", FAIR, choose
        )
    return Finding(
        "network",
        f"other nodes will use {facts['address']} of {facts['interface']}",
        GOOD,
        f"if the nodes cannot reach each other there, {choose}" if choose and not facts["asked_for"] else "",
    )


def _storage(fs: Mapping[str, Any]) -> list[Finding]:
    if not fs["exists"]:
        return [Finding("path", f"{fs['path']} does not exist", BAD, "name a folder that exists")]
    kind = "networked" if fs["networked"] else "in memory" if fs["in_memory"] else "local"
    # Virtual disks often claim to rotate.
    disk = {True: ", reported as rotating", False: ", does not rotate", None: ""}[fs["rotational"]]
    told = f"{fs.get('type')} ({kind}{disk}), mounted at {fs.get('mount_point')} with {fs.get('options')}"
    if not fs.get("type"):  # in a chroot, for example
        told = "a file system of which the kernel names neither its type nor its mount"
    findings = [Finding("file system", f"{fs['path']} on {told}")]
    if not fs["writable"]:
        findings.append(Finding("write access", "none", BAD, "choose a folder that you may write to"))
    findings.append(
        Finding(
            "free space",
            f"{human_bytes(fs['free_bytes'])} of {human_bytes(fs['total_bytes'])}",
            GOOD if fs["free_bytes"] > GIB else FAIR,
            "" if fs["free_bytes"] > GIB else "little space is left; free some, or choose another folder",
        )
    )
    if fs["writable"]:
        locks = fs["locking"]
        findings.append(
            Finding(
                "file locking",
                locks,
                GOOD if locks == "ok" else FAIR,
                ""
                if locks == "ok"
                else "the MPI library itself may fail here on atomic mode "
                "and data sieving; Millrace's own writes take no locks",
            )
        )
    return findings


def _journals(folder: str) -> Finding:
    why = journals.weakness(folder)
    advice = "durability node and strategy journal need a folder on a disk: set MILLRACE_JOURNAL_DIRECTORY"
    return Finding("journals", f"{folder} {why}" if why else folder, FAIR if why else GOOD, advice if why else "")


def plan(facts: Mapping[str, Any], configuration: settings.Configuration) -> list[str]:
    """The behaviour of a run on this machine, in sentences."""
    value = {name: effective.value for name, effective in configuration.values.items()}
    fs, cores = facts["file_system"], facts["cores"]
    strategy = value["strategy"]
    text = {
        "auto": "auto: the node's agent sorts and merges writes where that should take less time; reads and "
        "large contiguous writes stay with the MPI library",
        "immediate": "immediate: records go to the file in the order of arrival",
        "sort": "sort: records are sorted in the agent's memory",
        "journal": "journal: records that do not fit into the sort buffer stay in a local log until close",
    }[strategy]
    lines = [f"strategy {text}"]
    sink = value["sink"]
    if sink == "auto":
        sink = "through the page cache with early writeback, or past it if that takes less time"
    elif sink == "direct":
        sink = "O_DIRECT" + (" through io_uring" if facts["io_uring"]["usable"] else " through threads")
    lines.append(f"sink: {sink}")
    ranks = format_bytes(MIB * cores)
    lines.append(
        f"memory: {value['sort_buffer']} to sort in per file, and 1MiB of shared memory per rank "
        f"({ranks} with one rank per core)"
    )
    if fs.get("networked"):
        lines.append(
            "a file that ranks on several nodes have open: "
            + (
                "the agents of all nodes pass their records on to its file servers"
                if value["file_servers"] != "0"
                else "the MPI library alone writes it"
            )
        )
    return lines


def probe_agent(found: prefix.Prefix | None) -> str:
    """The output of `millraced --probe`, if the program exists."""
    if found is None or not os.access(found.agent, os.X_OK):
        return ""
    try:
        done = subprocess.run(
            [found.agent, "--probe"],
            capture_output=True,
            text=True,
            timeout=10,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def diagnose(path: Path, environment: Mapping[str, str], command: Sequence[str] = ()) -> dict[str, Any]:
    """All facts, findings and the plan as one document. `command`: what the user wants to run, or nothing."""
    try:
        found = prefix.find(environment)
    except prefix.PrefixError:
        found = None
    facts: dict[str, Any] = {
        "schema": SCHEMA,
        "version": __version__,
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": machine.memory(),
        "io_uring": machine.io_uring(),
        "autogroups": scheduling.autogroups(),
        "shared_memory": machine.shared_memory(),
        "file_system": machine.file_system(path),
        "mpi": machine.mpi_libraries(environment),
        "agent_probe": probe_agent(found),
        "costs": costs.probe(found, path),
        "command": program.examine(command, found, environment) if command else None,
    }
    try:
        configuration = settings.resolve({}, None, environment)
        facts["plan"] = plan(facts, configuration)
        facts["journals"] = journals.folder_of(configuration)
        interfaces = [name for name in configuration.values["interfaces"].value.split(",") if name]
        wrong = []
    except settings.SettingError as error:
        facts["plan"], interfaces, facts["journals"] = [], [], journals.DEFAULT
        wrong = [Finding("settings", str(error), BAD, "correct or remove it")]
    facts["network"] = machine.network(interfaces)
    findings = [
        *(_command(facts["command"]) if command else []),
        *_install(found, facts["mpi"]),
        *_mpi(facts["mpi"]),
        *_kernel(facts),
        _network(facts["network"]),
        *_storage(facts["file_system"]),
        _journals(facts["journals"]),
        *([Finding("caches", told)] if (told := costs.coherence(facts["costs"])) else []),
        *(
            Finding(what, value, FAIR if bad else GOOD, advice)
            for what, value, bad, advice in costs.told(facts["costs"])
        ),
        *wrong,
    ]
    facts["findings"] = [asdict(finding) for finding in findings]
    facts["usable"] = all(finding.verdict != BAD for finding in findings)
    return facts


def show(facts: Mapping[str, Any], console: Any) -> None:
    """The document for people."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(show_header=False, box=None)
    for _ in range(3):
        table.add_column(overflow="fold")  # a path must be whole
    for finding in facts["findings"]:
        advice = f"\n-> {escape(finding['advice'])}" if finding["advice"] else ""
        table.add_row(_MARK[finding["verdict"]], finding["what"], escape(finding["value"]) + advice)
    console.print(table)
    console.print("\nMillrace will:" if facts["usable"] else "\n[red]Millrace cannot work here.[/] It would:")
    for line in facts["plan"]:
        console.print(f"  - {line}", markup=False, highlight=False)
