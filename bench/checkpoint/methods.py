# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The ways. Each saves and loads a dictionary of NumPy arrays, or of torch tensors in the same memory or on a GPU."""

from __future__ import annotations

import importlib.util
import os
import pathlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

BLOCK = 8 << 20
Arrays = dict[str, np.ndarray]


class Method(NamedTuple):
    name: str
    save: Callable[[pathlib.Path, Any, bool], None]  # path, state, fsync
    load: Callable[[pathlib.Path, str | None], Any]  # path, the device of torch's tensors
    needs: str = ""  # the package, if not everybody has it
    tensors: bool = False  # the state is torch's
    is_limit: bool = False

    @property
    def packages(self) -> set[str]:
        return {name for name in (self.needs, "torch" if self.tensors else "") if name}


def sync(path: pathlib.Path, wanted: bool) -> None:
    if wanted:
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def _stream_save(path: pathlib.Path, state: Arrays, fsync: bool) -> None:
    with open(path, "wb", buffering=0) as file:
        for array in state.values():
            view = memoryview(array).cast("B")
            for begin in range(0, len(view), BLOCK):
                file.write(view[begin : begin + BLOCK])
    sync(path, fsync)


def _stream_load(path: pathlib.Path, device: str | None) -> np.ndarray:
    data = np.empty(path.stat().st_size, np.uint8)
    with open(path, "rb", buffering=0) as file:
        at = 0
        while at < len(data):
            at += file.readinto(memoryview(data)[at : at + BLOCK])
    return data


def _numpy_save(path: pathlib.Path, state: Arrays, fsync: bool) -> None:
    with open(path, "wb") as file:
        np.savez(file, **state)
    sync(path, fsync)


def _numpy_load(path: pathlib.Path, device: str | None) -> Arrays:
    with np.load(path) as found:
        return {name: found[name] for name in found.files}


def _torch_save(path: pathlib.Path, state: Any, fsync: bool) -> None:
    import torch

    torch.save(state, path)
    sync(path, fsync)


def _torch_load(path: pathlib.Path, device: str | None) -> Any:
    import torch

    return torch.load(path, weights_only=True, map_location=device)


def _safetensors_save(path: pathlib.Path, state: Arrays, fsync: bool) -> None:
    from safetensors.numpy import save_file

    save_file(state, path)
    sync(path, fsync)


def _safetensors_load(path: pathlib.Path, device: str | None) -> Arrays:
    from safetensors.numpy import load_file

    return load_file(path)


def _safetensors_torch_save(path: pathlib.Path, state: Any, fsync: bool) -> None:
    from safetensors.torch import save_file

    save_file(state, path)
    sync(path, fsync)


def _safetensors_torch_load(path: pathlib.Path, device: str | None) -> Any:
    from safetensors.torch import load_file

    return load_file(path, device=device or "cpu")


def _millrace_save(**how: Any) -> Callable[[pathlib.Path, Any, bool], None]:
    def save(path: pathlib.Path, state: Any, fsync: bool) -> None:
        import millrace

        millrace.save(path, state, fsync=fsync, **how)

    return save


def _millrace_load(**how: Any) -> Callable[[pathlib.Path, str | None], Any]:
    def load(path: pathlib.Path, device: str | None) -> Any:
        import millrace

        return millrace.load(path, device=device, **how)

    return load


METHODS = (
    Method("stream", _stream_save, _stream_load, is_limit=True),
    Method("numpy.savez", _numpy_save, _numpy_load),
    Method("torch.save", _torch_save, _torch_load, "torch", tensors=True),
    Method("safetensors", _safetensors_save, _safetensors_load, "safetensors"),
    Method("safetensors, torch", _safetensors_torch_save, _safetensors_torch_load, "safetensors", tensors=True),
    Method("millrace", _millrace_save(), _millrace_load()),
    Method("millrace, no checksums", _millrace_save(checksum=False), _millrace_load()),
    Method("millrace, torch", _millrace_save(), _millrace_load(), "torch", tensors=True),
    Method(
        "millrace, torch, no checksums",
        _millrace_save(checksum=False),
        _millrace_load(),
        "torch",
        tensors=True,
    ),
)


def ours(device: str | None) -> str:
    """The name of the way that results are about."""
    return "millrace" if device is None else "millrace, torch"


def available(device: str | None) -> tuple[list[Method], list[str]]:
    """Those that can run here, and the names of others. On a device: torch's, beside the stream from host memory."""
    wanted = [one for one in METHODS if device is None or one.tensors or one.is_limit]
    there = [one for one in wanted if all(importlib.util.find_spec(name) for name in one.packages)]
    return there, [one.name for one in wanted if one not in there]
