# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`millrace model`: questions of a user, and their answers as a table or JSON."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millrace.tools.model import engine, engines, filesystem, machine, network, reading, ring
from millrace.tools.model.errors import ModelError
from millrace.units import MIB, parse_bytes, parse_duration

SCHEMA = "millrace.model-answer/1"


@dataclass(frozen=True)
class Request:
    machine: str
    methods: tuple[str, ...] = ()
    direction: str = "write"
    ranks: int = 0
    size: str = "1GiB"
    buffer: str | None = None
    mapping: str | None = None
    language: str = "c"
    network: str = "ethernet"
    nodes: int = 0
    pattern: str = "32KiB,4MiB"
    servers: str = "1"
    topologies: tuple[str, ...] = ()
    interval: str | None = None
    as_json: bool = False


def run(request: Request, published: bool, figures: Path | None, from_session: Path | None, show: bool) -> int:
    """Answers a request. The exit status is 2 if the model cannot answer it."""
    try:
        if from_session is not None:
            from millrace.tools.model import described

            print(described.text(from_session), end="")
        elif figures is not None:
            from millrace.tools.model import report

            report.write(figures)
        elif published:
            from millrace.tools.model import report

            print(report.markdown(), end="")
        elif show:
            _list(request.machine)
        elif not request.machine:
            raise ModelError(
                f"name a machine ({', '.join(machine.names())}, or a YAML file), or --published, --figures"
            )
        else:
            _answer(request)
    except ModelError as error:
        print(f"millrace model: {error}", file=sys.stderr)
        return 2
    return 0


