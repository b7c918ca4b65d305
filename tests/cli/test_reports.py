# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Reports, traces, doctor and journal."""

import io
import json
import os
from pathlib import Path

import pytest
from conftest import write_script
from millrace import prefix
from millrace.doctor import costs, machine
from millrace.doctor import diagnosis as doctor
from millrace.stats import reader as stats
from millrace.stats import trace
from rich.console import Console

EVENT = '{"name":"a","ph":"X","ts":%d,"dur":1,"pid":%d,"tid":1}'


@pytest.mark.parametrize(
    "text",
    [
        "[\n" + EVENT % (5, 1) + ",\n" + EVENT % (1, 1) + "\n]",
        "[\n" + EVENT % (5, 1) + ",\n" + EVENT % (1, 1) + ",\n",
        "[\n" + EVENT % (5, 1) + ",\n" + EVENT % (1, 1) + ',\n{"name":"cut',
        '{"traceEvents":[' + EVENT % (5, 1) + "," + EVENT % (1, 1) + "]}",
    ],
)
def test_traces_are_merged_by_time_whole_or_cut(tmp_path, text):
    folder = tmp_path / "trace"
    folder.mkdir()
    (folder / "1.json").write_text(text)
    (folder / "2.json").write_text("[" + EVENT % (3, 2) + ',\n{"name":"process_name","ph":"M","pid":2}]')
    assert trace.merge(folder, tmp_path / "all.json") == 4
    events = json.loads((tmp_path / "all.json").read_text())["traceEvents"]
    assert [event.get("ts") for event in events] == [None, 1, 3, 5]


def test_doctor_json_and_status(millrace, world):
    done = millrace("doctor", world, "--json")
    facts = json.loads(done.stdout)
    assert done.returncode == 1 and not facts["usable"]  # the fake prefix has no agent
    write_script(world / "prefix/bin/millraced", "#!/bin/sh\nexit 2\n")
    done = millrace("doctor", world, "--json")
    facts = json.loads(done.stdout)
    assert done.returncode == 0 and facts["usable"] and facts["plan"]
    tools = str(world / "tools") + "/"
    kinds = {entry["path"].removeprefix(tools): entry["kind"] for entry in facts["mpi"]["launchers"]}
    assert kinds["mpirun.fakeompi"] == "openmpi" and kinds["srun"] == "slurm"


COSTS = {
    "schema": "millrace.costs/1", "file_system": "fs", "record": "", "measured_now": True, "call_ps": 3_400_000,
    "byte_ps": 200, "disk_byte_ps": 600, "record_ps": 100_000, "through_byte_ps": 330, "trip_ps": 40_000_000,
    "start_ps": 12_000_000_000, "break_even_bytes": 12_288,
    "break_even_synced_bytes": 1_572_864,
}  # fmt: skip


def test_doctor_shows_the_sizes_that_millrace_costs_has_found(world):
    found = prefix.find(os.environ)
    write_script(Path(found.costs), f"#!/bin/sh\necho '{json.dumps(COSTS)}'\n")
    lines = costs.told(costs.probe(found, world))
    assert "below about 12.0 KiB, 1.5 MiB if the program syncs" in lines[-1][1]
    assert lines[0][1].startswith("of fs: a write call")


def test_doctor_says_whether_nodes_keep_each_others_bytes():
    assert costs.coherence(COSTS | {"coherence": "none"}).startswith("not coherent between nodes")
    assert costs.coherence(COSTS | {"coherence": "nodes"}).startswith("coherent")
    assert costs.coherence({"error": "no space"}) == ""


def test_doctor_says_that_a_file_system_has_no_name(world):
    """In a chroot, /proc/self/mountinfo does not have the device of its files."""
    assert costs.told(COSTS | {"file_system": ""})[0][1].startswith("of this file system: a write call")
    facts = machine.file_system(world) | {"type": None, "mount_point": None, "options": None}
    assert "the kernel names neither its type nor its mount" in doctor._storage(facts)[0].value


def test_doctor_says_whether_plain_files_are_served(world):
    found = prefix.find(os.environ)
    assert doctor._posix(found).verdict == doctor.GOOD
    library = Path(found.posix_preload)
    library.write_text("no library")
    finding = doctor._posix(found)
    assert finding.verdict == doctor.FAIR and "cannot be preloaded" in finding.value
    library.unlink()
    assert "is missing" in doctor._posix(found).value


def test_traces_of_two_nodes_keep_their_processes_apart(tmp_path):
    folder = tmp_path / "trace"
    folder.mkdir()
    for name, start in (("n0-7", 1), ("n1-7", 2), ("n1-8", 3), ("n2-7", 4)):
        (folder / f"{name}.json").write_text(f"[{EVENT % (start, int(name[-1]))},\n{EVENT % (10, int(name[-1]))}]")
    trace.merge(folder, tmp_path / "all.json")
    events = json.loads((tmp_path / "all.json").read_text())["traceEvents"]
    assert [event["pid"] for event in events[:4]] == [7, 9, 8, 10]


