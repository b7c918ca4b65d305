# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The place of Millrace's own files: an installed prefix, a wheel's data, or a build tree."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing typing takes longer than `run` may take
if TYPE_CHECKING:
    from collections.abc import Mapping

PRELOAD = "libmillrace.so"
POSIX_PRELOAD = "libmillrace_posix.so"
LIBRARY = "libmillrace_io.so.1"
IMPLEMENTATIONS = {"mpich": "libmillrace-mpich.so", "openmpi": "libmillrace-ompi.so", "abi": "libmillrace-abi.so"}


class PrefixError(RuntimeError):
    """Millrace's libraries cannot be found."""


class Prefix:
    """A folder with lib/ and bin/ of Millrace. Paths are text: `millrace run` starts without pathlib."""

    def __init__(self, root: str) -> None:
        self.root = root

    @property
    def preload(self) -> str:
        return self.shared_object(PRELOAD)

    @property
    def posix_preload(self) -> str:
        return self.shared_object(POSIX_PRELOAD)

    @property
    def agent(self) -> str:
        return os.path.join(self.root, "bin", "millraced")

    @property
    def journal_inspector(self) -> str:
        return os.path.join(self.root, "bin", "millrace-journal")

    @property
    def recovery(self) -> str:
        return os.path.join(self.root, "bin", "millrace-recover")

    @property
    def costs(self) -> str:
        return os.path.join(self.root, "bin", "millrace-costs")

    def implementation(self, family: str) -> str:
        return self.shared_object(IMPLEMENTATIONS[family])

    @property
    def obstacle(self) -> str:
        """The reason why the libraries of this prefix cannot be preloaded; empty if they can."""
        if any(mark in self.preload for mark in " \t\n:"):
            return (
                f"{self.preload} cannot be preloaded, because LD_PRELOAD cannot hold a path with a blank or a colon; "
                "move Millrace, or set MILLRACE_PREFIX to a link to it without them"
            )
        return ""

    def usable(self) -> bool:
        return os.path.isfile(self.preload)

    def shared_object(self, name: str) -> str:
        # Distributions put libraries into lib64 or a folder of the architecture.
        for folder in ("lib", "lib64", f"lib/{os.uname().machine}-linux-gnu"):
            path = os.path.join(self.root, folder, name)
            if os.path.isfile(path):
                return path
        return os.path.join(self.root, "lib", name)


def candidates(environment: Mapping[str, str], of_command: bool = True) -> list[str]:
    """The candidates, the best first. Only the `millrace` command lies beside its files."""
    explicit = environment.get("MILLRACE_PREFIX")
    if explicit:
        return [os.path.join(os.getcwd(), explicit)]
    package = os.path.dirname(os.path.realpath(__file__))
    found = [os.path.join(package, "_native")]
    # <prefix>/bin/millrace, also when the package lies in <prefix>/share or lib/python.
    if of_command:
        found.append(_above(os.path.realpath(sys.argv[0]), 2))
    found.extend(_above(package, i) for i in range(1, 7))
    # A source checkout: python/millrace beside build/.
    found.append(os.path.join(_above(package, 2), "build"))
    return list(dict.fromkeys(found))


def _above(path: str, levels: int) -> str:
    for _ in range(levels):
        path = os.path.dirname(path)
    return path


def find(environment: Mapping[str, str] | None = None) -> Prefix:
    """The prefix to use; raises PrefixError with the places of the search."""
    environment = os.environ if environment is None else environment
    tried = candidates(environment)
    for root in tried:
        prefix = Prefix(root)
        if prefix.usable():
            return prefix
    raise PrefixError(
        f"{PRELOAD} was not found below {', '.join(tried)}; "
        "build or install Millrace, or set MILLRACE_PREFIX to its prefix"
    )


def library(environment: Mapping[str, str] | None = None) -> str | None:
    """The C library, for programs that import millrace; None if there is none."""
    for root in candidates(os.environ if environment is None else environment, of_command=False):
        path = Prefix(root).shared_object(LIBRARY)
        if os.path.isfile(path):
            return path
    return None
