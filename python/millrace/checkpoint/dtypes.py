# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Element types: safetensors' names, and substitutes for types that it lacks."""

from __future__ import annotations

from typing import Any, NamedTuple

from millrace.checkpoint.errors import CheckpointError

# Bits of an element. Types below a byte can be listed and checked, not loaded.
BITS = {
    "BOOL": 8,
    "U8": 8,
    "I8": 8,
    "F8_E5M2": 8,
    "F8_E4M3": 8,
    "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "I64": 64,
    "U64": 64,
    "F64": 64,
    "C64": 64,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
}

_NUMPY = {
    "BOOL": "|b1",
    "U8": "|u1",
    "I8": "|i1",
    "I16": "<i2",
    "U16": "<u2",
    "F16": "<f2",
    "I32": "<i4",
    "U32": "<u4",
    "F32": "<f4",
    "I64": "<i8",
    "U64": "<u8",
    "F64": "<f8",
    "C64": "<c8",
}
_OF_NUMPY = {code: name for name, code in _NUMPY.items() if name != "C64"}
# NumPy gets these from the package ml_dtypes.
_ML_DTYPES = {
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
}
_OF_ML_DTYPES = {theirs: name for name, theirs in _ML_DTYPES.items()}

_TORCH = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "I16": "int16",
    "U16": "uint16",
    "F16": "float16",
    "I32": "int32",
    "U32": "uint32",
    "F32": "float32",
    "I64": "int64",
    "U64": "uint64",
    "F64": "float64",
    "C64": "complex64",
    **_ML_DTYPES,
}
_OF_TORCH = {theirs: name for name, theirs in _TORCH.items() if name != "C64"}
COMPLEX = {"complex64": "F32", "complex128": "F64"}


class Stored(NamedTuple):
    """The layout of elements in the file."""

    name: str  # safetensors' type
    last: tuple[int, ...] = ()  # further dimensions of each element
    note: Any = None  # the tree's "dtype", if `name` is not enough


def of_numpy(dtype: Any) -> Stored:
    """The stored form of a NumPy type. Raises TypeError for types without bytes to store."""
    import numpy as np

    if dtype.hasobject:
        raise TypeError(f"arrays of {dtype} hold Python objects; convert them to a type of numbers or text")
    if dtype.type.__module__ == "ml_dtypes" and dtype.name in _OF_ML_DTYPES:
        return Stored(_OF_ML_DTYPES[dtype.name])
    little = dtype.newbyteorder("<").str if dtype.names is None and dtype.subdtype is None else ""
    note = None if dtype.str == little else dtype.str
    if little in _OF_NUMPY:
        return Stored(_OF_NUMPY[little], (), note)
    if dtype.kind == "c" and dtype.name in COMPLEX:
        return Stored(COMPLEX[dtype.name], (2,), dtype.str)
    if dtype.kind in "mM":
        return Stored("I64", (), dtype.str)
    if dtype.kind == "V" and dtype.names is None and dtype.type is not np.void:
        raise TypeError(f"arrays of {dtype} cannot be stored; view them as an integer type of the same size")
    return Stored("U8", (dtype.itemsize,), np.lib.format.dtype_to_descr(dtype))


def is_swapped(dtype: Any) -> bool:
    """True if the bytes have to be swapped for the file."""
    stored = of_numpy(dtype)
    return stored.name != "U8" and dtype.str.startswith(">")


def to_numpy(name: str, note: Any) -> Any:
    """The NumPy type of a stored array."""
    import numpy as np

    if note is not None:
        return np.dtype(note) if isinstance(note, str) else np.lib.format.descr_to_dtype(_as_descr(note))
    if name in _NUMPY:
        return np.dtype(_NUMPY[name])
    if name in _ML_DTYPES:
        try:
            import ml_dtypes
        except ImportError:
            raise CheckpointError(
                f"NumPy has no {_ML_DTYPES[name]}: install ml_dtypes, or load as torch tensors (arrays='torch')"
            ) from None
        if hasattr(ml_dtypes, _ML_DTYPES[name]):
            return np.dtype(getattr(ml_dtypes, _ML_DTYPES[name]))
    raise CheckpointError(f"NumPy has no type for {name}")


def _as_descr(note: Any) -> Any:
    """Restores the tuples of NumPy's descriptions, because JSON has no tuples: (name, type[, shape]), (type, shape)."""
    if isinstance(note, list) and note and all(isinstance(field, list) for field in note):
        return [_field(field) for field in note]
    if isinstance(note, list) and len(note) == 2:
        return (_as_descr(note[0]), tuple(note[1]))
    return note


def _field(field: list[Any]) -> tuple[Any, ...]:
    name = tuple(field[0]) if isinstance(field[0], list) else field[0]
    return (name, _as_descr(field[1]), *(tuple(shape) for shape in field[2:]))


def of_torch(dtype: Any) -> Stored:
    name = str(dtype).removeprefix("torch.")
    if name in COMPLEX:
        return Stored(COMPLEX[name], (2,), name)
    if name not in _OF_TORCH:
        raise TypeError(f"tensors of {dtype} cannot be stored; convert them first")
    return Stored(_OF_TORCH[name])


def to_torch(name: str, note: Any) -> Any:
    import torch

    theirs = note if isinstance(note, str) and note in COMPLEX else _TORCH.get(name, "")
    dtype = getattr(torch, theirs, None)
    if dtype is None:
        raise CheckpointError(f"this torch has no type for {theirs or name}")
    return dtype
