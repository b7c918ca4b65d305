#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Draws the rooms of src/ and the direction of their includes, from rules.py, into docs/images/rooms.svg."""

import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import rules

FILE = Path(__file__).resolve().parents[2] / "docs/images/rooms.svg"
WIDTH, GAP, PAD, LINE = 1080, 12, 8, 14
SPACE = 30  # between two rows of rooms, for the arrows
Graph = dict[str, set[str]]


@dataclass
class Room:
    name: str
    below: list[str]
    rows: list[list["Room"]] = field(default_factory=list)  # rooms inside, from the highest
    x: float = 0
    y: float = 0
    width: float = 0
    height: float = 0

    def words(self) -> list[str]:
        if self.name in rules.INSIDE and self.name not in rules.BELOW:
            return []
        text = "may include " + ", ".join(self.below) if self.below else "includes no other room"
        return textwrap.wrap(text, max(12, int((self.width - 2 * PAD) / 5.9)))


def rows_of(graph: Graph) -> list[list[str]]:
    """The rooms, from the highest row to the lowest: each one as high as the rooms that include it allow."""
    level: dict[str, int] = {}
    while len(level) < len(graph):
        level |= {one: 1 + max((level[o] for o in graph[one]), default=-1) for one in graph if graph[one] <= set(level)}
    for one in sorted(graph, key=lambda one: -level[one]):
        above = [level[user] for user in graph if one in graph[user]]
        level[one] = min(above) - 1 if above else level[one]
    return [[one for one in graph if level[one] == row] for row in range(max(level.values()), -1, -1)]


def arrows(graph: Graph) -> list[tuple[str, str]]:
    """The includes that do not follow from others."""
    return [(a, b) for a in graph for b in sorted(graph[a]) if not any(b in graph[c] for c in graph[a])]


def ordered(rows: list[list[str]], edges: list[tuple[str, str]]) -> list[list[str]]:
    """Each row in the order of the rooms above it. A room whose arrow passes by other rows is the last one."""
    number = {one: n for n, row in enumerate(rows) for one in row}
    passing = {a for a, b in edges if number[b] > number[a] + 1}
    column: dict[str, float] = {}
    for row in rows:
        above = {one: [column[a] for a, b in edges if b == one] or [0.0] for one in row}
        mean = {one: sum(places) / len(places) for one, places in above.items()}
        row.sort(key=lambda one, mean=mean: (one in passing, mean[one]))
        column |= {one: n / len(row) for n, one in enumerate(row)}
    return rows


def place(room: Room) -> None:
    """Puts the rooms inside into rows, and computes the height."""
    room.height = PAD + LINE * (1 + len(room.words())) + PAD
    for row in room.rows:
        for number, one in enumerate(row):
            one.width = (room.width - GAP * (len(row) + 1)) / len(row)
            one.x, one.y = room.x + GAP + number * (one.width + GAP), room.y + room.height
            place(one)
        tallest = max(one.height for one in row)
        for one in row:
            one.height = tallest
        room.height += tallest + GAP


def inside(house: str) -> list[list[Room]]:
    """The rooms inside a house that have code of their own: no single files, nothing generated."""
    shown = {name for name in rules.INSIDE[house] if "." not in name and name != "generated"}
    graph = {name: rules.INSIDE[house][name] & shown for name in rules.INSIDE[house] if name in shown}
    return [[Room(name, sorted(graph[name])) for name in row] for row in rows_of(graph)]


def rooms() -> list[list[Room]]:
    """All rooms, at their places."""
    edges = arrows(rules.BELOW)
    rows = [[Room(one, sorted(rules.BELOW[one])) for one in row] for row in ordered(rows_of(rules.BELOW), edges)]
    y, passing = float(GAP), {}
    for number, row in enumerate(rows):
        for room in row:
            house = next((house for house in rules.INSIDE if house.split("/")[0] == room.name), None)
            room.rows = inside(house) if house in rules.BELOW else [[Room(house, [], inside(house))]] if house else []
        right = min([WIDTH - GAP, *(x - SPACE for last, x in passing.values() if last not in {r.name for r in row})])
        shares = [2 if room.rows else 1 for room in row]
        unit = (right - GAP * len(row)) / sum(shares)
        x = float(GAP)
        for room, share in zip(row, shares, strict=True):
            room.x, room.y, room.width = x, y, unit * share
            place(room)
            x += room.width + GAP
        for room in row:
            room.height = max(one.height for one in row)
            passing.pop(room.name, None)
        lower = {one.name for one in rows[number + 1]} if number + 1 < len(rows) else set()
        passing |= {a: (b, r.x + r.width / 2) for r in row for a, b in edges if a == r.name and b not in lower}
        y += row[0].height + SPACE
    return rows


def text_of(room: Room, depth: int) -> list[str]:
    """The box of a room, and those inside."""
    fill = ("#e4eef3", "#f4f9fb", "#ffffff")[depth]
    parts = [
        f'<rect x="{room.x:.0f}" y="{room.y:.0f}" width="{room.width:.0f}" height="{room.height:.0f}" rx="4" '
        f'fill="{fill}" stroke="#33667a"/>'
    ]
    x, y = room.x + PAD, room.y + PAD + LINE - 3
    parts.append(f'<text x="{x:.0f}" y="{y:.0f}" font-weight="bold">{room.name}</text>')
    for number, line in enumerate(room.words(), 1):
        parts.append(f'<text x="{x:.0f}" y="{y + LINE * number:.0f}" font-size="11">{line}</text>')
    return parts + [part for row in room.rows for one in row for part in text_of(one, depth + 1)]


def draw() -> str:
    rows = rooms()
    known = {room.name: room for row in rows for room in row}
    height = rows[-1][0].y + rows[-1][0].height + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" font-family="sans-serif" '
        'font-size="13" fill="#12303c">',
        "<!-- Written by tests/tidy/picture.py. Do not edit. -->",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#33667a"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height:.0f}" fill="#ffffff"/>',
    ]
    for upper, lower in arrows(rules.BELOW):
        a, b = known[upper], known[lower]
        x = a.x + a.width / 2
        straight = a.y + a.height + SPACE < b.y
        end = x if straight else b.x + b.width / 2
        parts.append(
            f'<line x1="{x:.0f}" y1="{a.y + a.height:.0f}" x2="{end:.0f}" y2="{b.y:.0f}" stroke="#33667a" '
            'marker-end="url(#tip)"/>'
        )
    parts += [part for row in rows for room in row for part in text_of(room, 0)]
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    FILE.write_text(draw())
