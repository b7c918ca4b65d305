# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the JSON lines that clients and agents append to MILLRACE_STATS and shows one table per file.

docs/reference/statistics.md is the format. Unknown fields are kept in the merged document and otherwise ignored.
"""

from __future__ import annotations

import functools
import json
import threading
import time
from pathlib import Path
from typing import Any

from millrace.stats import plain as stats_plain
from millrace.stats.plain import PlainFile
from millrace.stats.report import AGENT_KIND, FileReport
from millrace.stats.table import summary_of, table_of

SCHEMA = "millrace.stats/1"
_POLL_S = 0.1
_LAST_POLL_S = 0.01  # after the end of the job
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


def _opens_of_single_ranks_joined(reports: list[FileReport]) -> list[FileReport]:
    """One report in place of those that ranks without an agent have opened for themselves, once each."""
    alone: dict[Any, FileReport] = {}
    for report in reports:
        if len(report.clients) == 1 and not report.agents:
            alone.setdefault((report.clients[0].get("pid"), report.clients[0].get("rank")), report)
    first, *others = alone.values() or [None]
    for other in others:
        first.join(other)
    return [report for report in reports if report not in others]


class Collector(threading.Thread):
    """Follows the reports while the program runs and prints a table when a file was closed.

    With a `target`, it prints nothing before finish(), and then a summary.

    `source` is the file of reports, or a folder with one of each node. Started once, ended by finish(); everything
    is printed on stderr. Only this thread touches the reports until finish() has joined it.
    """

    def __init__(self, source: Path, target: Path | None, console: Any = None) -> None:
        super().__init__(name="millrace-stats", daemon=True)
        self._given_console = console
        self._source, self._target = source, target
        self._ended = threading.Event()
        self._open: dict[str, list[FileReport]] = {}  # of each path
        self.reports: list[FileReport] = []
        self._of_group: dict[tuple[str, Any], FileReport] = {}  # of each path and open
        self._unshown: list[tuple[float, FileReport]] = []  # with the time of completion
        self._offsets: dict[Path, int] = {}
        self._progress: Any = None
        self._plain: dict[str, PlainFile] = {}

    @functools.cached_property
    def _console(self) -> Any:
        from rich.console import Console

        return self._given_console or Console(stderr=True)

    def run(self) -> None:
        _ = self._console  # its modules take a fifth of a second: beside the program, not before it
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
        while any(r.awaited() for all_of in self._open.values() for r in all_of) and time.monotonic() < deadline:
            time.sleep(_LAST_POLL_S)
            self._take()
        if self._progress is not None:
            self._progress.stop()
        for path in list(self._open):
            for report in _opens_of_single_ranks_joined(self._open[path]):
                self._complete(report)
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
                self._file(str(document["path"]), document, source)

    def _file(self, path: str, document: dict[str, Any], source: Path) -> None:
        """Adds one line to its open. The ranks of an open have agreed on a number, its group."""
        kind = document.get("kind")
        if kind == stats_plain.KIND:
            self._plain.setdefault(path, PlainFile(path)).lines.append(document)
            return
        if kind == "progress":
            self._show_progress(path, document)
            return
        groups = document.get("groups") or [None] if kind == AGENT_KIND else [document.get("group")]
        report = self._report_of(path, groups)
        if kind != AGENT_KIND:
            for other in list(self._open.get(path, [])):
                if other is not report and other.closed_before(document):
                    self._complete(other)
        report.add(document, source)
        if report in self._open.get(path, []) and report.complete():
            self._complete(report)

    def _report_of(self, path: str, groups: list[Any]) -> FileReport:
        """The report of these opens, which an agent had at the same time. Complete ones may get a late line."""
        known = [self._of_group[path, group] for group in groups if (path, group) in self._of_group]
        unfinished = self._open.setdefault(path, [])
        joined = list(dict.fromkeys(report for report in known if report in unfinished))
        if joined or not known:
            report = joined[0] if joined else FileReport(path)
            for other in joined[1:]:
                report.join(other)
                unfinished.remove(other)
                self._of_group.update({key: report for key, value in self._of_group.items() if value is other})
            if not joined:
                unfinished.append(report)
        else:
            report = known[0]
        self._of_group.update({(path, group): report for group in groups})
        return report

    def _complete(self, report: FileReport) -> None:
        self._end_progress(report.path)
        unfinished = self._open[report.path]
        if report in unfinished:
            unfinished.remove(report)
        if not unfinished:
            del self._open[report.path]
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
