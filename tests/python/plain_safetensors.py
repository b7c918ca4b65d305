# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""A reader and a writer of safetensors, from its description alone: nothing of Millrace is in here."""

import json
import struct

import numpy as np

DTYPES = {
    "BOOL": np.bool_,
    "U8": np.uint8,
    "I8": np.int8,
    "I16": np.int16,
    "U16": np.uint16,
    "F16": np.float16,
    "I32": np.int32,
    "U32": np.uint32,
    "F32": np.float32,
    "I64": np.int64,
    "U64": np.uint64,
    "F64": np.float64,
}


def read(path):
    """(tensors, metadata); checks what the description demands."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    assert length <= 100_000_000 and data[8:9] == b"{"
    header = json.loads(data[8 : 8 + length].decode("utf-8"))
    metadata = header.pop("__metadata__", {})
    assert all(isinstance(value, str) for value in metadata.values())
    body, tensors, ranges = data[8 + length :], {}, []
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        dtype = np.dtype(DTYPES[entry["dtype"]])
        tensors[name] = np.frombuffer(body[begin:end], dtype).reshape(entry["shape"])
        assert begin % dtype.itemsize == 0
        ranges.append((begin, end))
    at = 0
    for begin, end in sorted(ranges):
        assert begin == at, "a gap or an overlap"
        at = end
    assert at == len(body)
    return tensors, metadata


def write(path, tensors, metadata=None):
    names = {np.dtype(kind): name for name, kind in DTYPES.items()}
    header, body = {}, b""
    for name, array in tensors.items():
        data = array.tobytes()
        header[name] = {
            "dtype": names[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [len(body), len(body) + len(data)],
        }
        body += data
    if metadata:
        header["__metadata__"] = metadata
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
