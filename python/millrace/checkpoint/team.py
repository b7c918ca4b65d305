# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""A few threads that share a list of tasks. Their work releases Python's lock: reads, writes, copies, checksums."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

THREADS = 4  # storage seldom needs more, and fewer copy memory at full speed


def usual_size() -> int:
    return max(1, min(THREADS, len(os.sched_getaffinity(0))))


class Team:
    """Starts its helpers at once, because a program that ends can start no thread. They wait for run()."""

    def __init__(self, size: int | None = None) -> None:
        self._ready = threading.Event()
        self._lock = threading.Lock()
        self._tasks: Iterator[Any] = iter(())
        self._work: Callable[[Any], None] | None = None
        self._error: BaseException | None = None
        # No daemon threads: Python waits for them at its end.
        self._helpers: list[threading.Thread] = []
        try:
            for _ in range((size or usual_size()) - 1):
                helper = threading.Thread(target=self._help, name="millrace-checkpoint")
                helper.start()
                self._helpers.append(helper)
        except RuntimeError:  # no more threads are available: fewer do the work too
            pass
        except BaseException:
            self.close()
            raise

    def run(self, tasks: Iterable[Any], work: Callable[[Any], None]) -> None:
        """Calls work(task) for each task, begun in their order; the caller takes part. Raises the first error."""
        try:
            with self._lock:
                if self._error is None:
                    self._tasks, self._work = iter(tasks), work
            self._help(wait=False)
        finally:
            self.close()
        if self._error is not None:
            raise self._error

    def stop(self, error: BaseException) -> None:
        """Begins no further task. run() raises this error."""
        with self._lock:
            self._error = self._error or error
            self._tasks = iter(())

    def close(self) -> None:
        """Ends the helpers, and returns when all have ended."""
        with self._lock:
            self._tasks = iter(())
        self._ready.set()
        for helper in self._helpers:
            helper.join()
        self._work = None

    def _help(self, wait: bool = True) -> None:
        if wait:
            self._ready.wait()
        else:
            self._ready.set()
        while True:
            try:
                with self._lock:
                    task = next(self._tasks, None)
                if task is None:
                    return
                self._work(task)
            except BaseException as error:
                self.stop(error)
                return
