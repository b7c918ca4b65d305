# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Reports, traces, doctor, journal and the demo's parts."""

import io
import json
import os
from pathlib import Path

import pytest
from conftest import write_script
from millrace import costs, doctor, machine, prefix, stats, trace
from millrace.demo import runner
from rich.console import Console

CLIENT = {
    "schema": 1,
    "kind": "client",
    "path": "/d/x",
    "calls": 2,
    "direct_calls": 1,
    "bytes": 300,
    "direct_bytes": 50,
    "reason": ["pipeline: small pieces"],
    "copy_ns": 10,
    "wait_ns": 5,
}
AGENT = {
    "schema": 1,
    "kind": "agent_file",
    "path": "/d/x",
    "strategy": "auto",
    "why": "default",
    "merge": True,
    "sink": "buffered",
    "error": "",
    "ranks": {"opens": 2},
    "agent": {"bytes_in": 600, "bytes_out": 600, "records_in": 6, "writes_out": 2, "seeks": 1},
    "time": {"storage_busy_ns": 2_000_000},
    "memory": {"peak_buffer_bytes": 1 << 20, "peak_metadata_bytes": 0},
}


def reporting_program(world, *lines):
    text = "".join(
        f"echo '{json.dumps(line) if isinstance(line, dict) else line}' >> $MILLRACE_STATS\n" for line in lines
    )
    return write_script(world / "work/app", f"#!/bin/sh\n{text}exit 0\n")


def test_merges_ranks_and_agent(millrace, world):
    program = reporting_program(world, CLIENT, "not json", AGENT, CLIENT)
    done = millrace("run", "--stats", "out.json", "--", program)
    assert done.returncode == 0 and done.stdout == ""
    (file,) = json.loads((world / "work/out.json").read_text())["files"]
    assert (file["calls"], file["direct_calls"], file["direct_bytes"]) == (4, 2, 100)
    assert (file["mean_in_bytes"], file["mean_out_bytes"], file["seeks"]) == (100, 300, 1)
    assert file["route"] == "pipeline and direct" and file["reasons"] == ["pipeline: small pieces (2 ranks)"]
    assert file["stages_ns"] == {
        "ranks: copy into the channel": 20,
        "ranks: wait": 10,
        "agent: writes under way": 2_000_000,
    }
    for text in ("/d/x", "pipeline and direct", "small pieces (2 ranks)", "1.0 MiB", "2.00 ms"):
        assert text in done.stderr


def test_a_file_that_stayed_direct_is_shown_too(millrace, world):
    line = {**CLIENT, "bytes": 0, "calls": 0, "reason": "opened for reading only"}
    done = millrace("run", "--stats", "--", reporting_program(world, line))
    assert "direct" in done.stderr and "opened for reading only (1 rank)" in done.stderr


def across(node, lane, nodes, lanes, *, ends=False, ranks=2, records=0, sent=0, **more):
    """The line of one node and lane: `records` of 10 bytes came in, `sent` went out."""
    return {
        **AGENT,
        "sink": "buffered" if ends else stats.PASSED_ON,
        **{"node": node, "nodes": nodes, "lane": lane, "lanes": lanes, "topology": "ring"},
        "ranks": {"opens": ranks, "agents_upstream": 1},
        "agent": {"records_in": records, "bytes_in": 10 * records, "writes_out": sent, "bytes_out": 10 * sent},
        "time": {"sync_ns": 1000 if ends else 7},
        **more,
    }


def report_of(*agents, clients=0):
    report = stats.FileReport("/d/x")
    report.agents += agents
    report.clients += [CLIENT] * clients
    return report


def test_what_is_passed_on_is_counted_once():
    # node 2 -> node 1 -> node 0 -> file; 100 records of each node's own, merged to 50 where they leave node 1.
    report = report_of(
        across(1, 0, 3, 1, records=200, sent=150),
        across(0, 0, 3, 1, ends=True, records=250, sent=3),
        across(2, 0, 3, 1, records=100, sent=100),
        clients=6,
    )
    facts = report.summary()
    assert (facts["records_in"], facts["bytes_in"]) == (300, 3000)
    assert (facts["records_out"], facts["bytes_out"]) == (3, 30)
    assert (facts["nodes"], facts["file_servers"], facts["topology"]) == (3, 1, "ring")
    assert facts["bytes_between_nodes"] == 2500
    assert facts["stages_ns"]["agent: stable storage"] == 1000
    assert facts["stages_ns"]["agent: wait for the next agent"] == 14
    assert facts["strategy"].endswith("sink buffered")
    assert report.complete()


