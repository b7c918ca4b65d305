# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Published, predicted, error: as Markdown, and the papers' figures as SVG."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from millrace.tools.model import machine, published, shapes
from millrace.tools.model.errors import ModelError
from millrace.tools.model.published import Curves, Row
from millrace.tools.model.shapes import Shape

_ABOUT = (
    "How near is `millrace model` to what papers published? `make model-figures` makes this page;",
    "[ADR 17](../adr/0017-machines-as-stations.md) describes the models. No number was fitted to a machine whose row",
    "is marked predicted, but its values were known. `millrace model MACHINE --list` says what is fitted.",
)
ENGINES = ("a300-2", "a300-4", "a300-8")


def markdown(curves: Curves | None = None, least: float = 0) -> str:
    """The text of docs/results/model.md. Its tables have the rows whose error is at least `least`."""
    curves = curves or Curves()
    parts = published.document()
    compared = [
        ("SX-Aurora TSUBASA", "engines", published.of_engines()),
        ("Catwalk-ROMIO on T2K", "ring", published.of_ring(curves)),
        ("Oakleaf-FX", "file-system", published.of_file_system()),
    ]
    left_out = [f"Rows within {least:.0%} are left out; `millrace model --published` has them."] if least else []
    lines = ["# The papers' machines in virtual time", "", *_ABOUT, *left_out, "", "## What falls short", ""]
    lines += [
        f"- {r.what}: {_number(r.model)}, published: {r.text} {r.unit}"
        for _, _, rows in compared
        for r in rows
        if not r.holds
    ]
    lines += _missed(shapes.of_engines() + shapes.of_ring(curves))
    for title, key, rows in compared:
        lines += [f"## {title}", "", parts[key]["source"] + f". Bar: within {parts[key]['within']:.0%}.", ""]
        lines += _rows(rows, least)
    pictures = [f"[{name}](../images/model/catwalk-{name}.svg)" for name in published.figures()]
    lines += ["## Figures", "", "![SX-Aurora](../images/model/sx-aurora.svg)", ""]
    lines += textwrap.wrap(f"The Catwalk-ROMIO paper's: {', '.join(pictures)}.", 118)
    return "\n".join(lines) + "\n"


def _rows(rows: list[Row], least: float) -> list[str]:
    found = ["| what | published | model | error | |", "| --- | --- | --- | --- | --- |"]
    for row in (one for one in rows if abs(one.miss) >= least):
        verdict = "predicted" if row.predicted else ""
        found.append(f"| {row.what} | {row.text} | {_number(row.model)} | {row.miss:+.1%} | {verdict} |")
    good = sum(row.holds for row in rows)
    return [*found, "", f"{good} of {len(rows)} within the bar.", ""]


def _missed(found: list[Shape]) -> list[str]:
    missed = [shape for shape in found if not shape.holds]
    held = f"{len(found) - len(missed)} of {len(found)} statements of the papers about the curves hold."
    return [*(f"- Does not hold: {shape.text} ({shape.seen})" for shape in missed), "", held, ""]


def _number(value: float) -> str:
    return f"{value:,.1f}" if value >= 100 else f"{value:.2f}"


# --- Figures ---


