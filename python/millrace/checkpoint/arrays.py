# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Turns the bytes of a file into arrays, of their first kind or of a wanted one."""

from __future__ import annotations

import math
from typing import Any

from millrace.checkpoint import dtypes
from millrace.checkpoint.errors import CheckpointError
from millrace.checkpoint.header import Tensor

LIBRARIES = ("numpy", "torch", "cupy")


class OnDevice:
    """An existing array on a device, whose bytes have not come yet; slices are parts of it."""

    def __init__(self, made: Any, address: int, size: int) -> None:
        self.made = made
        self.address = address
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> OnDevice:
        begin, end, _ = part.indices(self._size)
        return OnDevice(self.made, self.address + begin, end - begin)


def on_device(tensor: Tensor, node: dict[str, Any], library: str | None, device: Any) -> OnDevice | None:
    """None: the bytes come through the host's memory."""
    if (library or node["as"]) != "torch" or node["as"] in ("bytes", "bytearray", "numpy.scalar"):
        return None
    try:
        import torch

        if torch.device(device).type != "cuda":
            return None
        shape, dtype = _torch_type(tensor, node)
        made = torch.empty(shape, dtype=dtype, device=device)
    except (ImportError, ValueError, TypeError):
        return None  # build() reports the error
    torch.cuda.current_stream(made.device).synchronize()
    return OnDevice(made, made.data_ptr(), tensor.bytes)


def build(tensor: Tensor, node: dict[str, Any], raw: Any, library: str | None, device: Any) -> Any:
    """`raw`: the bytes, as a NumPy array that the result may keep, or OnDevice. `library`: one of LIBRARIES, or None:
    as it was."""
    if isinstance(raw, OnDevice):
        return raw.made
    kind = node["as"]
    if kind in ("bytes", "bytearray"):
        return raw.tobytes() if kind == "bytes" else bytearray(raw)
    try:
        if kind == "numpy.scalar":
            return _numpy(tensor, node, raw)[()]
        kind = library or kind
        if kind == "numpy":
            return _numpy(tensor, node, raw)
        if kind == "torch":
            return _torch(tensor, node, raw, device)
        if kind == "cupy":
            return _cupy(_numpy(tensor, node, raw), device)
    except ImportError as error:
        raise CheckpointError(
            f"{tensor.name!r} needs {kind}, which is not installed ({error}); "
            "arrays='numpy' makes NumPy arrays of all"
        ) from None
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{tensor.name!r} cannot be made an array of {kind}: {error}") from None
    raise CheckpointError(f"{tensor.name!r} was an array of {kind}, which this Millrace does not know")


def _numpy(tensor: Tensor, node: dict[str, Any], raw: Any) -> Any:
    import numpy as np

    note = node.get("dtype")
    if node["as"] == "torch" and note not in dtypes.COMPLEX:
        note = None
    dtype = dtypes.to_numpy(tensor.dtype, note)
    if dtype.hasobject:
        raise ValueError("the tree says that it holds Python objects")
    stored = dtypes.of_numpy(dtype)
    shape = tensor.shape[: len(tensor.shape) - len(stored.last)]
    if tensor.dtype == "C64":
        shape = tensor.shape
    elif stored.name != tensor.dtype or (*shape, *stored.last) != tensor.shape:
        raise ValueError(f"{tensor.dtype} of shape {list(tensor.shape)} cannot be viewed as {dtype}")
    if not raw.size:
        return np.zeros(shape, dtype)
    if dtypes.is_swapped(dtype):
        raw.view(dtype.newbyteorder("<")).byteswap(inplace=True)
    return raw.view(dtype).reshape(shape)


def _torch_type(tensor: Tensor, node: dict[str, Any]) -> tuple[Any, Any]:
    """Shape and type."""
    note = node.get("dtype")
    if note is None:
        return tensor.shape, dtypes.to_torch(tensor.dtype, None)
    if note in dtypes.COMPLEX or note in ("<c8", "<c16", ">c8", ">c16"):
        note = {"F32": "complex64", "F64": "complex128"}.get(tensor.dtype)
        if note is None or tensor.shape[-1:] != (2,):
            raise ValueError(f"{tensor.dtype} of shape {list(tensor.shape)} cannot be viewed as complex numbers")
        return tensor.shape[:-1], dtypes.to_torch(tensor.dtype, note)
    if not isinstance(note, str) or note[:2] not in (">i", ">u", ">f"):
        raise ValueError(f"torch has no type for {note}")
    return tensor.shape, dtypes.to_torch(tensor.dtype, None)


def _torch(tensor: Tensor, node: dict[str, Any], raw: Any, device: Any) -> Any:
    import torch

    shape, dtype = _torch_type(tensor, node)
    flat = torch.from_numpy(raw).view(dtype) if raw.size else torch.empty(0, dtype=dtype)
    made = flat.reshape(shape)
    return made if device is None else made.to(device)


def _cupy(array: Any, device: Any) -> Any:
    import cupy

    if device is None:
        return cupy.asarray(array)
    number = device if isinstance(device, int) else int(str(device).removeprefix("cuda").removeprefix(":") or 0)
    with cupy.cuda.Device(number):
        return cupy.asarray(array)


def check_size(tensor: Tensor) -> None:
    if math.prod(tensor.shape) and dtypes.BITS[tensor.dtype] < 8:
        raise CheckpointError(f"{tensor.name!r} has elements of {tensor.dtype}, smaller than a byte: unsupported")