ADDRESSES = [("lo", "127.0.0.1"), ("eth0", "10.0.0.7"), ("ib0", "10.1.0.7"), ("lo", "::1"), ("eth0", "2001:db8::7")]


@pytest.mark.parametrize(
    ("interfaces", "interface", "address", "verdict", "says"),
    [
        ([], "eth0", "10.0.0.7", "good", "if the nodes cannot reach each other there, set --interfaces"),
        (["ib0"], "ib0", "10.1.0.7", "good", ""),
        (["none", "ib0"], "ib0", "10.1.0.7", "good", ""),
        (["lo"], "lo", "127.0.0.1", "good", ""),
        (["none"], None, None, "note", "MILLRACE_INTERFACES (up here: eth0, ib0)"),
    ],
)
def test_doctor_says_what_other_nodes_are_told(monkeypatch, interfaces, interface, address, verdict, says):
    monkeypatch.setattr(machine, "_addresses", lambda: ADDRESSES)
    facts = machine.network(interfaces)
    assert (facts["interface"], facts["address"]) == (interface, address)
    finding = doctor._network(facts)
    assert finding.verdict == {"good": doctor.GOOD, "note": doctor.FAIR}[verdict]
    assert says in finding.advice and (says or not finding.advice)


def test_a_host_without_network_is_told_so(monkeypatch):
    monkeypatch.setattr(machine, "_addresses", lambda: ADDRESSES[:1])
    finding = doctor._network(machine.network([]))
    assert finding.verdict == doctor.FAIR and "the MPI library alone will write" in finding.value


def test_addresses_of_this_host():
    assert ("lo", "127.0.0.1") in machine._addresses()


def test_doctor_for_people(millrace, world):
    done = millrace("doctor", world / "nowhere" / "file")
    assert done.returncode == 1 and "does not exist" in " ".join(done.stdout.split())


def test_doctor_leaves_nothing_behind(millrace, world):
    before = sorted(world.rglob("*"))
    millrace("doctor", world / "work")
    assert sorted(world.rglob("*")) == before


def test_mount_of_root_and_proc(tmp_path):
    assert machine.mount_of(tmp_path)["mount_point"] and machine.mount_of(machine.Path("/proc/self"))["type"] == "proc"


def test_recover_and_drain_call_the_program(millrace, world):
    write_script(world / "prefix/bin/millrace-recover", '#!/bin/sh\necho "$@"; exit 3\n')
    done = millrace("recover", "--dir", "x", "--force", "--dry-run")
    assert (done.returncode, done.stdout) == (3, "--dir x --force --dry-run\n")
    done = millrace("recover", "--list")
    assert (done.returncode, done.stdout.split()[-1]) == (3, "--list")
    done = millrace("recover", "--dir", "x", "--discard", "a.journal", "b.journal")
    assert (done.returncode, done.stdout) == (3, "--dir x --discard a.journal b.journal\n")
    done = millrace("recover", env=os.environ | {"MILLRACE_JOURNAL_DIRECTORY": "/y"})
    assert (done.returncode, done.stdout) == (3, "--dir /y\n")
    done = millrace("drain", "--timeout", "5s")
    assert (done.returncode, done.stdout) == (3, "--drain --timeout 5s\n")


def test_journal_calls_the_inspector(millrace, world):
    assert millrace("journal", "x").returncode == 127
    write_script(world / "prefix/bin/millrace-journal", '#!/bin/sh\necho "$@"; exit 3\n')
    done = millrace("journal", "--verify", "x.journal")
    assert (done.returncode, done.stdout) == (3, "--verify x.journal\n")


def test_version(millrace):
    assert millrace("version").stdout.startswith("millrace 0.")


def test_a_long_close_has_a_bar_until_its_report_comes(world, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")  # a dumb terminal gets no bar
    out = io.StringIO()
    lines = world / "lines"
    lines.touch()
    collector = stats.Collector(lines, None, Console(file=out, force_terminal=True, width=100))
    progress = {"schema": 1, "kind": "progress", "path": "/d/x", "stage": "write"}

    def append(**fields):
        with lines.open("a") as file:
            file.write(json.dumps({**progress, **fields}) + "\n")
        collector._take()

    append(done_bytes=10, total_bytes=100, ended=False)
    (task,) = collector._progress.tasks
    assert (task.description, task.completed, task.total) == ("/d/x", 10, 100)
    append(done_bytes=60, total_bytes=100, stage="sync", ended=False)
    assert collector._progress.tasks[0].completed == 60
    append(done_bytes=100, total_bytes=100, ended=True)
    assert collector._progress is None
    assert "/d/x: writing" in out.getvalue()
