# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Signals that a command passes on to the command for which it stands, and signals that end a command."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

FORWARDED = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGCONT,
    signal.SIGALRM,
)


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Turns signals that end this process into exceptions, as Ctrl-C is, so that the clean-up runs."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
