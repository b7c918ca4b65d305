# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Bytes that calls read or write: of this process, or of a device."""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any, NamedTuple

from millrace.api import native

_LEGACY_STREAM = (None, 1)  # of __cuda_array_interface__: copies wait for these streams in any case
_CUDA = 2  # of DLPack


class Bytes(NamedTuple):
    """The address of bytes. `keep` is their owner, held as long as the bytes are used."""

    address: int
    size: int
    device: Any  # native.Handle; None: this process, or a CUDA device that the address identifies
    keep: Any


def of(value: Any, writable: bool = False) -> Bytes:
    """The bytes of anything with the buffer protocol, of arrays on CUDA devices, or of millrace.Memory.

    Raises TypeError for others, BufferError for what is not contiguous, or read-only where that does not do.
    """
    found = getattr(value, "_millrace_bytes", None)
    if found is not None:
        return found()
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _of_torch(torch, value)
    if hasattr(value, "__cuda_array_interface__"):
        return _of_cuda(value, writable)
    try:
        view = memoryview(value)
    except TypeError:
        return _of_dlpack(value, writable)
    if not view.c_contiguous:
        raise BufferError("the memory is not contiguous; copy it first")
    if writable and view.readonly:
        raise BufferError("the memory is read-only")
    return Bytes(native.address_of(view), view.nbytes, None, view)


def _of_cuda(value: Any, writable: bool) -> Bytes:
    facts = value.__cuda_array_interface__
    size = int(facts["typestr"][2:])
    expected = size
    for length, stride in zip(reversed(facts["shape"]), reversed(facts.get("strides") or ()), strict=False):
        if length > 1 and stride != expected:
            raise BufferError("the array on the device is not contiguous; copy it first")
        expected *= length
    for length in facts["shape"]:
        size *= length
    address, readonly = facts["data"]
    if writable and readonly:
        raise BufferError("the array on the device is read-only")
    _await_stream(facts.get("stream"))
    return Bytes(address or 0, size, None, value)


def _of_torch(torch: Any, tensor: Any) -> Bytes:
    """Memory of the host or of CUDA. Work on a tensor counts as work of the present stream."""
    if tensor.layout is not torch.strided or not tensor.is_contiguous() or tensor.is_conj() or tensor.is_neg():
        raise BufferError("the tensor is not contiguous; copy it first")
    if tensor.device.type == "cuda":
        torch.cuda.current_stream(tensor.device).synchronize()
    elif tensor.device.type != "cpu":
        raise TypeError(f"Millrace cannot reach the memory of a tensor on device {tensor.device}; copy it to the host")
    return Bytes(tensor.data_ptr(), tensor.numel() * tensor.element_size(), None, tensor)


def _await_stream(stream: int | None) -> None:
    """Waits for the work of other streams; copies wait for the legacy stream themselves."""
    if stream in _LEGACY_STREAM:
        return
    driver = _driver()
    if driver is not None and driver.cuStreamSynchronize(ctypes.c_void_p(stream)):
        raise RuntimeError(f"the CUDA driver refused to wait for stream {stream:#x}")


@functools.cache
def _driver() -> Any:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


def _of_dlpack(value: Any, writable: bool) -> Bytes:
    """Arrays with DLPack only. NumPy or torch reads them, if the program has loaded one of them."""
    if not hasattr(value, "__dlpack__") or not hasattr(value, "__dlpack_device__"):
        raise TypeError(
            f"a {type(value).__qualname__} has no accessible bytes: use an object with the buffer protocol, "
            "__cuda_array_interface__ or DLPack, or a millrace.Memory"
        )
    kind = value.__dlpack_device__()[0]
    library = sys.modules.get("torch" if kind == _CUDA else "numpy") or sys.modules.get("torch")
    if library is None:
        raise TypeError(f"a {type(value).__qualname__} offers DLPack only: import numpy (or torch) first")
    return of(library.from_dlpack(value), writable)
