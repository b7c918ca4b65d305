# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The path of a command's program: shutil.which, without the archive formats that shutil loads."""

from __future__ import annotations

import os


def which(name: str, path: str | None = None) -> str | None:
    """The program that a shell with PATH=`path` (None: this process's) uses for `name`; None if there is none."""
    if "/" in name:
        return name if _is_program(name) else None
    if path is None:
        path = os.environ.get("PATH", os.defpath)
    if not path or not name:
        return None
    return next((file for folder in path.split(":") if _is_program(file := os.path.join(folder, name))), None)


def _is_program(file: str) -> bool:
    return os.access(file, os.X_OK) and not os.path.isdir(file)
