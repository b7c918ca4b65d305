# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Millrace for Python programs: save and load checkpoints. And the `millrace` command: run programs with Millrace, look
at a machine, show what it gains."""

from __future__ import annotations

import importlib

__version__ = "0.1.0"

# Where each public name is; imported when it is first used, so that the command starts without it.
_PUBLIC = {name: "millrace.checkpoint" for name in ("CheckpointError", "ChecksumError", "Saving", "load", "save")}


def __getattr__(name: str) -> object:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'millrace' has no attribute {name!r}")
    value = getattr(importlib.import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
