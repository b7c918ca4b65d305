# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays of many kinds, as bytes for the file. Only NumPy is imported here; the others are the program's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from millrace.api import memory, native
from millrace.checkpoint import dtypes
from millrace.checkpoint.bounce import Bounce
from millrace.checkpoint.errors import CheckpointError

_DLPACK_HOST = (1, 3, 13)  # plain, pinned and managed memory, which this process can read


class Source:
    """One array. `data` makes its bytes in the file's order: at once where they lie so, else by a copy. `fetch`, of
    arrays on devices, brings [begin, end) of them, and is given a bounce if there are bounces."""

    fetch: Callable[[int, int, Bounce | None], memoryview] | None = None

    def __init__(self, shape: Any, stored: dtypes.Stored, node: dict[str, Any], data: Callable[[], memoryview]) -> None:
        self.dtype = stored.name
        self.shape = (*(int(length) for length in shape), *stored.last)
        self.node = node if stored.note is None else {**node, "dtype": stored.note}
        self.data = data
        self.identity: Any = None  # equal for arrays with the same memory, shape and type
        self.is_copied = False  # True if data() makes a copy in any case


def numpy() -> Any:
    try:
        import numpy as np
    except ImportError:
        raise CheckpointError(
            "millrace.save and millrace.load need NumPy: pip install numpy, or millrace-io[arrays]"
        ) from None
    return np


def find(value: Any, where: Callable[[], str]) -> Source | None:
    """The Source of an array; None for other values. Raises TypeError for arrays that cannot be stored."""
    try:
        return _find(value)
    except TypeError as error:
        raise TypeError(f"{where()}: {error}") from None


def _find(value: Any) -> Source | None:
    np = numpy()
    if type(value) in (bytes, bytearray):
        source = _of_numpy(np.frombuffer(value, np.uint8), type(value).__name__)
        if type(value) is bytearray:
            source.identity = None
        return source
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _of_torch(torch, value)
    if isinstance(value, np.ndarray):
        return _of_numpy(value, "numpy")
    if isinstance(value, np.generic):
        source = _of_numpy(np.asarray(value), "numpy.scalar")
        source.identity = None
        return source
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(value, cupy.ndarray):
        return _of_cupy(np, cupy, value)
    return _by_protocol(np, value)


def _by_protocol(np: Any, value: Any) -> Source | None:
    """Memory that describes itself by a protocol."""
    if isinstance(value, type):
        return None
    if hasattr(value, "__cuda_array_interface__"):
        return _of_device(np, value)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        if value.__dlpack_device__()[0] not in _DLPACK_HOST:
            raise TypeError("its memory is on a device and has no __cuda_array_interface__; copy it to the host")
        try:
            return _of_numpy(np.from_dlpack(value), "numpy")
        except (BufferError, RuntimeError, ValueError) as error:
            # NumPy knows JAX's small types from ml_dtypes; DLPack does not know them.
            if hasattr(value, "__array__"):
                return _of_numpy(np.asarray(value), "numpy")
            raise TypeError(f"NumPy cannot import it by DLPack ({error}); convert it to a NumPy array") from None
    try:
        view = memoryview(value)
    except TypeError:
        return None
    try:
        return _of_numpy(np.asarray(view), "numpy")
    except ValueError as error:
        raise TypeError(f"its buffer has a format that NumPy does not know ({error})") from None


def _of_numpy(array: Any, kind: str) -> Source:
    np = numpy()
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError("masked arrays have two parts; save .data and .mask")
    stored = dtypes.of_numpy(array.dtype)
    swapped = dtypes.is_swapped(array.dtype)

    def data() -> memoryview:
        if not array.nbytes:
            return memoryview(b"")
        plain = array.astype(array.dtype.newbyteorder("<")) if swapped else array
        return memoryview(np.ascontiguousarray(plain).reshape(-1).view(np.uint8))

    source = Source(array.shape, stored, {"as": kind}, data)
    source.is_copied = swapped or not array.flags.c_contiguous
    if array.nbytes:
        address = array.__array_interface__["data"][0]
        source.identity = (kind, address, array.shape, array.strides, str(stored.note), stored.name)
    return source


