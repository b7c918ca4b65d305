# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Figures as the papers have them, with what they say of the same experiment beside it."""

from __future__ import annotations

import pathlib

from .measure import Results

MIB = 1 << 20
GB = 1e9
_DIRECTIONS = ("write", "read")
_METHODS = {
    "normal": "#1f77b4",
    "fresh": "#17becf",
    "accelerated": "#d62728",
    "async": "#ff7f0e",
    "api": "#9467bd",
    "requests": "#8c564b",
    "offload": "#2ca02c",
}


def draw(folder: pathlib.Path, r: Results, published: dict, kind: str) -> list[pathlib.Path]:
    """Files in `folder`; a figure of which nothing was measured is left out."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    made = []

    def save(name: str, rows: int, columns: int, fill) -> None:
        grid, axes = pyplot.subplots(rows, columns, figsize=(4.8 * columns, 3.5 * rows), squeeze=False)
        fill(axes)
        grid.tight_layout()
        made.append(folder / f"{name}.{kind}")
        grid.savefig(made[-1], dpi=110)
        pyplot.close(grid)

    if any(one.documents for one in r.of("ipc")):
        save("ipc", 1, 2, lambda axes: _ipc(axes, r, published))
    if any(one.documents for one in r.of("transfer")):
        save("transfer", 1, 2, lambda axes: _transfer(axes, r, published))
    for part in ("host", "device"):
        languages = [n for n in ("c", "fortran") if any(one.documents for one in r.of(part, language=n))]
        if languages:
            save(f"fpp-{part}", len(languages), 2, lambda axes, p=part, n=languages: _sizes(axes, r, p, n))
            save(f"methods-{part}", 1, 3, lambda axes, p=part: _methods(axes, r, p, published))
    return made


def _label(axis, title: str, x: str, y: str, log_y: bool = False) -> None:
    axis.set_xscale("log", base=2)
    if log_y:
        axis.set_yscale("log")
    else:
        axis.set_ylim(bottom=0)
    axis.set_title(title, fontsize=9)
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    axis.legend(fontsize=5, ncol=2)


def _ipc(axes, r: Results, published: dict) -> None:
    methods = r.of("ipc")[0].documents[0]["methods"]
    for axis, direction in zip(axes[0], _DIRECTIONS, strict=True):
        limits = []
        for index, (name, found) in enumerate(methods.items()):
            if "problem" in found:
                continue
            limits = [(row["bytes"], row["limit_mib_s"]["median"] * MIB / GB) for row in found["sizes"]]
            rates = [(row["bytes"], row[f"{direction}_mib_s"]["median"] * MIB / GB) for row in found["sizes"]]
            axis.plot(*zip(*rates, strict=True), ".-" if index < 10 else ".--", linewidth=0.9, label=name)
        axis.plot(*zip(*limits, strict=True), color="black", label="limit: a copy")
        axis.axhline(published["ipc_peak_mb_s"] / 1000, color="#2ca02c", linestyle=":", label="paper, host and engine")
        way = "first process to second" if direction == "write" else "second process to first"
        _label(axis, f"Between two processes, {way}", "bytes of a message", "GB/s", log_y=True)


def _transfer(axes, r: Results, published: dict) -> None:
    one = next(one for one in r.of("transfer") if one.documents)  # a device before what stands in for one
    document = one.documents[0]
    link = published["link_gb_s"]
    for axis, direction in zip(axes[0], _DIRECTIONS, strict=True):
        for name in document["sizes"][0][direction]:
            rates = [(row["bytes"], row[direction][name]["mib_s"]["median"] * MIB / GB) for row in document["sizes"]]
            axis.plot(*zip(*rates, strict=True), "o-", label=name)
        copies = [(row["bytes"], row["host_copy_mib_s"]["median"] * MIB / GB) for row in document["sizes"]]
        axis.plot(*zip(*copies, strict=True), color="black", linestyle=":", label="copy on the host")
        axis.axhspan(*link["sustained"], color="#2ca02c", alpha=0.15, label="link of the paper, sustained")
        note = ", FUNCTIONAL ONLY" * document["functional_only"]
        way = "to" if direction == "write" else "from"
        _label(axis, f"{way} {document['device']}{note}", "bytes of a copy", "GB/s")


def _sizes(axes, r: Results, part: str, languages: list[str]) -> None:
    """As figures 3 to 8: against the size of the files, a line for each number of ranks."""
    from matplotlib import colormaps

    for row, language in zip(axes, languages, strict=True):
        for axis, direction in zip(row, _DIRECTIONS, strict=True):
            found = [one for one in r.of(part, language=language, method="normal") if r.sizes(one)]
            counts = sorted({one.point.ranks for one in found})
            for one in found:
                if one.point.mapping == "spread":
                    continue
                colour = colormaps["viridis"](counts.index(one.point.ranks) / max(1, len(counts) - 1))
                points = [(size / MIB, r.rate(one, size, direction) * MIB / GB) for size in r.sizes(one)]
                style = "o-" if one.point.buffer == "512k" else "x--"
                label = f"{one.point.ranks} ranks, {one.point.buffer}"
                axis.plot(*zip(*points, strict=True), style, color=colour, linewidth=0.9, markersize=3, label=label)
            _label(axis, f"{direction}, {language}, {part} memory, normal", "MiB per rank", "GB/s")


def _methods(axes, r: Results, part: str, published: dict) -> None:
    """As figures 9, 10, 20 and 21: the methods against the number of ranks, at the largest size that all have."""
    found = [one for one in r.of(part, language="c", buffer="512k") if r.sizes(one) and one.point.mapping != "spread"]
    sizes = set.intersection(*(set(r.sizes(one)) for one in found)) if found else set()
    for axis, direction in zip(axes[0], _DIRECTIONS, strict=False):
        for method, colour in _METHODS.items():
            points = sorted(
                (one.point.ranks, r.rate(one, max(sizes), direction) * MIB / GB)
                for one in found
                if one.point.method == method
            )
            if points and sizes:
                axis.plot(*zip(*points, strict=True), "o-", color=colour, label=method)
        title = f"{direction}, C, {part} memory, {max(sizes) // MIB} MiB per rank" if sizes else direction
        _label(axis, title, "ranks", "GB/s")
    bars = [one for one in published["fpp"] if one["language"] == "c"]
    names = [f"{one['configuration']} {one['direction']}, {one['method']}" for one in bars]
    axes[0][2].barh(names, [one["gb_s"] for one in bars], color=[_METHODS[one["method"]] for one in bars])
    axes[0][2].tick_params(axis="y", labelsize=5)
    axes[0][2].set_xlabel("GB/s")
    axes[0][2].set_title("published: 16, 32, 64 ranks, 1 GB per rank", fontsize=9)
