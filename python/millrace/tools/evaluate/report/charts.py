# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Drawings of the page: bars as HTML, which fit any width, and lines as SVG; colours come from the style sheet."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from millrace.tools.evaluate.report.story import number

Series = Mapping[str, Sequence[tuple[float, float]]]
WIDTH, HEIGHT = 720, 340
LEFT, RIGHT, TOP, BOTTOM = 66, 34, 14, 44


@dataclass(frozen=True)
class Bar:
    """`kind` names the colour: stock, millrace, limit, plain."""

    label: str
    value: float
    kind: str = "plain"
    percent: float | None = None
    low: float | None = None  # the lowest sample
    high: float | None = None


def bar(figure: Mapping[str, Any], label: str, kind: str) -> Bar:
    """A figure of a session with the spread of its samples."""
    samples = figure["samples"]
    low, high = (min(samples), max(samples)) if samples else (None, None)
    return Bar(label, figure["value"], kind, figure["percent_of_limit"], low, high)


def kind_of(case: Mapping[str, Any]) -> str:
    return "millrace" if case["millrace"] else "stock"


def bars(rows: Sequence[Bar], unit: str, limit: float | None = None, limit_label: str = "limit") -> str:
    """Horizontal bars with their values; a line marks the limit, a thin one the spread of the samples."""
    if not rows:
        return ""
    most = max([row.high or row.value for row in rows] + [row.value for row in rows] + [limit or 0]) or 1
    lines = [f'<div class="bars" role="img" aria-label="{escape(unit)}">']
    for row in rows:
        share = f"{100 * row.value / most:.2f}"
        percent = (
            f'<span class="of">{row.percent:.{0 if row.percent >= 9.95 else 1}f}&#8201;%</span>'
            if row.percent is not None
            else ""
        )
        spread = ""
        if row.low is not None and row.high is not None and row.high > row.low:
            begin, wide = 100 * row.low / most, 100 * (row.high - row.low) / most
            spread = f'<i class="spread" style="left:{begin:.2f}%;width:{wide:.2f}%"></i>'
        mark = f'<i class="mark" style="left:{100 * limit / most:.2f}%"></i>' if limit else ""
        lines.append(
            f'<div class="bar"><span class="name">{escape(row.label)}</span><span class="track">'
            f'<i class="fill {row.kind}" style="width:{share}%"></i>{spread}{mark}</span>'
            f'<span class="value">{number(row.value)} <small>{escape(unit)}</small>{percent}</span></div>'
        )
    if limit:
        lines.append(
            f'<p class="key"><i class="mark"></i> {escape(limit_label)}: {number(limit)} {escape(unit)}; '
            "percentages are of it</p>"
        )
    return "\n".join([*lines, "</div>"])


def remark(text: str) -> str:
    """A line of text below a drawing."""
    return f'<p class="key">{escape(text)}</p>'


def size_label(size: float) -> str:
    for factor, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= factor:
            return f"{size / factor:g} {name}"
    return f"{size:g} B"


def _ticks(low: float, high: float) -> list[float]:
    """Powers of ten; if there are few, also their multiples by 2 and 5."""
    begin, end = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if end - begin <= 2 else (1,)
    found = [step * 10.0**power for power in range(begin, end + 1) for step in steps]
    return [tick for tick in found if low <= tick * 1.0001 and tick <= high * 1.0001]


def lines(
    series: Series,
    unit: str,
    x_name: str = "bytes",
    limit: Sequence[tuple[float, float]] = (),
    label: Callable[[float], str] = size_label,
) -> str:
    """Curves over sizes, both axes logarithmic; `limit` is dashed; `label` writes what stands below the axis."""
    points = [p for curve in series.values() for p in curve] + list(limit)
    points = [(x, y) for x, y in points if x > 0 and y > 0]
    if not points:
        return ""
    xs = sorted({x for x, _ in points})
    x_low, x_high = math.log2(xs[0]), math.log2(xs[-1]) if xs[-1] > xs[0] else math.log2(xs[0]) + 1
    y_low = min(y for _, y in points) * 0.8
    y_high = max(y for _, y in points) * 1.25

    def at(x: float, y: float) -> str:
        across = LEFT + (WIDTH - LEFT - RIGHT) * (math.log2(x) - x_low) / (x_high - x_low)
        down = TOP + (HEIGHT - TOP - BOTTOM) * (1 - math.log(y / y_low) / math.log(y_high / y_low))
        return f"{across:.1f},{down:.1f}"

    out = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(unit)} over {escape(x_name)}">']
    for tick in _ticks(y_low, y_high):
        down = at(xs[0], tick).split(",")[1]
        out.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{down}" y2="{down}"/>')
        out.append(f'<text class="tick" x="{LEFT - 8}" y="{float(down) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for size in xs if len(xs) <= 9 else xs[:: math.ceil(len(xs) / 9)]:
        across = at(size, y_low).split(",")[0]
        out.append(
            f'<text class="tick" x="{across}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{label(size)}</text>'
        )
    out.append(f'<text class="axis" x="{LEFT}" y="{HEIGHT - 4}">{escape(x_name)}</text>')
    out.append(
        f'<text class="axis" transform="translate(14,{(HEIGHT - BOTTOM) / 2 + TOP}) rotate(-90)" '
        f'text-anchor="middle">{escape(unit)}</text>'
    )
    if limit:
        out.append(f'<polyline class="curve limit" points="{" ".join(at(x, y) for x, y in limit if y > 0)}"/>')
    for index, curve in enumerate(series.values()):
        path = " ".join(at(x, y) for x, y in curve if y > 0)
        out.append(f'<polyline class="curve c{index % 8}" points="{path}"/>')
        for x, y in curve:
            if y > 0:
                across, down = at(x, y).split(",")
                out.append(f'<circle class="dot c{index % 8}" cx="{across}" cy="{down}" r="3"/>')
    out.append("</svg>")
    names = [f'<li><i class="swatch c{i % 8}"></i>{escape(name)}</li>' for i, name in enumerate(series)]
    names += ['<li><i class="swatch limit"></i>limit</li>'] if limit else []
    return f'<div class="scroll">{"".join(out)}</div><ul class="legend">{"".join(names)}</ul>'
