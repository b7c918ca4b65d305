# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Programs in containers of Apptainer or Singularity: binds what Millrace needs, and passes its variables on.

Both read binds and variables from their environment, so the user's command stays as it is.
"""

from __future__ import annotations

import os

from millrace.run import journals

TYPE_CHECKING = False  # importing typing takes longer than `run` may take
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NAMES = ("apptainer", "singularity")
_STARTING = ("exec", "run", "shell")
_CONTAIN = {"-c", "--contain", "-C", "--containall"}
# With these, the ranks of a node cannot share an agent.
_APART = {"-C", "--containall", "-p", "--pid", "-n", "--net"}
_WITH_VALUE = set(
    "-B --bind --mount --env --env-file -H --home -o --overlay -S --scratch -W --workdir --pwd --cwd --app "
    "--apply-cgroups --add-caps --drop-caps --security --dns --hostname --network --network-args --fusemount "
    "--pem-path --no-mount --cpus --cpu-shares --cpuset-cpus --cpuset-mems --memory --memory-reservation "
    "--memory-swap --pids-limit --blkio-weight --blkio-weight-device --docker-username --docker-password "
    "--docker-host --authfile --config".split()
)


class Container:
    """The container program at the start of a command, and the options that matter here."""

    def __init__(self, name: str, options: set[str]) -> None:
        self.name = name
        self.contained = bool(options & _CONTAIN)
        self.apart = sorted(options & _APART)

    def inner(self, variable: str) -> str:
        """The variable outside that sets `variable` inside of the container, also with --cleanenv."""
        return f"{self.name.upper()}ENV_{variable}"

    @property
    def bind(self) -> str:
        return f"{self.name.upper()}_BIND"


def is_container(words: Sequence[str]) -> bool:
    """True if a command starts a container program. Cheap, because every run asks."""
    return bool(words) and os.path.basename(words[0]) in _NAMES


def read(words: Sequence[str]) -> Container | None:
    """None if the command starts no program in a container (apptainer build, apptainer --version)."""
    options, subcommand, skip = set(), "", False
    for word in words[1:]:
        if skip:
            skip = False
        elif word.startswith("-"):
            options.add(word.split("=", 1)[0])
            skip = word in _WITH_VALUE or (not subcommand and word == "-c")  # -c FILE stands before the subcommand
            if skip and not subcommand:
                options.discard(word)
        elif subcommand:
            break  # the image: what follows belongs to the program
        else:
            subcommand = word
    if subcommand not in _STARTING:
        return None
    return Container(os.path.basename(words[0]), options)


def find(parts: Sequence[Sequence[str]]) -> Container | None:
    """The container of the programs; with several programs, all their options together. None if none has one."""
    found = [one for one in (read(words) for words in parts if is_container(words)) if one is not None]
    if not found:
        return None
    first = found[0]
    first.contained = any(one.contained for one in found)
    first.apart = sorted({option for one in found for option in one.apart})
    return first


def _folders(values: Mapping[str, str], environment: Mapping[str, str], contained: bool) -> list[str]:
    """The folders of journals and staged files. Containers have the node's /tmp and /var/tmp, unless they are told not
    to."""
    wanted = [values.get("MILLRACE_JOURNAL_DIRECTORY") or journals.DEFAULT, environment.get("TMPDIR") or "/tmp"]
    folders = [os.path.abspath(folder) for folder in dict.fromkeys(wanted) if os.path.isdir(folder)]
    there = [folder for folder in folders if f"{folder}/".startswith("/tmp/") or folder == journals.DEFAULT]
    return [folder for folder in folders if contained or folder not in there]


def enter(
    found: Container, root: str, variables: Mapping[str, str], environment: Mapping[str, str], alone: bool
) -> tuple[dict[str, str], str]:
    """The variables for the container program, made of those for the program inside; and a line that says what is
    bound. `alone`: no program of the command runs outside of a container, so nothing is preloaded there."""
    theirs = environment.get(found.inner("LD_PRELOAD"), "")
    inside = dict(variables)
    ours = [word for word in inside["LD_PRELOAD"].split(":") if word.startswith(root)]
    made = {found.inner(name): value for name, value in inside.items()}
    made[found.inner("LD_PRELOAD")] = ":".join([*ours, theirs] if theirs else ours)
    if alone:
        del inside["LD_PRELOAD"]
    local = _folders({**environment, **inside}, environment, found.contained)
    binds = [f"{root}:{root}:ro", *(f"{folder}:{folder}" for folder in local)]
    add_binds(made, found, binds, environment)
    also = f" and {', '.join(local)}" if local else ""
    line = f"{found.name} binds {root} (read-only){also} into the container, and preloads Millrace there"
    return {**inside, **made}, line


def pass_on(found: Container, environment: dict[str, str], names: Sequence[str], folder: str) -> list[str]:
    """Passes more variables, and a folder of this run, into the container; returns the variables that do so."""
    for name in names:
        environment[found.inner(name)] = environment[name]
    add_binds(environment, found, [f"{folder}:{folder}"], environment)
    return [found.inner(name) for name in names]


def add_binds(made: dict[str, str], found: Container, binds: Sequence[str], environment: Mapping[str, str]) -> None:
    """Adds to the binds that are asked for already."""
    before = made.get(found.bind) or environment.get(found.bind, "")
    made[found.bind] = ",".join([*([before] if before else []), *binds])
