# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the JSON lines that clients and agents append to MILLRACE_STATS and shows one table per file.

docs/reference/statistics.md is the format. Unknown fields are kept in the merged document and otherwise ignored.
"""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

from millrace import stats_plain
from millrace.stats_plain import PlainFile
from millrace.stats_reasons import reasons_of
from millrace.stats_table import summary_of, table_of

SCHEMA = "millrace.stats/1"
AGENT_KIND = "agent_file"
PASSED_ON = "next agent"  # the sink of a lane whose records go to another node's agent
_POLL_S = 0.1
_SETTLE_S = 0.5  # ranks that wrote past the pipeline may write their lines after the agent
_STAGES = {"gather": "waiting for other ranks", "write": "writing", "sync": "waiting for the disk"}
_OTHER_NODES_BOUND_S = 2.0  # the wait for lines of agents on other nodes after the end of the job


def parse_line(line: str) -> dict[str, Any] | None:
    """One report, or None if the line is no report. A process that is killed while it writes leaves such a line."""
    try:
        document = json.loads(line)
    except json.JSONDecodeError:
        return None
    return document if isinstance(document, dict) and document.get("path") else None


def _number(line: dict[str, Any], name: str, default: int = 0) -> int:
    return int(line.get(name) or default)


def _errors(lines: list[dict[str, Any]], name: str) -> list[str]:
    return list(dict.fromkeys(str(line[name]) for line in lines if line.get(name)))


class FileReport:
    """All reports of one path, from its ranks and the agents, one line per node and lane."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.clients: list[dict[str, Any]] = []
        self.agents: list[dict[str, Any]] = []

    def total(self, name: str) -> int:
        """A counter of the ranks: from their own lines, or from the agent's if these are missing."""
        lines = self.clients or [line.get("ranks") or {} for line in self.agents]
        return sum(int(line.get(name) or 0) for line in lines)

    @property
    def writers(self) -> list[dict[str, Any]]:
        """The lanes that end at the file."""
        return [line for line in self.agents if line.get("sink") != PASSED_ON]

    @property
    def carriers(self) -> list[dict[str, Any]]:
        """The lanes that end at the agent of another node."""
        return [line for line in self.agents if line.get("sink") == PASSED_ON]

    @property
    def nodes(self) -> int:
        """The number of nodes whose agents worked together on the file."""
        return max((_number(line, "nodes", 1) for line in self.agents), default=1)

    @property
    def lanes(self) -> int:
        """The number of file servers."""
        return max((_number(line, "lanes", 1) for line in self.agents), default=1)

    def agent_total(self, name: str, part: str = "agent", lines: list[dict[str, Any]] | None = None) -> int:
        return sum(_number(line.get(part) or {}, name) for line in (self.agents if lines is None else lines))

    def taken_in(self, name: str, passed_on: str) -> int:
        """Records or bytes that ranks gave to the agents of their nodes.

        What an agent has passed on, another one has counted again; a lane whose file server is not known has nothing
        to take off.
        """
        ended = {_number(line, "lane") for line in self.writers}
        again = [line for line in self.carriers if _number(line, "lane") in ended]
        return max(0, self.agent_total(name) - self.agent_total(passed_on, lines=again))

    def known(self) -> bool:
        """True once there is a line of every node and lane."""
        places = {(_number(line, "node"), _number(line, "lane")) for line in self.agents}
        return bool(places) and len(places) >= self.nodes * self.lanes

    def complete(self) -> bool:
        """True once the agents and every rank that had the file open have told their part."""
        first = [line for line in self.agents if _number(line, "lane") == 0]  # every rank is in every lane
        # Not every rank registers a file that is only read, but each one writes a line.
        ranks = max(self.agent_total("opens", "ranks", first), self.agent_total("members", "ranks", first))
        return self.known() and len(self.clients) >= ranks

    def lacks(self, client: dict[str, Any]) -> bool:
        """True if the agents told of this close, and this rank has not told its part of it yet."""
        told = {(line.get("pid"), line.get("rank")) for line in self.clients}
        return bool(self.agents) and (client.get("pid"), client.get("rank")) not in told

    def is_of(self, agent: dict[str, Any]) -> bool:
        """True if this report of an agent is about the same open. An agent ends a file when all ranks that have
        registered it have closed it, and begins anew for ranks that register it later."""
        groups = set(agent.get("groups") or [])
        return bool(groups) and groups <= {client.get("group") for client in self.clients}

    def closed_before(self, client: dict[str, Any]) -> bool:
        """True if this is a second close by the same rank, of a file that no agent tells about."""
        told = {(line.get("pid"), line.get("rank")) for line in self.clients}
        alone = not self.agents and not self.total("calls") and not self.total("through_lists")
        return alone and client.get("pid") is not None and (client.get("pid"), client.get("rank")) in told

    @property
    def route(self) -> str:
        """The path of the calls, in one word or a few."""
        brought = self.total("through_bytes")
        paths = {
            "pipeline": self.agent_total("records_in") or self.total("bytes"),
            "read through agents": brought,
            "direct": self.total("direct_calls") if self.total("direct_bytes") > brought or not brought else 0,
        }
        return " and ".join(path for path, taken in paths.items() if taken) or "direct"

    def reasons(self, numbers: bool = True) -> list[str]:
        """The reasons, the most frequent first, with the number of ranks; `numbers`: and the grounds of each."""
        return reasons_of(self.clients, numbers)

    def stages(self) -> dict[str, int]:
        """Time per stage in nanoseconds. Sums over ranks and requests: they may exceed the time of the run."""
        stages = {
            "ranks: copy into the channel": self.total("copy_ns"),
            "ranks: wait": self.total("wait_ns"),
            "agent: wait for other ranks": self.agent_total("gather_ns", "time"),
            "agent: drain at flush, sync, close": self.agent_total("drain_ns", "time"),
            "agent: writes under way": self.agent_total("storage_busy_ns", "time", self.writers),
            "agent: stable storage": self.agent_total("sync_ns", "time", self.writers),
            "agent: wait for the next agent": self.agent_total("sync_ns", "time", self.carriers),
        }
        return {name: value for name, value in stages.items() if value}

    def peak_memory(self) -> int:
        sizes = [line.get("memory") or {} for line in self.agents]
        return max(
            (int(m.get("peak_buffer_bytes") or 0) + int(m.get("peak_metadata_bytes") or 0) for m in sizes),
            default=0,
        )

    def used(self) -> str:
        """The strategy and the sink that the agents used, in words."""
        words = []
        for line in self.writers or self.agents:
            merge = ", merge" if line.get("merge") else ", no merge"
            why = f" ({line['why']})" if line.get("why") else ""
            words.append(f"{line.get('strategy')}{merge}{why}; sink {line.get('sink')}")
        return "; ".join(dict.fromkeys(words))

    def processors(self) -> str:
        """Where the agents ran: "2-3", or "node 0: 2-3, node 1: 0"."""
        each = {int(line.get("node") or 0): str(line["processors"]) for line in self.agents if line.get("processors")}
        if len(set(each.values())) <= 1:
            return next(iter(each.values()), "")
        return ", ".join(f"node {node}: {each[node]}" for node in sorted(each))

    def topology(self) -> str | None:
        """The topology in which the agents passed records on; None if they did not."""
        return next((str(line["topology"]) for line in self.agents if line.get("topology")), None)

    def summary(self) -> dict[str, Any]:
        """The merged document of --stats FILE."""
        records_in, bytes_in = self.taken_in("records_in", "writes_out"), self.taken_in("bytes_in", "bytes_out")
        records_out = self.agent_total("writes_out", lines=self.writers)
        bytes_out = self.agent_total("bytes_out", lines=self.writers)
        return {
            "path": self.path,
            "route": self.route,
            "reasons": self.reasons(),
            "expected_direct_ns": self.total("expected_direct_ns"),
            "expected_pipeline_ns": self.total("expected_pipeline_ns"),
            "strategy": self.used(),
            "ranks": len(self.clients),
            "nodes": self.nodes,
            "file_servers": self.lanes if self.agents else 0,
            "topology": self.topology(),
            "bytes_between_nodes": self.agent_total("bytes_out", lines=self.carriers),
            "calls": self.total("calls"),
            "direct_calls": self.total("direct_calls"),
            "direct_bytes": self.total("direct_bytes"),
            "reads": self.total("reads"),
            "read_bytes": self.total("read_bytes"),
            "through_lists": self.total("through_lists"),
            "through_bytes": self.total("through_bytes"),
            "guessed_bytes": self.total("guessed_bytes"),
            "wrong_bytes": self.total("wrong_bytes"),
            "blocks_read": self.agent_total("requests", "reads", self.writers),
            "block_bytes": self.agent_total("bytes_in", "reads", self.writers),
            "read_bytes_between_nodes": self.agent_total("bytes_in", "reads", self.carriers),
            "bytes_in": bytes_in,
            "bytes_out": bytes_out,
            "records_in": records_in,
            "records_out": records_out,
            "mean_in_bytes": bytes_in / records_in if records_in else None,
            "mean_out_bytes": bytes_out / records_out if records_out else None,
            "seeks": self.agent_total("seeks", lines=self.writers),
            "stages_ns": self.stages(),
            "peak_memory_bytes": self.peak_memory(),
            "agent_processors": self.processors(),
            "through_errors": _errors(self.clients, "through_error"),
            "errors": _errors(self.clients + self.agents, "error"),
            "clients": self.clients,
            "agents": self.agents,
        }


