# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Rounds in which all ways take turns."""

from __future__ import annotations

import gc
import os
import pathlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from bars.launch import run_json

from .methods import Method

PHASES = ("save", "save_fsync", "load", "load_cold")


def state_of(size: int, arrays: int) -> dict[str, np.ndarray]:
    """About `size` bytes of random numbers, of which every array has other ones."""
    count = max(1, size // arrays // 4)
    block = np.random.default_rng(1).random(count, np.float32)
    return {f"layer{i}.weight": np.roll(block, i) for i in range(arrays)}


def warm(size: int) -> None:
    """Memory that a virtual machine's host took back is slow the first time: that is nobody's fault here."""
    memory = np.empty(size, np.uint8)
    memory[::4096] = 1
    del memory


def forget(path: pathlib.Path) -> None:
    """The file's pages leave the page cache."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def _tensors(state: dict[str, np.ndarray], device: str | None) -> dict[str, Any]:
    import torch

    return {name: torch.from_numpy(array).to(device or "cpu") for name, array in state.items()}


def _finish() -> None:
    """What was begun on the device has been done."""
    import torch

    torch.cuda.synchronize()


class Rounds:
    """`rates[method][phase]`: MiB/s, one for each round; `processor`: seconds of all threads, likewise. `waits[way]`:
    seconds."""

    def __init__(
        self, folder: pathlib.Path, state: dict[str, np.ndarray], methods: list[Method], device: str | None
    ) -> None:
        self._path = folder / "checkpoint"
        self._state = state
        self._device = device
        self._tensors = _tensors(state, device) if any(one.tensors for one in methods) else None
        self._methods = methods
        self._size = sum(array.nbytes for array in state.values())
        self.rates: dict[str, dict[str, list[float]]] = {one.name: {p: [] for p in PHASES} for one in methods}
        self.processor: dict[str, dict[str, list[float]]] = {one.name: {p: [] for p in PHASES} for one in methods}
        self.waits: dict[str, list[float]] = {}
        self.wrong: list[str] = []

    def run(self, rounds: int) -> None:
        for number in range(rounds):
            for method in self._methods:
                self._one(method, compare=number == 0)
            for name, how in (("copied", {"copy": True}), ("borrowed", {"copy": False})):
                self.waits.setdefault(name, []).append(self._background(how))

    def _one(self, method: Method, compare: bool) -> None:
        state: Any = self._tensors if method.tensors else self._state
        for phase, fsync in (("save", False), ("save_fsync", True)):
            self._fresh()
            self._timed(method, phase, lambda fsync=fsync: method.save(self._path, state, fsync))
        for phase in ("load", "load_cold"):
            if phase == "load_cold":
                forget(self._path)
            warm(self._size)
            found = self._timed(method, phase, lambda: method.load(self._path, self._device))
            if compare and not self._is_right(method, found):
                self.wrong.append(f"{method.name}: {phase}")
            del found
        self._path.unlink()

    def _is_right(self, method: Method, found: Any) -> bool:
        if method.is_limit:
            return bool(np.array_equal(found.view(np.float32), np.concatenate(list(self._state.values()))))
        return found.keys() == self._state.keys() and all(
            np.array_equal(self._state[name], array.cpu() if method.tensors else array) for name, array in found.items()
        )

    def _background(self, how: dict[str, bool]) -> float:
        """How long the program waits."""
        import millrace

        self._fresh()
        begin = time.perf_counter()
        saving = millrace.save(self._path, self._state if self._device is None else self._tensors, wait=False, **how)
        waited = time.perf_counter() - begin
        saving.wait()
        self._path.unlink()
        return waited

    def _fresh(self) -> None:
        self._path.unlink(missing_ok=True)
        os.sync()
        warm(2 * self._size)

    def _timed(self, method: Method, phase: str, work: Callable[[], Any]) -> Any:
        gc.collect()
        begin, processor = time.perf_counter(), time.process_time()
        result = work()
        if method.tensors and self._device is not None:
            _finish()
        self.rates[method.name][phase].append(self._size / (1 << 20) / (time.perf_counter() - begin))
        self.processor[method.name][phase].append(time.process_time() - processor)
        return result


def disk(build: pathlib.Path, folder: pathlib.Path, size: int, repetitions: int) -> dict[str, Any] | None:
    """What bench/limit says of one stream with fsync; None where it is not built."""
    program = build / "bin/bench/limit"
    if not program.exists():
        return None
    command = [str(program), "-o", str(folder / "limit"), "-b", str(size), "-i", str(repetitions)]
    document = run_json(command, None, 600)
    return {"mib_s": document["limit_mib_s"], "best": document["best"]}
