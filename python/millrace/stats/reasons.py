# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The reasons of `--stats` in words, with the number that decided and the setting that would change it.

Ranks write both (`grounds` of their lines); here the numbers of ranks with the same reason are joined.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millrace.units import human_bytes, human_time

_COSTS = {
    "measured": "costs measured on this machine",
    "typical": "typical costs; `millrace doctor` measures those of this machine",
}
Ground = dict[str, Any]


def reasons_of(clients: Iterable[dict[str, Any]], numbers: bool) -> list[str]:
    """The reasons of all ranks, the most frequent first, with the number of ranks."""
    found: dict[str, list[Ground]] = {}
    for line in clients:
        for text, ground in _told(line):
            found.setdefault(text, []).append(ground)
    order = sorted(found, key=lambda text: -len(found[text]))
    return [f"{text}{_numbers(found[text]) if numbers else ''} ({_ranks(len(found[text]))})" for text in order]


def _ranks(count: int) -> str:
    return f"{count} rank{'s' if count > 1 else ''}"


def _told(line: dict[str, Any]) -> list[tuple[str, Ground]]:
    """The reasons of a rank, each with its ground; earlier versions wrote none."""
    told = line.get("reason")
    texts = [str(text) for text in (told if isinstance(told, list) else [told]) if text]
    grounds = {f"{ground.get('way')}: {ground.get('reason')}": ground for ground in line.get("grounds") or []}
    return [(text, grounds.get(text, {})) for text in texts]


def _numbers(grounds: list[Ground]) -> str:
    """The numbers and the setting in words, beginning with a colon or a space; empty if there are none."""
    words = [word for word in (_pieces(grounds), _compared(grounds)) if word]
    hints = [_COSTS.get(str(grounds[0].get("costs")), ""), _setting(grounds)]
    hint = "; ".join(text for text in hints if text)
    return (f": {', '.join(words)}" if words else "") + (f" ({hint})" if hint else "")


def _sizes(grounds: list[Ground]) -> list[int]:
    return sorted(int(ground["piece_bytes"]) for ground in grounds if ground.get("piece_bytes"))


def _pieces(grounds: list[Ground]) -> str:
    sizes = _sizes(grounds)
    if not sizes:
        return ""
    least, most = human_bytes(sizes[0]), human_bytes(sizes[-1])
    return f"pieces of {least}" if least == most else f"pieces of {least} to {most}"


def _compared(grounds: list[Ground]) -> str:
    """The number that decided, beside the one that it was compared with."""
    told = [ground for ground in grounds if ground.get("unit")]
    if not told:
        return ""
    value, bound = (sum(int(ground.get(name) or 0) for ground in told) for name in ("value", "bound"))
    if told[0]["unit"] == "ns":
        return _faster(value, bound, str(told[0].get("way")))
    if told[0]["unit"] == "ns_saved":
        each = [human_time(total / len(told)) for total in (value, bound)]
        return f"the pipeline would have saved a rank {each[0]} so far, to enter it costs {each[1]}"
    if told[0]["unit"] == "thousandths":
        each = [f"{total / len(told) / 10:.0f} %" for total in (value, bound)]
        return f"the last such file was read to {each[0]}, the bound is {each[1]}"
    bounds = f"the bound is {human_bytes(bound // len(told))}" if bound else ""
    size = "" if _sizes(told) else human_bytes(value // len(told))
    return ", ".join(word for word in (size, bounds) if word)


def _faster(library: int, pipeline: int, way: str) -> str:
    if min(library, pipeline) <= 0:
        return ""
    if library <= pipeline:
        return f"here the library is faster by {pipeline / library:.2f}"
    enough = "" if way == "pipeline" else ", which is too little for its processor time"
    return f"here the pipeline is faster by {library / pipeline:.2f}{enough}"


def _setting(grounds: list[Ground]) -> str:
    """The setting that changes the way of all these ranks."""
    named = [ground for ground in grounds if ground.get("setting")]
    if not named:
        return ""
    direct = named[0].get("way") == "direct"
    pick = max if direct else min
    return changes(str(pick(named, key=lambda ground: int(ground.get("piece_bytes") or 0))["setting"]))


def changes(setting: str) -> str:
    return f"{setting} would change it"
