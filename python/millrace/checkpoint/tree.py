# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Trees of Python values as JSON; arrays are stored beside it (docs/reference/checkpoint-format.md)."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from millrace.checkpoint import sources
from millrace.checkpoint.errors import CheckpointError
from millrace.checkpoint.header import DEPTH_MAX, RESERVED_NAME

_INTEGER_DIGITS = 4000  # Python itself neither writes nor reads more digits


class Packer:
    """Turns a tree into nodes; `sources` has each array once, by its name in the file."""

    def __init__(self) -> None:
        self.sources: dict[str, sources.Source] = {}
        self._names: dict[Any, str] = {}  # identity of an array in `sources` -> its name
        self._above: set[int] = set()  # containers around the present one

    def pack(self, value: Any, way: tuple[Any, ...] = ()) -> Any:
        kind = type(value)
        if value is None or kind in (bool, str):
            return value
        if kind is int:
            if value.bit_length() > _INTEGER_DIGITS * 3:
                raise TypeError(f"{_spell(way)} is an integer of more than {_INTEGER_DIGITS} digits: make it a string")
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if kind is complex:
            return {"complex": [self.pack(value.real), self.pack(value.imag)]}
        if kind in (dict, OrderedDict, list, tuple):
            return self._pack_container(value, way)
        source = sources.find(value, lambda: _spell(way))
        if source is None:
            raise TypeError(
                f"{_spell(way)} is a {kind.__module__}.{kind.__qualname__}, which cannot be saved: a tree has "
                "dictionaries, lists, tuples, numbers, strings, bytes and arrays; turn it into these"
            )
        return {"tensor": self._name(source, way), **source.node}

    def _pack_container(self, value: Any, way: tuple[Any, ...]) -> Any:
        if id(value) in self._above:
            raise ValueError(f"{_spell(way)} contains itself")
        if len(way) >= DEPTH_MAX:
            raise ValueError(f"{_spell(way[:4])}... is nested more than {DEPTH_MAX} deep")
        self._above.add(id(value))
        if isinstance(value, dict):
            node = self._pack_dict(value, way)
        else:
            nodes = [self.pack(item, (*way, i)) for i, item in enumerate(value)]
            node = {"tuple": nodes} if type(value) is tuple else nodes
        self._above.discard(id(value))
        return node

    def _pack_dict(self, value: dict[Any, Any], way: tuple[Any, ...]) -> Any:
        node: dict[str, Any] = {}
        if all(type(key) is str for key in value):
            node["dict"] = {key: self.pack(item, (*way, key)) for key, item in value.items()}
        else:
            node["dict"] = [[_pack_key(key, way), self.pack(item, (*way, key))] for key, item in value.items()]
        if type(value) is OrderedDict:
            node["ordered"] = True
        return node

    def _name(self, source: sources.Source, way: tuple[Any, ...]) -> str:
        if source.identity is not None and source.identity in self._names:
            return self._names[source.identity]
        wanted = ".".join(map(str, way)) or "array"
        wanted = wanted.encode("utf-8", "replace").decode()
        name, number = wanted, 1
        while name in self.sources or name == RESERVED_NAME:
            number += 1
            name = f"{wanted}~{number}"
        self.sources[name] = source
        if source.identity is not None:
            self._names[source.identity] = name
        return name


def _pack_key(key: Any, way: tuple[Any, ...]) -> Any:
    kind = type(key)
    if kind is tuple:
        return {"tuple": [_pack_key(item, way) for item in key]}
    if key is None or kind in (bool, int, str):
        return key
    if kind is float:
        return key if math.isfinite(key) else {"float": str(key)}
    raise TypeError(f"{_spell(way)} has the key {key!r}: keys must be strings, numbers, None or tuples of these")


def _spell(way: tuple[Any, ...]) -> str:
    return "tree" + "".join(f"[{step!r}]" for step in way)


def tensor_nodes(node: Any) -> list[dict[str, Any]]:
    """The nodes that name a tensor."""
    found: list[dict[str, Any]] = []
    unpack(node, found.append)
    return found


def unpack(node: Any, leaf: Callable[[dict[str, Any]], Any], depth: int = 0) -> Any:
    """The tree of a node; `leaf` makes arrays. Raises CheckpointError for a malformed node."""
    if depth > DEPTH_MAX + 1:
        raise CheckpointError(f"the tree is nested more than {DEPTH_MAX} deep")
    if isinstance(node, list):
        return [unpack(item, leaf, depth + 1) for item in node]
    if not isinstance(node, dict):
        return node
    try:
        if isinstance(node.get("tensor"), str) and isinstance(node["as"], str):
            return leaf(node)
        if "dict" in node:
            inner = node["dict"]
            pairs = inner.items() if isinstance(inner, dict) else [(_unpack_key(key), item) for key, item in inner]
            made = ((key, unpack(item, leaf, depth + 1)) for key, item in pairs)
            return OrderedDict(made) if node.get("ordered") is True else dict(made)
        if "tuple" in node:
            return tuple(unpack(item, leaf, depth + 1) for item in node["tuple"])
        if "float" in node or "complex" in node:
            return _unpack_key(node)
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"the tree has an invalid node ({error})") from None
    raise CheckpointError(f"the tree has a node of an unknown kind: {', '.join(node)}")


def _unpack_key(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if "tuple" in node:
        return tuple(_unpack_key(item) for item in node["tuple"])
    if "complex" in node:
        real, imaginary = node["complex"]
        return complex(float(_unpack_key(real)), float(_unpack_key(imaginary)))
    if node["float"] not in ("nan", "inf", "-inf"):
        raise ValueError(node["float"])
    return float(node["float"])
