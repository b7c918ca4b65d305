# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of machines: YAML files in which every number has its source."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millrace.tools import yaml_file
from millrace.tools.model.errors import ModelError

SCHEMA = "millrace.model/1"
FOLDER = Path(__file__).parent / "machines"
SOURCES = ("paper", "datasheet", "measured", "counted")
_KEYS = {"value", "unit", "source", "fitted", "note"}
# Factors to the units of the model: bytes, bytes per second, nanoseconds.
UNITS = {
    "": 1.0,
    "B": 1.0,
    "KiB": 1024.0,
    "MB": 1e6,
    "MiB": 1048576.0,
    "GB": 1e9,
    "GB/s": 1e9,
    "MB/s": 1e6,
    "MiB/s": 1048576.0,
    "Gbit/s": 1e9 / 8,
    "ns": 1.0,
    "us": 1e3,
    "ms": 1e6,
    "s": 1e9,
    "ns/page": 1.0,
    "ns/B": 1.0,
    "Gop/s": 1e9,
    "share": 1.0,
}

# The values of each kind of machine: name -> kind of unit (the allowed units).
_RATE, _TIME, _COUNT, _SIZE = (
    ("GB/s", "MB/s", "MiB/s", "Gbit/s"),
    ("ns", "us", "ms", "s"),
    ("",),
    ("B", "KiB", "MB", "MiB", "GB"),
)
KINDS: dict[str, dict[str, tuple[str, ...]]] = {
    "engines": {
        "sockets": _COUNT,
        "cores_per_socket": _COUNT,
        "engines": _COUNT,
        "cores_per_engine": _COUNT,
        "switches": _COUNT,
        "link_rate": _RATE,
        "cross_read_rate": _RATE,
        "cross_write_rate": _RATE,
        "cross_share": ("share",),
        "copy_rate": _RATE,
        "engine_copy_rate": _RATE,
        "pin_page": ("ns/page",),
        "pin_waiting": _TIME,
        "host_page": ("ns/page",),
        "offload_read_page": ("ns/page",),
        "offload_write_page": ("ns/page",),
        "normal_chunk": _SIZE,
        "accelerated_chunk": _SIZE,
    },
    "ring": {
        "nodes": _COUNT,
        "ranks_per_node": _COUNT,
        "compute_rate": ("Gop/s",),
        "open": _TIME,
        "request": _TIME,
        "record": _TIME,
        "byte": ("ns/B",),
        "grain": _SIZE,
        "record_max": _SIZE,
        "window": _SIZE,
        "slow_link_rate": _RATE,
        "fast_link_rate": _RATE,
        "link_latency": _TIME,
        "server_record": _TIME,
        "server_byte": ("ns/B",),
        "server_buffers": _COUNT,
        "sync_every": _SIZE,
        "disk_rate": _RATE,
        "seek": _TIME,
        "fast_disk_rate": _RATE,
    },
    "file-system": {
        "ranks_per_node": _COUNT,
        "node_rate": _RATE,
        "targets": _COUNT,
        "target_rate": _RATE,
        "shared_share": ("share",),
        "call": _TIME,
    },
    "cluster": {
        "nodes": _COUNT,
        "ranks_per_node": _COUNT,
        "cores": _COUNT,
        "shared": _COUNT,
        "link_rate": _RATE,
        "link_latency": _TIME,
        "disk_rate": _RATE,
        "sync": _TIME,
        "open": _TIME,
        "open_step": _TIME,
        "rank_record": _TIME,
        "rank_byte": ("ns/B",),
        "take_record": _TIME,
        "take_scattered": _TIME,
        "take_byte": ("ns/B",),
        "net_byte": ("ns/B",),
        "disk_byte": ("ns/B",),
        "message": _TIME,
        "handshake": _TIME,
        "wake": _TIME,
        "late": ("share",),
    },
    "host": {
        "cores": _COUNT,
        "copy_rate": _RATE,
        "storage_rate": _RATE,
        "call": _TIME,
    },
}


@dataclass(frozen=True)
class Parameter:
    name: str
    value: float
    unit: str
    source: str  # the origin, in words
    fitted: bool
    note: str = ""

    @property
    def base(self) -> float:
        """The value in bytes, bytes per second or nanoseconds."""
        return self.value * UNITS[self.unit]


