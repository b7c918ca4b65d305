# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What `millrace run` tells of a real run: the report of a file, and the trace of ranks and agent."""

import json
import os
import subprocess
from pathlib import Path

from conftest import BUILD

BOUND_S = 60.0


def run(job, options, *words, ranks=2):
    program = BUILD / "bin/tests" / f"victim_{job.mpi}"
    command = [BUILD / "bin/millrace", "run", *options, "--", *job.launcher(ranks), program, *words]
    job.launch(["env", f"MILLRACE_JOB={job.key}", *command], False, {})
    assert job.wait(BOUND_S) == 0, job.err


def test_the_report_names_path_reason_sizes_seeks_times_and_memory(job, tmp_path):
    stats, path = tmp_path / "stats.json", tmp_path / "data"
    run(job, ["--stats", stats, "--direct-above", "16k"], path, "pieces=8192", "sync=1", ranks=1)
    (file,) = json.loads(stats.read_text())["files"]
    assert file["path"] == str(path) and file["route"] == "pipeline" and file["errors"] == []
    assert file["reasons"] == [
        "pipeline: direct_above was chosen: pieces of 1.0 KiB, the bound is 16.0 KiB "
        "(--direct-above 1KiB would change it) (1 rank)"
    ]
    assert file["bytes_in"] == file["bytes_out"] == 8 << 20
    assert file["mean_in_bytes"] == 1024 and file["mean_out_bytes"] > 16 * 1024
    assert file["seeks"] <= file["records_out"] < file["records_in"] == 8192
    assert file["peak_memory_bytes"] > 0 and "agent: stable storage" in file["stages_ns"]
    run(job, ["--stats", "--direct-above", "16k"], path, "pieces=8192", "sync=1", ranks=1)
    for text in (
        "path taken",
        "direct_above was chosen",
        "expected",
        "strategy",
        "mean size before, after",
        "seeks",
        "peak memory",
        "time, ",
    ):
        assert text in job.err, job.err


def test_a_file_that_was_written_directly_says_why(job, tmp_path):
    stats = tmp_path / "stats.json"
    run(job, ["--stats", stats], tmp_path / "data", "pieces=4", "piece=1048576")
    (file,) = json.loads(stats.read_text())["files"]
    assert (file["route"], file["direct_bytes"]) == ("direct", 8 << 20)
    (reason,) = file["reasons"]
    assert reason.startswith(
        "direct: the MPI library is expected to take no longer: pieces of 1.0 MiB, here the library"
    )
    assert reason.endswith("--direct-above 2MiB would change it) (2 ranks)")
    assert "pieces of 1.0 MiB" in job.err, "the summary has it too"
    run(job, ["--stats", stats, "--direct-above", "2MiB"], tmp_path / "data", "pieces=4", "piece=1048576")
    (file,) = json.loads(stats.read_text())["files"]
    assert file["route"] == "pipeline", "the setting does what the reason promised"


def test_the_trace_has_the_stages_of_the_agent_beside_the_ranks(job, tmp_path):
    trace = tmp_path / "trace.json"
    run(job, ["--trace", trace, "--strategy", "sort"], tmp_path / "data", "pieces=4096", "sync=1")
    events = json.loads(trace.read_text())["traceEvents"]
    names = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert names == {"agent", "rank 0", "rank 1"}
    spans = [event for event in events if event["ph"] == "X" and "file" in event["args"]]
    stages = {event["name"] for event in spans}
    assert {"sort and merge", "storage write", "sync"} <= stages
    assert {event["args"]["file"] for event in spans} == {str(tmp_path / "data")}
    assert sum(event["args"]["bytes"] for event in spans if event["name"] == "storage write") == 8 << 20
    # One clock: what the agent did lies inside what the ranks did.
    ranks = [event for event in events if event["ph"] == "X" and "file" not in event["args"]]
    first, last = min(e["ts"] for e in ranks), max(e["ts"] + e["dur"] for e in ranks)
    assert all(first <= event["ts"] <= last for event in spans)


def test_an_agent_is_started_when_small_pieces_would_have_paid_for_it(job, tmp_path):
    stats = tmp_path / "stats.json"
    run(job, ["--stats", stats], tmp_path / "few", "pieces=16")
    (few,) = json.loads(stats.read_text())["files"]
    assert few["route"] == "direct" and few["agents"] == []
    (reason,) = few["reasons"]
    assert reason.startswith("direct: too little so far for the pipeline: pieces of 1.0 KiB, the pipeline would have")
    (ground,) = few["clients"][0]["grounds"]
    assert 0 < ground["value"] < ground["bound"] and ground["unit"] == "ns_saved"
    run(job, ["--stats", stats], tmp_path / "many", "pieces=65536")
    (many,) = json.loads(stats.read_text())["files"]
    assert many["route"] == "pipeline and direct" and many["direct_bytes"] < many["bytes_in"]
    assert many["expected_direct_ns"] > many["expected_pipeline_ns"] > 0
    assert any(reason.startswith("pipeline: expected to take less time: ") for reason in many["reasons"])
    whole = (many["direct_bytes"] + many["bytes_in"], (tmp_path / "many").stat().st_size)
    assert whole == (128 << 20, 128 << 20)


def recorded(folder):
    """The record of the file system on which `folder` lies, and its lines as numbers."""
    costs = [BUILD / "bin/millrace-costs", folder]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "costs")}
    told = json.loads(subprocess.run(costs, env=environment, capture_output=True, check=True).stdout)
    lines = dict(line.split(" ", 1) for line in Path(told["record"]).read_text().splitlines())
    return Path(told["record"]), lines


def test_all_files_of_a_program_go_by_the_record_and_leave_it_as_it_is(job, tmp_path):
    # Middling pieces, which typical costs leave to the library: by the record its calls take 300 times as long.
    record, lines = recorded(tmp_path)
    lines["call_ps"] = "1000000000"  # whatever a busy machine has measured of the rest
    lines["start_ps"] = "0"  # no transfer goes to the library because an agent would not pay yet
    record.write_text("".join(f"{name} {value}\n" for name, value in lines.items()))
    stats = tmp_path / "stats.jsonl"
    options = "-a MPIIO -w -W -t 128k -b 4m -i 3 --no-warm -o".split()
    program = BUILD / "bin/bench" / f"ior-{job.mpi}"
    job.cache = tmp_path / "costs"
    settings = {"stats": stats, "direct_above": "auto"}
    job.start(program, *options, tmp_path / "data", ranks=2, **settings)
    assert job.wait(BOUND_S) == 0, job.err
    clients = [json.loads(line) for line in stats.read_text().splitlines()]
    last = [line["reason"][0] for line in clients if line["kind"] == "client"]
    assert len(last) == 6 and set(last) == {"pipeline: expected to take less time"}
    assert recorded(tmp_path) == (record, lines)
