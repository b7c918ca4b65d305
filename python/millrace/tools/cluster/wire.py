# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Messages on the cluster's sockets: four bytes of length, then JSON; descriptors come with the first byte."""

from __future__ import annotations

import array
import json
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("!I")
_MESSAGE_MAX = 8 * 1024 * 1024  # the kernel's own bound for arguments and environment is 6 MiB
_FDS_MAX = 3


def send(link: socket.socket, message: dict[str, Any], fds: tuple[int, ...] = ()) -> None:
    data = json.dumps(message).encode("utf-8", "surrogateescape")
    data = _LENGTH.pack(len(data)) + data
    if fds:
        data = data[socket.send_fds(link, [data], list(fds)) :]
    if data:  # an empty send fails too after the peer has gone
        link.sendall(data)


def receive(link: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """The next message and its descriptors; None at the end of the stream."""
    head, fds = b"", array.array("i")
    while len(head) < _LENGTH.size:
        data, more, _, _ = socket.recv_fds(link, _LENGTH.size - len(head), _FDS_MAX)
        fds.extend(more)
        if not data:
            return None, list(fds)
        head += data
    size = _LENGTH.unpack(head)[0]
    if size > _MESSAGE_MAX:
        raise ValueError(f"a message of {size} bytes")
    body = bytearray()
    while len(body) < size:
        data = link.recv(min(size - len(body), 1 << 16))
        if not data:
            return None, list(fds)
        body += data
    return json.loads(body.decode("utf-8", "surrogateescape")), list(fds)
