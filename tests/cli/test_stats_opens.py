# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""How `--stats` tells the opens of one path apart, and what it waits for."""

import io
import json
import time

from millrace.stats import reader as stats
from rich.console import Console
from test_stats import AGENT, CLIENT, across, append, client_of, reporting_program


def test_ranks_that_write_one_after_the_other_count_once(millrace, world):
    """The agent ends the file when the first ranks have closed it, and begins anew for the last one."""
    clients = [CLIENT | {"group": 5, "pid": pid, "rank": pid} for pid in (1, 2, 3)]
    first = AGENT | {"groups": [5], "ranks": {"opens": 2, "members": 3, "calls": 4}}
    last = AGENT | {"groups": [5], "ranks": {"opens": 1, "members": 3, "calls": 2}}
    program = reporting_program(world, *clients[:2], first, clients[2], last)
    assert millrace("run", "--stats", "out.json", "--", program).returncode == 0
    (file,) = json.loads((world / "work/out.json").read_text())["files"]
    assert (file["ranks"], file["calls"], file["records_in"]) == (3, 6, 12)


def test_another_open_of_the_file_is_another_report(millrace, world):
    clients = [CLIENT | {"group": group, "pid": 1, "rank": 1} for group in (5, 6)]
    agents = [AGENT | {"groups": [group], "ranks": {"opens": 1, "members": 1}} for group in (5, 6)]
    program = reporting_program(world, clients[0], agents[0], clients[1], agents[1])
    assert millrace("run", "--stats", "out.json", "--", program).returncode == 0
    assert [file["calls"] for file in json.loads((world / "work/out.json").read_text())["files"]] == [2, 2]


def test_the_second_open_of_a_path_is_a_report_of_its_own(tmp_path):
    source = tmp_path / "lines"
    source.touch()
    collector = stats.Collector(source, tmp_path / "out.json")
    collector.start()
    append(source, CLIENT, CLIENT, AGENT)
    append(source, CLIENT | {"group": 6}, AGENT | {"groups": [6]})  # the second rank of the second open is missing
    collector.finish()
    files = json.loads((tmp_path / "out.json").read_text())["files"]
    assert [file["ranks"] for file in files] == [2, 1]


def test_each_close_of_a_file_that_stayed_direct_is_an_entry(tmp_path):
    source = tmp_path / "lines"
    source.touch()
    collector = stats.Collector(source, tmp_path / "out.json", Console(file=io.StringIO()))
    direct = {"calls": 0, "bytes": 0, "reason": ["direct: large pieces"]}
    ways = [direct | {"group": 5}, direct | {"group": 6}, {"group": 7}, direct | {"group": 8}]
    append(source, client_of(0, **ways[0]), client_of(1, **ways[0]), client_of(1, **ways[1]), client_of(0, **ways[1]))
    append(source, client_of(0, **ways[2]), client_of(1, **ways[2]), AGENT | {"groups": [7]}, client_of(0, **ways[3]))
    collector.start()
    collector.finish()
    assert [len(report.clients) for report in collector.reports] == [2, 2, 2, 1]
    assert [len(report.agents) for report in collector.reports] == [0, 0, 1, 0]


def test_lines_of_other_nodes_may_be_late(tmp_path, monkeypatch):
    monkeypatch.setattr(stats, "_OTHER_NODES_BOUND_S", 0.3)
    collector = stats.Collector(tmp_path, None, Console(file=io.StringIO()))
    collector.start()
    append(tmp_path / "n0.jsonl", across(0, 0, 2, 1, ends=True), CLIENT)
    collector.finish()
    assert [len(report.agents) for report in collector.reports] == [1], "the wait for a lost node has a bound"


def test_a_folder_has_the_lines_of_each_node(tmp_path):
    collector = stats.Collector(tmp_path, None)
    append(tmp_path / "n0.jsonl", across(0, 0, 2, 1, ends=True), CLIENT, CLIENT)
    collector._take()
    append(tmp_path / "n1.jsonl", across(1, 0, 2, 1), CLIENT, CLIENT)
    assert collector.reports == []
    collector._take()
    assert len(collector.reports) == 1 and collector.reports[0].complete()


def collected(folder, *documents):
    append(folder / "n0.jsonl", *documents)
    collector = stats.Collector(folder, folder / "out.json", Console(file=io.StringIO()))
    collector.start()
    collector.finish()
    return collector.reports


def test_opens_of_one_path_that_overlap_on_two_nodes_do_not_mix(tmp_path):
    """Each open has a rank and an agent on both nodes. The lines of the second one come between those of the first."""
    opens = [
        [client_of(rank, group=group, registered=True) for rank in (0, 1)]
        + [across(node, 0, 2, 1, ends=node == 0, ranks=1, records=10 * group, groups=[group]) for node in (0, 1)]
        for group in (5, 6)
    ]
    lines = [line for both in zip(*opens, strict=True) for line in both]
    reports = collected(tmp_path, *lines)
    assert [{line["group"] for line in report.clients} for report in reports] == [{5}, {6}]
    assert [report.summary()["calls"] for report in reports] == [4, 4]
    assert [report.agent_total("records_in") for report in reports] == [100, 120]


def test_direct_opens_of_one_path_that_overlap_do_not_mix(tmp_path):
    direct = {"calls": 0, "bytes": 0, "reason": ["direct: large pieces"]}
    lines = [client_of(rank, group=group, **direct) for rank in (0, 1) for group in (5, 6)]
    assert [[line["group"] for line in report.clients] for report in collected(tmp_path, *lines)] == [[5, 5], [6, 6]]


def test_opens_that_an_agent_had_together_are_one_report(tmp_path):
    lines = [client_of(0, group=5), client_of(1, group=6), AGENT | {"groups": [5, 6]}]
    assert [len(report.clients) for report in collected(tmp_path, *lines)] == [2]


def test_opens_of_single_ranks_without_an_agent_are_one_report(tmp_path):
    direct = {"calls": 0, "bytes": 0}
    lines = [client_of(rank, group=10 + rank, **direct) for rank in range(4)]
    assert [len(report.clients) for report in collected(tmp_path, *lines)] == [4]


def test_nothing_waits_for_an_agent_that_has_no_part_in_the_file(tmp_path):
    """No rank of the second node has read the file, so its agent does not know it."""
    append(tmp_path / "n1.jsonl", client_of(1, registered=False))
    start = time.monotonic()
    lines = [client_of(0, registered=True), across(0, 0, 2, 1, ends=True, ranks=1)]
    assert [len(report.clients) for report in collected(tmp_path, *lines)] == [2]
    assert time.monotonic() - start < 1


def test_an_agent_with_which_a_rank_has_registered_is_waited_for(tmp_path):
    append(tmp_path / "n1.jsonl", client_of(1, registered=True))
    append(tmp_path / "n0.jsonl", client_of(0, registered=True), across(0, 0, 2, 1, ends=True, ranks=1))
    collector = stats.Collector(tmp_path, None, Console(file=io.StringIO()))
    collector._take()
    ((report,),) = collector._open.values()
    assert report.awaited()
    append(tmp_path / "n1.jsonl", across(1, 0, 2, 1, ranks=1))
    collector._take()
    assert not report.awaited() and collector.reports == [report]