def test_lanes_of_several_file_servers_are_added():
    report = report_of(
        across(0, 0, 2, 2, ends=True, records=60, sent=1),
        across(0, 1, 2, 2, records=40, sent=40),
        across(1, 0, 2, 2, records=20, sent=20),
        across(1, 1, 2, 2, ends=True, records=120, sent=2),
    )
    facts = report.summary()
    assert (facts["records_in"], facts["records_out"], facts["bytes_out"]) == (180, 3, 30)
    assert (facts["nodes"], facts["file_servers"]) == (2, 2)


def read_across():
    """Node 0 reads the file for itself and for node 1. A rank of each node never reads, and so never registers."""
    reading = {"lists": 3, "requests": 2, "bytes_in": 1 << 20, "bytes_out": 3 << 20}
    passing = {"lists": 4, "requests": 1, "bytes_in": 1 << 19, "bytes_out": 1 << 20}
    lines = [across(0, 0, 2, 1, ends=True, reads=reading), across(1, 0, 2, 1, reads=passing)]
    return [{**line, "ranks": {"opens": 1, "members": 2}} for line in lines]


READER = {
    **CLIENT, "calls": 0, "bytes": 0, "direct_calls": 4, "direct_bytes": 1000, "reads": 4, "read_bytes": 1000,
    "reason": [], "through_lists": 2, "through_bytes": 1000, "guessed_bytes": 900, "wrong_bytes": 10,
}  # fmt: skip


def reading_report(*clients):
    report = report_of(*read_across())
    report.clients += clients
    return report


def test_reads_through_agents_have_sums_and_a_path():
    facts = reading_report(READER, READER).summary()
    assert facts["route"] == "read through agents"
    assert (facts["through_lists"], facts["through_bytes"]) == (4, 2000)
    assert (facts["guessed_bytes"], facts["wrong_bytes"]) == (1800, 20)
    assert (facts["blocks_read"], facts["block_bytes"]) == (2, 1 << 20)
    assert facts["read_bytes_between_nodes"] == 1 << 19 and facts["bytes_between_nodes"] == 0
    out = io.StringIO()
    Console(file=out, width=120).print(stats.table_of(reading_report(READER, READER)))
    for text in ("read through agents", "1.0 MiB in 2 blocks", "512.0 KiB", "were read"):
        assert text in out.getvalue()


def test_reads_that_left_the_agents_are_direct_too():
    lost = {**READER, "through_bytes": 100, "through_error": "lost an agent"}
    facts = reading_report(READER, lost).summary()
    assert facts["route"] == "read through agents and direct"
    assert facts["through_errors"] == ["lost an agent"] and facts["errors"] == []


def test_ranks_that_do_not_register_belong_to_the_file():
    assert not reading_report(READER, READER, READER).complete()
    assert reading_report(*[READER] * 4).complete()


def test_a_missing_node_does_not_make_records_disappear():
    ended = across(0, 0, 3, 1, ends=True, records=250, sent=3)
    passed = across(1, 0, 3, 1, records=200, sent=150)
    assert report_of(ended, passed).summary()["records_in"] == 300, "those of node 2 came through node 1"
    assert report_of(passed).summary()["records_in"] == 200, "nothing is known of the file server"


def test_a_file_of_several_nodes_is_complete_with_all_lanes_and_ranks():
    lines = [across(node, lane, 2, 2, ends=node == lane) for node in range(2) for lane in range(2)]
    for missing in range(4):
        assert not report_of(*lines[:missing], *lines[missing + 1 :], clients=4).complete()
    assert not report_of(*lines, clients=3).complete()
    assert report_of(*lines, clients=4).complete(), "a rank is in every lane and counted once"