def _of_torch(torch: Any, tensor: Any) -> Source:
    if tensor.layout is not torch.strided or tensor.is_quantized or getattr(tensor, "is_nested", False):
        raise TypeError("only dense tensors can be stored; save the parts of sparse, nested and quantized ones")
    if tensor.device.type == "meta":
        raise TypeError("a tensor of device 'meta' has no data")
    tensor = tensor.detach()
    stored = dtypes.of_torch(tensor.dtype)
    node = {"as": "torch"}
    if tensor.device.type != "cpu":
        node["device"] = str(tensor.device)

    def data() -> memoryview:
        if not tensor.numel():
            return memoryview(b"")
        plain = tensor.resolve_conj().resolve_neg()
        if plain.is_complex():
            plain = torch.view_as_real(plain)
        return memoryview(plain.contiguous().cpu().reshape(-1).view(torch.uint8).numpy())

    source = Source(tensor.shape, stored, node, data)
    source.is_copied = tensor.device.type != "cpu" or not tensor.is_contiguous() or tensor.is_conj() or tensor.is_neg()
    if tensor.device.type == "cuda" and tensor.is_contiguous() and not (tensor.is_conj() or tensor.is_neg()):
        source.fetch = _fetch_torch(torch, tensor)
    if tensor.numel():
        marks = (tensor.is_conj(), tensor.is_neg(), str(tensor.device))
        source.identity = ("torch", tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype, marks)
    return source


def _fetch_torch(torch: Any, tensor: Any) -> Callable[[int, int, Bounce | None], memoryview]:
    torch.cuda.current_stream(tensor.device).synchronize()
    flat = (torch.view_as_real(tensor) if tensor.is_complex() else tensor).reshape(-1).view(torch.uint8)

    def fetch(begin: int, end: int, bounce: Bounce | None) -> memoryview:
        if bounce is None:
            return memoryview(flat[begin:end].cpu().numpy())
        return bounce.from_device(flat.data_ptr() + begin, end - begin)

    return fetch


def _of_cupy(np: Any, cupy: Any, array: Any) -> Source:
    stored = dtypes.of_numpy(array.dtype)
    node = {"as": "cupy", "device": f"cuda:{array.device.id}"}

    def data() -> memoryview:
        if not array.size:
            return memoryview(b"")
        return memoryview(np.ascontiguousarray(array.get()).reshape(-1).view(np.uint8))

    source = Source(array.shape, stored, node, data)
    source.is_copied = True
    if array.size and array.flags.c_contiguous:
        cupy.cuda.get_current_stream().synchronize()
        flat = array.reshape(-1).view(np.uint8)

        def fetch(begin: int, end: int, bounce: Bounce | None) -> memoryview:
            if bounce is None:
                return memoryview(flat[begin:end].get())
            return bounce.from_device(flat.data.ptr + begin, end - begin)

        source.fetch = fetch
    if array.size:
        source.identity = ("cupy", array.data.ptr, array.shape, array.strides, array.dtype.str)
    return source


def _of_device(np: Any, value: Any) -> Source:
    """An array on a device, of an unknown library."""
    native.need("arrays on devices")
    facts = value.__cuda_array_interface__
    dtype = np.dtype(facts["typestr"])
    stored = dtypes.of_numpy(dtype)
    if dtypes.is_swapped(dtype):
        raise TypeError("an array on a device must be little-endian")
    try:
        where = memory.of(value)
    except BufferError as error:
        raise TypeError(str(error)) from None

    def fetch(begin: int, end: int, bounce: Bounce | None) -> memoryview:
        return bounce.from_device(where.address + begin, end - begin)

    source = Source(facts["shape"], stored, {"as": "numpy", "device": "cuda"}, lambda: memoryview(b""))
    source.fetch = fetch
    source.is_copied = True
    source.identity = ("device", where.address, tuple(facts["shape"]), dtype.str) if where.size else None
    return source
