# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The figures: what was measured, and what the paper says of the same experiment beside it."""

from __future__ import annotations

import pathlib

from .cases import FIGURES, NETWORKS, STRATEGIES, WITHOUT_BUFFER, Figure
from .checks import Curves

_COLOURS = dict(zip(STRATEGIES, ("#777777", "#1f77b4", "#d62728", "#17becf", "#ff7f0e"), strict=True))


def available() -> str:
    """Why no figures can be drawn; empty if they can."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return "matplotlib is not there (make bootstrap, or pip install matplotlib): no figures are drawn"
    return ""


def draw(folder: pathlib.Path, curves: Curves, published: dict, kind: str) -> list[pathlib.Path]:
    """One file for each of the paper's figures, in `folder`."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    made = []
    for number in sorted({figure.key[0] for figure in FIGURES}):
        parts = [f for f in FIGURES if f.key[0] == number and any(key[0] == f.key for key in curves.rates)]
        if not parts:
            continue
        networks = [n for n in NETWORKS if any(key[0][0] == number and key[1] == n for key in curves.rates)]
        columns = len(networks)
        bars = any(published["figures"][part.key]["unit"] != "MiB/s" for part in parts)
        grid, axes = pyplot.subplots(
            len(parts), columns + bars, figsize=(4.6 * (columns + bars), 3.4 * len(parts)), squeeze=False
        )
        for row, part in zip(axes, parts, strict=True):
            for axis, network in zip(row, networks, strict=False):
                _curves(axis, part, network, curves, published)
            if bars:
                _bars(row[-1], published["figures"][part.key])
        grid.suptitle(f"Figure {number} of the Catwalk-ROMIO paper, by Millrace")
        grid.tight_layout()
        made.append(folder / f"figure{number}.{kind}")
        grid.savefig(made[-1], dpi=110)
        pyplot.close(grid)
    return made


def _curves(axis, figure: Figure, network: str, curves: Curves, published: dict) -> None:
    said = published["figures"][figure.key]
    if said["unit"] == "MiB/s":
        axis.axhspan(*said["catwalk"], color="#2ca02c", alpha=0.15, label="Catwalk, paper")
        axis.axhline(said["pvfs2"], color="#2ca02c", linestyle=":", label="PVFS2, paper")
    axis.axhline(curves.disk, color="black", linewidth=0.8, label="disk, one stream")
    for label in figure.labels():
        points = sorted((k[3], v) for k, v in curves.rates.items() if k[:3] == (figure.key, network, label))
        if not points:
            continue
        if points[0][0] == WITHOUT_BUFFER:
            axis.axhline(points[0][1], color=_COLOURS[label], linestyle="--", label=label)
        else:
            axis.plot(*zip(*points, strict=True), "o-", color=_COLOURS[label], label=label)
    sizes = sorted({k[3] for k in curves.rates if k[3]})
    axis.set_xscale("log", base=2)
    axis.set_xticks(sizes, [str(size) for size in sizes])
    axis.set_ylim(bottom=0)
    axis.set_xlabel("the paper's sort buffer, MiB")
    axis.set_ylabel("MiB/s")
    axis.set_title(f"{figure.title}, {NETWORKS[network]}", fontsize=9)
    axis.legend(fontsize=6)


def _bars(axis, said: dict) -> None:
    axis.bar(["Catwalk, best", "PVFS2"], [said["catwalk"][1], said["pvfs2"]], color=["#2ca02c", "#98df8a"])
    axis.set_ylabel(said["unit"])
    axis.set_title("published", fontsize=9)
