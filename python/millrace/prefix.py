# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Where Millrace's own files lie: an installed prefix, a wheel's data, or a build tree."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PRELOAD = "libmillrace.so"
POSIX_PRELOAD = "libmillrace_posix.so"
LIBRARY = "libmillrace_io.so.1"
IMPLEMENTATIONS = {"mpich": "libmillrace-mpich.so", "openmpi": "libmillrace-ompi.so", "abi": "libmillrace-abi.so"}


class PrefixError(RuntimeError):
    """Millrace's libraries cannot be found."""


@dataclass(frozen=True)
class Prefix:
    """A folder with lib/ and bin/ of Millrace."""

    root: Path

    @property
    def preload(self) -> Path:
        return self.shared_object(PRELOAD)

    @property
    def posix_preload(self) -> Path:
        return self.shared_object(POSIX_PRELOAD)

    @property
    def agent(self) -> Path:
        return self.root / "bin" / "millraced"

    @property
    def journal_inspector(self) -> Path:
        return self.root / "bin" / "millrace-journal"

    @property
    def recovery(self) -> Path:
        return self.root / "bin" / "millrace-recover"

    def implementation(self, family: str) -> Path:
        return self.shared_object(IMPLEMENTATIONS[family])

    @property
    def obstacle(self) -> str:
        """Why the libraries of this prefix cannot be preloaded; empty if they can."""
        if any(mark in str(self.preload) for mark in " \t\n:"):
            return (
                f"{self.preload} cannot be preloaded, for LD_PRELOAD holds no path with a blank or a colon; "
                "move Millrace, or name a link to it without them by MILLRACE_PREFIX"
            )
        return ""

    def usable(self) -> bool:
        return self.preload.is_file()

    def shared_object(self, name: str) -> Path:
        # Distributions put libraries in lib64 or a folder of the architecture.
        for folder in ("lib", "lib64", f"lib/{os.uname().machine}-linux-gnu"):
            path = self.root / folder / name
            if path.is_file():
                return path
        return self.root / "lib" / name


def candidates(environment: Mapping[str, str], of_command: bool = True) -> list[Path]:
    """Where to look, best first. What is not the `millrace` command has its program elsewhere."""
    explicit = environment.get("MILLRACE_PREFIX")
    if explicit:
        return [Path(explicit).absolute()]
    package = Path(__file__).resolve().parent
    found = [package / "_native"]
    # <prefix>/bin/millrace, also when the package lies in <prefix>/share or lib/python.
    if of_command:
        found.append(Path(sys.argv[0]).resolve().parent.parent)
    found.extend(package.parents[i] for i in range(min(6, len(package.parents))))
    # A source checkout: python/millrace beside build/.
    found.append(package.parents[1] / "build")
    return found


def find(environment: Mapping[str, str] | None = None) -> Prefix:
    """The prefix to use; raises PrefixError with where it was looked for."""
    environment = os.environ if environment is None else environment
    tried = candidates(environment)
    for root in tried:
        prefix = Prefix(root)
        if prefix.usable():
            return prefix
    places = ", ".join(str(path) for path in dict.fromkeys(tried))
    raise PrefixError(
        f"{PRELOAD} was not found below {places}; build or install Millrace, or set MILLRACE_PREFIX to its prefix"
    )


def library(environment: Mapping[str, str] | None = None) -> Path | None:
    """The C library, for programs that import millrace; None if there is none."""
    for root in candidates(os.environ if environment is None else environment, of_command=False):
        path = Prefix(root).shared_object(LIBRARY)
        if path.is_file():
            return path
    return None
