# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What `--stats` makes of the lines of ranks and agents."""

import io
import json

from conftest import write_script
from millrace.stats import reader as stats
from millrace.stats import reasons as stats_reasons
from millrace.stats import report as stats_report
from millrace.stats import table as stats_table
from rich.console import Console

CLIENT = {
    "schema": 1,
    "kind": "client",
    "path": "/d/x",
    "group": 5,
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
    "groups": [5],
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
        "ranks: copy into the ring": 20,
        "ranks: wait": 10,
        "agent: writes under way": 2_000_000,
    }
    assert len(done.stderr.splitlines()) == 2 and "/d/x: pipeline and direct, 700 B; pipeline: small" in done.stderr
    done = millrace("run", "--stats", "--", program)
    assert "sum over 2 ranks: wait" in done.stderr
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
        "sink": "buffered" if ends else stats_report.PASSED_ON,
        **{"node": node, "nodes": nodes, "lane": lane, "lanes": lanes, "topology": "ring"},
        "ranks": {"opens": ranks, "agents_upstream": 1},
        "agent": {"records_in": records, "bytes_in": 10 * records, "writes_out": sent, "bytes_out": 10 * sent},
        "time": {"sync_ns": 1000 if ends else 7},
        **more,
    }


def report_of(*agents, clients=0):
    report = stats_report.FileReport("/d/x")
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
    Console(file=out, width=120).print(stats_table.table_of(reading_report(READER, READER)))
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
    Console(file=out, width=120).print(stats_table.table_of(report_of(*lines)))
    assert "2, 2 file servers, topology ring" in out.getvalue()
    out = io.StringIO()
    Console(file=out, width=120).print(stats_table.table_of(report_of(AGENT)))
    assert "nodes" not in out.getvalue()


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


def test_ranks_without_lines_are_known_from_the_agent():
    report = stats_report.FileReport("x")
    report.agents.append({**AGENT, "ranks": {"opens": 2, "calls": 7}})
    assert report.summary()["calls"] == 7


def test_no_report_is_said(millrace):
    assert "no report" in millrace("run", "--stats", "--", "sh", "-c", "exit 0").stderr


def client_of(rank, **more):
    return {**CLIENT, "pid": 100 + rank, "rank": rank, **more}


def test_ranks_that_wrote_past_the_pipeline_have_no_entry_of_their_own(tmp_path):
    source = tmp_path / "lines"
    source.touch()
    out = io.StringIO()
    collector = stats.Collector(source, None, Console(file=out, width=100))
    direct = {"calls": 0, "bytes": 0, "reason": ["direct: large pieces"]}
    append(source, client_of(0), client_of(1), AGENT)
    collector._take()
    append(source, client_of(2, **direct), client_of(3, **direct))
    collector._take()
    second, agent = {"group": 6}, AGENT | {"groups": [6]}
    append(source, client_of(0, **second), client_of(1, **second), client_of(2, **direct, **second), agent)
    append(source, client_of(3, **direct, **second))
    collector.start()
    collector.finish()
    assert [len(report.clients) for report in collector.reports] == [4, 4]
    assert out.getvalue().count("large pieces (2 ranks)") == 2 and out.getvalue().count("/d/x") == 2


def test_the_summary_has_ten_lines_and_comes_last(millrace, world):
    lines = [{**CLIENT, "path": f"/d/{i}", "bytes": 0, "direct_bytes": 1000 * i} for i in range(20)]
    lines[3]["error"] = "no space left"
    program = reporting_program(world, *lines)
    program.write_text(program.read_text().replace("exit 0", "sleep 2; echo its own last line >&2; exit 0"))
    done = millrace("run", "--stats", "out.json", "--", program)
    said = done.stderr.splitlines()
    assert said[0] == "its own last line" and len(said) == 11
    assert said[1].startswith("millrace: 20 files") and said[1].endswith("all figures are in out.json")
    assert "/d/3: direct" in said[2] and "no space left" in said[2] and "/d/19" in said[3]
    assert said[-1] == "  and 12 more"


LARGE = {
    "way": "direct",
    "reason": "the MPI library is expected to take no longer",
    "setting": "--direct-above 32KiB",
    "piece_bytes": 16 << 10,
    "value": 1000,
    "bound": 1300,
    "unit": "ns",
    "costs": "measured",
}


