# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""A program in a session of its own, bounded in time: all that it started ends with it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


class RunFailed(RuntimeError):
    """A program ended with an error, or did not end in time; the text says how."""


def output(command: Sequence[object], bound_s: float, environment: Mapping[str, str] | None = None) -> str:
    """stdout of a program that ends well."""
    status, out, err = bounded(command, bound_s, environment)
    if status != 0:
        raise RunFailed(f"exit status {status}: {tail(err or out)}")
    return out


def bounded(
    command: Sequence[object], bound_s: float, environment: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """(exit status, stdout, stderr). Ends the session after the time limit, and when this process is to end."""
    with _starting() as mask:
        child = subprocess.Popen(
            [str(word) for word in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env=environment,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, mask),
        )
    with child:
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            out, err = child.communicate(timeout=bound_s)
        except subprocess.TimeoutExpired:
            end(child)
            raise RunFailed(f"no end within {bound_s:.0f} s") from None
        except BaseException:
            end(child)
            raise
    return child.returncode, out, err


def tail(text: str) -> str:
    """The last lines of what a program said."""
    return " | ".join([line for line in text.splitlines() if line.strip()][-3:])


@contextlib.contextmanager
def _starting() -> Iterator[set[int]]:
    """Holds signals back while a program starts: nobody else would end it. The caller then sets the mask of before."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield mask
    except BaseException:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        raise


def end(child: subprocess.Popen[str], bound_s: float = 5) -> None:
    """Ends all processes of the child's session: politely, and after the time limit not."""
    with undisturbed():
        for sign in (signal.SIGTERM, signal.SIGKILL):
            for pid in members(child.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, sign)
            deadline = time.monotonic() + bound_s
            while members(child.pid) and time.monotonic() < deadline:
                child.poll()
                time.sleep(0.05)
        child.wait()


def members(session: int) -> list[int]:
    """Processes of the session: launchers put ranks into process groups of their own, but not sessions."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                if int(fields[3]) == session and fields[0] != "Z":
                    found.append(int(entry.name))
    return found


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """A clean-up that has begun goes on to its end, also if the user presses Ctrl-C again."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