def write(folder: Path) -> None:
    """Writes the figures and model.md into the folder."""
    try:
        import matplotlib
    except ImportError:
        raise ModelError("figures need matplotlib: python3 -m pip install matplotlib") from None
    matplotlib.use("svg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"svg.hashsalt": "millrace", "font.size": 9, "axes.spines.top": False, "axes.grid": True})
    pyplot.rcParams.update({"axes.spines.right": False, "grid.alpha": 0.3, "svg.fonttype": "none"})
    curves = Curves()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _draw_engines(pyplot, folder)
        _draw_ring(pyplot, folder, curves)
        (folder / "model.md").write_text(markdown(curves, least=0.05), encoding="utf-8")
    except OSError as error:
        raise ModelError(f"{error.filename or folder}: {error.strerror}") from None


def _save(pyplot: Any, figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def _draw_engines(pyplot: Any, folder: Path) -> None:
    """Figures 9, 10, 20 to 23 of Yokokawa et al.: 1 GB files, by ranks."""
    from millrace.tools.model import engine, engines
    from millrace.units import GIB

    figure, grid = pyplot.subplots(2, 3, figsize=(10, 5.4), sharey="row")
    values = published.document()["engines"]["values"]
    colours = dict(zip(engines.METHODS, ("#7a7f87", "#d08a2e", "#2f6db3"), strict=True))
    for column, name in enumerate(ENGINES):
        of = machine.find(name)
        ranks = [n for n in (1, 2, 4, 8, 16, 24, 32, 64) if n <= of.count("engines") * of.count("cores_per_engine")]
        for row, direction in enumerate(engines.DIRECTIONS):
            axes = grid[row][column]
            for method in engines.METHODS:
                questions = [engines.Question(method, direction, n, GIB) for n in ranks]
                answers = engine.ask([engines.plan(of, q) for q in questions])
                rates = [engines.gb_per_s(q, a) for q, a in zip(questions, answers, strict=True)]
                axes.plot(ranks, rates, "o-", color=colours[method], label=f"model, {method}", markersize=3)
                known = [v for v in values if (v["machine"], v["method"], v["direction"]) == (name, method, direction)]
                for v in known:
                    if "mapping" not in v:
                        low = (v["low"] + v["high"]) / 2
                        axes.plot(v["ranks"], low, "x", color=colours[method], markersize=8, markeredgewidth=2)
            axes.set_title(f"{of.name}, {direction}")
            axes.set_xscale("log", base=2)
            axes.set_xticks(ranks, [str(n) for n in ranks])
            if column == 0:
                axes.set_ylabel("GB/s")
            if row == 1:
                axes.set_xlabel("ranks")
    grid[0][0].plot([], [], "kx", label="published")
    grid[0][0].legend(fontsize=7)
    _save(pyplot, figure, folder / "sx-aurora.svg")


def _draw_ring(pyplot: Any, folder: Path, curves: Curves) -> None:
    """Figures 5 to 9 of Hori et al.: by sort buffer."""
    from millrace.tools.model import ring

    styles = dict(zip(ring.STRATEGIES, ("#7a7f87", "#d08a2e", "#2f6db3", "#a8541c", "#173f70"), strict=True))
    for name, of in published.figures().items():
        figure, row = pyplot.subplots(1, len(of["networks"]), figsize=(4.6 * len(of["networks"]), 3), squeeze=False)
        for axes, network in zip(row[0], of["networks"], strict=True):
            wanted = published.points(name, (), [network])
            curves.ask(wanted)
            for strategy in of["strategies"]:
                found = [(p.buffer_mib, curves.at(p)) for p in wanted if p.strategy == strategy]
                if strategy == "immediate":
                    axes.axhline(found[0][1], color=styles[strategy], label=strategy)
                else:
                    axes.plot(*zip(*found, strict=True), "o-", color=styles[strategy], label=strategy, markersize=3)
            axes.axhline(of["peer"], color="#4c8c4a", linestyle=":", label=f"published: {of['peer_text']}")
            for v in published.document()["ring"]["values"]:
                if v["figure"] == name and "behind" not in v and v["of"] == "best":
                    axes.axhspan(v["low"] * 0.995, v["high"] * 1.005, color="#c33", alpha=0.25)
            axes.set_title(f"{name}: {of['title']}, {network}", fontsize=8)
            axes.set_xscale("log", base=2)
            axes.set_xticks(ring.BUFFERS_MIB, [str(b) for b in ring.BUFFERS_MIB])
            axes.set_xlabel("sort buffer, MiB")
            axes.set_ylabel(published.pattern(name).unit)
            axes.set_ylim(bottom=0)
        row[0][0].legend(fontsize=6)
        _save(pyplot, figure, folder / f"catwalk-{name}.svg")
