# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Bandwidth that memory modules have in theory, from the firmware's table (SMBIOS type 17), as dmidecode reads it.

The kernel shows that table in sysfs, to root alone. Channels are told only by the names of slots, which every vendor
chooses: where those say nothing, each module counts as a channel, and the words say so.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLE = Path("/sys/firmware/dmi/tables/DMI")
_MEMORY_DEVICE, _END = 17, 127
_TYPES = {0x18: "DDR3", 0x1A: "DDR4", 0x1E: "LPDDR4", 0x20: "HBM", 0x21: "HBM2", 0x22: "DDR5", 0x23: "LPDDR5"}
_SOCKET = re.compile(r"(?:NODE|CPU|PROC(?:ESSOR)?|SOCKET|\bP)[\s_-]*(\d+)", re.IGNORECASE)
_CHANNELS = (
    re.compile(r"CHANNEL[\s_-]*([A-Z]+|\d+)(?![A-Z])", re.IGNORECASE),
    re.compile(r"DIMM[\s_-]*([A-Z])\d", re.IGNORECASE),
)


@dataclass(frozen=True)
class Module:
    """A populated slot; rates in transfers per second, 0 where the firmware does not say."""

    slot: str  # the vendor's names of bank and device
    kind: str
    transfers_per_s: float
    width_bits: int

    def channel(self) -> str:
        """The socket and the channel, or an empty text."""
        found = next(filter(None, (pattern.search(self.slot) for pattern in _CHANNELS)), None)
        socket = _SOCKET.search(self.slot)
        return f"{socket[1] if socket else ''}/{found[1].upper()}" if found else ""


def structures(table: bytes) -> Iterator[tuple[int, bytes, list[str]]]:
    """(type, formatted part, strings) of each structure; ends at the first one that is cut off."""
    at = 0
    while at + 4 <= len(table):
        kind, length = table[at], table[at + 1]
        end = table.find(b"\0\0", at + length)
        if length < 4 or end < 0:
            return
        text = table[at + length : end].split(b"\0")
        yield kind, table[at : at + length], [part.decode("latin-1").strip() for part in text]
        if kind == _END:
            return
        at = end + 2


def modules(table: bytes) -> list[Module]:
    found = []
    for kind, body, strings in structures(table):
        if kind != _MEMORY_DEVICE or len(body) < 0x17:
            continue

        def word(offset: int, size: int = 2, body: bytes = body) -> int:
            if offset + size > len(body):
                return 0
            return int(struct.unpack_from("<H" if size == 2 else "<I", body, offset)[0])

        def name(offset: int, body: bytes = body, strings: list[str] = strings) -> str:
            return strings[body[offset] - 1] if 0 < body[offset] <= len(strings) else ""

        if word(0x0C) in (0, 0xFFFF):  # an empty slot, or one of unknown size
            continue
        # Speeds above 16 bits have a field at the end. The configured speed has precedence over the possible one.
        configured = word(0x58, 4) if word(0x20) == 0xFFFF else word(0x20)
        possible = word(0x54, 4) if word(0x15) == 0xFFFF else word(0x15)
        width = word(0x0A) if word(0x0A) != 0xFFFF else 0
        slot = f"{name(0x11)} {name(0x10)}".strip()
        found.append(Module(slot, _TYPES.get(body[0x12], "memory"), (configured or possible) * 1e6, width))
    return found


def bandwidth(path: Path = TABLE) -> dict[str, Any]:
    """{"gb_s": GB/s of all channels, or None; "words": how that comes about, or why it cannot be told}."""
    try:
        table = path.read_bytes()
    except PermissionError:
        return _unknown(f"{path} is for root alone; run `millrace evaluate` once as root to read it")
    except OSError:
        return _unknown(f"there is no {path}: this machine has no firmware table, like many virtual machines")
    found = modules(table)
    if not found:
        return _unknown("the firmware's table names no memory modules")
    if any(not module.transfers_per_s or not module.width_bits for module in found):
        return _unknown("the firmware does not tell the speed of the modules, as in most virtual machines")
    named = all(module.channel() for module in found)
    channels = {module.channel() if named else str(number): module for number, module in enumerate(found)}
    slowest = min(module.transfers_per_s for module in found)
    gb_s = sum(slowest * module.width_bits / 8 for module in channels.values()) / 1e9
    words = f"{_counted(len(found), 'module')} of {found[0].kind}-{slowest / 1e6:.0f}"
    words += f" on {_counted(len(channels), 'channel')}"
    return {"gb_s": gb_s, "words": words if named else f"{words}, if each module has its own"}


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _unknown(why: str) -> dict[str, Any]:
    return {"gb_s": None, "words": f"cannot be read: {why}"}
