# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The table of `--stats` for one file, and the summary of `--stats FILE`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millrace.stats import plain as stats_plain
from millrace.units import human_bytes, human_time

_MOST_FILES = 9  # of the summary

if TYPE_CHECKING:
    from millrace.stats.plain import PlainFile
    from millrace.stats.report import FileReport


def table_of(report: FileReport) -> Any:
    """The table of one file."""
    from rich.table import Table

    facts = report.summary()
    table = Table(title=report.path, title_justify="left", show_header=False)
    table.add_row("path taken", facts["route"])
    for reason in facts["reasons"]:
        table.add_row("why", reason)
    if facts["expected_direct_ns"]:
        expected = [f"{facts[f'expected_{way}_ns'] / 1e6:.2f} ms" for way in ("direct", "pipeline")]
        table.add_row("expected", f"{expected[0]} by the MPI library alone, {expected[1]} through the pipeline")
    if facts["strategy"] and (facts["records_in"] or not facts["through_bytes"]):
        table.add_row("strategy", facts["strategy"])
    if facts["nodes"] > 1:
        servers = f"{facts['file_servers']} file server{'s' if facts['file_servers'] > 1 else ''}"
        topology = f", topology {facts['topology']}" if facts["topology"] else ""
        table.add_row("nodes", f"{facts['nodes']}, {servers}{topology}")
        if facts["bytes_between_nodes"] or not facts["through_bytes"]:
            table.add_row("bytes between nodes", human_bytes(facts["bytes_between_nodes"]))
    table.add_row("calls", f"{facts['calls']} through the pipeline, {facts['direct_calls']} past it")
    if facts["direct_bytes"] > facts["through_bytes"]:
        table.add_row("bytes, direct", human_bytes(facts["direct_bytes"] - facts["through_bytes"]))
    if facts["reads"]:
        table.add_row("reads, of the calls past it", f"{facts['reads']}, {human_bytes(facts['read_bytes'])}")
    _add_reads(table, facts)
    if facts["records_in"]:
        table.add_row("bytes in, out", f"{human_bytes(facts['bytes_in'])}, {human_bytes(facts['bytes_out'])}")
        table.add_row("records in, out", f"{facts['records_in']}, {facts['records_out']}")
        table.add_row(
            "mean size before, after",
            f"{human_bytes(facts['mean_in_bytes'])}, {human_bytes(facts['mean_out_bytes'] or 0)}",
        )
        table.add_row("seeks", str(facts["seeks"]))
    for stage, value in facts["stages_ns"].items():
        table.add_row(f"time, {_summed(stage, facts)}", human_time(value))
    if facts["peak_memory_bytes"]:
        table.add_row("peak memory of the agent", human_bytes(facts["peak_memory_bytes"]))
    if facts["agent_processors"]:
        table.add_row("processors of the agent", facts["agent_processors"])
    for error in facts["errors"]:
        table.add_row("error", error)
    return table


def _summed(stage: str, facts: dict[str, Any]) -> str:
    """The name of a stage, with the number of ranks or agents whose times its value adds up."""
    who, _, what = stage.partition(": ")
    count = facts["ranks"] if who == "ranks" else len({line.get("node") for line in facts["agents"]})
    whom = f"sum over {count} {who.rstrip('s')}s" if count > 1 else who.rstrip("s")
    return f"{whom}: {what}"


def summary_of(reports: list[FileReport], plain: list[PlainFile], target: Any) -> list[str]:
    """At most ten lines about all files: those with errors first, then the largest."""
    files = [report.summary() for report in reports]
    sizes = [file["bytes_in"] + file["direct_bytes"] for file in files]
    rows = [(not file["errors"], -size, _line(file, size)) for file, size in zip(files, sizes, strict=True)]
    rows += [(True, -file.total("bytes"), stats_plain.line_of(file)) for file in plain]
    rows.sort(key=lambda row: row[:2])
    most = len(rows) if len(rows) <= _MOST_FILES else _MOST_FILES - 1
    lines = [f"{_counted(files, sizes, plain)}; all figures are in {target}", *(row[2] for row in rows[:most])]
    if most < len(rows):
        lines.append(f"  and {len(rows) - most} more")
    return [line.replace("\n", " ") for line in lines]


def _line(file: dict[str, Any], size: int) -> str:
    why = f"error: {file['errors'][0]}" if file["errors"] else next(iter(file["reasons"]), "")
    return f"  {file['path']}: {file['route']}, {human_bytes(size)}" + (f"; {why}" if why else "")


def _counted(files: list[dict[str, Any]], sizes: list[int], plain: list[PlainFile]) -> str:
    """All files together."""
    parts = []
    if files:
        calls = [sum(file[name] for file in files) for name in ("calls", "direct_calls")]
        count = f"{len(files)} file{'s' if len(files) > 1 else ''}, {human_bytes(sum(sizes))}"
        parts.append(f"{count}; {calls[0]} calls through the pipeline, {calls[1]} past it")
    if plain:
        size = human_bytes(sum(file.total("bytes") for file in plain))
        parts.append(f"{len(plain)} plain file{'s' if len(plain) > 1 else ''}, {size}")
    return f"millrace: {'; '.join(parts)}"


def _add_reads(table: Any, facts: dict[str, Any]) -> None:
    """The rows about bytes that the agents brought."""
    if facts["through_bytes"]:
        lists = f"{facts['through_lists']} list{'s' if facts['through_lists'] > 1 else ''}"
        table.add_row("read through agents", f"{human_bytes(facts['through_bytes'])}, {lists}")
    if facts["guessed_bytes"] or facts["wrong_bytes"]:
        guesses = [human_bytes(facts[name]) for name in ("guessed_bytes", "wrong_bytes")]
        table.add_row("sent ahead of the call", f"{guesses[0]} were read, {guesses[1]} were not")
    if facts["blocks_read"]:
        table.add_row("read from the file", f"{human_bytes(facts['block_bytes'])} in {facts['blocks_read']} blocks")
    if facts["read_bytes_between_nodes"]:
        table.add_row("read, between nodes", human_bytes(facts["read_bytes_between_nodes"]))
    for error in facts["through_errors"]:
        table.add_row("reads left the agents", error)