class Collector(threading.Thread):
    """Follows the reports while the program runs and prints a table when a file was closed.

    With a `target`, it prints nothing before finish(), and then a summary.

    `source` is the file of reports, or a folder with one of each node. Started once, ended by finish(); everything
    is printed on stderr. Only this thread touches the reports until finish() has joined it.
    """

    def __init__(self, source: Path, target: Path | None, console: Any = None) -> None:
        super().__init__(name="millrace-stats", daemon=True)
        if console is None:
            from rich.console import Console

            console = Console(stderr=True)
        self._console = console
        self._source, self._target = source, target
        self._ended = threading.Event()
        self._open: dict[str, FileReport] = {}
        self.reports: list[FileReport] = []
        self._latest: dict[str, FileReport] = {}  # the last complete report of each path
        self._unshown: list[tuple[float, FileReport]] = []  # with the time of completion
        self._offsets: dict[Path, int] = {}
        self._progress: Any = None
        self._plain: dict[str, PlainFile] = {}

    def run(self) -> None:
        while not self._ended.wait(_POLL_S):
            self._take()
            self._show(time.monotonic() - _SETTLE_S)

    def finish(self) -> None:
        """Reads the remaining lines, prints the remaining tables, and writes the merged document."""
        self._ended.set()
        self.join()
        self._take()
        # Agents of other nodes may still write their last line, and a shared file system may show it to this
        # node later.
        deadline = time.monotonic() + _OTHER_NODES_BOUND_S
        while any(r.nodes > 1 and not r.known() for r in self._open.values()) and time.monotonic() < deadline:
            time.sleep(_POLL_S)
            self._take()
        if self._progress is not None:
            self._progress.stop()
        for path in list(self._open):
            self._complete(path)
        self._show(time.monotonic())
        plain = self.plain_files()
        if self._target is not None:
            document: dict[str, Any] = {"schema": SCHEMA, "files": [report.summary() for report in self.reports]}
            if plain:
                document["plain_files"] = [file.summary() for file in plain]
            self._target.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
            for line in summary_of(self.reports, plain, self._target) if self.reports or plain else []:
                self._console.print(line, markup=False, highlight=False, soft_wrap=True)
        elif plain:
            self._console.print(stats_plain.table_of(plain))
        if not self.reports and not plain:
            self._console.print(
                "millrace: no report: with Millrace loaded, the program closed no file of MPI-IO, and with --posix no "
                "plain file that it wrote in pieces of 64 KiB or more"
            )

    def plain_files(self) -> list[PlainFile]:
        """Plain files of the program. The MPI library writes its own files by the same calls."""
        own = {report.path for report in self.reports} | set(self._open)
        return [file for path, file in self._plain.items() if path not in own]

    def _take(self) -> None:
        for source in sorted(self._source.glob("*.jsonl")) if self._source.is_dir() else [self._source]:
            self._take_from(source)

    def _take_from(self, source: Path) -> None:
        """Reads complete lines only, because an agent may still write the last one."""
        offset = self._offsets.get(source, 0)
        with source.open("rb") as file:
            file.seek(offset)
            data = file.read()
        complete = data[: data.rfind(b"\n") + 1]
        self._offsets[source] = offset + len(complete)
        for line in complete.decode("utf-8", "replace").splitlines():
            document = parse_line(line)
            if document is not None:
                self._file(str(document["path"]), document)

    def _file(self, path: str, document: dict[str, Any]) -> None:
        """Adds one line to its file."""
        kind = document.get("kind")
        if kind == stats_plain.KIND:
            self._plain.setdefault(path, PlainFile(path)).lines.append(document)
            return
        if kind == "progress":
            self._show_progress(path, document)
            return
        latest = self._latest.get(path)
        if kind != AGENT_KIND and path not in self._open and latest is not None and latest.lacks(document):
            latest.clients.append(document)  # a rank of that close that wrote past the pipeline
            return
        if kind == AGENT_KIND and path not in self._open and latest is not None and latest.is_of(document):
            latest.agents.append(document)
            return
        if kind != AGENT_KIND and path in self._open and self._open[path].closed_before(document):
            self._complete(path)
        report = self._open.setdefault(path, FileReport(path))
        (report.agents if kind == AGENT_KIND else report.clients).append(document)
        if report.complete():
            self._complete(path)

    def _complete(self, path: str) -> None:
        self._end_progress(path)
        report = self._latest[path] = self._open.pop(path)
        self.reports.append(report)
        self._unshown.append((time.monotonic(), report))

    def _show(self, before: float) -> None:
        """Prints the tables of reports that were complete at that time."""
        while self._unshown and self._unshown[0][0] <= before:
            report = self._unshown.pop(0)[1]
            if self._target is None:
                self._console.print(table_of(report))

    def _show_progress(self, path: str, document: dict[str, Any]) -> None:
        """Shows a bar for a long close or sync; agents write lines about requests that take longer than 2 s."""
        if not self._console.is_terminal or self._target is not None:
            return
        if document.get("ended"):
            self._end_progress(path)
            return
        if self._progress is None:
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

            self._progress = Progress(
                TextColumn("{task.description}: {task.fields[stage]}"),
                BarColumn(),
                DownloadColumn(),
                console=self._console,
                transient=True,
            )
            self._progress.start()
        stage = _STAGES.get(str(document.get("stage")), "closing")
        known = {task.description: task.id for task in self._progress.tasks}
        task = known.get(path)
        if task is None:
            task = self._progress.add_task(path, total=None, stage=stage)
        done, total = document.get("done_bytes", 0), document.get("total_bytes")
        self._progress.update(task, completed=done, total=total, stage=stage)

    def _end_progress(self, path: str) -> None:
        """Removes the bar of a file."""
        if self._progress is None:
            return
        for task in [task for task in self._progress.tasks if task.description == path]:
            self._progress.remove_task(task.id)
        if not self._progress.tasks:
            self._progress.stop()
            self._progress = None
