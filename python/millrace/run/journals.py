# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Where agents keep journals, and whether that place survives a boot of the node."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # importing typing takes longer than `run` may take
if TYPE_CHECKING:
    from collections.abc import Sequence

    from millrace.run import settings

DEFAULT = "/var/tmp"  # as base/local.hpp; its files outlive a boot (FHS)
TMPFILES = ("/etc/tmpfiles.d", "/run/tmpfiles.d", "/usr/local/lib/tmpfiles.d", "/usr/lib/tmpfiles.d")
_IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")


def folder_of(configuration: settings.Configuration) -> str:
    return configuration.values["journal_directory"].value or DEFAULT


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def _emptied(folders: Sequence[str]) -> set[str]:
    """The folders that systemd-tmpfiles empties at boot (tmpfiles.d: D, R). A file hides those of its name in later
    folders."""
    files: dict[str, str] = {}
    for folder in folders:
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            if name.endswith(".conf"):
                files.setdefault(name, os.path.join(folder, name))
    found = {"/tmp"}  # the FHS promises nothing for it
    for path in files.values():
        for line in _lines(path):
            words = line.split()
            if len(words) > 1 and words[0][0] in "DR":
                found.add(words[1].rstrip("*/") or "/")
    return found


def weakness(folder: str, tmpfiles: Sequence[str] = TMPFILES) -> str:
    """Why journals in this folder do not survive a boot of the node; empty if they do, as far as one can see."""
    real = os.path.realpath(folder)
    mounts = {words[1]: words[2] for words in map(str.split, _lines("/proc/mounts")) if len(words) > 2}
    place = real
    while place not in mounts and place != "/":
        place = os.path.dirname(place)
    if mounts.get(place) in _IN_MEMORY:
        return "is in memory"
    emptied = [one for one in _emptied(tmpfiles) if f"{real}/".startswith(one.rstrip("/") + "/")]
    return "is emptied when the node boots" if emptied else ""


def warning(configuration: settings.Configuration) -> str:
    """A line for the user of a run whose settings keep journals; empty if there is nothing to say."""
    value = configuration.values
    keeps = value["durability"].value == "node" or value["strategy"].value == "journal"
    why = weakness(folder_of(configuration)) if keeps else ""
    if not why:
        return ""
    return (
        f"the folder of journals, {folder_of(configuration)}, {why}: closed files survive the end of the agent, but "
        "not a crash of the node (durability disk does); set MILLRACE_JOURNAL_DIRECTORY to a folder on a disk"
    )