def test_the_table_names_nodes_and_file_servers():
    out = io.StringIO()
    lines = [across(node, lane, 2, 2, ends=node == lane, records=1, sent=1) for node in range(2) for lane in range(2)]
    Console(file=out, width=120).print(stats.table_of(report_of(*lines)))
    assert "2, 2 file servers, topology ring" in out.getvalue()
    out = io.StringIO()
    Console(file=out, width=120).print(stats.table_of(report_of(AGENT)))
    assert "nodes" not in out.getvalue()


def test_a_folder_has_the_lines_of_each_node(tmp_path):
    collector = stats.Collector(tmp_path, None)
    append(tmp_path / "n0.jsonl", across(0, 0, 2, 1, ends=True), CLIENT, CLIENT)
    collector._take()
    append(tmp_path / "n1.jsonl", across(1, 0, 2, 1), CLIENT, CLIENT)
    assert collector.reports == []
    collector._take()
    assert len(collector.reports) == 1 and collector.reports[0].complete()


def test_lines_of_other_nodes_may_be_late(tmp_path, monkeypatch):
    monkeypatch.setattr(stats, "_OTHER_NODES_BOUND_S", 0.3)
    collector = stats.Collector(tmp_path, None, Console(file=io.StringIO()))
    collector.start()
    append(tmp_path / "n0.jsonl", across(0, 0, 2, 1, ends=True), CLIENT)
    collector.finish()
    assert [len(report.agents) for report in collector.reports] == [1], "the wait for a lost node has a bound"


def append(path, *documents):
    with path.open("a") as file:
        file.write("".join(json.dumps(document) + "\n" for document in documents))


def test_a_table_appears_when_the_file_is_complete(tmp_path):
    source = tmp_path / "lines"
    source.touch()
    collector = stats.Collector(source, None)
    append(source, CLIENT, AGENT)
    collector._take()
    assert collector.reports == []
    append(source, CLIENT)
    collector._take()
    assert [report.path for report in collector.reports] == ["/d/x"]


def test_the_second_open_of_a_path_is_a_report_of_its_own(tmp_path):
    source = tmp_path / "lines"
    source.touch()
    collector = stats.Collector(source, tmp_path / "out.json")
    collector.start()
    append(source, CLIENT, CLIENT, AGENT)
    append(source, CLIENT, AGENT)  # the second rank of the second open is missing
    collector.finish()
    files = json.loads((tmp_path / "out.json").read_text())["files"]
    assert [file["ranks"] for file in files] == [2, 1]


def test_ranks_without_lines_are_known_from_the_agent():
    report = stats.FileReport("x")
    report.agents.append({**AGENT, "ranks": {"opens": 2, "calls": 7}})
    assert report.summary()["calls"] == 7


def test_no_report_is_said(millrace):
    assert "no report" in millrace("run", "--stats", "--", "sh", "-c", "exit 0").stderr


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
    "start_ps": 12_000_000_000, "taught_direct": 1024, "taught_pipeline": 1024, "break_even_bytes": 12_288,
    "break_even_synced_bytes": 1_572_864,
}  # fmt: skip


def test_doctor_shows_the_sizes_that_millrace_costs_has_found(world):
    found = prefix.find(os.environ)
    write_script(Path(found.costs), f"#!/bin/sh\necho '{json.dumps(COSTS)}'\n")
    lines = costs.told(costs.probe(found, world))
    assert "below about 12.0 KiB, 1.5 MiB if the program syncs" in lines[-1][1]


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


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ('{"seconds": 2.0, "bytes": 10}', (2.0, 10)),
        ('warning\n{"bytes": 5, "write": {"repetitions": [{"seconds": 0.5, "io_s": 0.1}]}}\n', (0.5, 5)),
        ('{"bytes": 5, "repetitions": [{"io_s": 0.25}], "write": {}}', (0.25, 5)),
        ("no json", None),
        ("{broken", None),
        ('{"bytes": 1}', None),
    ],
)
def test_the_demo_reads_what_programs_print(output, expected):
    assert runner.measured(output) == expected


def test_a_long_close_has_a_bar_until_its_report_comes(world):
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
