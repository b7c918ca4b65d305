# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`millrace run` with --stats or --trace: the command is a child, whose reports are collected while it runs."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from millrace.run import agents, container, launcher
from millrace.run.command import EXIT_CANNOT_EXECUTE, Plan, Request, tell
from millrace.run.signals import FORWARDED
from millrace.stats import reader as stats
from millrace.stats import trace

_WATCHED = {signal.SIGCHLD, *FORWARDED}
_FROM_KERNEL = 0x80  # si_code of a signal that the terminal sent, to the whole process group


def _report_folder(plan: Plan) -> Path:
    """The folder for reports during the run. With a launcher, all nodes have to see it."""
    if plan.launcher is not None:
        with contextlib.suppress(OSError):
            return Path(tempfile.mkdtemp(prefix=".millrace-run-", dir=Path.cwd()))
    return Path(tempfile.mkdtemp(prefix="millrace-run-"))


def supervise(plan: Plan, request: Request) -> int:
    """Runs the command as a child, shows reports as they arrive, and ends as the child ended."""
    folder = _report_folder(plan)
    collector = None
    # Blocks the signals before any thread starts. Threads inherit the mask; otherwise a thread would take signals
    # for which _child() waits. After the clean-up, a signal that came meanwhile ends this process.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    try:
        if request.stats is not None:
            lines = folder / "stats"
            if plan.launcher is None:
                lines.touch(mode=0o600)
            else:
                lines.mkdir(mode=0o700)  # a file for each node
            plan.environment["MILLRACE_STATS"] = str(lines)
            collector = stats.Collector(lines, Path(request.stats) if request.stats else None)
            collector.start()
        if request.trace is not None:
            (folder / "trace").mkdir(mode=0o700)
            plan.environment["MILLRACE_TRACE"] = str(folder / "trace")
        added = [name for name in ("MILLRACE_STATS", "MILLRACE_TRACE") if name in plan.environment]
        if plan.container is not None:
            added += container.pass_on(plan.container, plan.environment, added, str(folder))
        command = launcher.forward(plan.command, plan.launcher, added)
        status = _child(command, plan.environment, before)
        agents.end_agents(plan.environment.get("MILLRACE_JOB", ""), stop=_interrupted)
        if collector is not None:
            collector.finish()
        if request.trace is not None:
            events = trace.merge(folder / "trace", Path(request.trace))
            tell(f"{events} events in {request.trace}; open it at https://ui.perfetto.dev")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return end_as(status)


def _interrupted() -> bool:
    """True after a signal that ends this process."""
    return bool(signal.sigpending() & {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})


def _child(command: list[str], environment: dict[str, str], mask: set[signal.Signals]) -> int:
    """Starts the child, passes signals on until the child has ended, and returns its wait status.

    The caller has blocked _WATCHED in all threads; the child gets `mask`.
    """
    try:
        pid = os.posix_spawnp(command[0], command, environment, setsigmask=mask, setsigdef=[signal.SIGPIPE])
    except OSError as error:
        tell(f"{command[0]}: {error.strerror}")
        return EXIT_CANNOT_EXECUTE << 8  # in the form of waitpid
    while True:
        info = signal.sigwaitinfo(_WATCHED)
        if info.si_signo == signal.SIGCHLD:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended == pid:
                return status
        elif info.si_code != _FROM_KERNEL:
            os.kill(pid, info.si_signo)


def end_as(status: int) -> int:
    """The child's exit status; a child that a signal ended ends this process in the same way."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        sys.stdout.flush()
        sys.stderr.flush()
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))  # one dump is enough
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        return 128 + number  # reached if the signal does not end the process
    return os.waitstatus_to_exitcode(status)
