# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Programs of the demo as child processes, bounded in time."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from millrace.doctor import scheduling

RUN_BOUND_S = 120
_END_BOUND_S = 5
_ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


class RunFailed(RuntimeError):
    """A program ended with an error, or did not end in time."""


def execute(
    command: list[str], environment: Mapping[str, str], group: Path | None, bound_s: float = RUN_BOUND_S
) -> str:
    """Returns stdout. Ends the program after the time limit, and when this process is to end."""
    with _starting() as mask:
        child = subprocess.Popen(
            scheduling.wrap(group, command),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env=dict(environment),
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, mask),
        )
    with child:
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            output, errors = child.communicate(timeout=bound_s)
        except subprocess.TimeoutExpired:
            _end(child)
            raise RunFailed(f"no end after {bound_s:.0f} s") from None
        except BaseException:
            _end(child)
            raise
    if child.returncode != 0:
        last = [line for line in (errors or output).splitlines() if line.strip()][-3:]
        raise RunFailed(f"exit status {child.returncode}: {' / '.join(last)}")
    return output


@contextlib.contextmanager
def _starting() -> Iterator[set[int]]:
    """Holds signals back while a program starts: nobody else would end it. The caller then sets the mask of before."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield mask
    except BaseException:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        raise


def _end(child: subprocess.Popen[str]) -> None:
    with undisturbed():
        child.send_signal(signal.SIGTERM)  # the launcher ends its ranks
        try:
            child.communicate(timeout=_END_BOUND_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.communicate()


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """A clean-up that has begun goes on to its end, also if the user presses Ctrl-C again."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
