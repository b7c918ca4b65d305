# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Rates and short times of networks and disks, in the form that people write."""

from __future__ import annotations

import re

from millrace.tools.cluster.state import ClusterError
from millrace.units import parse_bytes

_BITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
BANDWIDTH_MIN_BITS, BANDWIDTH_MAX_BITS = 10**5, 4 * 10**11
DISK_RATE_MIN_BYTES = 4096


def bandwidth_bits(text: str) -> int:
    """`1gbit`, `100Mbit/s`, `2.5gbit` as bits per second; powers of 1000, as networks count."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]?)bit(?:/s|ps)?\s*", text.lower())
    if not match:
        raise ClusterError(f"--bandwidth: '{text}' is not a rate (write it as 1gbit, 100mbit or 2.5gbit)")
    value = round(float(match[1]) * _BITS[match[2]])
    if not BANDWIDTH_MIN_BITS <= value <= BANDWIDTH_MAX_BITS:
        raise ClusterError(f"--bandwidth: {text} is out of range; allowed: 100kbit to 400gbit")
    return value


def disk_rate_bytes(text: str, option: str = "--disk-rate") -> int:
    """`40MiB/s`, `40MiB` as bytes per second."""
    try:
        value = parse_bytes(re.sub(r"/s\s*$", "", text))
    except ValueError:
        raise ClusterError(f"{option}: '{text}' is not a rate (write it as 40MiB/s or 512KiB/s)") from None
    if value < DISK_RATE_MIN_BYTES:
        raise ClusterError(f"{option}: {text} is out of range; at least 4KiB/s")
    return value


def read_rate_bytes(text: str | None, disk_rate: str | None) -> int:
    """The read rate of a slow disk: by default its write rate. `none` is 0: reads are not slowed down."""
    if text == "none":
        return 0
    rate = text or disk_rate
    return disk_rate_bytes(rate, "--read-rate") if rate else 0


def microseconds(option: str, text: str) -> int:
    """`100us`, `5ms`, `0.5s` as microseconds, up to ten seconds."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(us|ms|s)\s*", text.lower())
    if not match:
        raise ClusterError(f"{option}: '{text}' is not a time (write it as 100us, 5ms or 0.5s)")
    value = round(float(match[1]) * {"us": 1, "ms": 1000, "s": 10**6}[match[2]])
    if value > 10**7:
        raise ClusterError(f"{option}: {text} is out of range; at most 10s")
    return value


def format_bandwidth(bits: int) -> str:
    if not bits:
        return "unshaped"
    for unit, name in ((10**9, "gbit"), (10**6, "mbit"), (10**3, "kbit")):
        if bits >= unit:
            return f"{bits / unit:g}{name}"
    return f"{bits}bit"