@dataclass(frozen=True)
class Machine:
    name: str
    kind: str
    about: str
    parameters: dict[str, Parameter]
    path: Path

    def __getitem__(self, name: str) -> float:
        return self.parameters[name].base

    def count(self, name: str) -> int:
        return int(self.parameters[name].value)

    @property
    def fitted(self) -> list[Parameter]:
        return [p for p in self.parameters.values() if p.fitted]


@functools.cache
def _shipped(path: Path) -> dict[str, Any]:
    return _parse(path)


def _read(path: Path) -> dict[str, Any]:
    return _shipped(path) if path.parent == FOLDER else _parse(path)


def _parse(path: Path) -> dict[str, Any]:
    document = yaml_file.read(path, ModelError)
    if not isinstance(document, dict):
        raise ModelError(f"{path} is not a mapping: a description begins with schema, name, kind, parameters")
    if document.get("schema") != SCHEMA:
        raise ModelError(f"{path}: schema is {document.get('schema')!r}, not {SCHEMA}")
    unknown = set(document) - {"schema", "name", "kind", "about", "based_on", "parameters"}
    if unknown:
        raise ModelError(f"{path}: {', '.join(sorted(unknown))}: a description has no such entry")
    if not isinstance(document.get("parameters"), dict):
        raise ModelError(f"{path}: parameters must be a mapping of names")
    return document


def _parameter(path: Path, name: str, row: Any) -> Parameter:
    where = f"{path}: parameter {name}"
    if not isinstance(row, dict) or "value" not in row:
        raise ModelError(f"{where}: a value and a source are needed, not {row!r}")
    if set(row) - _KEYS:
        raise ModelError(f"{where}: {', '.join(sorted(set(row) - _KEYS))}: known are {', '.join(sorted(_KEYS))}")
    value, unit = row["value"], str(row.get("unit", ""))
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e18:
        raise ModelError(f"{where}: value must be a number, not negative, and is {value!r}")
    if unit not in UNITS:
        raise ModelError(f"{where}: unit {unit!r} is not one of {', '.join(u for u in UNITS if u)}")
    fitted, source = row.get("fitted", False), str(row.get("source", ""))
    if not isinstance(fitted, bool):
        raise ModelError(f"{where}: fitted must be true or false")
    if not fitted and not source.startswith(SOURCES):
        raise ModelError(f"{where}: a source that begins with {', '.join(SOURCES)}, or fitted: true, is missing")
    return Parameter(name, float(value), unit, source, fitted, str(row.get("note", "")))


def load(path: Path) -> Machine:
    """Reads a description; raises ModelError with the reason if it is wrong."""
    document, rows = _read(path), {}
    if "based_on" in document:
        base = _read(path.parent / f"{document['based_on']}.yaml")
        rows.update(base["parameters"])
        document = {**{k: v for k, v in base.items() if k != "name"}, **document}
    rows.update(document["parameters"])
    kind = document.get("kind")
    if kind not in KINDS:
        raise ModelError(f"{path}: kind is {kind!r}, not one of {', '.join(KINDS)}")
    found = {str(name): _parameter(path, str(name), row) for name, row in rows.items()}
    wanted = KINDS[kind]
    if missing := [name for name in wanted if name not in found]:
        raise ModelError(f"{path}: a machine of kind {kind} needs {', '.join(missing)}")
    if unknown := [name for name in found if name not in wanted]:
        raise ModelError(f"{path}: {', '.join(unknown)}: no such parameter of kind {kind}")
    for name, parameter in found.items():
        if parameter.unit not in wanted[name]:
            units = " or ".join(unit or "no unit" for unit in wanted[name])
            raise ModelError(
                f"{path}: parameter {name}: unit is {parameter.unit or 'missing'!r}, and should be {units}"
            )
        if wanted[name] in (_COUNT, _RATE) and parameter.value <= 0 and name not in ("switches", "shared"):
            raise ModelError(f"{path}: parameter {name} must be more than 0")
    return Machine(str(document.get("name", path.stem)), kind, str(document.get("about", "")), found, path)


def names() -> list[str]:
    """The machines that come with Millrace."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml") if "based_on" in _read(path) or "name" in _read(path))


def find(word: str) -> Machine:
    """Finds a machine by name, such as `a300-8`, or by the path of a YAML file."""
    if word.endswith((".yaml", ".yml")) or "/" in word:
        return load(Path(word))
    if word.lower() not in names():
        raise ModelError(f"no machine is named {word}: use one of {', '.join(names())}, or your own YAML file")
    return load(FOLDER / f"{word.lower()}.yaml")
