# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The reports of one open of a file, of all its ranks and agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from millrace.stats.reasons import reasons_of

AGENT_KIND = "agent_file"
PASSED_ON = "next agent"  # the sink of a lane whose records go to another node's agent


def _number(line: dict[str, Any], name: str, default: int = 0) -> int:
    return int(line.get(name) or default)


def _errors(lines: list[dict[str, Any]], name: str) -> list[str]:
    return list(dict.fromkeys(str(line[name]) for line in lines if line.get(name)))


class FileReport:
    """All reports of one open of a path, from its ranks and the agents, one line per node and lane.

    Opens that overlap on a node are one report, because their agent has one line for them.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.clients: list[dict[str, Any]] = []
        self.agents: list[dict[str, Any]] = []
        # The files of reports, one for each node; for each, the lanes of which the agent has told, or None for one of
        # which an agent has to tell.
        self.sources: dict[Path, set[int | None]] = {}

    def add(self, line: dict[str, Any], source: Path) -> None:
        told = self.sources.setdefault(source, set())
        if line.get("kind") == AGENT_KIND:
            self.agents.append(line)
            told.add(_number(line, "lane"))
        else:
            self.clients.append(line)
            if line.get("registered"):
                told.add(None)

    def join(self, other: FileReport) -> None:
        """Takes all lines of another report."""
        self.clients += other.clients
        self.agents += other.agents
        for source, told in other.sources.items():
            self.sources.setdefault(source, set()).update(told)

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

    def awaited(self) -> bool:
        """True if a node has told nothing yet, or an agent with which a rank has registered has not told all lanes.

        Not every node's agent takes part: a rank may register a file at its first need, so perhaps never.
        """
        if self.nodes == 1 or self.known():
            return False
        lacking = [told for told in self.sources.values() if None in told and len(told) <= self.lanes]
        return len(self.sources) < self.nodes or bool(lacking)

    def complete(self) -> bool:
        """True once the agents and every rank that had the file open have told their part."""
        first = [line for line in self.agents if _number(line, "lane") == 0]  # every rank is in every lane
        # Not every rank registers a file that is only read, but each one writes a line.
        ranks = max(self.agent_total("opens", "ranks", first), self.agent_total("members", "ranks", first))
        return self.known() and len(self.clients) >= ranks

    def closed_before(self, client: dict[str, Any]) -> bool:
        """True if this rank has closed an open before of which no agent tells."""
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
            "ranks: copy into the ring": self.total("copy_ns"),
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
