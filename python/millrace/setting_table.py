# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Every setting of Millrace, once. The command line reads this table. src/base/generate_settings.py makes from it the
table of the C++ library, the header of the hints, and the tables of docs/reference.
"""

from __future__ import annotations

from millrace.units import KIB, MIB, TIB, format_bytes, format_duration


class Setting:
    """One setting. `name` is its TOML name; option, variable and hint follow from it."""

    choices: tuple[str, ...] = ()
    low: int = 0
    high: int = 0
    power_of_two: bool = False
    zero_means: str = ""  # set if 0 is allowed although it is below `low`
    automatic: bool = False  # "auto" is allowed too
    hint: bool = False  # can be given per file as an MPI_Info hint
    option: bool = True  # has an option of `millrace run`
    toml: bool = True  # allowed in the [run] table

    def __init__(self, name: str, kind: str, default: str, help: str, **details: object) -> None:
        """`kind`: choice, switch, bytes, count, duration, paths, names, path, key. `details`: see above.

        The default of a choice is its first value: in C++, it is the enumerator 0."""
        unknown = details.keys() - Setting.__annotations__.keys()
        if unknown:
            raise TypeError(f"a setting has no {', '.join(unknown)}")
        self.name, self.kind, self.default, self.help = name, kind, default, help
        self.__dict__.update(details)

    @property
    def variable(self) -> str:
        return "MILLRACE_" + self.name.upper()

    @property
    def hint_name(self) -> str:
        return "millrace_" + self.name if self.hint else ""

    @property
    def option_name(self) -> str:
        return "--" + self.name.replace("_", "-") if self.option else ""

    @property
    def takes_value(self) -> bool:
        """True if the option is followed by a value; a switch has two options instead."""
        return self.option and self.kind != "switch"

    @property
    def allowed(self) -> str:
        """The allowed values, for users."""
        if self.kind == "choice":
            return ", ".join(self.choices)
        if self.kind == "switch":
            return "0 or 1"
        if self.kind == "paths":
            return "glob patterns, none of them empty"
        if self.kind == "bytes":
            text = f"{format_bytes(self.low)} to {format_bytes(self.high)}"
            text = ("a power of two, " if self.power_of_two else "") + text
            text = ("auto, or " if self.automatic else "") + text
            return text + (f", or 0 = {self.zero_means}" if self.zero_means else "")
        if self.kind == "count":
            return ("auto, or " if self.automatic else "") + f"a number from {self.low} to {self.high}"
        if self.kind == "names":
            return "names, separated by commas"
        if self.kind == "duration":
            return f"{format_duration(self.low)} to {format_duration(self.high)}"
        if self.kind == "path":
            return "a path"
        return "up to 64 printable characters"


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "strategy",
        "choice",
        "auto",
        "How records reach the file.",
        choices=("auto", "immediate", "sort", "journal"),
        hint=True,
    ),
    Setting("merge", "switch", "1", "Join adjacent records in the sort buffer.", hint=True),
    Setting(
        "sort_buffer",
        "bytes",
        "256MiB",
        "Memory of the agent for sorting, per file and node.",
        low=MIB,
        high=TIB,
        hint=True,
    ),
    Setting(
        "durability",
        "choice",
        "server",
        "Where the bytes are when a close returns: in the file system, on its disk, or on a disk of this node.",
        choices=("server", "disk", "node"),
        hint=True,
    ),
    Setting(
        "sink",
        "choice",
        "auto",
        "How the agent writes the file: through the page cache, past it, or the faster of the two.",
        choices=("auto", "buffered", "direct"),
        hint=True,
    ),
    Setting(
        "channel",
        "bytes",
        "1MiB",
        "Shared memory between one rank and the agent.",
        low=64 * KIB,
        high=16 * MIB,
        power_of_two=True,
    ),
    Setting(
        "direct_above",
        "bytes",
        "auto",
        "Contiguous pieces of at least this size bypass the pipeline; all smaller ones take it. auto: the way that is "
        "expected to take less time.",
        low=1,
        high=TIB,
        automatic=True,
        zero_means="auto",
    ),
    Setting(
        "timeout",
        "duration",
        "60s",
        "Bound of every wait for an agent, or for anything else but a file system, that makes no progress.",
        low=100,
        high=86_400_000,
    ),
    Setting(
        "storage_timeout",
        "duration",
        "1800s",
        "Bound of every wait for a file system that does not answer. After `timeout`, a line on stderr names it.",
        low=1_000,
        high=2_592_000_000,
    ),
    Setting(
        "write_within",
        "duration",
        "5s",
        "Longest time from a write until its bytes are in the file, without a sync.",
        low=100,
        high=86_400_000,
    ),
    Setting(
        "topology",
        "choice",
        "auto",
        "Order in which the agents of several nodes pass records on.",
        choices=("auto", "ring", "tree", "direct"),
        hint=True,
    ),
    Setting(
        "file_servers",
        "count",
        "auto",
        "Nodes whose agents write a file that several nodes have open; at most one per node. 0: the MPI library alone "
        "writes it.",
        low=0,
        high=64,
        automatic=True,
        hint=True,
    ),
    Setting(
        "stage",
        "choice",
        "auto",
        "A file that several nodes read: MPI_File_open copies it to all of them (whole), or the agents send to "
        "each node what it wants (pieces).",
        choices=("auto", "none", "whole", "pieces"),
        hint=True,
    ),
    Setting(
        "target",
        "choice",
        "shared",
        "The file of a path: one that all nodes see, or one on the disk of the first rank's node.",
        choices=("shared", "first"),
        hint=True,
    ),
    Setting("interfaces", "names", "", "Network interfaces for other nodes, best first; none: the first that is up."),
    Setting(
        "paths",
        "paths",
        "",
        "Accelerate only files of these names. Files of a pattern that begins with ! stay with the MPI library.",
    ),
    Setting("posix", "switch", "0", "Also accelerate plain files: read, write, fwrite, Fortran; not only MPI-IO."),
    Setting(
        "posix_async",
        "paths",
        "",
        "Plain files whose writes return early; fsync and close finish them. Includes --posix.",
    ),
    Setting(
        "posix_stage",
        "paths",
        "",
        "Plain files that all ranks read: MPI_Init copies them to every node, where reading opens find them. Includes "
        "--posix.",
    ),
    Setting("stats", "path", "", "Reports, one JSON document per line, are appended here.", toml=False),
    Setting("trace", "path", "", "Directory for one trace file per process.", toml=False),
    Setting(
        "job",
        "key",
        "",
        "Key of the job; processes with the same key share an agent.",
        option=False,
        toml=False,
    ),
    Setting("agent", "path", "", "The agent's program, millraced.", option=False),
    Setting(
        "journal_directory",
        "path",
        "",
        "Node-local directory of journals, on a disk; empty = /var/tmp.",
        option=False,
    ),
    Setting(
        "stage_directory",
        "path",
        "",
        "Node-local directory for copies of files that are read; empty = TMPDIR or /tmp.",
        option=False,
    ),
)
