# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Every setting of Millrace, once. The command line reads this table. src/base/generate_settings.py makes from it the
table of the C++ library, the header of the hints, and the tables of docs/reference/settings.md.
"""

from __future__ import annotations

from millrace.units import MIB, TIB, format_bytes, format_duration


class Setting:
    """One setting. `name` is its TOML name; option, variable and hint follow from it."""

    choices: tuple[str, ...] = ()
    low: int = 0
    high: int = 0
    automatic: bool = False  # "auto" is allowed too
    hint: bool = False  # can be given per file as an MPI_Info hint
    registered: bool = False  # a member of FileSettings, which ranks send to the agent with each file
    internal: bool = False  # only a variable, for `millrace run`, tests and measurements; not for users
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
        if self.internal:
            self.option = self.toml = False

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
            return ("auto, or " if self.automatic else "") + f"{format_bytes(self.low)} to {format_bytes(self.high)}"
        if self.kind == "count":
            return ("auto, or " if self.automatic else "") + f"a number from {self.low} to {self.high}"
        if self.kind == "names":
            return "names, separated by commas"
        if self.kind == "duration":
            return f"{format_duration(self.low)} to {format_duration(self.high)}"
        if self.kind == "path":
            return "a path of less than 4096 bytes"
        return "up to 64 printable characters without spaces"


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "strategy",
        "choice",
        "auto",
        "How records reach the file.",
        choices=("auto", "immediate", "sort", "journal"),
        hint=True,
        registered=True,
    ),
    Setting("merge", "switch", "1", "Join adjacent records in the sort buffer.", hint=True, registered=True),
    Setting(
        "sort_buffer",
        "bytes",
        "256MiB",
        "Memory of the agent for sorting, per file and node.",
        low=MIB,
        high=TIB,
        hint=True,
        registered=True,
    ),
    Setting(
        "durability",
        "choice",
        "server",
        "Where the bytes are when a close returns: in the file system, on its disk, or on a disk of this node.",
        choices=("server", "disk", "node"),
        hint=True,
        registered=True,
    ),
    Setting(
        "sink",
        "choice",
        "auto",
        "How the agent writes the file: through the page cache, past it, or the faster of the two.",
        choices=("auto", "buffered", "direct"),
        hint=True,
        registered=True,
    ),
    Setting(
        "direct_above",
        "bytes",
        "auto",
        "Contiguous pieces of at least this size bypass the pipeline, and all smaller ones take it; auto: pieces take "
        "the faster way.",
        low=1,
        high=TIB,
        automatic=True,
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
        "Bound of every wait for a file system that does not answer; after `timeout`, a line on stderr names it.",
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
        "file_servers",
        "count",
        "auto",
        "Nodes whose agents write a file that several nodes have open, at most one per node; 0: the MPI library alone "
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
        "Accelerate only files of these names; files of a pattern that begins with ! stay with the MPI library.",
    ),
    Setting("posix", "switch", "0", "Also accelerate plain files: read, write, fwrite, Fortran; not only MPI-IO."),
    Setting(
        "posix_async",
        "paths",
        "",
        "Plain files whose writes return early, and that fsync and close finish; includes --posix.",
    ),
    Setting(
        "posix_stage",
        "paths",
        "",
        "Plain files that all ranks read: MPI_Init copies them to every node, where reading opens find them; includes "
        "--posix.",
    ),
    Setting("stats", "path", "", "Reports, one JSON document per line, are appended here.", toml=False),
    Setting("trace", "path", "", "Directory for one trace file per process.", toml=False),
    Setting(
        "journal_directory",
        "path",
        "",
        "Node-local directory of journals, on a disk; empty = /var/tmp.",
        option=False,
    ),
    Setting(
        "job",
        "key",
        "",
        "Key of the job: processes with the same key share an agent; `millrace run` makes a new one.",
        internal=True,
    ),
    Setting("agent", "path", "", "Another agent than the `millraced` beside the library, for tests.", internal=True),
    Setting(
        "topology",
        "choice",
        "auto",
        "Order in which the agents of several nodes pass records on, for measurements.",
        choices=("auto", "ring", "tree", "direct"),
        internal=True,
    ),
)
# Those with an option, a line in a TOML file, or both.
FOR_USERS = tuple(setting for setting in SETTINGS if not setting.internal)

# Variables that are no settings, with their help.
OTHER_VARIABLES = {
    "MILLRACE": "`0` turns Millrace off, also under `millrace run`.",
    "MILLRACE_PREFIX": "The folder of an installation, in place of the one that the command `millrace` belongs to.",
    "MILLRACED_LOG": "A file that the agent appends its log to; each line has a time and a level.",
    "MILLRACED_LINGER_MS": "Milliseconds that the agent stays without ranks, for tests.",
}
