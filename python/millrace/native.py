# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Millrace's C library (include/millrace/millrace.h), found when it is first needed, by ctypes."""

from __future__ import annotations

import functools


@functools.cache
def find() -> None:
    """The library, or None where there is none."""
    return None
