# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""millrace.save: in the foreground or the background."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import traceback
from typing import Any

from millrace.checkpoint.team import Team
from millrace.checkpoint.writer import Plan, Writer

AT_ONCE = 2  # saves in the background; each may hold a copy of a whole tree

_lock = threading.Lock()
_under_way: dict[int, Saving] = {}
_unheard: dict[int, Saving] = {}  # failed saves whose error no caller has received


class Saving:
    """A checkpoint that is being saved, or is saved. The end of the program waits for it."""

    def __init__(self, path: str, plan: Plan, sync: bool, threads: int | None, in_background: bool) -> None:
        self.path = path
        self._in_background = in_background
        self.bytes = plan.bytes
        self.seconds = 0.0  # the time of the save, once it is done
        self._process = os.getpid()
        self._over = threading.Event()
        self._error: BaseException | None = None
        self._abandoned = False
        self._threads = threads
        self._team: Team | None = None
        self._thread = threading.Thread(target=self._run, args=(Writer(plan, path, sync),), name="millrace-checkpoint")

    def done(self) -> bool:
        """True if wait() would return or raise at once."""
        return self._over.is_set()

    def wait(self, timeout: float | None = None) -> None:
        """Returns when the checkpoint is complete and under its name. Raises the error of the save, or TimeoutError."""
        if os.getpid() != self._process:
            raise RuntimeError(f"only the process that began to save {self.path} can wait for it, not its children")
        if not self._over.wait(timeout):
            raise TimeoutError(f"{self.path} is not saved after {timeout} s; saving goes on")
        with _lock:
            _unheard.pop(id(self), None)
        if self._error is not None:
            raise self._error

    def _start(self) -> None:
        """Call it once. Ctrl-C may come at any point: the caller then has to abandon this save."""
        self._team = Team(self._threads)
        self._thread.start()

    def _run(self, writer: Writer) -> None:
        begin = time.monotonic()
        try:
            writer.run(self._team)
        except BaseException as error:
            _forget_frames(error)
            self._error = error
        finally:
            del writer
            self._team.close()
            self.seconds = time.monotonic() - begin
            with _lock:
                _under_way.pop(id(self), None)
                if self._error is not None and not self._abandoned:
                    _unheard[id(self)] = self
            self._over.set()

    def _abandon(self, reason: BaseException) -> None:
        """Ends the write, if it has begun. A nameless file vanishes. May be called again."""
        self._abandoned = True
        if self._team is not None:
            self._team.stop(reason)
            if self._thread.is_alive():
                self._thread.join()
            else:
                self._team.close()  # a thread that is just being started finds no task and ends
        with _lock:
            _under_way.pop(id(self), None)
            _unheard.pop(id(self), None)
        self._over.set()


def save(
    path: str | os.PathLike[str],
    tree: Any,
    *,
    wait: bool = True,
    copy: bool = True,
    checksum: bool = True,
    fsync: bool = True,
    threads: int | None = None,
) -> Saving:
    """Saves a tree of arrays as the file `path`. At any time `path` is the complete old file or the complete new one.

    The tree: dictionaries, lists, tuples, numbers, strings, bytes; arrays of NumPy, torch, CuPy, or anything with
    DLPack, `__cuda_array_interface__` or the buffer protocol. The file is a safetensors file with additional metadata.

    - wait: False returns while the file is being written; the result's wait() gives the outcome. Two saves can run
      at once, but only one for each path: a further call first waits for one of them.
    - copy: with wait=False, whether arrays are copied first, so that they may be changed at once. If not, do not
      change them until the save is done.
    - checksum: whether the file has checksums, so that load() finds changed bytes.
    - fsync: whether the file is on the disk when the save is done. If not, it survives only the end of this process.
    - threads: the number of threads that write (default: one for each processor, at most 4).

    Raises TypeError or ValueError for values that cannot be saved, OSError for errors of the file system. Then `path`
    is the file that it was before.
    """
    name = os.fspath(path)
    if not isinstance(name, str):
        name = os.fsdecode(name)
    plan = Plan(tree, checksum)
    if copy and not wait:
        _await_turn(name, True)
        plan.snapshot(threads)
    saving = Saving(name, plan, fsync, threads, not wait)
    try:
        _begin(saving)
        if wait:
            saving.wait()
    except BaseException as error:
        saving._abandon(error)
        raise
    return saving


def _begin(saving: Saving) -> None:
    """Starts the save when it is its turn."""
    while True:
        _await_turn(saving.path, saving._in_background)
        with _lock:
            if _ahead(saving.path, saving._in_background) is None:
                _under_way[id(saving)] = saving
                saving._start()
                return


def _await_turn(path: str, in_background: bool) -> None:
    while True:
        with _lock:
            other = _ahead(path, in_background)
        if other is None:
            return
        other._over.wait()


def _ahead(path: str, in_background: bool) -> Saving | None:
    """A save that has to be done first."""
    target = os.path.realpath(path)
    for other in _under_way.values():
        if os.path.realpath(other.path) == target:
            return other
    others = [other for other in _under_way.values() if other._in_background]
    return others[0] if in_background and len(others) >= AT_ONCE else None


def _forget_frames(error: BaseException | None) -> None:
    """Clears the variables of the error's frames, so that a waiting error keeps no arrays."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


def _tell_unheard() -> None:
    for saving in list(_unheard.values()):
        print(f"millrace: {saving.path} was not saved: {saving._error}", file=sys.stderr)


def _begin_anew_in_child() -> None:
    global _lock
    _lock = threading.Lock()
    _under_way.clear()
    _unheard.clear()


atexit.register(_tell_unheard)
os.register_at_fork(after_in_child=_begin_anew_in_child)