def _choice(name: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise ModelError(f"--{name} {value}: use one of {', '.join(known)}")
    return value


def _size(name: str, text: str) -> int:
    try:
        return parse_bytes(text)
    except ValueError as error:
        raise ModelError(f"--{name}: {error}") from None


# --- One answer per method: (rate, unit, bytes, seconds, bottleneck) ---


@dataclass(frozen=True)
class Answer:
    method: str
    rate: float
    unit: str
    seconds: float
    busiest: str


def _busiest(answer: dict[str, Any]) -> str:
    """The station with the most busy time, and its share."""
    used = [(s["busy_ns"] / s["slots"] / max(1, answer["end_ns"]), s["name"]) for s in answer["stations"]]
    share, name = max(used, default=(0.0, "nothing"))
    return f"{name} {share:.0%}"


def _engines(of: machine.Machine, request: Request) -> list[Answer]:
    ranks = request.ranks or of.count("engines") * of.count("cores_per_engine")
    try:
        mapping = tuple(int(part) for part in request.mapping.split(",")) if request.mapping else ()
    except ValueError:
        raise ModelError(f"--mapping {request.mapping}: give a list of engines, such as 3,4") from None
    direction = _choice("direction", request.direction, engines.DIRECTIONS)
    language = _choice("language", request.language, engines.LANGUAGES)
    buffer = _size("buffer", request.buffer or "512KiB")
    if buffer == 0:
        raise ModelError("--buffer must be at least 1")
    methods = [_choice("method", m, engines.METHODS) for m in request.methods or engines.METHODS]
    size = _size("size", request.size)
    questions = [engines.Question(m, direction, ranks, size, buffer, mapping, language) for m in methods]
    answers = engine.ask([engines.plan(of, q) for q in questions])
    return [
        Answer(q.method, engines.gb_per_s(q, a), "GB/s", a["end_ns"] / 1e9, _busiest(a))
        for q, a in zip(questions, answers, strict=True)
    ]


def _pattern(text: str, size: int) -> ring.Pattern:
    if "-" in text:
        mode, _, size_class = text.partition("-")
        if mode in ("simple", "full") and size_class in ring.CLASSES:
            return ring.Pattern(mode=mode, size_class=size_class)
        raise ModelError(f"--pattern {text}: BT-IO has simple-A, simple-B, full-A and full-B")
    transfer, _, block = text.partition(",")
    t, b = _size("pattern", transfer), _size("pattern", block or transfer)
    if t == 0 or b == 0 or b % t:
        raise ModelError(f"--pattern {text}: a block must be a multiple of a transfer, such as 32KiB,4MiB")
    return ring.Pattern(t, b, max(1, size // b))


def _ring(of: machine.Machine, request: Request) -> list[Answer]:
    strategies = [_choice("method", m, ring.STRATEGIES) for m in request.methods or ring.STRATEGIES]
    link = _choice("network", request.network, tuple(ring.NETWORKS))
    pattern = _pattern(request.pattern, _size("size", request.size))
    buffer = max(1, _size("buffer", request.buffer or "1GiB") // MIB)
    servers = _servers(request)
    if len(servers) != 1:
        raise ModelError("--servers: give one number on machines with a ring")
    questions = [ring.Question(pattern, s, buffer, link, request.nodes, servers=servers[0]) for s in strategies]
    answers = engine.ask([ring.plan(of, q) for q in questions])
    found = []
    for q, a in zip(questions, answers, strict=True):
        busiest = f"disk {a['disk_busy_ns'] / max(1, a['end_ns']):.0%}"
        found.append(Answer(q.strategy, ring.result(q, a), pattern.unit, a["end_ns"] / 1e9, busiest))
    return found


def _servers(request: Request) -> list[int]:
    try:
        return [int(part) for part in request.servers.split(",")]
    except ValueError:
        raise ModelError(f"--servers {request.servers}: give numbers, such as 1,2,4") from None


def _cluster(of: machine.Machine, request: Request) -> list[Answer]:
    """Answers for every topology with every number of file servers."""
    nodes = request.nodes or of.count("nodes")
    per_node = -(-request.ranks // nodes) if request.ranks else of.count("ranks_per_node")
    record = _size("pattern", request.pattern.partition(",")[0])
    size = _size("size", request.size)
    if _choice("direction", request.direction, engines.DIRECTIONS) == "read":
        return _cluster_reads(of, request, nodes, per_node * size)
    found = []
    for topology in request.topologies or network.TOPOLOGIES:
        for servers in _servers(request):
            question = network.Question(topology, servers, nodes, per_node, size, record)
            answer = network.ask(of, question)
            name = f"{topology}, {servers} server{'s' if servers > 1 else ''}"
            busiest = f"{answer.busiest} {answer.busy_s / answer.seconds:.0%}; {answer.links} links"
            found.append(Answer(name, answer.rate(question) / MIB, "MiB/s", answer.seconds, busiest))
    return found


def _cluster_reads(of: machine.Machine, request: Request, nodes: int, node_bytes: int) -> list[Answer]:
    """The MPI library alone, and through the agents; the storage is behind one link."""
    pattern = _pattern(request.pattern, node_bytes)
    sharers = min(nodes, pattern.block // pattern.transfer)

    def answer(name: str, question: reading.Question, busy: dict[str, float]) -> Answer:
        return Answer(name, reading.rate(question, busy) / MIB, "MiB/s", max(busy.values()), reading.busiest(busy))

    alone = reading.Question(nodes, node_bytes, pattern.transfer, sharers)
    found = [
        answer(f"library, {name}", alone, reading.stock(of, alone, unit))
        for name, unit in (("pages", reading.PAGE), ("read-ahead", reading.READ_AHEAD))
    ]
    for topology in request.topologies or network.TOPOLOGIES:
        for servers in _servers(request):
            question = dataclasses.replace(alone, servers=servers, topology=topology)
            name = f"{topology}, {servers} server{'s' if servers > 1 else ''}"
            found.append(answer(name, question, reading.agents(of, question)))
    return found


def _storage(of: machine.Machine, request: Request) -> list[Answer]:
    known = filesystem.METHODS[of.kind]
    per_node = of.count("cores") if of.kind == "host" else of.count("ranks_per_node")
    ranks = request.ranks or per_node * max(1, request.nodes)
    per_node = -(-ranks // request.nodes) if request.nodes else 0
    methods = [_choice("method", m, known) for m in request.methods or known]
    questions = [filesystem.Question(m, ranks, _size("size", request.size), per_node) for m in methods]
    answers = engine.ask([filesystem.plan(of, q) for q in questions])
    return [
        Answer(q.method, filesystem.gb_per_s(q, a), "GB/s", a["end_ns"] / 1e9, _busiest(a))
        for q, a in zip(questions, answers, strict=True)
    ]


_ASK: dict[str, Callable[[machine.Machine, Request], list[Answer]]] = {
    "engines": _engines,
    "ring": _ring,
    "cluster": _cluster,
    "file-system": _storage,
    "host": _storage,
}


def _share(seconds: float, interval_s: float | None) -> float | None:
    return None if interval_s is None else seconds / (seconds + interval_s)


def _answer(request: Request) -> None:
    of = machine.find(request.machine)
    interval = None
    if request.interval is not None:
        try:
            interval = parse_duration(request.interval) / 1000
        except ValueError as error:
            raise ModelError(f"--interval: {error}") from None
    answers = _ASK[of.kind](of, request)
    if request.as_json:
        rows = [{**dataclasses.asdict(a), "share_of_run": _share(a.seconds, interval)} for a in answers]
        document = {
            "schema": SCHEMA,
            "machine": of.name,
            "question": dataclasses.asdict(request),
            "answers": rows,
            "parameters": {n: dataclasses.asdict(p) for n, p in of.parameters.items()},
        }
        print(json.dumps(document, indent=1))
        return
    _table(of, answers, interval)


def _table(of: machine.Machine, answers: list[Answer], interval: float | None) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("method", answers[0].unit, "seconds", "busiest", title=f"{of.name}: {of.about}")
    if interval is not None:
        table.add_column("share of the run")
    best = max(answers, key=lambda a: a.rate)
    for one in answers:
        digits = max(0, 3 - int(math.log10(one.rate)) - 1) if one.rate >= 1 else 3
        row = [one.method, f"{one.rate:,.{digits}f}", f"{one.seconds:.3g}", one.busiest]
        if interval is not None:
            row.append(f"{_share(one.seconds, interval):.1%}")
        table.add_row(*row, style="bold" if one is best else None)
    console = Console()
    (console if console.is_terminal else Console(width=120)).print(table)


def _list(name: str) -> None:
    if not name:
        for each in machine.names():
            of = machine.find(each)
            print(f"{each}: {of.about} ({len(of.fitted)} of {len(of.parameters)} numbers are fitted)")
        return
    of = machine.find(name)
    for p in of.parameters.values():
        origin = "fitted" + (f"; {p.source}" if p.source else "") if p.fitted else p.source
        print(f"{p.name}: {p.value:g} {p.unit}".rstrip() + f" ({origin}{'; ' + p.note if p.note else ''})")
