# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The ratios as a drawing in SVG, which is readable on light and on dark pages."""

from __future__ import annotations

import math
from typing import Any
from xml.sax.saxutils import escape

_WIDTH, _ROW, _LEFT, _RIGHT = 760, 24, 210, 70
_TICKS = (0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
_STYLE = """\
.mr-page { fill: #ffffff; } .mr-text { fill: #1f2328; font: 13px system-ui, sans-serif; }
.mr-head { font-weight: 600; } .mr-small { font-size: 11px; }
.mr-end { text-anchor: end; } .mr-middle { text-anchor: middle; }
.mr-line { stroke: #1f2328; stroke-width: 1; } .mr-grid { stroke: #d0d7de; stroke-width: 1; }
.mr-ours { fill: #1f6fb2; } .mr-library { fill: #8c959f; }
@media (prefers-color-scheme: dark) {
  .mr-page { fill: #0d1117; } .mr-text { fill: #e6edf3; } .mr-line { stroke: #e6edf3; } .mr-grid { stroke: #30363d; }
  .mr-ours { fill: #58a6ff; } .mr-library { fill: #8c959f; }
}"""


def draw(document: dict[str, Any]) -> str:
    """Bars of stock's time over Millrace's, on a logarithmic axis; the virtual nodes come first."""
    parts = [(part, [r for r in part["results"] if r["ratio"]]) for part in reversed(document["parts"])]
    parts = [(part, shown) for part, shown in parts if shown]
    ratios = [r["ratio"] for _, shown in parts for r in shown]
    low, high = min([0.8, *ratios]), max([2.0, *ratios]) * 1.15

    def x(ratio: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * math.log(ratio / low) / math.log(high / low)

    rows = len(ratios) + 1.4 * len(parts)
    bottom = 10 + rows * _ROW
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    lines, y = [], 10.0
    for part, shown in parts:
        lines.append(_text(12, y + 1.0 * _ROW, part["title"], "mr-head"))
        y += 1.4 * _ROW
        end = y + len(shown) * _ROW
        lines += [_line(x(tick), y, end, "mr-line" if tick == 1 else "mr-grid") for tick in ticks]
        for r in shown:
            lines += _bar(r, y, x)
            y += _ROW
    lines += [_text(x(tick), bottom + 16, f"{tick:g}x", "mr-small mr-middle") for tick in ticks]
    about = "stock time / Millrace time. Blue: agents wrote the file. Grey: the ranks wrote it themselves."
    lines.append(_text(12, bottom + 38, about, "mr-small"))
    lines.append(
        _text(
            12,
            bottom + 54,
            f"{document['command']}, {document['date'][:10]}, {document['machine'].split(', Linux')[0]}",
            "mr-small",
        )
    )
    height = bottom + 66
    size = f'viewBox="0 0 {_WIDTH} {height:.0f}" width="{_WIDTH}" height="{height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    title = "<title>Time of programs with the stock MPI library over their time with Millrace</title>"
    page = f'<rect class="mr-page" width="{_WIDTH}" height="{height:.0f}" rx="6"/>'
    return "\n".join([head, title, f"<style>\n{_STYLE}\n</style>", page, *lines, "</svg>"])


def _bar(result: dict[str, Any], y: float, x: Any) -> list[str]:
    """A bar begins at 1, so that slower cases point to the other side."""
    begin, end = sorted((x(1), x(result["ratio"])))
    kind = "mr-library" if result["route"].startswith("direct") else "mr-ours"
    width = max(end - begin, 1)
    return [
        _text(_LEFT - 10, y + 16, result["name"].removeprefix("4 nodes: "), "mr-end"),
        f'<rect class="{kind}" x="{begin:.1f}" y="{y + 4:.1f}" width="{width:.1f}" height="{_ROW - 8}"/>',
        _text(end + 6, y + 16, f"{result['ratio']:.3g}" if result["ratio"] >= 10 else f"{result['ratio']:.2f}", ""),
    ]


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{f"mr-text {kind}".strip()}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _line(x: float, top: float, bottom: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{bottom:.1f}"/>'
