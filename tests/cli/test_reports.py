# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Reports, traces, doctor, journal and the demo's parts."""

import io
import json

import pytest
from conftest import write_script
from millrace import machine, stats, trace
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
    kinds = {entry["path"].rsplit("/", 1)[1]: entry["kind"] for entry in facts["mpi"]["launchers"]}
    assert kinds["mpirun.fakeompi"] == "openmpi" and kinds["srun"] == "slurm"


def test_doctor_for_people(millrace, world):
    done = millrace("doctor", world / "nowhere" / "file")
    assert done.returncode == 1 and "is not there" in done.stdout.replace("\n", " ")


def test_doctor_leaves_nothing_behind(millrace, world):
    before = sorted(world.rglob("*"))
    millrace("doctor", world / "work")
    assert sorted(world.rglob("*")) == before


def test_mount_of_root_and_proc(tmp_path):
    assert machine.mount_of(tmp_path)["mount_point"] and machine.mount_of(machine.Path("/proc/self"))["type"] == "proc"


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
