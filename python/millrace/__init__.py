# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Millrace for Python programs: save and load checkpoints. And the `millrace` command: run programs with Millrace, look
at a machine, show what it gains."""

from __future__ import annotations

__version__ = "0.2.0"  # of everything: CMake, pyproject.toml and scripts/ read it here

# The module of each public name. Its first use imports it, so that the command starts without it.
_ROOMS = {
    "checkpoint": ("CheckpointError", "ChecksumError", "Saving", "load", "save"),
    "api.devices": ("Device", "Memory", "Queue", "Ticket"),
    "api.files": ("File", "Request"),
    "api.native": ("NotFoundError",),
    "api.offload": ("CALL", "Channel", "In", "InOut", "Out", "Real32"),
}
_PUBLIC = {name: f"millrace.{room}" for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'millrace' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
