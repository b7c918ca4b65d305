# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The figures and the page of the demo."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

_RATIO_CAPTION = (
    "How much faster the program's I/O was. Grey: Millrace left all of it to the MPI library, so that a "
    "difference is noise or overhead."
)
_STOCK, _MILLRACE, _LIMIT = "#9aa3ad", "#1f6fb2", "#b23a1f"


def _shown(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [r for r in results if r["ratio"]]


def ratio_figure(results: Sequence[dict[str, Any]]) -> Any:
    """Bars of stock's time over Millrace's, on a logarithmic axis."""
    shown = _shown(results)[::-1]
    figure, axes = plt.subplots(figsize=(7.5, 0.6 + 0.34 * max(len(shown), 1)), layout="constrained")
    names = [r["name"] for r in shown]
    ratios = [r["ratio"] for r in shown]
    # On the direct path, a ratio only shows how much times vary on this machine.
    colors = [_MILLRACE if "pipeline" in r["route"] else _STOCK for r in shown]
    # Bars start at 1, so that slower cases point to the other side.
    axes.barh(names, [ratio - 1 for ratio in ratios], left=1, color=colors, height=0.7)
    for place, ratio in enumerate(ratios):
        axes.annotate(
            f"{ratio:.2f}",
            (max(ratio, 1), place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    axes.set_xscale("log")
    axes.axvline(1, color="#333", linewidth=0.8)
    low, high = min([0.7, *ratios]) * 0.9, max([2, *ratios]) * 1.4
    axes.set_xlim(low, high)
    ticks = [t for t in (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64) if low <= t <= high]
    axes.set_xticks(ticks, [f"{t:g}x" for t in ticks])
    axes.minorticks_off()
    axes.set_xlabel("stock time / Millrace time")
    axes.spines[["top", "right", "left"]].set_visible(False)
    return figure


def rate_figure(results: Sequence[dict[str, Any]], limit: float | None) -> Any:
    """Bandwidths side by side, without programs whose whole run is timed."""
    shown = [r for r in _shown(results) if not r["whole_program"]][::-1]
    figure, axes = plt.subplots(figsize=(7.5, 0.8 + 0.42 * max(len(shown), 1)), layout="constrained")
    places = range(len(shown))
    axes.barh(
        [p + 0.2 for p in places],
        [r["millrace_mib_s"] for r in shown],
        0.38,
        color=_MILLRACE,
        label="Millrace",
    )
    axes.barh([p - 0.2 for p in places], [r["stock_mib_s"] for r in shown], 0.38, color=_STOCK, label="stock")
    if limit:
        axes.axvline(limit, color=_LIMIT, linewidth=1, linestyle="--", label="one sequential stream + fsync")
    axes.set_yticks(list(places), [r["name"] for r in shown])
    axes.set_xlabel("MiB/s, as the program counts it")
    axes.legend(fontsize=8, loc="lower right")
    axes.spines[["top", "right", "left"]].set_visible(False)
    return figure


def _svg(figure: Any) -> str:
    """The drawing without the XML head, which is not allowed inside HTML."""
    text = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "millrace"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    plt.close(figure)
    return re.sub(r"^.*?(?=<svg)", "", text.getvalue(), count=1, flags=re.DOTALL)


def write(path: Path, document: dict[str, Any]) -> None:
    """The self-contained page of a demo's results."""
    results, limit = document["results"], document["limit_mib_s"]
    figures = []
    if _shown(results):
        figures = [
            {"svg": _svg(ratio_figure(results)), "caption": _RATIO_CAPTION},
            {"svg": _svg(rate_figure(results, limit)), "caption": "Bandwidth, open and close included."},
        ]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    text = environment.get_template("page.html.j2").render(
        results=results,
        figures=figures,
        limit=limit,
        date=document["date"],
        machine=document["machine"],
        command=document["command"],
        notes=document["notes"],
        pairs_text=document["pairs_text"],
    )
    path.write_text(text, encoding="utf-8")


def save_picture(path: Path, document: dict[str, Any]) -> None:
    """Saves the first figure; the suffix of the file selects the format."""
    figure = ratio_figure(document["results"])
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "millrace"}):
        figure.savefig(path, dpi=110)
    plt.close(figure)
