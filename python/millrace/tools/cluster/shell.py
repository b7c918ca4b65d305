# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Stands in for ssh: MPI launchers call it as `AGENT [options] HOST COMMAND...` to start their part on a node.

As with ssh, the words are joined and given to a shell, which starts in the home folder, with an environment of
its own and not the caller's.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from millrace.tools.cluster import client, launchers
from millrace.tools.cluster.state import ClusterError, Spec

EXIT_SSH = 255
_WITH_VALUE = "BbcDEeFIiJLlmOopQRSWw"  # ssh's options with an argument


def split(words: list[str]) -> tuple[str, list[str]]:
    """The host and the command in ssh's words."""
    i = 0
    while i < len(words) and words[i].startswith("-"):
        option = words[i]
        i += 1
        if option == "--":
            break
        if len(option) == 2 and option[1] in _WITH_VALUE:
            i += 1
    if i >= len(words):
        raise ClusterError("usage: AGENT [options of ssh] HOST COMMAND...", EXIT_SSH)
    return words[i].rsplit("@", 1)[-1], words[i + 1 :]


def login_environment(spec: Spec) -> dict[str, str]:
    """The environment of a login on a node, with the launchers' settings as in /etc/environment.

    Not the preload: launchers take the environment of their ranks along by themselves.
    """
    home = os.path.expanduser("~")
    base = {
        "HOME": home,
        "USER": "root",
        "LOGNAME": "root",
        "SHELL": "/bin/sh",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
    }
    made = launchers.environment(spec, base)
    made.pop("LD_PRELOAD", None)
    return made


def main(folder: str, words: list[str]) -> int:
    try:
        place = Path(folder)
        spec = Spec(**client.read_spec(place))
        host, command = split(words)
        names = launchers.names(spec)
        if host not in names:
            raise ClusterError(f"'{host}' is not a node of cluster '{spec.name}'", EXIT_SSH)
        argv = ["/bin/sh", "-c", " ".join(command)] if command else ["/bin/sh", "-l"]
        login = login_environment(spec)
        cwd = login["HOME"] if os.path.isdir(login["HOME"]) else "/"
        status = client.run(place, names[host], argv, cwd, login)
    except ClusterError as error:
        print(f"millrace: {error}", file=sys.stderr)
        return EXIT_SSH if error.status == 2 else error.status
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)