def reasons(*grounds, numbers=True):
    """The words for ranks with one reason each."""
    clients = [{"reason": [f"{g['way']}: {g['reason']}"], "grounds": [g]} for g in grounds]
    return stats_reasons.reasons_of(clients, numbers)


def test_a_reason_has_the_number_that_decided_and_the_setting():
    (text,) = reasons(LARGE, LARGE)
    assert text == (
        "direct: the MPI library is expected to take no longer: pieces of 16.0 KiB, here the library is faster by 1.30 "
        "(costs measured on this machine; --direct-above 32KiB would change it) (2 ranks)"
    )
    assert reasons(LARGE, numbers=False) == ["direct: the MPI library is expected to take no longer (1 rank)"]
    (text,) = reasons({**LARGE, "bound": 980, "costs": "typical"})
    assert "the pipeline is faster by 1.02, which is too little" in text and "`millrace doctor` measures" in text


def test_the_setting_of_ranks_with_several_sizes_changes_the_way_of_all():
    larger = {**LARGE, "piece_bytes": 128 << 10, "setting": "--direct-above 256KiB"}
    (text,) = reasons(LARGE, larger, LARGE)
    assert "pieces of 16.0 KiB to 128.0 KiB" in text and "--direct-above 256KiB" in text
    small = {**LARGE, "way": "pipeline", "reason": "expected to take less time", "value": 2600}
    smaller = {**small, "piece_bytes": 512, "setting": "--direct-above 512"}
    (text,) = reasons(small, smaller)
    assert "--direct-above 512 would" in text and "here the pipeline is faster by 2.00" in text


def test_each_unit_has_its_words():
    def words(**ground):
        return reasons({"way": "direct", "reason": "r", "setting": "", **ground})[0]

    assert words(value=2, bound=4, unit="ns_saved") == (
        "direct: r: the pipeline would have saved a rank 2 ns so far, to enter it costs 4 ns (1 rank)"
    )
    assert "read to 95 %, the bound is 90 %" in words(value=950, bound=900, unit="thousandths")
    assert words(value=1024, bound=4096, unit="bytes") == "direct: r: 1.0 KiB, the bound is 4.0 KiB (1 rank)"
    assert "pieces of 1.0 KiB, the bound is 4.0 KiB" in words(value=1024, piece_bytes=1024, bound=4096, unit="bytes")
    assert words(setting="--stage pieces") == "direct: r (--stage pieces would change it) (1 rank)"
    assert words() == "direct: r (1 rank)"


def plain_line(path, size, **more):
    facts = {"early_bytes": 0, "behind_bytes": 0, "reason": "not async", "setting": "--posix-async"}
    return {"schema": 1, "kind": "plain", "path": path, "pid": 1, "bytes": size, **facts, **more}


def test_plain_files_have_a_table_an_entry_and_a_line(millrace, world):
    early = {"pid": 2, "early_bytes": 1 << 20, "reason": "synced", "setting": ""}
    lines = [plain_line("/d/p", 1 << 20), plain_line("/d/p", 3 << 20, **early), plain_line("/d/x", 5), CLIENT, AGENT]
    program = reporting_program(world, *lines)
    done = millrace("run", "--stats", "out.json", "--", program)
    document = json.loads((world / "work/out.json").read_text())
    (plain,) = document["plain_files"]
    assert plain["path"] == "/d/p", "the MPI library's own writes are no plain files"
    assert (plain["bytes"], plain["early_bytes"], plain["closes"], plain["processes"]) == (4 << 20, 1 << 20, 2, 2)
    assert "not async (--posix-async would change it) (1 close)" in plain["reasons"]
    said = done.stderr.splitlines()
    assert said[0].startswith("millrace: 1 file,") and "1 plain file, 4.0 MiB" in said[0] and len(said) == 3
    assert "/d/p: plain file, 4.0 MiB, 1.0 MiB early; " in done.stderr
    done = millrace("run", "--stats", "--", program)
    assert "plain files" in done.stderr and "/d/p" in done.stderr


def test_a_program_with_plain_files_alone_has_a_report(millrace, world):
    done = millrace("run", "--stats", "out.json", "--", reporting_program(world, plain_line("/d/p", 1 << 20)))
    assert done.stderr.splitlines()[0] == "millrace: 1 plain file, 1.0 MiB; all figures are in out.json"
    assert "no report" not in done.stderr
