# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`millrace checkpoint`: shows the content of a file, and checks it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from millrace.checkpoint import CheckpointError, header, reader


def facts(path: Path, verify: bool) -> dict[str, Any]:
    """A document about the file. Raises CheckpointError, ChecksumError and OSError, as load() does."""
    verified = False
    if verify:
        found, verified = reader.check(path)
    else:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            found = header.read(descriptor, str(path))
        finally:
            os.close(descriptor)
    return {
        "schema": "millrace-checkpoint-file",
        "version": 1,
        "millrace": found.is_ours,
        "checksums": found.algorithm or None,
        "verified": verified,
        "bytes": sum(tensor.bytes for tensor in found.tensors),
        "tensors": [
            {"name": one.name, "dtype": one.dtype, "shape": list(one.shape), "bytes": one.bytes}
            for one in found.tensors
        ],
    }


def show(path: Path, verify: bool, as_json: bool) -> str:
    """The text to print."""
    document = facts(path, verify)
    if as_json:
        return json.dumps(document, indent=1)
    lines = [
        f"{one['bytes']:>16,}  {one['dtype']:<7}  {str(one['shape']):<20}  {one['name']}" for one in document["tensors"]
    ]
    kind = "saved by Millrace" if document["millrace"] else "a safetensors file"
    right = "every byte verified" if document["verified"] else "not verified"
    if verify and not document["checksums"]:
        right = "it has no checksums"
    lines.append(f"{document['bytes']:>16,}  in {len(document['tensors'])} tensors; {kind}; {right}")
    return "\n".join(lines)


__all__ = ["CheckpointError", "facts", "show"]
