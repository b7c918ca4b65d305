# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Sizes and times in the form that people write."""

from __future__ import annotations

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
TIB = 1024 * GIB

_UNITS = {"": 1, "b": 1, "k": KIB, "m": MIB, "g": GIB, "t": TIB}


def parse_bytes(text: str) -> int:
    """`64`, `64KiB`, `1MiB`, `2g` as bytes; every spelling means powers of 1024."""
    import re

    match = re.fullmatch(r"\s*(\d+)\s*([bkmgt]?)(?:(?<=[kmgt])i?b)?\s*", text.lower())
    if not match:
        raise ValueError(f"'{text}' is not a size (write it as 4096, 64KiB, 1MiB or 2GiB)")
    return int(match[1]) * _UNITS[match[2]]


def format_bytes(value: int) -> str:
    for unit, name in ((TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if value >= unit and value % unit == 0:
            return f"{value // unit}{name}"
    return str(value)


def parse_duration(text: str) -> int:
    """`60`, `60s`, `1.5s`, `500ms` as milliseconds; a bare number is seconds."""
    import re

    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|min|)\s*", text.lower())
    if not match:
        raise ValueError(f"'{text}' is not a time (write it as 60s, 500ms or 2min)")
    return round(float(match[1]) * {"ms": 1, "min": 60_000}.get(match[2], 1000))


def format_duration(milliseconds: int) -> str:
    return f"{milliseconds // 1000}s" if milliseconds % 1000 == 0 else f"{milliseconds}ms"


def human_bytes(value: float) -> str:
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if value >= unit:
            return f"{value / unit:.1f} {name}"
    return f"{value:.0f} B"


def human_time(nanoseconds: float) -> str:
    for unit, name in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if nanoseconds >= unit:
            return f"{nanoseconds / unit:.2f} {name}"
    return f"{nanoseconds:.0f} ns"
