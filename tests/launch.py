# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""How tests start an MPI program, with more ranks than cores, and read the reports of its ranks."""

import json
import os
import signal
import subprocess


def launch(launcher, mpi, ranks):
    """The words before the program; `mpi` is "mpich" or "ompi"."""
    words = [str(launcher)]
    if mpi == "ompi":
        words += ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
        words += ["--mca", "btl_base_warn_component_unused", "0"]
        if os.geteuid() == 0:
            words.append("--allow-run-as-root")
    return [*words, "-n", str(ranks)]


def bounded(command, environment, bound_s):
    """(exit status, stdout, stderr), in a session of its own. After the time limit it is killed, with status None."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, start_new_session=True, **pipes) as process:
        try:
            out, err = process.communicate(timeout=bound_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None, *process.communicate()
    return process.returncode, out, err


def start(command, environment, folder, cwd):
    """In a session of its own; its output goes to the files `out` and `err` of the folder."""
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        files = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err}
        words = [str(word) for word in command]
        return subprocess.Popen(words, env=environment, cwd=cwd, start_new_session=True, **files)


def of_ranks(stats):
    """The reports of ranks in a file of MILLRACE_STATS; none if it is not there."""
    lines = stats.read_text().splitlines() if stats.exists() else []
    return [one for one in map(json.loads, lines) if one.get("kind") == "client"]
